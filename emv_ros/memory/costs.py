"""What the tree costs over time: the account of consolidations, by the robot's own time.

A consolidation counts at the latest record that it found a place for; one without new records (it
wrote texts anew) at that of the one before. Nothing here says what a consolidation found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo

from sqlalchemy import select

from emv_ros.memory.schema import ConsolidationRow, NodeRow
from emv_ros.memory.store import MemoryStore
from emv_ros.timeline import local_date

COUNTED = ('records', 'events', 'goals', 'summaries', 'model_calls', 'prompt_tokens',
           'completion_tokens', 'duration_s', 'cost', 'fallbacks')


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What consolidations of one robot did and cost, up to the stamp `up_to_ns` of its life.

    Tokens by the models' own count, `cost` in US dollars (0: unknown); `fallbacks` counts
    summaries that were left to the rule since the model failed.
    """

    robot: str
    up_to_ns: int
    consolidations: int = 1
    records: int = 0
    events: int = 0
    goals: int = 0
    summaries: int = 0
    model_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    duration_s: float = 0.0
    cost: float = 0.0
    fallbacks: int = 0


@dataclass(frozen=True, slots=True)
class NodeSpan:
    """Where one node of the tree lies, and who wrote its text."""

    robot: str
    level: int
    start_ns: int
    end_ns: int
    made_by: str


def costs(store: MemoryStore, robots: Sequence[str] = ()) -> list[Cost]:
    """Return each consolidation that had work, of the named robots or of all, as they came."""
    row = ConsolidationRow
    latest: dict[int, int] = {}
    found = []
    with store.reading() as session:
        names = store.robot_ids(session, tuple(robots))
        for item in session.scalars(
                select(row).where(row.robot_id.in_(list(names))).order_by(row.id)):
            known = item.up_to_ns
            if known is None:
                known = latest.get(item.robot_id, item.begun_ns)
            latest[item.robot_id] = max(known, latest.get(item.robot_id, known))
            found.append(Cost(robot=names[item.robot_id], up_to_ns=known, **{
                name: getattr(item, name) for name in COUNTED}))
    return found


def by_day(found: Iterable[Cost], zone: tzinfo) -> dict[tuple[str, date], Cost]:
    """Return the sums of each robot's local days that have any, in order of robot and day."""
    days: dict[tuple[str, date], list[Cost]] = {}
    for item in found:
        days.setdefault((item.robot, local_date(item.up_to_ns, zone)), []).append(item)
    return {key: summed(days[key]) for key in sorted(days)}


def summed(found: Sequence[Cost]) -> Cost:
    """Return the sum of costs, of which there is at least one."""
    return Cost(
        robot=', '.join(dict.fromkeys(item.robot for item in found)),
        up_to_ns=max(item.up_to_ns for item in found),
        **{name: sum(getattr(item, name) for item in found)
           for name in ('consolidations', *COUNTED)})


def node_spans(store: MemoryStore, robots: Sequence[str] = ()) -> list[NodeSpan]:
    """Return where the nodes of the named robots' trees lie, or of all, by their start."""
    row = NodeRow
    with store.reading() as session:
        names = store.robot_ids(session, tuple(robots))
        found = session.execute(
            select(row.robot_id, row.level, row.start_ns, row.end_ns, row.made_by)
            .where(row.robot_id.in_(list(names))).order_by(row.start_ns, row.id))
        return [NodeSpan(names[robot_id], level, start_ns, end_ns, made_by)
                for robot_id, level, start_ns, end_ns, made_by in found]
