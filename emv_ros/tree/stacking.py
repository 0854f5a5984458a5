"""Parts of a day (L5 to L7): groups of groups, where a day has more than a reader can take in."""

from __future__ import annotations

from collections.abc import Sequence

from emv_ros.memory.schema import NodeRow
from emv_ros.settings import TreeSettings
from emv_ros.tree.levels import EPISODE, TOP_GROUP
from emv_ros.tree.partition import evenly
from emv_ros.tree.upper import UpperTree


def stack(upper: UpperTree, day_id: int) -> list[int]:
    """Group the groups of a day while it has too many; return the ids of the new nodes."""
    fresh: list[int] = []
    fan_out = upper.settings.fan_out
    while len(children := upper.children(day_id)) > 2 * fan_out:
        older = children[:-(fan_out // 2)]  # what is last may still be grouped otherwise
        run = _lowest_run(older, upper.settings)
        if not run:
            break
        level = max(EPISODE, *(child.level for child in run)) + 1
        with upper.changing() as skeleton:
            day = skeleton.session.get_one(NodeRow, day_id)
            for part in evenly(run, fan_out):
                rows = [skeleton.session.get_one(NodeRow, node.id) for node in part]
                if len(rows) > 1:
                    fresh.append(skeleton.add(level, rows, day).id)
            skeleton.refresh()
    return fresh


def split(upper: UpperTree, group: NodeRow) -> list[int]:
    """Split a group that late records made too long; return the ids of the new nodes."""
    children = upper.children(group.id)
    if len(children) <= 2 * upper.settings.fan_out:
        return []
    fresh: list[int] = []
    with upper.changing() as skeleton:
        parent = skeleton.session.get_one(NodeRow, group.parent_id or 0)
        for part in evenly(children, upper.settings.fan_out)[1:]:
            rows = [skeleton.session.get_one(NodeRow, node.id) for node in part]
            fresh.append(skeleton.add(group.level, rows, parent).id)
        skeleton.refresh()
    return fresh


def _lowest_run(children: Sequence[NodeRow], settings: TreeSettings) -> list[NodeRow]:
    """Return the longest run of nodes of one level, the lowest level that has a long one."""
    for level in range(EPISODE, TOP_GROUP):
        best: list[NodeRow] = []
        run: list[NodeRow] = []
        for child in children:
            run = [*run, child] if max(EPISODE, child.level) == level else []
            best = run if len(run) > len(best) else best
        if len(best) >= settings.fan_out:
            return best
    return []
