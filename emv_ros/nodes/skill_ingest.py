"""Remembers what a robot does: its SkillEvents, and the goals of any action."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from action_msgs.msg import GoalStatusArray

from emv_ros.ingest.skills import ACTION_STATUS_TOPIC
from emv_ros.msg import SkillEvent
from emv_ros.nodes.ingest import IngestNode
from emv_ros.nodes.parameters import declare
from emv_ros.nodes.running import run


class SkillIngest(IngestNode):
    """Skills from topics of SkillEvent; each goal of the named actions is one skill event too."""

    types = {'emv_ros/msg/SkillEvent': SkillEvent,
             'action_msgs/msg/GoalStatusArray': GoalStatusArray}
    default_topics = ('skill_events',)

    def __init__(self, name: str = 'skill_ingest', **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self.actions: list[str] = declare(
            self, 'actions', [''], 'actions whose goals are remembered, such as navigate_to_pose')

    def topic_names(self) -> Iterable[tuple[str, bool]]:
        """Yield the topics, and the status topic of each action."""
        yield from super().topic_names()
        for action in self.actions:
            yield f'{action.rstrip("/")}{ACTION_STATUS_TOPIC}', False


def main(args: Sequence[str] | None = None) -> int:
    """Run the node alone."""
    return run(SkillIngest, args)
