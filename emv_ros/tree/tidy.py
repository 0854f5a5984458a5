"""Groups what is loose in the upper tree and writes its texts with a model (L4 and up).

Works on open nodes, and with a model on those that still have a template text, from below
upwards. Each change is a transaction of its own and leaves a whole tree; models are called
outside of transactions, and what they wrote is dropped where the tree changed meanwhile. Closed
groups stay as they are: only the loose end of a day, or the one group that a late record fell
into, is grouped anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import tzinfo
import threading

from sqlalchemy import select

from emv_ros.memory import schema
from emv_ros.memory.schema import NodeRow
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import TreeSettings
from emv_ros.timeline import SECOND_NS
from emv_ros.tree.levels import DAY, EPISODE, GOAL, TOP_GROUP
from emv_ros.tree.lines import facts_of, plain_lines
from emv_ros.tree.partition import Part, evenly, partition
from emv_ros.tree.skeleton import Skeleton
from emv_ros.tree.summaries import SummaryWriter, Written

# So many loose nodes are grouped in one transaction: it must not hold the writers for long.
LONGEST_RUN = 320
# Marks an event or goal that was looked at and stays by itself, in its `prompt_version`.
ALONE = {'model': 'alone', 'rule': 'alone', 'calendar': 'alone for now'}


class Tidy:
    """The grouping and writing of one robot's upper tree."""

    def __init__(self, store: MemoryStore, robot: str, zone: tzinfo, settings: TreeSettings,
                 writer: SummaryWriter, now_ns: int | None = None,
                 cancel: threading.Event | None = None,
                 before_step: Callable[[], None] = lambda: None) -> None:
        """`before_step` is called before each node, and may raise to stop the work there."""
        self.store = store
        self.robot = robot
        self.zone = zone
        self.settings = settings
        self.writer = writer
        self.now_ns = now_ns
        self.cancel = cancel
        self.before_step = before_step
        self.written = 0

    def run(self) -> None:
        """Tidy all that is open; then, within the budget, what still has a template text."""
        for node_id in self._walk(lambda node: node.is_open):
            self._tidy(node_id)
        if self.writer.ready:
            for node_id in self._walk(lambda node: node.made_by == 'calendar'):
                if not self.writer.ready:
                    break
                self._tidy(node_id)
        if not self._is_canceled():
            self._close()

    def _is_canceled(self) -> bool:
        return self.cancel is not None and self.cancel.is_set()

    # Reading

    def _children(self, node_id: int) -> list[NodeRow]:
        with self.store.reading() as session:
            return list(session.scalars(select(NodeRow).where(NodeRow.parent_id == node_id)
                                        .order_by(NodeRow.start_ns, NodeRow.end_ns, NodeRow.id)))

    def _root_id(self) -> int | None:
        with self.store.reading() as session:
            robot_ids = self.store.robot_ids(session, [self.robot])
            return session.scalar(select(NodeRow.id).where(
                NodeRow.robot_id.in_(robot_ids), NodeRow.parent_id.is_(None),
                NodeRow.level >= DAY))

    def _walk(self, wanted: Callable[[NodeRow], bool]) -> Iterator[int]:
        """Yield the nodes that are wanted, below wanted ones, children before their parents."""
        root_id = self._root_id()
        if root_id is None:
            return
        with self.store.reading() as session:
            root = session.get_one(NodeRow, root_id)
        if wanted(root):
            yield from self._below(root, wanted)

    def _below(self, node: NodeRow, wanted: Callable[[NodeRow], bool]) -> Iterator[int]:
        for child in self._children(node.id):
            if child.level > EPISODE and wanted(child):  # an episode is its holder's business
                yield from self._below(child, wanted)
        if not self._is_canceled():
            yield node.id

    def _is_live(self, node: NodeRow) -> bool:
        """Whether a node may well go on: then a template does until it has come to rest."""
        return (self.now_ns is not None
                and 0 <= self.now_ns - node.end_ns < self.settings.goal_gap_s * SECOND_NS)

    # Grouping

    def _tidy(self, node_id: int) -> None:
        self.before_step()
        with self.store.reading() as session:
            node = session.get(NodeRow, node_id)
        if node is None:
            return
        fresh: list[int] = []
        if EPISODE < node.level <= DAY:
            self._regroup(node)
            fresh = self._stack(node_id) if node.level == DAY else self._split(node)
        for written_id in (*self._episodes(node_id, *fresh), *fresh, node_id):
            self._write(written_id)

    @property
    def _has_grouper(self) -> bool:
        """Whether the model makes the groups, too."""
        return self.settings.model_groups and self.writer.ready

    def _episodes(self, *holders: int) -> list[int]:
        """Return the episodes that were made by rule and wait for a model's text."""
        if self.settings.model_groups:
            return []  # their groups come with a text
        return [child.id for holder in holders for child in self._children(holder)
                if child.level == EPISODE and child.made_by == 'calendar']

    def _is_loose(self, child: NodeRow) -> bool:
        has_model = self._has_grouper
        if child.level <= GOAL:
            return child.prompt_version != ALONE['model'] and (
                has_model or child.prompt_version != ALONE['calendar'])
        return (child.level == EPISODE and child.made_by == 'calendar'
                and (has_model or child.is_open))

    def _regroup(self, holder: NodeRow) -> None:
        children = self._children(holder.id)
        if holder.level == DAY and len(children) <= self.settings.fan_out \
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

    def _regroup_run(self, holder: NodeRow, run: Sequence[NodeRow]) -> None:
        pieces = [(child,) if child.level <= GOAL else tuple(self._children(child.id))
                  for child in run]
        items = [item for piece in pieces for item in piece]
        items.sort(key=lambda node: (node.start_ns, node.end_ns, node.id))
        modelled = len(items) if self._has_grouper else 0
        if modelled and self._is_live(holder) and self._is_live(items[-1]):
            modelled = max(0, len(items) - self.settings.fan_out) \
                if len(items) > self.settings.group_size else 0
        parts = partition(items, modelled, self.writer, self.zone, self.settings)
        same = [[node.id for node in part.nodes] for part in parts] == [
            [node.id for node in piece] for piece in pieces]
        if same and all(part.made_by == 'calendar' and (
                len(part.nodes) > 1 or part.nodes[0].prompt_version) for part in parts):
            return
        self._replace(holder.id, run, items, parts)

    def _replace(self, holder_id: int, run: Sequence[NodeRow], items: Sequence[NodeRow],
                 parts: Sequence[Part]) -> None:
        """Put the parts in the place of the run, unless the tree changed since it was read."""
        with self.store.node_writer() as writer:
            skeleton = Skeleton(writer, self.robot, self.zone, self.settings)
            holder = skeleton.get(holder_id)
            groups = [child for child in run if child.level == EPISODE]
            skeleton.fetch([node.id for node in items])
            if holder is None or not self._still(skeleton, holder_id, groups, items):
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
            skeleton.touched |= spare
            skeleton.refresh()
            for group_id, part in made:
                self._sign(writer, group_id, part.summary, part.made_by, part.written)
            self.written += skeleton.written

    def _still(self, skeleton: Skeleton, holder_id: int, groups: Sequence[NodeRow],
               items: Sequence[NodeRow]) -> bool:
        """Whether the items are where they were, with the texts that they had."""
        homes = {holder_id, *(group.id for group in groups)}
        for item in items:
            row = skeleton.get(item.id)
            if row is None or row.parent_id not in homes or row.summary != item.summary:
                return False
        return sum(len(skeleton.children(group.id)) for group in groups) == len(items) - sum(
            item.parent_id == holder_id for item in items)

    def _sign(self, writer: object, node_id: int, summary: str, made_by: str,
              written: Written | None) -> None:
        """Note who made a node, at what cost; a model's text replaces the template."""
        values: dict[str, object] = {'made_by': made_by, 'is_open': False}
        if written is not None:
            values |= {'model': written.model, 'prompt_version': written.prompt_version}
            if made_by == 'model':
                values |= {'summary': summary}
            share = max(1, len(written.groups))
            values |= {'prompt_tokens': written.prompt_tokens // share,
                       'completion_tokens': written.completion_tokens // share}
        writer.update(node_id, **values)  # type: ignore[attr-defined]

    # Stacking

    def _stack(self, day_id: int) -> list[int]:
        """Group the groups of a day while it has too many; return the ids of the new nodes."""
        fresh: list[int] = []
        limit = 2 * self.settings.fan_out
        while len(children := self._children(day_id)) > limit:
            keep = self.settings.fan_out // 2
            older = children[:-keep] if keep else children
            run = self._lowest_run(older)
            if not run:
                break
            level = max(EPISODE, *(child.level for child in run)) + 1
            with self.store.node_writer() as writer:
                skeleton = Skeleton(writer, self.robot, self.zone, self.settings)
                day = skeleton.session.get_one(NodeRow, day_id)
                for part in evenly(run, self.settings.fan_out):
                    rows = [skeleton.session.get_one(NodeRow, node.id) for node in part]
                    if len(rows) > 1:
                        fresh.append(skeleton.add(level, rows, day).id)
                skeleton.refresh()
                self.written += skeleton.written
        return fresh

    def _lowest_run(self, children: Sequence[NodeRow]) -> list[NodeRow]:
        """Return the longest run of nodes of one level, the lowest level that has a long one."""
        for level in range(EPISODE, TOP_GROUP):
            best: list[NodeRow] = []
            run: list[NodeRow] = []
            for child in children:
                run = [*run, child] if max(EPISODE, child.level) == level else []
                best = run if len(run) > len(best) else best
            if len(best) >= self.settings.fan_out:
                return best
        return []

    def _split(self, group: NodeRow) -> list[int]:
        """Split a group that late records made too long; return the ids of the new nodes."""
        children = self._children(group.id)
        if len(children) <= 2 * self.settings.fan_out:
            return []
        fresh: list[int] = []
        with self.store.node_writer() as writer:
            skeleton = Skeleton(writer, self.robot, self.zone, self.settings)
            parent = skeleton.session.get_one(NodeRow, group.parent_id or 0)
            for part in evenly(children, self.settings.fan_out)[1:]:
                rows = [skeleton.session.get_one(NodeRow, node.id) for node in part]
                fresh.append(skeleton.add(group.level, rows, parent).id)
            skeleton.refresh()
            self.written += skeleton.written
        return fresh

    # Writing

    def _write(self, node_id: int) -> None:
        """Have the model write a node's text anew, where it has a template and has come to rest."""
        with self.store.reading() as session:
            node = session.get(NodeRow, node_id)
        if node is None or node.made_by != 'calendar' or not self.writer.ready \
                or self._is_live(node):
            return
        children = self._children(node_id)
        if any(child.level >= EPISODE and child.made_by == 'calendar' for child in children):
            return
        if len(children) == 1:  # nothing to summarise: the template has the child's text
            written: Written | None = Written((), 'rule')
        else:
            written = self.writer.summarise(
                plain_lines(children, self.zone),
                [facts_of(child, self.zone) for child in children])
        if written is None:
            return
        with self.store.node_writer() as writer:
            skeleton = Skeleton(writer, self.robot, self.zone, self.settings)
            if skeleton.get(node_id) is None or [
                    (child.id, child.summary) for child in skeleton.children(node_id)] != [
                    (child.id, child.summary) for child in children]:
                return
            summary = written.groups[0].summary if written.made_by == 'model' else ''
            self._sign(writer, node_id, summary, written.made_by, written)
            self.written += 1

    # Closing

    def _close(self) -> None:
        """Leave only the right edge of the tree open."""
        open_ids = list(self._walk(lambda node: node.is_open))
        open_ids += [child.id for node_id in open_ids for child in self._children(node_id)
                     if child.level == EPISODE and child.is_open]
        edge: list[int] = []
        node_id = self._root_id()
        while node_id is not None:
            edge.append(node_id)
            children = self._children(node_id)
            node_id = children[-1].id if children and children[-1].level >= EPISODE else None
        with self.store.reading() as session:
            now_open = {key for key in edge if session.get_one(NodeRow, key).is_open}
        changes = [(key, False) for key in open_ids if key not in edge]
        changes += [(key, True) for key in edge if key not in now_open]
        if not changes:
            return
        with self.store.writing() as session:
            for key, is_open in changes:
                row = session.get(schema.NodeRow, key)
                if row is not None:
                    row.is_open = is_open
