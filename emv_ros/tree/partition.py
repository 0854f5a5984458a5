"""How consecutive nodes are cut into groups: by a model where one is ready, else by pauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

from emv_ros.memory.schema import NodeRow
from emv_ros.settings import TreeSettings
from emv_ros.timeline import SECOND_NS
from emv_ros.tree.lines import facts_of, numbered_lines
from emv_ros.tree.replies import Group
from emv_ros.tree.summaries import SummaryWriter, Written


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive nodes that belong together, with a model's summary where `written` has one."""

    nodes: tuple[NodeRow, ...]
    made_by: str = 'calendar'
    summary: str = ''
    written: Written | None = None


def by_pauses(nodes: Sequence[NodeRow], settings: TreeSettings) -> list[tuple[NodeRow, ...]]:
    """Return groups of at most `fan_out` nodes, cut at pauses longer than `goal_gap_s`."""
    gap_ns = settings.goal_gap_s * SECOND_NS
    pieces: list[list[NodeRow]] = []
    end_ns = 0
    for node in nodes:
        if not pieces or node.start_ns - end_ns > gap_ns:
            pieces.append([])
            end_ns = node.end_ns
        pieces[-1].append(node)
        end_ns = max(end_ns, node.end_ns)
    return [part for piece in pieces for part in evenly(piece, settings.fan_out)]


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
