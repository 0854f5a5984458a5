"""The lines of an export: rows of a memory in the form of an experience file, and back.

What the format of experience files knows is written in its form; the other columns of a row are
further fields of the line, named as in the schema. A column that holds nothing ('', 0, empty, null)
is left out. `ref` is a number within the file, by which other lines name the row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import cached_property
import json
from typing import Any

import sqlalchemy as sa

from emv_ros.errors import RecordError, TimeExpressionError
from emv_ros.memory import schema
from emv_ros.timeline import MAX_NS, MIN_NS, format_rfc3339, parse_stamp

FORMAT, VERSION = 'emv_export', 1
FILE, PICTURES = 'experience.jsonl', 'pictures'
END, ROBOT, STATE, HEAD, MERGE, SEPARATION = (
    'end', 'robot', 'state', 'node_head', 'merge', 'separation')

# Columns that hold a list; what else is JSON and never null holds an object.
_LISTS = frozenset(('goal_stack', 'names', 'position', 'velocity', 'effort', 'transitions',
                    'robots', 'evidence', 'trace'))
_ZEROS: dict[type, Any] = {str: '', bool: False, int: 0, float: 0.0}
_TYPES: tuple[tuple[type[Any], type], ...] = (
    (sa.Boolean, bool), (sa.Integer, int), (sa.Float, float), (sa.String, str))


@dataclass(frozen=True, slots=True)
class Column:
    """A column, the field of the line that holds it, and its kind (`list` and `dict` are JSON)."""

    name: str
    field: str
    kind: type
    is_nullable: bool
    link: str = ''  # the kind of record that it names by its id


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of record in an export: its table, the `type` of its lines and their fields.

    `start` is the column of the line's time, '' where the record has none; `fields` names those
    that are called otherwise than their column, `links` the kinds that columns point to.
    """

    name: str
    type: str
    row: Any
    start: str = 'stamp_ns'
    fields: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns that stand in the line as they are: not ids, robot and times."""
        table: sa.Table = self.row.__table__
        apart = {'id', 'robot_id', self.start, 'end_ns'}
        return tuple(
            Column(item.name, self.fields.get(item.name, item.name.removesuffix('_id')
                                              if item.name in self.links else item.name),
                   _kind_of(item), bool(item.nullable), self.links.get(item.name, ''))
            for item in table.columns if item.name not in apart)

    @cached_property
    def has(self) -> frozenset[str]:
        """The names of all columns."""
        return frozenset(self.row.__table__.columns.keys())

    @cached_property
    def needs_end(self) -> bool:
        """Whether each row has an end."""
        return 'end_ns' in self.has and not self.row.__table__.columns['end_ns'].nullable


def _kind_of(column: sa.Column[Any]) -> type:
    if isinstance(column.type, sa.JSON):
        return list if column.name in _LISTS or column.nullable else dict
    plain = column.type.impl if isinstance(column.type, sa.TypeDecorator) else column.type
    return next(kind for known, kind in _TYPES if isinstance(plain, known))


_RECORDED = {'session_id': 'session'}

# In the order of their lines: what a line names stands before it, but for `merge`.
KINDS: tuple[Kind, ...] = (
    Kind(name='session', type='session', row=schema.SessionRow, start='start_ns'),
    Kind(name='image', type='image', row=schema.ImageRow, links=_RECORDED),
    Kind(name='clip', type='clip', row=schema.ClipRow, start='start_ns'),
    Kind(name='entity', type='entity', row=schema.EntityRow, start=''),
    Kind(name='observation', type='observation', row=schema.ObservationRow,
         links=_RECORDED | {'clip_id': 'clip', 'entity_id': 'entity'}),
    Kind(name='verdict', type='verdict', row=schema.VerdictRow,
         links={'first_id': 'observation', 'second_id': 'observation'}),
    Kind(name='naming', type='naming', row=schema.NamingRow,
         links={'observation_id': 'observation'}),
    Kind(name='scene', type='scene', row=schema.SceneRow, links=_RECORDED | {'image_id': 'image'}),
    Kind(name='joint_sample', type='joints', row=schema.JointSampleRow, links=_RECORDED),
    Kind(name='pose', type='pose', row=schema.PoseRow, links=_RECORDED),
    Kind(name='utterance', type='speech', row=schema.UtteranceRow, links=_RECORDED),
    Kind(name='skill_event', type='skill', row=schema.SkillEventRow, links=_RECORDED,
         fields={'source_id': 'id', 'parent_source_id': 'parent_id'}),
    Kind(name='annotation', type='annotation', row=schema.AnnotationRow, links=_RECORDED),
    Kind(name='node', type='node', row=schema.NodeRow, start='start_ns',
         links={'parent_id': 'node'}),
    Kind(name='query', type='query', row=schema.QueryRow),
)
BY_NAME = {kind.name: kind for kind in KINDS}
# A goal and a narration have lines of their own in experience files.
_ANNOTATIONS = {'goal': 'goal', 'narration': 'text'}
BY_TYPE = {kind.type: kind for kind in KINDS} | dict.fromkeys(_ANNOTATIONS, BY_NAME['annotation'])


def line_of(kind: Kind, row: Any, robot: str, zone: tzinfo, otherwise: str) -> dict[str, Any]:
    """Return the line of a row; `otherwise` is its time where the record has none."""
    start = format_rfc3339(getattr(row, kind.start), zone) if kind.start else otherwise
    line: dict[str, Any] = {'t': start}
    if 'end_ns' in kind.has and row.end_ns is not None:
        line['t_end'] = format_rfc3339(row.end_ns, zone)
    line |= {'type': kind.type, 'ref': row.id}
    if 'robot_id' in kind.has:
        line['robot'] = robot
    for column in kind.columns:
        value = getattr(row, column.name)
        if column.is_nullable and value is not None or not column.is_nullable and value:
            line[column.field] = value
    if kind.name == 'annotation' and row.kind in _ANNOTATIONS:
        line['type'] = row.kind
        line[_ANNOTATIONS[row.kind]] = line.pop('text', '')
        del line['kind']
    return line


def values_of(kind: Kind, line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a line's row; ids are still those of the file, robots are names.

    Raises RecordError for a field of the wrong kind, and for a time that is none.
    """
    if line['type'] in _ANNOTATIONS and line['type'] != kind.type:
        called = _ANNOTATIONS[line['type']]
        line = {name: value for name, value in line.items() if name != called} | {
            'text': line.get(called), 'kind': line['type']}
    values: dict[str, Any] = {'id': number(line, 'ref')}
    if 'robot_id' in kind.has:
        values['robot_id'] = text(line, 'robot')
    if kind.start:
        values[kind.start] = stamp(line, 't')
    if 'end_ns' in kind.has:
        is_given = kind.needs_end or line.get('t_end') is not None
        values['end_ns'] = stamp(line, 't_end') if is_given else None
        if is_given and values['end_ns'] < values[kind.start]:
            raise RecordError(f'it ends at {line["t_end"]}, before it starts')
    for column in kind.columns:
        values[column.name] = _value(column, line.get(column.field))
    return values


def _value(column: Column, value: Any) -> Any:
    if value is None:
        if column.link and not column.is_nullable:
            raise RecordError(f'it has no `{column.field}`')
        return None if column.is_nullable else (
            column.kind() if column.kind in (list, dict) else _ZEROS[column.kind])
    if column.kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not column.kind:
        raise RecordError(f'`{column.field}` is {type(value).__name__}, not {column.kind.__name__}')
    if isinstance(value, str):
        _check_text(value, column.field)
    if isinstance(value, int) and not -2**63 <= value < 2**63:
        raise RecordError(f'`{column.field}` is larger than a memory can hold')
    return value


def number(line: Mapping[str, Any], name: str) -> int:
    """Return a field that holds an id within the file. Raises RecordError."""
    value = line.get(name)
    if type(value) is not int or not 0 < value < 2**53:
        raise RecordError(f'`{name}` is {value!r}, which is no number of a record')
    return value


def text(line: Mapping[str, Any], name: str) -> str:
    """Return a field that holds words, at least one. Raises RecordError."""
    value = line.get(name)
    if not isinstance(value, str) or not value:
        raise RecordError(f'it has no `{name}`')
    _check_text(value, name)
    return value


def stamp(line: Mapping[str, Any], name: str) -> int:
    """Return a field that holds a time, as nanoseconds. Raises RecordError."""
    try:
        found, _ = parse_stamp(line[name])
    except KeyError:
        raise RecordError(f'it has no time `{name}`') from None
    except TimeExpressionError as error:
        raise RecordError(str(error)) from error
    if not MIN_NS <= found < MAX_NS:
        raise RecordError(f'the time {line[name]} is outside the years 1970 to 2200')
    return found


def _check_text(value: str, name: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise RecordError(f'`{name}` holds half a character') from error


def encoded(line: Mapping[str, Any]) -> bytes:
    """Return a line with its end, in UTF-8."""
    try:
        return f'{json.dumps(line, ensure_ascii=False, separators=(",", ":"))}\n'.encode()
    except UnicodeEncodeError:  # half a character in a parameter: only an escape can tell it
        return f'{json.dumps(line, separators=(",", ":"))}\n'.encode()
