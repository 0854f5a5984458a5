"""The shape of a tree, and whether each record has one path to the root, checked from the rows.

Reads the tables alone and shares nothing with the code that makes the tree.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from sqlalchemy import select

from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import TreeSettings
from emv_ros.timeline import SECOND_NS
from emv_ros.tree.levels import DAY, GOAL
from emv_ros.tree.raw import RAW_KINDS

# Records that are members of a node; raw ones lie under the node that covers their stamp.
MEMBER_KINDS = ('utterance', 'skill_event', 'annotation', 'scene', 'observation')


@dataclass(frozen=True, slots=True, kw_only=True)
class FanOut:
    """The children of the nodes of one level: fewest, median, most, and of how many nodes."""

    level: int
    nodes: int
    fewest: int
    median: float
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeFacts:
    """The shape of one tree; lengths in characters.

    `depth` counts the nodes from the root to the deepest one. `one_path` is the share of the
    records that are a member of exactly one node from which parents lead to the one root. Pictures,
    joint samples and poses are members of none, but belong to the span that holds their stamp, or
    in the pause beside the first or last event of a day to that day: `raw_in_one_day` is the share
    of them that have exactly one such day.
    """

    nodes: int
    nodes_by_level: Mapping[int, int]
    made_by: Mapping[str, int]
    roots: int
    depth: int
    fan_out: Sequence[FanOut]
    longest_text: int
    records: int
    records_waiting: int
    one_path: float
    raw_records: int
    raw_in_one_day: float


def tree_facts(store: MemoryStore) -> TreeFacts:
    """Return the shape of the tree of a memory with one robot."""
    row, member = schema.NodeRow, schema.NodeMemberRow
    with store.reading() as session:
        nodes = {key: (parent, level, made_by, length) for key, parent, level, made_by, length in (
            (item.id, item.parent_id, item.level, item.made_by, len(item.summary))
            for item in session.execute(select(
                row.id, row.parent_id, row.level, row.made_by, row.summary)))}
        homes: dict[tuple[str, int], list[int]] = defaultdict(list)
        for kind, ref_id, node_id in session.execute(select(
                member.kind, member.ref_id, member.node_id)):
            homes[kind, ref_id].append(node_id)
        recorded = [(kind, ref_id, waits) for kind in MEMBER_KINDS for ref_id, waits in
                    session.execute(select(schema.KINDS[kind].id, schema.KINDS[kind].pending))]
        days = sorted((start_ns, end_ns) for start_ns, end_ns in session.execute(
            select(row.start_ns, row.end_ns).where(row.level == DAY)))
        stamps = [stamp for kind in RAW_KINDS for stamp in
                  session.scalars(select(schema.KINDS[kind].stamp_ns))]
    parents = {key: parent for key, (parent, *_) in nodes.items()}
    roots = [key for key, parent in parents.items() if parent is None]
    steps = {key: _steps(key, parents) for key in parents}
    children: Counter[int] = Counter(parent for parent in parents.values() if parent is not None)
    paths = [[steps[node_id] for node_id in homes.get((kind, ref_id), ())]
             for kind, ref_id, _ in recorded]
    whole = sum(len(found) == len(roots) == 1 and found[0] > 0 for found in paths)
    levels = Counter(level for _, level, *_ in nodes.values())
    return TreeFacts(
        nodes=len(nodes), nodes_by_level=dict(sorted(levels.items())),
        made_by=dict(Counter(made_by for _, level, made_by, _ in nodes.values() if level > GOAL)),
        roots=len(roots), depth=max(steps.values(), default=0),
        fan_out=_fan_out({key: level for key, (_, level, _, _) in nodes.items()}, children),
        longest_text=max((length for *_, length in nodes.values()), default=0),
        records=len(recorded), records_waiting=sum(bool(waits) for *_, waits in recorded),
        one_path=whole / len(recorded) if recorded else 1.0, raw_records=len(stamps),
        raw_in_one_day=_in_one(days, stamps) / len(stamps) if stamps else 1.0)


def _in_one(spans: Sequence[tuple[int, int]], stamps: Sequence[int]) -> int:
    """Return how many stamps lie in exactly one of the spans, or else near exactly one.

    The spans are sorted, their ends count, and near is what a pause between events may last.
    """
    near_ns = round(TreeSettings().event_gap_s * SECOND_NS)

    def holders(stamp: int, reach_ns: int) -> int:
        return bisect_right(starts, stamp + reach_ns) - bisect_left(ends, stamp - reach_ns)

    starts, ends = [start for start, _ in spans], sorted(end for _, end in spans)
    return sum((holders(stamp, 0) or holders(stamp, near_ns)) == 1 for stamp in stamps)


def _steps(key: int, parents: Mapping[int, int | None]) -> int:
    """Return how many nodes lie on the way from a node to a root, 0 where none is reached."""
    steps, at = 0, key
    while steps <= len(parents):
        steps += 1
        above = parents.get(at, 0)
        if above is None:
            return steps
        if above not in parents:
            return 0
        at = above
    return 0


def _fan_out(levels: Mapping[int, int], children: Mapping[int, int]) -> list[FanOut]:
    by_level: dict[int, list[int]] = defaultdict(list)
    for key, level in levels.items():
        if children.get(key):
            by_level[level].append(children[key])
    return [FanOut(level=level, nodes=len(counts), fewest=min(counts), median=median(counts),
                   most=max(counts)) for level, counts in sorted(by_level.items())]
