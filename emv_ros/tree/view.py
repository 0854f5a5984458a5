"""The tree as a reader explores it: one look at a time, never a whole level.

A view belongs to a window: of some robots, of a span, and, for a question with a time, of what
was recorded before it. A node that reaches to or beyond that time is hidden with its text; the
largest nodes that do not take its place. Where there is no one real root to show (several robots,
a hidden root, an empty memory) the root is virtual, with the id 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from typing import Any

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from emv_ros.errors import NotFoundError
from emv_ros.memory import queries, schema
from emv_ros.memory.dropped import is_mark
from emv_ros.memory.queries import Page, Window, as_of
from emv_ros.memory.rows import record_of
from emv_ros.memory.schema import NodeRow
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Node, Record, SkillEvent
from emv_ros.timeline import Interval, format_stamp
from emv_ros.tree.levels import DAY, EVENT, LIFE
from emv_ros.tree.raw import RAW_KINDS
from emv_ros.tree.texts import join_within

VIRTUAL_ROOT_ID = 0
MAX_RECORDS = 500
IN_LIMIT = 500


class TreeView:
    """A window on the tree of one or several robots. All nodes come in order of time."""

    def __init__(self, store: MemoryStore, window: Window, zone: tzinfo) -> None:
        self.store = store
        self.window = window
        self.zone = zone

    @property
    def root(self) -> Node:
        """The one node that holds all others."""
        tops = self._tops()
        if len(tops) == 1:
            return tops[0]
        start_ns = min((node.start_ns for node in tops), default=0)
        end_ns = max((node.end_ns for node in tops), default=0)
        return Node(robot=', '.join(dict.fromkeys(node.robot for node in tops)), level=LIFE + 1,
                    start_ns=start_ns, end_ns=end_ns, summary=self._said(tops), made_by='calendar',
                    id=VIRTUAL_ROOT_ID)

    def node(self, node_id: int) -> Node:
        """Return a node. Raises NotFoundError where there is none, or the window hides it."""
        if node_id == VIRTUAL_ROOT_ID:
            return self.root
        with self.store.reading() as session:
            row = session.get(NodeRow, node_id)
            robots = self._robots(session)
            if row is None or row.robot_id not in robots or not self._is_shown(row):
                raise NotFoundError(f'there is no node n{node_id} in this memory')
            return self._node(row, robots)

    def children(self, node_id: int) -> list[Node]:
        """Return the children of a node that the window shows."""
        if node_id == VIRTUAL_ROOT_ID:
            return self._tops()
        self.node(node_id)
        with self.store.reading() as session:
            return self._shown_below(session, node_id)

    def child_counts(self, node_ids: Sequence[int], level: int | None = None) -> dict[int, int]:
        """Return how many children the window shows of each node that has any, from `level` up."""
        found: dict[int, int] = {}
        if VIRTUAL_ROOT_ID in node_ids:
            found[VIRTUAL_ROOT_ID] = len(self._fitting(self._tops(), level))
        with self.store.reading() as session:
            for some in _parts(node_ids):
                query = select(NodeRow.parent_id, func.count()).where(
                    NodeRow.parent_id.in_(some), *self._shown_ones(level))
                found |= {parent_id: count for parent_id, count in session.execute(
                    query.group_by(NodeRow.parent_id)) if parent_id is not None}
        return {key: count for key, count in found.items() if count}

    def first_children(self, node_ids: Sequence[int], level: int | None = None,
                       most: int | None = None) -> dict[int, list[Node]]:
        """Return the first `most` children of each node that the window shows, from `level` up."""
        found: dict[int, list[Node]] = {}
        if VIRTUAL_ROOT_ID in node_ids:
            found[VIRTUAL_ROOT_ID] = self._fitting(self._tops(), level)[:most]
        order = (NodeRow.start_ns, NodeRow.ordinal, NodeRow.id)
        with self.store.reading() as session:
            robots = self._robots(session)
            for some in _parts(node_ids):
                ranked = select(NodeRow.id, func.row_number().over(
                    partition_by=NodeRow.parent_id, order_by=order).label('place')).where(
                        NodeRow.parent_id.in_(some), *self._shown_ones(level)).subquery()
                query = select(NodeRow).join(ranked, NodeRow.id == ranked.c.id).order_by(*order)
                if most is not None:
                    query = query.where(ranked.c.place <= most)
                for row in session.scalars(query):
                    found.setdefault(row.parent_id or 0, []).append(self._node(row, robots))
        return found

    def level_counts(self, span: Interval | None = None) -> dict[int, int]:
        """Return how many nodes of each level the window shows, only those in a span if given."""
        with self.store.reading() as session:
            query = select(NodeRow.level, func.count()).where(
                NodeRow.robot_id.in_(list(self._robots(session))), *self._shown_ones())
            if span is not None:
                query = query.where(NodeRow.start_ns <= span.end_ns,
                                    NodeRow.end_ns >= span.start_ns)
            found = session.execute(query.group_by(NodeRow.level))
            return {level: count for level, count in found}  # noqa: C416 - rows, not pairs

    def path(self, node_id: int) -> list[Node]:
        """Return the nodes from the root down to a node, both included."""
        nodes = [self.node(node_id)]
        with self.store.reading() as session:
            robots = self._robots(session)
            while nodes[0].parent_id is not None:
                row = session.get(NodeRow, nodes[0].parent_id)
                if row is None or not self._is_shown(row):
                    break
                nodes.insert(0, self._node(row, robots))
        root = self.root
        return nodes if nodes[0].id == root.id else [root, *nodes]

    def days(self, start_ns: int | None = None, end_ns: int | None = None) -> list[Node]:
        """Return the days with records in [start_ns, end_ns); parts of a day that is hidden."""
        with self.store.reading() as session:
            return self._search(session, DAY, start_ns, end_ns)

    def overlapping(self, node_id: int, interval: Interval) -> list[Node]:
        """Return the children of a node that share time with an interval, an instant included."""
        return [child for child in self.children(node_id)
                if Interval(child.start_ns, child.end_ns).overlaps(interval)]

    def records(self, node_id: int, limit: int = MAX_RECORDS) -> list[Record]:
        """Return what a node and those below it were made of, at most `limit` records.

        An event of raw records alone gives its pictures.
        """
        node = self.node(node_id)
        found: list[tuple[str, int]] = []
        waiting = [node_id] if node_id else [child.id or 0 for child in self.children(0)]
        with self.store.reading() as session:
            while waiting and len(found) < limit:
                found.extend(self._members(session, waiting))
                waiting = [row.id for row in self._rows_below(session, waiting)
                           if self._is_in_window(row)]
            records = self._records(session, found[:limit])
        if not records and node.level == EVENT:
            records = [image for image in queries.images(self.store, Window(
                robots=(node.robot,), start_ns=node.start_ns, end_ns=node.end_ns + 1),
                page=Page(limit=limit)) if self._is_of_window(image)]
        return sorted(records, key=lambda record: (record.stamp_ns, record.id or 0))

    def covering(self, kind: str, ref_id: int) -> Node | None:
        """Return the node that a record belongs to; of raw ones, the lowest that covers it."""
        if kind == 'node':
            return self.node(ref_id)
        with self.store.reading() as session:
            robots = self._robots(session)
            if kind in RAW_KINDS:
                record = session.get(schema.KINDS[kind], ref_id)
                row = self._lowest(session, record) if record is not None else None
            else:
                member = session.get(schema.NodeMemberRow, (kind, ref_id))
                row = session.get(NodeRow, member.node_id) if member is not None else None
            if row is None or row.robot_id not in robots or not self._is_shown(row):
                return None
            return self._node(row, robots)

    # Rows

    def _robots(self, session: Session) -> dict[int, str]:
        return self.store.robot_ids(session, self.window.robots)

    def _node(self, row: NodeRow, robots: dict[int, str]) -> Node:
        node: Node = record_of('node', row, robots[row.robot_id])
        return node

    def _is_in_window(self, row: NodeRow) -> bool:
        """Whether a node shares time with the window's span."""
        start_ns, end_ns = self.window.start_ns, self.window.end_ns
        return ((end_ns is None or row.start_ns < end_ns)
                and (start_ns is None or row.end_ns > start_ns or row.start_ns >= start_ns))

    def _is_shown(self, row: NodeRow) -> bool:
        before_ns = self.window.before_ns
        return self._is_in_window(row) and (before_ns is None or row.end_ns < before_ns)

    def _shown_ones(self, level: int | None = None) -> list[ColumnElement[bool]]:
        """Return in SQL what `_is_shown` says, and that a node is of `level` or above."""
        window, row = self.window, NodeRow
        conditions: list[ColumnElement[bool]] = []
        if window.end_ns is not None:
            conditions.append(row.start_ns < window.end_ns)
        if window.start_ns is not None:
            conditions.append(or_(row.end_ns > window.start_ns, row.start_ns >= window.start_ns))
        if window.before_ns is not None:
            conditions.append(row.end_ns < window.before_ns)
        if level is not None:
            conditions.append(row.level >= level)
        return conditions

    @staticmethod
    def _fitting(nodes: Sequence[Node], level: int | None) -> list[Node]:
        return [node for node in nodes if level is None or node.level >= level]

    def _rows_below(self, session: Session, node_ids: Sequence[int]) -> list[NodeRow]:
        return [row for some in _parts(node_ids) for row in session.scalars(
            select(NodeRow).where(NodeRow.parent_id.in_(some))
            .order_by(NodeRow.start_ns, NodeRow.ordinal, NodeRow.id))]

    def _shown_below(self, session: Session, node_id: int) -> list[Node]:
        robots = self._robots(session)
        return [self._node(row, robots) for row in self._rows_below(session, [node_id])
                if self._is_shown(row)]

    def _roots(self, session: Session, robots: Iterable[int]) -> list[NodeRow]:
        return list(session.scalars(select(NodeRow).where(
            NodeRow.parent_id.is_(None), NodeRow.level >= DAY, NodeRow.robot_id.in_(list(robots)))
            .order_by(NodeRow.robot_id)))

    def _tops(self) -> list[Node]:
        """Return the largest nodes that the window shows."""
        with self.store.reading() as session:
            robots = self._robots(session)
            shown: list[NodeRow] = []
            waiting = self._roots(session, robots)
            while waiting:
                shown.extend(row for row in waiting if self._is_shown(row))
                hidden = [row.id for row in waiting
                          if not self._is_shown(row) and self._may_hold(row)]
                waiting = self._rows_below(session, hidden) if hidden else []
            nodes = [self._node(row, robots) for row in shown]
        return sorted(nodes, key=lambda node: (node.start_ns, node.end_ns, node.id or 0))

    def _may_hold(self, row: NodeRow) -> bool:
        """Whether a hidden node may have something below it that the window shows."""
        before_ns = self.window.before_ns
        return self._is_in_window(row) and before_ns is not None and row.start_ns < before_ns

    def _search(self, session: Session, level: int, start_ns: int | None,
                end_ns: int | None) -> list[Node]:
        """Return the nodes of a level that overlap a span; parts of those that are hidden."""
        robots = self._robots(session)
        found: list[NodeRow] = []
        waiting = self._roots(session, robots)
        while waiting:
            below: list[int] = []
            for row in waiting:
                if (end_ns is not None and row.start_ns >= end_ns) or (
                        start_ns is not None and row.end_ns <= start_ns > row.start_ns):
                    continue
                if row.level <= level and self._is_shown(row):
                    found.append(row)
                elif row.level > level or self._may_hold(row):
                    below.append(row.id)
            waiting = self._rows_below(session, below) if below else []
        return [self._node(row, robots)
                for row in sorted(found, key=lambda row: (row.start_ns, row.end_ns, row.id))]

    def _lowest(self, session: Session, record: Any) -> NodeRow | None:
        """Return the lowest node that covers the stamp of a record.

        What was recorded shortly before the first event of a day, or after the last, is covered
        by no event: it belongs to the day that is nearest in time.
        """
        found: NodeRow | None = None
        waiting = self._roots(session, [record.robot_id])
        while waiting:
            covers = [row for row in waiting if row.start_ns <= record.stamp_ns <= row.end_ns]
            if not covers:
                break
            found = max(covers, key=lambda row: (row.start_ns, -row.end_ns))
            waiting = self._rows_below(session, [found.id])
        if (found is None or found.level > DAY) and not record.pending:
            return self._nearest_day(session, record) or found
        return found

    def _nearest_day(self, session: Session, record: Any) -> NodeRow | None:
        days = select(NodeRow).where(NodeRow.robot_id == record.robot_id, NodeRow.level == DAY)
        stamp_ns = record.stamp_ns
        before = session.scalar(days.where(NodeRow.start_ns <= stamp_ns)
                                .order_by(NodeRow.start_ns.desc()).limit(1))
        after = session.scalar(days.where(NodeRow.start_ns > stamp_ns)
                               .order_by(NodeRow.start_ns).limit(1))
        return min((row for row in (before, after) if row is not None), key=lambda row: max(
            row.start_ns - stamp_ns, stamp_ns - row.end_ns), default=None)

    # Records

    def _members(self, session: Session, node_ids: Sequence[int]) -> list[tuple[str, int]]:
        row = schema.NodeMemberRow
        return [(kind, ref_id) for some in _parts(node_ids)
                for kind, ref_id in session.execute(
                    select(row.kind, row.ref_id).where(row.node_id.in_(some)))
                if not is_mark(kind)]

    def _records(self, session: Session, members: Sequence[tuple[str, int]]) -> list[Any]:
        robots = self._robots(session)
        by_kind: dict[str, list[int]] = {}
        for kind, ref_id in members:
            by_kind.setdefault(kind, []).append(ref_id)
        found: list[Any] = []
        if 'scene' in by_kind:
            found.extend(scene for some in _parts(by_kind.pop('scene'))
                         for scene in queries.scenes(self.store, ids=some))
        for kind, ids in by_kind.items():
            table = schema.KINDS[kind]
            for some in _parts(ids):
                rows = session.scalars(select(table).where(table.id.in_(some)))
                found.extend(record_of(kind, row, robots.get(row.robot_id, '')) for row in rows)
        before_ns = self.window.before_ns
        return [as_of(record, before_ns) if isinstance(record, SkillEvent) else record
                for record in found if self._is_of_window(record)]

    def _is_of_window(self, record: Any) -> bool:
        """Whether a record is known at the question's time and shares time with the window."""
        start_ns, ends = record.stamp_ns, (self.window.end_ns, self.window.before_ns)
        end_ns = getattr(record, 'end_ns', None)
        if end_ns is None:  # of a run that was never ended: up to the last report about it
            end_ns = getattr(record, 'last_report_ns', start_ns - 1) + 1
        first_ns = self.window.start_ns
        return (all(stamp is None or start_ns < stamp for stamp in ends)
                and (first_ns is None or end_ns > first_ns or start_ns >= first_ns))

    def _said(self, tops: Sequence[Node]) -> str:
        if not tops:
            return 'nothing is remembered here'
        before_ns = self.window.before_ns
        head = f'before {format_stamp(before_ns, self.zone)}' if before_ns is not None else ''
        names = join_within(dict.fromkeys(node.name or node.summary for node in tops), 400)
        return f'{head}: {names}' if head else names


def _parts(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield the ids in lists that databases take in one query."""
    return (ids[start:start + IN_LIMIT] for start in range(0, len(ids), IN_LIMIT))
