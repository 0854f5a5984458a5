"""How consecutive nodes are cut into groups: by a model where one is ready, else by pauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from itertools import accumulate
import re

from emv_ros.memory.schema import NodeRow
from emv_ros.settings import TreeSettings
from emv_ros.timeline import SECOND_NS
from emv_ros.tree.levels import EVENT
from emv_ros.tree.lines import facts_of, is_bare, numbered_lines
from emv_ros.tree.replies import Group
from emv_ros.tree.summaries import SummaryWriter, Written

# What a request is worth, as a pause before it.
REQUEST_NS = 60 * SECOND_NS
_SAID = re.compile(r'(.{1,40}?) said "')


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive nodes that belong together, with a model's summary where `written` has one."""

    nodes: tuple[NodeRow, ...]
    made_by: str = 'calendar'
    summary: str = ''
    written: Written | None = None


def by_pauses(nodes: Sequence[NodeRow], settings: TreeSettings) -> list[tuple[NodeRow, ...]]:
    """Return groups that have room for their nodes, cut at pauses longer than `goal_gap_s`.

    What is too long between two such pauses is cut where it hurts least, from the left, so that
    what comes later moves no cut but the last ones.
    """
    gap_ns = settings.goal_gap_s * SECOND_NS
    pieces: list[list[NodeRow]] = []
    end_ns = 0
    for node in nodes:
        if not pieces or node.start_ns - end_ns > gap_ns:
            pieces.append([])
            end_ns = node.end_ns
        pieces[-1].append(node)
        end_ns = max(end_ns, node.end_ns)
    return [part for piece in pieces for part in _cut(piece, settings.fan_out)]


def fits(nodes: Sequence[NodeRow], fan_out: int) -> bool:
    """Whether nodes make one group: at most `fan_out` that tell something, twice that in all.

    What was only seen is left out of a prompt that has anything else to tell.
    """
    return len(nodes) <= 2 * fan_out and _told(nodes) <= fan_out


def has_room(nodes: Sequence[NodeRow], fan_out: int) -> bool:
    """Whether one more node, of whatever kind, still fits."""
    return len(nodes) < 2 * fan_out and _told(nodes) < fan_out


def _told(nodes: Sequence[NodeRow]) -> int:
    return sum(not is_bare(node) for node in nodes)


def _cut(nodes: list[NodeRow], fan_out: int) -> list[tuple[NodeRow, ...]]:
    parts: list[tuple[NodeRow, ...]] = []
    while not fits(nodes, fan_out):
        at = _best_cut(nodes, fan_out)
        parts.append(tuple(nodes[:at]))
        nodes = nodes[at:]
    return [*parts, tuple(nodes)]


def _best_cut(nodes: Sequence[NodeRow], fan_out: int) -> int:
    """Return how many nodes the first group gets: half of what fits, or more, up to all of it."""
    most = told = 0
    while most < min(len(nodes), 2 * fan_out) and (
            told := told + (not is_bare(nodes[most]))) <= fan_out:
        most += 1
    # As few groups as possible, of about the same length, where no cut is better than another.
    even = -(-len(nodes) // -(-len(nodes) // most))
    least = max(1, min(most, len(nodes) - 1) // 2)
    ends = list(accumulate((node.end_ns for node in nodes[:most]), max))
    return max(range(least, most + 1), key=lambda at: (
        _weight(nodes[at - 1], nodes[at], nodes[at].start_ns - ends[at - 1]),
        -abs(at - even), at))


def _weight(before: NodeRow, after: NodeRow, pause_ns: int) -> int:
    """Return how good a cut between two nodes is, in nanoseconds of pause.

    A request begins something, and belongs to the deed that follows it; the robot's own words
    belong to what it did before.
    """
    pause_ns = max(0, pause_ns)
    if _is_request(before):
        return pause_ns - REQUEST_NS
    return pause_ns + REQUEST_NS if _is_request(after) else pause_ns


def _is_request(node: NodeRow) -> bool:
    said = _SAID.match(node.summary) if node.level == EVENT and not node.name else None
    return said is not None and said.group(1).lower() != 'robot'


def evenly(nodes: Sequence[NodeRow], size: int) -> list[tuple[NodeRow, ...]]:
    """Return the nodes in as few parts of at most `size` as possible, of about the same length."""
    count = -(-len(nodes) // size)
    bounds = [len(nodes) * part // count for part in range(count + 1)]
    return [tuple(nodes[low:high]) for low, high in zip(bounds, bounds[1:], strict=False)]


def ranges_of(parts: Sequence[tuple[NodeRow, ...]]) -> list[tuple[int, int]]:
    """Return the first and last place of each part, from 1."""
    ranges: list[tuple[int, int]] = []
    for part in parts:
        first = ranges[-1][1] + 1 if ranges else 1
        ranges.append((first, first + len(part) - 1))
    return ranges


def partition(nodes: Sequence[NodeRow], modelled: int, writer: SummaryWriter, zone: tzinfo,
              settings: TreeSettings) -> list[Part]:
    """Return the parts of a run; the first `modelled` nodes by the model, as long as it is ready.

    The model sees at most `group_size` nodes at a time. Its last group may go on in the next
    list, so that list begins with it.
    """
    parts: list[Part] = []
    at = 0
    while at < modelled:
        batch = nodes[at:min(at + writer.list_size, modelled)]
        if len(batch) == 1:
            parts.append(Part(tuple(batch), 'model'))
            at += 1
            break
        written = writer.group(numbered_lines(batch, zone), ranges_of(by_pauses(batch, settings)),
                               [facts_of(node, zone) for node in batch])
        if written is None:
            if writer.ready and writer.list_size < len(batch):
                continue  # it took too long: a shorter list
            break
        groups = list(written.groups)
        if at + len(batch) < modelled and len(groups) > 1:
            groups.pop()
        parts.extend(Part(tuple(batch[group.first - 1:group.last]), _maker(group), group.summary,
                          written) for group in groups)
        at += groups[-1].last
    parts.extend(Part(part) for part in by_pauses(nodes[at:], settings))
    return parts


def _maker(group: Group) -> str:
    if group.summary or group.first == group.last:
        return 'model'
    return 'rule' if group.was_asked else 'calendar'
