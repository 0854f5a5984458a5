"""Reports about skills: from our SkillEvent, from the status topic of any action, from values.

A report is one message. Joining the reports of one execution to an event is the store's affair;
only the status topic of actions, which repeats all its goals in each message, is reduced here to
what changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import json
from typing import Any

from emv_ros.errors import RecordError
from emv_ros.ingest.stamps import end_from_time, stamp_from_header
from emv_ros.records import SkillReport, Status

STATUSES = tuple(Status)  # by the numbers of emv_ros/msg/SkillEvent

# By the numbers of action_msgs/msg/GoalStatus: unknown, accepted, executing, canceling, ...
ACTION_STATUSES = (
    Status.UNKNOWN, Status.PREPARING, Status.RUNNING, Status.RUNNING, Status.SUCCEEDED,
    Status.CANCELED, Status.ABORTED)
ACTION_STATUS_TOPIC = '/_action/status'


def skill_report_from_ros(message: Any, receipt_ns: int, is_wall: bool = False) -> SkillReport:
    """Return the report of an emv_ros/SkillEvent. Raises RecordError."""
    stamp_ns, is_receipt = stamp_from_header(message, receipt_ns, is_wall)
    number = int(message.status)
    if number >= len(STATUSES):
        raise RecordError(f'the skill {message.skill!r} has the unknown status {number}')
    return skill_report(
        stamp_ns, message.skill, STATUSES[number], goal_stack=message.goal_stack,
        parameters=parameters_of(message.parameters), trigger=message.trigger,
        narration=message.narration, source_id=message.id, parent_source_id=message.parent_id,
        end_ns=end_from_time(message.end, stamp_ns, receipt_ns, is_wall), robot=message.robot,
        stamp_is_receipt=is_receipt)


def skill_report(
        stamp_ns: int, skill: str, status: Status, *, goal_stack: Sequence[str] = (),
        parameters: Mapping[str, Any] | None = None, trigger: str = '', narration: str = '',
        source_id: str = '', parent_source_id: str = '', end_ns: int | None = None,
        robot: str = '', stamp_is_receipt: bool = False,
        extra: Mapping[str, Any] | None = None) -> SkillReport:
    """Return a report; RecordError where it names no skill. Nameless goals are left out."""
    if not skill.strip():
        raise RecordError('the report names no skill')
    return SkillReport(
        stamp_ns=stamp_ns, skill=skill, status=status,
        goal_stack=tuple(goal for goal in goal_stack if goal), parameters=parameters or {},
        trigger=trigger, narration=narration, source_id=source_id,
        parent_source_id=parent_source_id, end_ns=end_ns, robot=robot,
        stamp_is_receipt=stamp_is_receipt, extra=extra or {})


def parameters_of(pairs: Iterable[Any]) -> dict[str, Any]:
    """Return KeyValue pairs as a mapping; a value that reads as JSON is that, else it is text.

    A key that comes twice keeps both values, in a list.
    """
    found: dict[str, list[Any]] = {}
    for pair in pairs:
        found.setdefault(pair.key, []).append(_value(pair.value))
    return {key: values[0] if len(values) == 1 else values for key, values in found.items()}


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text


def _no_constant(name: str) -> Any:
    raise ValueError(f'{name} is no JSON')  # a parameter 'NaN' stays the word


class ActionStatusReader:
    """Turns the status topic of an action into reports, one for each change of a goal's state."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, Status]] = {}

    def reports(self, message: Any, topic: str, receipt_ns: int) -> list[SkillReport]:
        """Return the reports of what changed in an action_msgs/GoalStatusArray.

        The message has no time of its own, so the stamps are the time of receipt. The skill is
        named by the action: 'navigate_to_pose' of /navigate_to_pose/_action/status.
        """
        skill = topic.removesuffix(ACTION_STATUS_TOPIC).strip('/')
        before = self._seen.get(topic, {})
        now: dict[str, Status] = {}
        reports: list[SkillReport] = []
        for item in message.status_list:
            goal, number = bytes(item.goal_info.goal_id.uuid).hex(), int(item.status)
            status = ACTION_STATUSES[number] if 0 <= number < len(
                ACTION_STATUSES) else Status.UNKNOWN
            now[goal] = status
            if before.get(goal) is not status:
                reports.append(skill_report(
                    receipt_ns, skill, status, source_id=goal, stamp_is_receipt=True))
        self._seen[topic] = now
        return reports
