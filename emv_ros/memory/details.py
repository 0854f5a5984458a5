"""All that the memory holds about one id: its columns, its place in the tree, what hangs on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from emv_ros.errors import NotFoundError
from emv_ros.memory import schema
from emv_ros.memory.dropped import PREFIX, lost_by
from emv_ros.memory.entities import merged_ids, stands_for
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ID_LETTERS

Reference = tuple[str, int]
# Bookkeeping of the store that says nothing of what happened.
_INTERNAL = frozenset(('id', 'robot_id', 'pending', 'parent_id'))


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """One row with its surroundings. `values` holds its columns by name, stamps in ns.

    `path` runs from the root of the tree to the parent; `children` are tree nodes in order;
    `members` the records that a node was made of, or the observations of a clip or entity (of one
    that was merged, those of the entity that it stands for). `parts` are rows that belong to this
    one alone: objects and relations of a scene, what persons said of an entity, what was merged
    into it. `picture_path` is '' where there is none. `lost` are the kinds of records that a node
    was made of and that retention dropped.
    """

    kind: str
    ref_id: int
    robot: str
    values: dict[str, Any]
    path: tuple[int, ...] = ()
    children: tuple[int, ...] = ()
    members: tuple[Reference, ...] = ()
    parts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    images: tuple[int, ...] = ()
    picture_path: str = ''
    lost: tuple[str, ...] = ()


def parse_id(text: str) -> Reference | None:
    """Return (kind, id) of an id as it is shown ('s5'), or None where it is none."""
    kinds = {letter: kind for kind, letter in ID_LETTERS.items()}
    text = text.strip().lower()
    number = text[1:]
    if text[:1] not in kinds or not number.isascii() or not number.isdigit() or len(number) > 18:
        return None
    return kinds[text[0]], int(number)


def details(store: MemoryStore, kind: str, ref_id: int) -> Details:
    """Return what is known of an id. Raises NotFoundError where it names nothing."""
    with store.reading() as session:
        row = session.get(schema.KINDS[kind], ref_id)
        if row is None:
            raise NotFoundError(
                f'there is no {kind.replace("_", " ")} {ID_LETTERS.get(kind, "")}{ref_id}')
        robots = store.robot_ids(session)
        picture = ''
        if kind == 'image' and not row.gone:
            picture = str(store.pictures.path(row.sha256, row.media_type))
        return Details(
            kind=kind, ref_id=ref_id, robot=robots.get(getattr(row, 'robot_id', 0), ''),
            values=_columns(row), path=_path(session, kind, row),
            children=_children(session, kind, ref_id), members=_members(session, kind, ref_id),
            parts=_parts(session, kind, ref_id), images=_images(session, kind, row),
            picture_path=picture,
            lost=lost_by(session, [ref_id]).get(ref_id, ()) if kind == 'node' else ())


def _columns(row: Any, without: frozenset[str] = _INTERNAL) -> dict[str, Any]:
    return {column.name: getattr(row, column.name) for column in row.__table__.columns
            if column.name not in without}


def _path(session: Session, kind: str, row: Any) -> tuple[int, ...]:
    member = schema.NodeMemberRow
    parent = row.parent_id if kind == 'node' else session.scalar(
        select(member.node_id).where(member.kind == kind, member.ref_id == row.id))
    path: list[int] = []
    while parent is not None and parent not in path:
        path.insert(0, parent)
        parent = session.scalar(select(schema.NodeRow.parent_id).where(schema.NodeRow.id == parent))
    return tuple(path)


def _children(session: Session, kind: str, ref_id: int) -> tuple[int, ...]:
    if kind != 'node':
        return ()
    row = schema.NodeRow
    return tuple(session.scalars(select(row.id).where(row.parent_id == ref_id).order_by(
        row.ordinal, row.start_ns, row.id)))


def _members(session: Session, kind: str, ref_id: int) -> tuple[Reference, ...]:
    observation, member = schema.ObservationRow, schema.NodeMemberRow
    if kind == 'node':
        return tuple((name, key) for name, key in session.execute(
            select(member.kind, member.ref_id).where(
                member.node_id == ref_id, ~member.kind.startswith(PREFIX, autoescape=True))
            .order_by(member.kind, member.ref_id)))
    if kind not in ('entity', 'clip'):
        return ()
    column = observation.clip_id
    if kind == 'entity':
        column, ref_id = observation.entity_id, stands_for(session, ref_id) or ref_id
    return tuple(('observation', key) for key in session.scalars(
        select(observation.id).where(column == ref_id).order_by(observation.stamp_ns)))


def _parts(session: Session, kind: str, ref_id: int) -> dict[str, list[dict[str, Any]]]:
    if kind == 'entity':
        return _said_of(session, stands_for(session, ref_id) or ref_id)
    if kind != 'scene':
        return {}
    hidden = _INTERNAL | {'scene_id', 'stamp_ns'}
    return {name: [_columns(row, hidden) for row in session.scalars(
        select(table).where(table.scene_id == ref_id).order_by(table.id))]
        for name, table in (('objects', schema.SceneObjectRow),
                            ('relations', schema.SceneRelationRow))}


def _said_of(session: Session, entity_id: int) -> dict[str, list[dict[str, Any]]]:
    """Return what persons said of an entity: verdicts, names; and what was merged into it."""
    seen, verdict, naming = schema.ObservationRow, schema.VerdictRow, schema.NamingRow
    its = select(seen.id).where(seen.entity_id == entity_id)
    letter = ID_LETTERS['observation']
    said = [{'verdict': row.verdict, 'first': f'{letter}{row.first_id}',
             'second': f'{letter}{row.second_id}', 'author': row.author,
             'stamp_ns': row.stamp_ns, 'reason': row.reason}
            for row in session.scalars(select(verdict).where(or_(
                verdict.first_id.in_(its), verdict.second_id.in_(its))).order_by(verdict.id))]
    names = [{'name': row.name, 'author': row.author, 'stamp_ns': row.stamp_ns,
              'reason': row.reason}
             for row in session.scalars(select(naming).where(
                 naming.observation_id.in_(its)).order_by(naming.id))]
    merged = [{'id': f'{ID_LETTERS["entity"]}{key}'}
              for key in merged_ids(session, [entity_id]).get(entity_id, ())]
    return {name: rows for name, rows in (
        ('verdicts', said), ('names', names), ('merged', merged)) if rows}


def _images(session: Session, kind: str, row: Any) -> tuple[int, ...]:
    if kind == 'scene':
        return (row.image_id,) if row.image_id is not None else ()
    if kind != 'observation':
        return ()
    shown = schema.ObservationImageRow
    return tuple(session.scalars(select(shown.image_id).where(
        shown.observation_id == row.id).order_by(shown.id)))
