"""Import of experience files: one JSON object a line, in any order of time.

The file is read twice. First each line is checked for a time and noted by its place in the file;
then the lines are read in order of time and become records. So a file larger than the memory of
the machine can be imported, sorted, at 16 bytes a line. A bad line is refused with its number,
and the rest is read.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
import json
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from emv_ros.errors import ImportFileError, RecordError, TimeExpressionError, WithheldError
from emv_ros.ingest.compressed import read_compressed
from emv_ros.ingest.experience_records import (
    CONVERTERS,
    Line,
    check_stamp,
    image_fields,
)
from emv_ros.ingest.images import image_record
from emv_ros.ingest.report import ImportReport
from emv_ros.ingest.sink import RecordSink
from emv_ros.records import ImageRecord
from emv_ros.settings import IngestSettings
from emv_ros.timeline import parse_stamp, parse_zone, zone_name

Progress = Callable[[int, int], None]  # records done, records in all

MAX_LINE_BYTES = 16_000_000
PROGRESS_EVERY = 500
BYTE_ORDER_MARK = b'\xef\xbb\xbf'


@dataclass
class _Index:
    """Where the usable lines stand: stamps, offsets into the file and numbers from 1."""

    stamps: array[int] = field(default_factory=lambda: array('q'))
    offsets: array[int] = field(default_factory=lambda: array('q'))
    numbers: array[int] = field(default_factory=lambda: array('q'))
    zones: Counter[str] = field(default_factory=Counter)


def import_experience(
        path: Path, sink: RecordSink, robot: str, zone: str | None = None,
        progress: Progress | None = None, settings: IngestSettings | None = None) -> ImportReport:
    """Put the records of an experience file into the sink, in order of time.

    The session's zone is `zone`, else the offset that most stamps of the file carry. Raises
    ImportFileError where the file cannot be read at all or holds nothing usable.
    """
    report = ImportReport(str(path))
    if zone is not None:
        zone_name(parse_zone(zone))  # refuses a zone that is none before anything is stored
    try:
        with path.open('rb') as stream:
            index = _index(stream, report)
            if not index.stamps:
                raise ImportFileError(_nothing(path, report))
            report.zone = zone or _commonest(index, report)
            order = np.argsort(np.frombuffer(index.stamps, np.int64), kind='stable')
            session = sink.begin_session(
                robot, index.stamps[order[0]], 'file', report.zone, path.name)
            report.session_ids.append(session)
            importer = _Importer(path, sink, robot, session, settings or IngestSettings(), report)
            for done, at in enumerate(order, 1):
                importer.take(stream, index.offsets[at], index.numbers[at])
                if progress and (done % PROGRESS_EVERY == 0 or done == len(order)):
                    progress(done, len(order))
    except OSError as error:
        raise ImportFileError(f'cannot read {path}: {error.strerror or error}') from error
    return report


def _lines(stream: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Yield number, offset and bytes of each line that is not blank."""
    number, offset = 0, 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        start, offset = offset, offset + len(line)
        while len(line) > MAX_LINE_BYTES and not line.endswith(b'\n'):
            rest = stream.readline(MAX_LINE_BYTES)
            offset += len(rest)
            if not rest or rest.endswith(b'\n'):
                break
        if line.strip().removeprefix(BYTE_ORDER_MARK):
            yield number, start, line


def _index(stream: BinaryIO, report: ImportReport) -> _Index:
    index = _Index()
    for number, offset, data in _lines(stream):
        try:
            text = parse_line(data).get('t')
            if text is None:
                raise RecordError('it has no time `t`')
            stamp_ns, zone = parse_stamp(text)
            check_stamp(stamp_ns, text)
        except (RecordError, TimeExpressionError) as error:
            report.refuse(f'line {number}', str(error))
            continue
        index.stamps.append(stamp_ns)
        index.offsets.append(offset)
        index.numbers.append(number)
        index.zones[zone_name(zone)] += 1
    return index


def parse_line(data: bytes) -> dict[str, Any]:
    """Return the JSON object of a line; RecordError where it holds none. NaN becomes null."""
    if len(data) > MAX_LINE_BYTES:
        raise RecordError(f'it is longer than {MAX_LINE_BYTES} bytes')
    try:
        content = json.loads(data.removeprefix(BYTE_ORDER_MARK).decode(),
                             parse_constant=lambda name: None)
        if b'\\u' in data:  # an escape may name half a character, which no database takes
            json.dumps(content, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise RecordError(f'it is no JSON ({error})') from error
    if not isinstance(content, dict):
        raise RecordError(f'it is no JSON object but {type(content).__name__}')
    return content


def _commonest(index: _Index, report: ImportReport) -> str:
    (name, _), *others = index.zones.most_common()
    if others:
        report.notes.append(
            f'the stamps have {len(index.zones)} offsets; the commonest, {name}, is the zone of '
            'the session: name the zone if the clocks changed')
    return name


def _nothing(path: Path, report: ImportReport) -> str:
    if not report.refused:
        return f'{path} is empty'
    first = report.refused[0]
    return (f'{path} holds no usable record: {report.refused_count} lines refused, the first '
            f'({first.where}): {first.reason}')


class _Importer:
    """Turns lines, which come in order of time, into records in the sink."""

    def __init__(
            self, path: Path, sink: RecordSink, robot: str, session_id: int,
            settings: IngestSettings, report: ImportReport) -> None:
        self._folder = path.parent
        self._sink = sink
        self._robot = robot
        self._session_id = session_id
        self._settings = settings
        self._report = report
        self._instant: tuple[str, set[bytes]] = ('', set())

    def take(self, stream: BinaryIO, offset: int, number: int) -> None:
        """Read one line and store its record; what cannot be stored is told in the report."""
        stream.seek(offset)
        data = stream.readline(MAX_LINE_BYTES)
        fields = parse_line(data)
        if self._is_repeated(fields['t'], data):
            self._report.duplicates += 1
            return
        kind = fields.get('type')
        try:
            if not isinstance(kind, str) or not kind:
                raise RecordError('it has no `type`')
            if kind not in CONVERTERS and kind != 'image':
                self._report.skipped[kind] += 1
                return
            self._store(kind, Line.of(fields))
        except WithheldError:
            self._report.withheld[str(kind)] += 1
        except (RecordError, TimeExpressionError) as error:
            self._report.refuse(f'line {number}', str(error))

    def _is_repeated(self, time: str, data: bytes) -> bool:
        """Return whether the same line came before: lines of one time follow one another."""
        if time != self._instant[0]:
            self._instant = (time, set())
        data, seen = data.strip(), self._instant[1]
        if data in seen:
            return True
        seen.add(data)
        return False

    def _store(self, kind: str, line: Line) -> None:
        if kind == 'image':
            data, picture = self._picture(line)
            self._sink.add_image(data, replace(
                picture, robot=self._robot, session_id=self._session_id))
        else:
            record = CONVERTERS[kind](line, self._robot)
            self._sink.add(replace(record, robot=self._robot, session_id=self._session_id))
        self._report.count(kind, line.stamp_ns)

    def _picture(self, line: Line) -> tuple[bytes, ImageRecord]:
        camera, name, encoding = image_fields(line)
        try:
            file = (self._folder / name).resolve()
            if not file.is_relative_to(self._folder.resolve()):
                raise RecordError(f'the picture {name!r} lies outside the folder of the file')
            if file.stat().st_size > self._settings.max_image_bytes:
                raise RecordError(f'the picture {name!r} is larger than '
                                  f'{self._settings.max_image_bytes} bytes')
            data = file.read_bytes()
        except (OSError, ValueError) as error:
            reason = getattr(error, 'strerror', None) or error
            raise RecordError(f'the picture {name!r} cannot be read: {reason}') from error
        image = read_compressed(data, encoding, self._settings)
        return image.data, replace(image_record(image, camera, line.stamp_ns), extra=line.rest())
