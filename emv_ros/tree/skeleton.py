"""The upper tree: each event and goal has a place under its day, and the days one root.

No reader ever meets a tree without a root or a parent without children, whenever a consolidation
is stopped: it is whole at the end of every transaction. Where something changed below that a text
may speak of, the text is one from a template, and the node is open and marked as made by the
calendar, as all above it are, until `emv_ros.tree.tidy` has grouped it and, with a model, written
it anew.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from datetime import date, tzinfo
from typing import Any

from sqlalchemy import delete, func, select

from emv_ros.memory import schema
from emv_ros.memory.node_writer import NodeWriter
from emv_ros.records import Node
from emv_ros.settings import TreeSettings
from emv_ros.timeline import SECOND_NS, local_date
from emv_ros.tree.heads import Head, drop_head, head_of
from emv_ros.tree.levels import (
    DAY,
    EPISODE,
    GOAL,
    Path,
    common,
    level_of,
    name_of,
    path_named,
    path_of,
)
from emv_ros.tree.partition import has_room
from emv_ros.tree.stretch import chunks
from emv_ros.tree.texts import headline
from emv_ros.tree.upper_texts import Item, group_text, period_text


class Skeleton:
    """The upper tree of one robot within one write transaction. Call `refresh` before it ends."""

    def __init__(self, writer: NodeWriter, robot: str, zone: tzinfo,
                 settings: TreeSettings) -> None:
        self.writer = writer
        self.session = writer.session
        self.robot = robot
        self.robot_id = writer.store.robot_id(writer.session, robot)
        self.zone = zone
        self.settings = settings
        self.touched: set[int] = set()  # their spans or texts may have to be renewed
        self.retold: set[int] = set()  # those of them that have other children, or changed ones
        self.written = 0
        self._held: list[schema.NodeRow] = []  # a session forgets rows that nobody holds

    # Reading

    def get(self, node_id: int) -> schema.NodeRow | None:
        """Return the row of a node, or None where it is gone."""
        return self.session.get(schema.NodeRow, node_id)

    def fetch(self, node_ids: Sequence[int]) -> None:
        """Load nodes at once that `get` will be asked for."""
        for part in chunks(node_ids):
            self._held = [*self._held, *self.session.scalars(
                select(schema.NodeRow).where(schema.NodeRow.id.in_(part)))]

    def children(self, node_id: int) -> list[schema.NodeRow]:
        """Return the children of a node in order of time."""
        row = schema.NodeRow
        return list(self.session.scalars(
            select(row).where(row.parent_id == node_id).order_by(row.start_ns, row.end_ns, row.id)))

    def root(self) -> schema.NodeRow | None:
        """Return the root, or None where there is no tree yet."""
        row = schema.NodeRow
        return self.session.scalar(select(row).where(
            row.robot_id == self.robot_id, row.parent_id.is_(None), row.level >= DAY))

    def retell(self, node_id: int) -> None:
        """Have a node's text, and those above it, made anew by `refresh`."""
        self.touched.add(node_id)
        self.retold.add(node_id)

    # Placing

    def attach(self, items: Iterable[schema.NodeRow]) -> None:
        """Give events and goals their places under their days, and open the paths above them."""
        days: dict[date, schema.NodeRow] = {}
        below: dict[int, list[schema.NodeRow]] = {}
        for item in sorted(items, key=lambda node: (node.start_ns, node.id)):
            day = local_date(item.start_ns, self.zone)
            if day not in days:
                days[day] = self._day(path_of(day))
            parent = self._place_for(item, days[day], below)
            item.parent_id = parent.id
            item.prompt_version = ''
            insort(below[parent.id], item, key=lambda node: (node.start_ns, node.id))
            self.retell(parent.id)
        self.session.flush()

    def _place_for(self, item: schema.NodeRow, parent: schema.NodeRow,
                   below: dict[int, list[schema.NodeRow]]) -> schema.NodeRow:
        """Return where an item belongs: the day at its edge, else the group around it."""
        while True:
            if parent.id not in below:
                below[parent.id] = self.children(parent.id)
            children = below[parent.id]
            at = bisect_right(children, item.start_ns, key=lambda node: node.start_ns)
            if not at:
                return parent
            before = children[at - 1]
            if at == len(children) and parent.level == DAY:
                self._open_edge(before, item)
                return parent
            if before.level <= GOAL:
                return parent
            parent = before

    def detach(self, item: schema.NodeRow) -> None:
        """Take an event or goal out of its place."""
        if item.parent_id is not None:
            self.retell(item.parent_id)
            item.parent_id = None
            self.session.flush()

    def adopt(self, parent: schema.NodeRow, children: Iterable[schema.NodeRow]) -> None:
        """Put nodes under a parent."""
        for child in children:
            if child.parent_id is not None:
                self.retell(child.parent_id)
            child.parent_id = parent.id
        self.retell(parent.id)
        self.session.flush()

    def add(self, level: int, children: Sequence[schema.NodeRow], parent: schema.NodeRow | None,
            name: str = '', **made: Any) -> schema.NodeRow:
        """Add a group or period over children; without a parent it is the root."""
        node_id = self.writer.add(Node(
            robot=self.robot, level=level, start_ns=children[0].start_ns if children else 0,
            end_ns=max((child.end_ns for child in children), default=0), summary='…', name=name,
            parent_id=parent.id if parent is not None else None, is_open=True,
            **{'made_by': 'calendar', **made}))
        node = self.session.get_one(schema.NodeRow, node_id)
        self.adopt(node, children)
        return node

    # The calendar

    def _day(self, path: Path) -> schema.NodeRow:
        """Return the node of a day, made with the periods above it where it is new."""
        top = self.root()
        if top is None:
            return self.add(DAY, (), None, name_of(path))
        at = path_named(top.name)
        shared = common(at, path)
        if shared != at:
            top = self.add(level_of(shared), [top], None, name_of(shared))
            at = shared
        while at != path:
            inner, below = self._inner(top, at, path)
            if inner is None:
                return self.add(DAY, (), top, name_of(path))
            shared = common(below, path)
            if shared != below:
                inner = self.add(level_of(shared), [inner], top, name_of(shared))
            top, at = inner, shared
        return top

    def _inner(self, top: schema.NodeRow, at: Path,
               path: Path) -> tuple[schema.NodeRow | None, Path]:
        """Return the child that shares more of a path than its period, with its own path."""
        for child in self.children(top.id):
            below = path_named(child.name)
            if len(common(below, path)) > len(at):
                return child, below
        return None, ()

    def _open_edge(self, last: schema.NodeRow, item: schema.NodeRow) -> None:
        """Let the last group of a day be grouped anew with what follows it closely."""
        if item.start_ns - last.end_ns > self.settings.goal_gap_s * SECOND_NS:
            return
        if last.level <= GOAL:
            last.prompt_version = ''
        elif last.level == EPISODE and has_room(self.children(last.id), self.settings.fan_out):
            last.is_open, last.made_by = True, 'calendar'

    # Keeping it whole

    def refresh(self) -> None:
        """Make spans, order and texts of all touched nodes, and of those above them, true again."""
        while self.touched:
            nodes = [node for node_id in self.touched if (node := self.get(node_id)) is not None]
            if not nodes:
                self.touched.clear()
                break
            lowest = min(node.level for node in nodes)
            for node in sorted(nodes, key=lambda node: node.id):
                if node.level == lowest:
                    self.touched.discard(node.id)
                    above = node.parent_id
                    is_new = self._renew(node)
                    if above is not None:
                        self.retell(above) if is_new else self.touched.add(above)
            self.touched = {node_id for node_id in self.touched if self.get(node_id) is not None}
        self.retold.clear()
        self.session.flush()

    def _renew(self, node: schema.NodeRow) -> bool:
        """Renew a node, or remove it; return whether those above have to be told anew, too."""
        children = self.children(node.id)
        if not children:
            self.remove(node)
            return True
        if len(children) == 1 and node.level != DAY:
            children[0].parent_id = node.parent_id
            self.session.flush()
            self.remove(node)
            return True
        for ordinal, child in enumerate(children):
            child.ordinal = ordinal
        values: dict[str, Any] = {
            'start_ns': children[0].start_ns, 'end_ns': max(child.end_ns for child in children)}
        is_stale = node.made_by == 'calendar' or node.id in self.retold or any(
            child.level >= EPISODE and child.made_by == 'calendar' for child in children)
        if is_stale:
            values |= {
                'is_open': True, 'made_by': 'calendar', 'model': '', 'prompt_version': '',
                'prompt_tokens': 0, 'completion_tokens': 0, 'cost': 0.0,
                'summary': self.template(node, children)}
            self.written += 1
        self.writer.update(node.id, **values)
        return is_stale

    def retell_above(self, node: schema.NodeRow) -> None:
        """Renew the templates of the periods above a node that quote its text."""
        while node.level >= DAY and node.parent_id is not None:
            node = self.session.get_one(schema.NodeRow, node.parent_id)
            if node.made_by != 'calendar':
                break
            summary = self.template(node, self.children(node.id))
            if summary == node.summary:
                break
            self.writer.update(node.id, summary=summary)
            self.written += 1

    def remove(self, node: schema.NodeRow) -> None:
        """Remove a node with its text and head."""
        document = schema.DocumentRow
        self.session.execute(delete(document).where(
            document.kind == 'node', document.ref_id == node.id))
        drop_head(self.session, node.id)
        self.session.delete(node)
        self.session.flush()

    # Texts

    def template(self, node: schema.NodeRow, children: Sequence[schema.NodeRow]) -> str:
        """Return the text of a group or period from a template."""
        limit = self.settings.max_summary_chars
        if node.level > DAY:
            head = head_of(self.session, node.id, children) or Head('', 0)
            return period_text(
                [(child.level, child.start_ns, child.end_ns, child.summary)
                 for child in children[head.count if head.text else 0:]],
                self.zone, limit, head.text)
        return group_text(self._items(children, node.level == EPISODE), node.level == DAY,
                          self.zone, limit)

    def _items(self, nodes: Sequence[schema.NodeRow], in_detail: bool) -> list[Item]:
        """Return the events and goals of groups, in order of time."""
        row = schema.NodeRow
        items: list[Item] = []
        groups: list[int] = []
        for node in nodes:
            if node.level <= GOAL:
                said = headline(node.name, node.summary if in_detail or not node.name else '')
                items.append(Item(node.start_ns, node.end_ns, node.name, node.status, said))
            else:
                groups.append(node.id)
        while groups:
            found = self.session.execute(select(
                row.id, row.level, row.start_ns, row.end_ns, row.name, row.status,
                func.substr(row.summary, 1, 120)).where(row.parent_id.in_(groups)))
            groups = []
            for node_id, level, start_ns, end_ns, name, status, summary in found:
                if level <= GOAL:
                    items.append(Item(start_ns, end_ns, name, status,
                                      headline(name, '' if name else summary)))
                else:
                    groups.append(node_id)
        return sorted(items)
