"""Words of the tree about records that retention dropped before: they go with their time, too.

Such a node keeps its words although nothing leads there any more. Where a time, a robot, a kind or
a node is forgotten, its words are taken back as if the records were still there. Who spoke, or what
was said, is not known of them: there only the words of the node itself tell.
"""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.choosing import Choice
from emv_ros.memory.dropped import lost_by, marked_below, marked_within
from emv_ros.memory.store import MemoryStore
from emv_ros.timeline import MAX_NS, Interval
from emv_ros.tree.reopening import blank, reopen_spans


def nodes_of_dropped(store: MemoryStore, session: Session, choice: Choice) -> set[int]:
    """Return the nodes that lost records which the choice is about."""
    named = sorted(key for kind, key in choice.references if kind == 'node')
    found = (marked_below(session, named) | set(lost_by(session, named))) if named else set()
    if choice.speakers or choice.text or not choice.has_conditions:
        return found if not choice.has_conditions else set()
    inside: set[int] = set()
    for robot_id in store.robot_ids(session, choice.robots):
        inside |= marked_within(session, robot_id, choice.start_ns or 0,
                                (choice.end_ns or MAX_NS) - 1)
    if choice.kinds:
        inside = {key for key, kinds in lost_by(session, inside).items()
                  if choice.kinds.intersection(kinds)}
    return inside & found if choice.references else inside


def forget_dropped(session: Session, node_ids: set[int]) -> int:
    """Take back the words of nodes, in the caller's transaction; return of how many."""
    row = schema.NodeRow
    spans: dict[int, list[Interval]] = {}
    for robot_id, start_ns, end_ns in session.execute(select(
            row.robot_id, row.start_ns, row.end_ns).where(among(row.id, sorted(node_ids)))):
        spans.setdefault(robot_id, []).append(Interval(start_ns, end_ns))
    for robot_id, found in spans.items():
        reopen_spans(session, robot_id, found)
    if node_ids:
        blank(session, node_ids)
    return len(node_ids)
