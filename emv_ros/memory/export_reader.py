"""Reading of an export: is the file one, is it whole, and what do its lines say.

A file is checked from its first line to its last before anything of it is stored: one line that
cannot be understood, or an end that is missing, refuses all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
import json
from pathlib import Path
import re
from typing import Any

from emv_ros.errors import ImportFileError, RecordError
from emv_ros.memory import schema
from emv_ros.memory.export_format import (
    BY_TYPE,
    END,
    FILE,
    FORMAT,
    HEAD,
    MERGE,
    ROBOT,
    SEPARATION,
    STATE,
    VERSION,
    Kind,
    number,
    text,
    values_of,
)
from emv_ros.memory.export_parts import Rows, Shift, part_rows
from emv_ros.memory.export_state import key_and_value
from emv_ros.records import ID_LETTERS

_SHA256 = re.compile(r'[0-9a-f]{64}')
_KINDS_BY_LETTER = {letter: kind for kind, letter in ID_LETTERS.items()}
FIRST_BYTES = 4096

Progress = Callable[[int, int], None]  # bytes read, bytes in all


@dataclass
class Lot:
    """What some lines become: rows to insert, links to set, heads and states to keep."""

    rows: Rows = field(default_factory=list)
    images: list[dict[str, Any]] = field(default_factory=list)
    merges: list[dict[str, int]] = field(default_factory=list)
    heads: list[tuple[int, str, list[int]]] = field(default_factory=list)
    states: list[tuple[str, dict[str, Any], bool]] = field(default_factory=list)


@dataclass
class Checked:
    """An export that is whole: its robots, the highest id of each kind, its lines by type."""

    file: Path
    size_bytes: int
    robots: list[str] = field(default_factory=list)
    highest: dict[str, int] = field(default_factory=dict)
    lines: Counter[str] = field(default_factory=Counter)


class Reader:
    """Turns lines into what they become in a memory.

    `robots` are the ids there by the names in the file, `names` the names there; `shift` gives the
    id there of a kind and an id of the file.
    """

    def __init__(self, robots: Mapping[str, int], names: Mapping[str, str], shift: Shift) -> None:
        self._robots = robots
        self._names = names
        self._shift = shift

    def take(self, line: Mapping[str, Any], lot: Lot) -> None:
        """Put a line into a lot. Raises RecordError where it cannot be understood."""
        of = str(line.get('type'))
        if of in BY_TYPE:
            self._take_row(BY_TYPE[of], line, lot)
        elif of == MERGE:
            lot.merges.append({'id': self._shift('entity', number(line, 'entity')),
                               'merged_into': self._shift('entity', number(line, 'into'))})
        elif of == SEPARATION:
            one, other = (self._shift('observation', number(line, name))
                          for name in ('first', 'second'))
            lot.rows.append((schema.SeparationRow, {
                'first_id': one, 'second_id': other,
                'shared_frames': number(line, 'shared_frames') if line.get(
                    'shared_frames') != 0 else 0}))
        elif of == HEAD:
            children = [self._shift('node', number({'child': child}, 'child'))
                        for child in line.get('children') or ()]
            lot.heads.append((self._shift('node', number(line, 'node')),
                              str(line.get('text') or ''), children))
        elif of == STATE:
            lot.states.append(key_and_value(line, self._robots, self._names, self._shift))
        elif of not in (FORMAT, ROBOT, END):
            raise RecordError(f'its type {of!r} is none of this version')

    def _take_row(self, kind: Kind, line: Mapping[str, Any], lot: Lot) -> None:
        values = values_of(kind, line)
        values['id'] = self._shift(kind.name, values['id'])
        if 'robot_id' in values:
            if values['robot_id'] not in self._robots:
                raise RecordError(f'no line names the robot {values["robot_id"]!r}')
            values['robot_id'] = self._robots[values['robot_id']]
        for column in kind.columns:
            if column.link and values[column.name] is not None:
                values[column.name] = self._shift(column.link, values[column.name])
        if kind.name == 'image':
            if not _SHA256.fullmatch(values['sha256']):
                raise RecordError('`sha256` is none')
            lot.images.append(values)
        elif kind.name == 'observation' and 'told_by' in values['extra']:
            told = values['extra']['told_by']
            if not isinstance(told, dict):
                raise RecordError('`told_by` names no observation')
            values['extra'] = values['extra'] | {'told_by': told | {
                'id': self._shift('observation', number(told, 'id'))}}
        elif kind.name == 'query':
            values['evidence'] = [self._cited(item) for item in values['evidence']]
            values['robots'] = [self._names.get(name, name) for name in values['robots']]
        lot.rows.append((kind.row, values))
        lot.rows += part_rows(kind, values, line, self._shift)

    def _cited(self, reference: Any) -> Any:
        """Return an id as people see it, 'o7', as it is there."""
        words = str(reference)
        kind = _KINDS_BY_LETTER.get(words[:1])
        if kind is None or not words[1:].isdecimal() or not words.isascii():
            return reference
        return f'{words[0]}{self._shift(kind, int(words[1:]))}'


def export_file(path: Path) -> Path | None:
    """Return the file of lines where a path, a folder or a file, is an export; else None."""
    file = path / FILE if path.is_dir() else path
    try:
        with file.open('rb') as stream:
            first = json.loads(stream.readline(FIRST_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return file if isinstance(first, dict) and first.get('type') == FORMAT else None


def check_export(file: Path, progress: Progress = lambda done, total: None) -> Checked:
    """Read an export from end to end and return what it holds.

    Raises ImportFileError where it is of a later version, was cut off, or cannot be understood.
    """
    try:
        checked = Checked(file, file.stat().st_size)
        return _check(checked, progress)
    except OSError as error:
        raise ImportFileError(f'cannot read {file}: {error.strerror or error}') from error


def _check(checked: Checked, progress: Progress) -> Checked:
    def note(kind: str, ref_id: int) -> int:
        checked.highest[kind] = max(ref_id, checked.highest.get(kind, 0))
        return ref_id

    names: dict[str, str] = {}
    reader = Reader(_Ids(names), names, note)
    end: Mapping[str, Any] | None = None
    for count, (line_number, after, line) in enumerate(lines_of(checked.file)):
        if end is not None:
            raise _wrong(checked.file, line_number, 'it stands after the end')
        of = line.get('type')
        if count == 0:
            _check_version(checked.file, line)
        try:
            if of == ROBOT:
                names[text(line, 'name')] = line['name']
            reader.take(line, Lot())
        except RecordError as error:
            raise _wrong(checked.file, line_number, str(error)) from error
        if of == END:
            end = line
        else:
            checked.lines[str(of)] += 1
        if count % 1000 == 0:
            progress(after, checked.size_bytes)
    if end is None:
        raise ImportFileError(f'the export {checked.file} was cut off: it lacks its last line')
    if end.get('counts') != checked.lines:
        raise ImportFileError(f'the export {checked.file} is not whole: its last line counts '
                              f'{end.get("counts")}, it holds {dict(checked.lines)}')
    checked.robots = list(names)
    return checked


class _Ids(dict[str, int]):
    """Robots that are known by their names, before they have ids: each has 0."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self._names = names

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __missing__(self, name: str) -> int:
        return 0


def _check_version(file: Path, line: Mapping[str, Any]) -> None:
    version = line.get('version')
    if type(version) is not int or version < 1:
        raise ImportFileError(f'{file} names no version of its format')
    if version > VERSION:
        raise ImportFileError(
            f'{file} is an export of version {version}; this emv_ros knows versions up to '
            f'{VERSION}: a later emv_ros reads it')


def lines_of(file: Path, offset: int = 0) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    """Yield number, end and content of each line from an offset on, where numbers begin with 1.

    Raises ImportFileError for a line that is no JSON object or has no end.
    """
    with file.open('rb') as stream:
        stream.seek(offset)
        for line_number, data in enumerate(iter(stream.readline, b''), 1):
            offset += len(data)
            if not data.endswith(b'\n'):
                raise ImportFileError(f'the export {file} was cut off in line {line_number}')
            try:
                line = json.loads(data)
            except (ValueError, RecursionError) as error:
                raise _wrong(file, line_number, f'it is no JSON ({error})') from error
            if not isinstance(line, dict):
                raise _wrong(file, line_number, 'it is no JSON object')
            yield line_number, offset, line


def _wrong(file: Path, line_number: int, reason: str) -> ImportFileError:
    return ImportFileError(f'the export {file} is damaged in line {line_number}: {reason}')
