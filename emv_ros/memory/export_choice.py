"""Which rows of a memory go into an export, and which of those that they name do.

A part of a memory, by time or by robot, names rows that are not in it; such a link is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select, true
from sqlalchemy.orm import Session, aliased

from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.export_format import BY_NAME, Kind
from emv_ros.memory.queries import Window, within
from emv_ros.memory.store import MemoryStore

_SEEN = schema.ObservationRow


class Choice:
    """The rows of a window in a reading session; all where it is open on all sides."""

    def __init__(self, store: MemoryStore, session: Session, window: Window) -> None:
        self.session = session
        self.robots = store.robot_ids(session, window.robots)
        self.zones = _zones(session)
        self.has_tree = window.start_ns is None and window.end_ns is None
        self._store = store
        self._window = window
        self._is_all = self.has_tree and not window.robots

    def query(self, kind: Kind) -> Any:
        """Return the query of the rows of a kind, in the order in which they are written."""
        row, query = kind.row, select(*kind.row.__table__.columns)
        if kind.name == 'node':
            return self._nodes(query)
        return self._narrowed(kind, query).order_by(row.id)

    def separations(self) -> Any:
        """Return the query of the pairs that were seen apart."""
        row = schema.SeparationRow
        query = select(row.first_id, row.second_id, row.shared_frames)
        return query.where(self._pair(row)).order_by(row.first_id, row.second_id)

    def kept(self, kind: str, ids: Collection[int]) -> set[int]:
        """Return those of the ids that are in the export."""
        if self._is_all:
            return set(ids)
        row = BY_NAME[kind].row
        return set(self.session.scalars(self._narrowed(
            BY_NAME[kind], select(row.id)).where(among(row.id, sorted(set(ids))))))

    def zone_of(self, row: Any) -> str:
        """Return the zone in which the times of a row are told."""
        session_id = getattr(row, 'session_id', None)
        return self.zones.get(session_id or 0, '') or getattr(row, 'zone', '') or 'UTC'

    def _narrowed(self, kind: Kind, query: Any) -> Any:
        row, window = kind.row, self._window
        if self._is_all:
            return query
        if kind.name in ('verdict', 'naming'):
            return query.where(
                self._pair(row) if kind.name == 'verdict' else self._is_seen(row.observation_id))
        if kind.name == 'entity':
            return query.where(self._is_met())
        if kind.name == 'query':
            return query.where(*self._span(row.stamp_ns, row.stamp_ns))
        if kind.name == 'session':  # late records lie before their session began
            return query.where(row.robot_id.in_(self.robots))
        if kind.name == 'clip':
            return query.where(row.robot_id.in_(self.robots),
                               *self._span(row.start_ns, row.end_ns))
        return within(self._store, self.session, query, row, window)

    def _span(self, start: Any, end: Any) -> Iterable[ColumnElement[bool]]:
        """Yield the conditions that a span touches the window."""
        if self._window.end_ns is not None:
            yield start < self._window.end_ns
        if self._window.start_ns is not None:
            yield or_(end > self._window.start_ns, start >= self._window.start_ns)

    def _is_seen(self, column: Any) -> ColumnElement[bool]:
        if self._is_all:
            return true()
        condition: ColumnElement[bool] = column.in_(self._narrowed(
            BY_NAME['observation'], select(_SEEN.id)))
        return condition

    def _pair(self, row: Any) -> ColumnElement[bool]:
        return and_(self._is_seen(row.first_id), self._is_seen(row.second_id))

    def _is_met(self) -> ColumnElement[bool]:
        """Whether an entity was observed, or was merged into one that was, at whatever remove."""
        row, robots = schema.EntityRow, schema.EntityRow.robot_id.in_(self.robots)
        if self.has_tree:
            return robots
        met = select(row.id).where(robots, row.id.in_(self._narrowed(
            BY_NAME['observation'], select(_SEEN.entity_id)))).cte('met', recursive=True)
        other = aliased(row)
        met = met.union(select(other.id).join(met, other.merged_into == met.c.id))
        return row.id.in_(select(met.c.id))

    def _nodes(self, query: Any) -> Any:
        """Return the query of the nodes from the root downwards: none in a part by time."""
        row, below = schema.NodeRow, aliased(schema.NodeRow)
        depths = select(row.id, func.coalesce(0, 0).label('depth')).where(
            row.parent_id.is_(None), row.robot_id.in_(self.robots)).cte('depths', recursive=True)
        depths = depths.union_all(select(below.id, depths.c.depth + 1).join(
            depths, below.parent_id == depths.c.id))
        return query.join(depths, depths.c.id == row.id).where(
            true() if self.has_tree else row.id.is_(None)).order_by(depths.c.depth, row.id)


def _zones(session: Session) -> dict[int, str]:
    row = schema.SessionRow
    return {item.id: item.zone for item in session.execute(select(row.id, row.zone))}
