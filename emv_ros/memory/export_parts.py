"""What lies in tables beside a row and stands in its line: objects, pictures, looks, members.

The parts of a page of rows are read in one query each. They have no ids within the file.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from emv_ros.errors import RecordError
from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.dropped import is_mark, kind_of, mark_of
from emv_ros.memory.export_choice import Choice
from emv_ros.memory.export_format import BY_NAME, Column, Kind, number, text

Parts = dict[int, dict[str, list[Any]]]
Shift = Callable[[str, int], int]
Rows = list[tuple[type[Any], dict[str, Any]]]

_OBJECT = tuple(Column(name, name, kind, is_nullable) for name, kind, is_nullable in (
    ('name', str, False), ('instance', str, False), ('bbox', list, True), ('position', list, True),
    ('frame', str, False), ('confidence', float, True), ('state', str, False)))
_RELATION = ('subject', 'predicate', 'object')


def parts_of(choice: Choice, kind: Kind, ids: Collection[int]) -> Parts:
    """Return, of rows of a kind, the further fields of their lines."""
    found: Parts = {}

    def put(key: int, name: str, part: Any) -> None:
        found.setdefault(key, {}).setdefault(name, []).append(part)

    if kind.name == 'scene':
        _read_scenes(choice, ids, put)
    elif kind.name == 'observation':
        _read_looks(choice, ids, put)
    elif kind.name == 'node':
        row = schema.NodeMemberRow
        for item in choice.session.execute(
                select(row.node_id, row.kind, row.ref_id).where(among(row.node_id, sorted(ids)))
                .order_by(row.node_id, row.kind, row.ref_id)):
            if is_mark(item.kind):
                put(item.node_id, 'dropped', [kind_of(item.kind), item.ref_id])
            else:
                put(item.node_id, 'members', [item.kind, item.ref_id])
    return found


def _read_scenes(choice: Choice, ids: Collection[int], put: Callable[..., None]) -> None:
    row, part = schema.SceneObjectRow, schema.SceneRelationRow
    objects = choice.session.execute(select(*row.__table__.columns).where(
        among(row.scene_id, sorted(ids))).order_by(row.scene_id, row.id)).all()
    seen = choice.kept('observation', {
        item.observation_id for item in objects if item.observation_id is not None})
    for item in objects:
        told = {column.field: value for column in _OBJECT
                if (value := getattr(item, column.name)) is not None and value != ''}
        if item.observation_id in seen:
            told['observation'] = item.observation_id
        put(item.scene_id, 'objects', told)
    for item in choice.session.execute(select(*part.__table__.columns).where(
            among(part.scene_id, sorted(ids))).order_by(part.scene_id, part.id)):
        put(item.scene_id, 'relations', {name: getattr(item, name) for name in _RELATION})


def _read_looks(choice: Choice, ids: Collection[int], put: Callable[..., None]) -> None:
    row, look = schema.ObservationImageRow, schema.AppearanceRow
    shown = choice.session.execute(select(*row.__table__.columns).where(
        among(row.observation_id, sorted(ids))).order_by(row.observation_id, row.id)).all()
    images = choice.kept('image', {item.image_id for item in shown})
    for item in shown:
        if item.image_id in images:
            put(item.observation_id, 'shown', {
                'image': item.image_id, 'bbox': item.bbox, 'is_crop': item.is_crop})
    for item in choice.session.execute(select(*look.__table__.columns).where(
            among(look.observation_id, sorted(ids))).order_by(look.observation_id, look.model)):
        put(item.observation_id, 'looks', {
            'model': item.model, 'vector': base64.b64encode(item.vector).decode()})


def part_rows(kind: Kind, values: Mapping[str, Any], line: Mapping[str, Any],
              shift: Shift) -> Rows:
    """Return the rows of the parts of a line; `values` is the row that they belong to.

    Raises RecordError where a part cannot be understood.
    """
    made: Rows = []
    if kind.name == 'scene':
        own = {'scene_id': values['id'], 'robot_id': values['robot_id'],
               'stamp_ns': values['stamp_ns']}
        made += [(schema.SceneObjectRow, own | _object(item, shift))
                 for item in _items(line, 'objects')]
        made += [(schema.SceneRelationRow, {'scene_id': values['id']} | {
            name: _typed(item, name, str) or '' for name in _RELATION})
            for item in _items(line, 'relations')]
    elif kind.name == 'observation':
        made += [(schema.ObservationImageRow, {
            'observation_id': values['id'], 'image_id': shift('image', number(item, 'image')),
            'bbox': _typed(item, 'bbox', list), 'is_crop': item.get('is_crop') is True})
            for item in _items(line, 'shown')]
        made += [(schema.AppearanceRow, {
            'observation_id': values['id'], 'model': text(item, 'model'),
            'vector': _bytes(item)}) for item in _items(line, 'looks')]
    elif kind.name == 'node':
        made += [(schema.NodeMemberRow, {'node_id': values['id'], **member})
                 for member in (*_members(line, 'members', shift),
                                *(member | {'kind': mark_of(member['kind'])}
                                  for member in _members(line, 'dropped', shift)))]
    return made


def _object(item: Mapping[str, Any], shift: Shift) -> dict[str, Any]:
    values = {column.name: _typed(item, column.field, column.kind) for column in _OBJECT}
    values |= {name: values[name] or '' for name in ('name', 'instance', 'frame', 'state')}
    seen = item.get('observation')
    values['observation_id'] = None if seen is None else shift(
        'observation', number(item, 'observation'))
    return values


def _members(line: Mapping[str, Any], name: str, shift: Shift) -> Iterable[dict[str, Any]]:
    for item in line.get(name) or ():
        if not isinstance(item, list) or len(item) != 2 or item[0] not in BY_NAME:
            raise RecordError(f'{item!r} is no member of a node')
        yield {'kind': item[0], 'ref_id': shift(item[0], number({'ref': item[1]}, 'ref'))}


def _items(line: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = line.get(name) or []
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise RecordError(f'`{name}` is no list of objects')
    return found


def _typed(item: Mapping[str, Any], name: str, kind: type) -> Any:
    value = item.get(name)
    if kind is float and type(value) is int:
        return float(value)
    if value is not None and type(value) is not kind:
        raise RecordError(f'`{name}` is {type(value).__name__}, not {kind.__name__}')
    return text(item, name) if kind is str and value else value


def _bytes(item: Mapping[str, Any]) -> bytes:
    try:
        return base64.b64decode(text(item, 'vector'), validate=True)
    except binascii.Error as error:
        raise RecordError(f'`vector` is no Base64: {error}') from error


def insert_all(session: Session, rows: Rows) -> None:
    """Insert rows, those of a table together; the tables in the order of their first rows."""
    by_table: dict[type[Any], list[dict[str, Any]]] = {}
    for row, values in rows:
        by_table.setdefault(row, []).append(values)
    for row, every in by_table.items():
        session.execute(insert(row.__table__), every)
