"""Groups (L4) of what is loose under a holder: a day, or a part of one.

Closed groups stay as they are: only the loose end of a day, or the one group that a late record
fell into, is grouped anew. What a model grouped is dropped where the tree changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

from emv_ros.memory.schema import NodeRow
from emv_ros.tree.levels import DAY, EPISODE, GOAL
from emv_ros.tree.partition import Part, fits, partition
from emv_ros.tree.rest import Rest
from emv_ros.tree.skeleton import Skeleton
from emv_ros.tree.summaries import SummaryWriter
from emv_ros.tree.upper import UpperTree, sign

# So many loose nodes are grouped in one transaction: it must not hold the writers for long.
LONGEST_RUN = 320
# Marks an event or goal that was looked at and stays by itself, in its `prompt_version`.
ALONE = {'model': 'alone', 'rule': 'alone', 'calendar': 'alone for now'}


class Grouping:
    """The grouping of the children of one holder at a time."""

    def __init__(self, upper: UpperTree, writer: SummaryWriter, rest: Rest) -> None:
        self.upper = upper
        self.writer = writer
        self.rest = rest
        self.settings = upper.settings

    @property
    def has_model(self) -> bool:
        """Whether the model makes the groups, too."""
        return self.settings.model_groups and self.writer.ready

    def regroup(self, holder: NodeRow) -> None:
        """Group what is loose under a holder."""
        children = self.upper.children(holder.id)
        if holder.level == DAY and fits(children, self.settings.fan_out) \
                and all(child.level <= GOAL for child in children):
            return  # the day itself is their group
        run: list[NodeRow] = []
        for child in (*children, None):
            is_loose = child is not None and self._is_loose(child)
            if run and (not is_loose or len(run) >= LONGEST_RUN):
                self._regroup_run(holder, run)
                run = []
            if child is not None and is_loose:
                run.append(child)

    def _is_loose(self, child: NodeRow) -> bool:
        has_model = self.has_model
        if child.level <= GOAL:
            return child.prompt_version != ALONE['model'] and (
                has_model or child.prompt_version != ALONE['calendar'])
        return (child.level == EPISODE and child.made_by == 'calendar'
                and (has_model or child.is_open))

    def _regroup_run(self, holder: NodeRow, run: Sequence[NodeRow]) -> None:
        pieces = [(child,) if child.level <= GOAL else tuple(self.upper.children(child.id))
                  for child in run]
        items = [item for piece in pieces for item in piece]
        items.sort(key=lambda node: (node.start_ns, node.end_ns, node.id))
        modelled = len(items) if self.has_model else 0
        if modelled and self.rest.is_live(holder) and self.rest.is_live(items[-1]):
            modelled = max(0, len(items) - self.settings.fan_out) \
                if len(items) > self.settings.group_size else 0
        parts = partition(items, modelled, self.writer, self.upper.zone, self.settings)
        same = [[node.id for node in part.nodes] for part in parts] == [
            [node.id for node in piece] for piece in pieces]
        if same and all(part.made_by == 'calendar' and (
                len(part.nodes) > 1 or part.nodes[0].prompt_version) for part in parts):
            return
        self._replace(holder.id, run, items, parts)

    def _replace(self, holder_id: int, run: Sequence[NodeRow], items: Sequence[NodeRow],
                 parts: Sequence[Part]) -> None:
        """Put the parts in the place of the run, unless the tree changed since it was read."""
        with self.upper.changing() as skeleton:
            holder = skeleton.get(holder_id)
            groups = [child for child in run if child.level == EPISODE]
            skeleton.fetch([node.id for node in items])
            if holder is None or not _still(skeleton, holder_id, groups, items):
                return
            spare = {group.id for group in groups}
            made: list[tuple[int, Part]] = []
            for part in parts:
                rows = [skeleton.session.get_one(NodeRow, node.id) for node in part.nodes]
                if len(rows) == 1:
                    skeleton.adopt(holder, rows)
                    rows[0].prompt_version = ALONE[part.made_by]
                    continue
                kept = next((row.parent_id for row in rows if row.parent_id in spare), None)
                if kept is None:
                    made.append((skeleton.add(EPISODE, rows, holder).id, part))
                else:
                    spare.discard(kept)
                    skeleton.adopt(skeleton.session.get_one(NodeRow, kept), rows)
                    made.append((kept, part))
            for group_id in spare:
                skeleton.retell(group_id)
            skeleton.refresh()
            for group_id, part in made:
                sign(skeleton, group_id, part.made_by, part.written, part.summary)


def _still(skeleton: Skeleton, holder_id: int, groups: Sequence[NodeRow],
           items: Sequence[NodeRow]) -> bool:
    """Whether the items are where they were, with the texts that they had."""
    homes = {holder_id, *(group.id for group in groups)}
    for item in items:
        row = skeleton.get(item.id)
        if row is None or row.parent_id not in homes or row.summary != item.summary:
            return False
    return sum(len(skeleton.children(group.id)) for group in groups) == len(items) - sum(
        item.parent_id == holder_id for item in items)
