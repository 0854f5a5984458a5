"""What can still be read of a damaged bag file, record by record, until it ends.

A recorder that loses power leaves an mcap without its index, often in the middle of a chunk, or a
db3 without its last pages. Both are read here from the front without any index; a chunk that is
cut off is unpacked as far as it goes. Nothing here is used for a bag that is whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
import sqlite3
import struct
from typing import Any
import zlib

_HEADER = struct.Struct('<BQ')  # kind and length of an mcap record
_SCHEMA, _CHANNEL, _MESSAGE, _CHUNK = 3, 4, 5, 6
_MAGIC_BYTES = 8
_MAX_RECORD = 2**31
_ROWS_ONE_BY_ONE = 256
_MAX_ROW = 2**62
_FORMATS = {'ros2msg': 'MSG', 'ros2idl': 'IDL', 'omgidl': 'IDL'}


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of a bag: its type with the definition and the form of that (MSG, IDL or NONE)."""

    name: str
    type: str
    definition: str = ''
    form: str = 'NONE'


@dataclass(frozen=True, slots=True)
class RawMessage:
    """One message as it was recorded: CDR bytes, and when it was received."""

    topic: Topic
    log_ns: int
    data: bytes


def salvage(file: Path, notes: list[str]) -> Iterator[RawMessage]:
    """Yield the messages of a damaged .mcap or .db3 file, as many as can be read."""
    if file.suffix == '.db3':
        yield from _salvage_db3(file, notes)
    else:
        yield from _Mcap(notes).messages(file)


class _Mcap:
    """Reads the records of an mcap file in their order, without its index."""

    def __init__(self, notes: list[str]) -> None:
        self._notes = notes
        self._schemas: dict[int, tuple[str, str, str]] = {}
        self._topics: dict[int, Topic] = {}

    def messages(self, file: Path) -> Iterator[RawMessage]:
        with file.open('rb') as stream:
            stream.seek(_MAGIC_BYTES)
            while len(header := stream.read(_HEADER.size)) == _HEADER.size:
                kind, length = _HEADER.unpack(header)
                if length > _MAX_RECORD:
                    self._notes.append(f'{file.name}: a record of {length} bytes cannot be')
                    return
                if kind in (_SCHEMA, _CHANNEL, _MESSAGE, _CHUNK):
                    body = stream.read(length)
                    yield from self._record(kind, body, len(body) == length)
                else:
                    stream.seek(length, 1)

    def _record(self, kind: int, body: bytes, is_whole: bool) -> Iterator[RawMessage]:
        try:
            if kind == _CHUNK:
                yield from self._chunk(body)
            elif is_whole and kind == _MESSAGE:
                channel, _, log_ns, _ = struct.unpack_from('<HIQQ', body)
                if topic := self._topics.get(channel):
                    yield RawMessage(topic, log_ns, body[22:])
            elif is_whole and kind == _SCHEMA:
                number, = struct.unpack_from('<H', body)
                name, form, text = _strings(body, 2, 3)
                self._schemas[number] = name, form, text
            elif is_whole:
                number, schema = struct.unpack_from('<HH', body)
                name, form, text = self._schemas.get(schema, ('', '', ''))
                topic_name, = _strings(body, 4, 1)
                self._topics[number] = Topic(topic_name, name, text, _FORMATS.get(form, 'NONE'))
        except (struct.error, UnicodeDecodeError) as error:
            self._notes.append(f'a record could not be read: {error}')

    def _chunk(self, body: bytes) -> Iterator[RawMessage]:
        size, checksum = struct.unpack_from('<QI', body, 16)
        way, = _strings(body, 28, 1)
        start = 32 + len(way.encode()) + 8
        data = self._unpacked(way, body[start:])
        if checksum and len(data) == size and zlib.crc32(data) != checksum:
            self._notes.append('a chunk has a wrong checksum: what it holds may be wrong')
        position = 0
        while position + _HEADER.size <= len(data):
            kind, length = _HEADER.unpack_from(data, position)
            position += _HEADER.size
            record = data[position:position + length]
            position += length
            if kind != _CHUNK and kind in (_SCHEMA, _CHANNEL, _MESSAGE):
                yield from self._record(kind, record, len(record) == length)

    def _unpacked(self, way: str, data: bytes) -> bytes:
        """Return a chunk unpacked as far as it goes."""
        if not way:
            return data
        unpacked = bytearray()
        try:
            unpacker = _unpacker(way)
            # In pieces, since a damaged one loses what was unpacked with it.
            for at in range(0, len(data), 4096):
                unpacked += unpacker.decompress(data[at:at + 4096])
        except Exception as error:  # each decompressor has errors of its own
            self._notes.append(f'a chunk ({way}) could not be unpacked to its end: {error}')
        return bytes(unpacked)


def _unpacker(way: str) -> Any:
    if way == 'lz4':
        import lz4.frame

        return lz4.frame.LZ4FrameDecompressor()
    if way == 'zstd':
        from backports import zstd

        return zstd.ZstdDecompressor()
    raise ValueError(f'unknown compression {way!r}')


def _strings(body: bytes, position: int, count: int) -> list[str]:
    """Return strings that stand one after another, each behind its length."""
    found = []
    for _ in range(count):
        length, = struct.unpack_from('<I', body, position)
        position += 4
        if position + length > len(body):
            raise struct.error('a text is longer than its record')
        found.append(body[position:position + length].decode())
        position += length
    return found


def _salvage_db3(file: Path, notes: list[str]) -> Iterator[RawMessage]:
    """Yield the rows of a damaged database that can be read, in the order they were written."""
    connection = sqlite3.connect(f'{file.resolve().as_uri()}?immutable=1', uri=True)
    try:
        # Without this SQLite opens no file that is shorter than its header says. Nothing is
        # written: the file is opened as immutable.
        connection.execute('PRAGMA writable_schema=ON')
        definitions = _definitions(connection)
        topics = {
            number: Topic(name, kind, *definitions.get(kind, ('', 'NONE')))
            for number, name, kind in connection.execute('SELECT id, name, type FROM topics')}
        for number, log_ns, data in _rows(connection, file.name, notes):
            if topic := topics.get(number):
                yield RawMessage(topic, log_ns, data)
    except sqlite3.Error as error:
        notes.append(f'{file.name}: {error}')
    finally:
        connection.close()


def _rows(
        connection: sqlite3.Connection, name: str,
        notes: list[str]) -> Iterator[tuple[int, int, bytes]]:
    """Yield topic, time and bytes of each row, stepping over what cannot be read."""
    last, gap, failures = 0, 0, 0
    while last + gap < _MAX_ROW:
        try:
            rows = connection.execute(
                'SELECT id, topic_id, timestamp, data FROM messages NOT INDEXED '
                'WHERE id > ? ORDER BY id', (last + gap,))
            for number, topic, log_ns, data in rows:
                last, gap = number, 0
                yield topic, log_ns, data
            break
        except sqlite3.Error as error:
            if not failures:
                notes.append(f'{name} after row {last}: {error}')
            failures += 1
            # A page holds few rows, so go by one at first; then faster, to come to an end.
            gap += 1 if gap < _ROWS_ONE_BY_ONE else gap


def _definitions(connection: sqlite3.Connection) -> dict[str, tuple[str, str]]:
    try:
        rows = connection.execute(
            'SELECT topic_type, encoded_message_definition, encoding FROM message_definitions')
        return {name: (text, _FORMATS.get(form, 'NONE')) for name, text, form in rows}
    except sqlite3.Error:  # older bags have no such table
        return {}
