"""Remembers scene graphs: what a robot's perception sees, and how it stands to one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emv_ros.msg import SceneGraph
from emv_ros.nodes.ingest import IngestNode
from emv_ros.nodes.running import run


class SceneIngest(IngestNode):
    """Scenes that another node made from pictures."""

    types = {'emv_ros/msg/SceneGraph': SceneGraph}
    default_topics = ('scene_graph',)

    def __init__(self, name: str = 'scene_ingest', **kwargs: Any) -> None:
        super().__init__(name, **kwargs)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node alone."""
    return run(SceneIngest, args)
