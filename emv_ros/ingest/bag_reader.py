"""The messages of a bag, healthy or damaged, through rosbags: no ROS is needed.

A bag is an mcap or db3 file, or a folder of them with or without its metadata.yaml (which a
recorder that was killed never wrote). Where the regular reader fails, what can still be read is
salvaged, and `notes` says so. Message definitions come from the bag; where it has none, from the
standard set of ROS 2 and from our own .msg files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emv_ros.errors import ImportFileError
from emv_ros.ingest import bag_salvage
from emv_ros.ingest.bag_salvage import RawMessage, Topic
from emv_ros.ingest.bag_types import BagTypes

SUFFIXES = ('.mcap', '.db3')
METADATA = 'metadata.yaml'
_MAGIC = {'.mcap': b'\x89MCAP0\r\n', '.db3': b'SQLite format 3\0'}


@dataclass
class BagReader:
    """Reads one bag. `notes` fills while `messages` is read."""

    path: Path
    notes: list[str] = field(default_factory=list)
    topics: dict[str, Topic] = field(default_factory=dict)
    message_count: int = 0  # as the bag says; 0 where it does not

    def __post_init__(self) -> None:
        if not self.path.exists():
            raise ImportFileError(f'there is no file or folder {self.path}')
        self.files = bag_files(self.path)
        for file in self.files:
            _check_magic(file)
        self._types = BagTypes()

    def messages(self) -> Iterator[RawMessage]:
        """Yield all messages, in order of log time but for what had to be salvaged.

        Raises ImportFileError where not even that is possible.
        """
        done: Counter[str] = Counter()
        try:
            for message in self._regular():
                done[message.topic.name] += 1
                yield message
            return
        except _UnreadableError as error:
            self.notes.append(f'{self.path.name} is damaged or cut off: {error}')
        yield from self._salvaged(done)

    def decode(self, message: RawMessage) -> Any:
        """Return the message as an object; RecordError where its bytes are not of its type."""
        return self._types.decode(message)

    def can_decode(self, topic: Topic) -> bool:
        """Return whether the definition of the topic's type is known."""
        return self._types.knows(topic)

    def _regular(self) -> Iterator[RawMessage]:
        from rosbags.rosbag2 import Reader

        has_metadata = (self.path / METADATA).exists()
        sources = [self.path] if self.path.is_file() or has_metadata else self.files
        if len(sources) > 1:
            self.notes.append(f'the folder has no {METADATA}: its files '
                              f'{", ".join(file.name for file in sources)} were read as one bag')
        for source in sources:
            with _Guard():
                reader = Reader(source)
                reader.open()
            try:
                topics = {connection.id: Topic(
                    connection.topic, connection.msgtype, connection.msgdef.data,
                    connection.msgdef.format.name) for connection in reader.connections}
                self.topics.update((topic.name, topic) for topic in topics.values())
                self.message_count += reader.message_count
                messages = iter(reader.messages())
                while True:
                    with _Guard():
                        item = next(messages, None)
                    if item is None:
                        break
                    yield RawMessage(topics[item[0].id], item[1], bytes(item[2]))
            finally:
                reader.close()

    def _salvaged(self, done: Counter[str]) -> Iterator[RawMessage]:
        """Yield what is left when the regular reader failed after `done` messages of each topic.

        A recorder writes each topic in order, so these are the first ones of the topic here too.
        """
        found: Counter[str] = Counter()
        for file in self.files:
            try:
                for message in bag_salvage.salvage(file, self.notes):
                    topic = message.topic
                    found[topic.name] += 1
                    if found[topic.name] > done[topic.name]:
                        self.topics.setdefault(topic.name, topic)
                        yield message
            except OSError as error:
                self.notes.append(f'{file.name} cannot be read: {error.strerror or error}')
        if not found and not done:
            raise ImportFileError(f'nothing can be read from {self.path}: {"; ".join(self.notes)}')
        self.notes.append(f'{(found | done).total()} messages could be read of it')


class _UnreadableError(Exception):
    """The regular reader gave up; the message says why."""


class _Guard:
    """Turns whatever a damaged bag makes rosbags raise into _UnreadableError.

    Damaged bytes reach its parsers unchecked: errors of rosbags, of SQLite, of the decompressors
    and plain ones such as a failed unpacking all mean the same here.
    """

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Exception):
            raise _UnreadableError(str(error) or type(error).__name__) from error


def bag_files(path: Path) -> Sequence[Path]:
    """Return the storage files of a bag, in order of their names."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise ImportFileError(f'{path} is neither a file nor a folder')
    files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES and file.is_file())
    if not files and not (path / METADATA).exists():  # its files may be compressed
        raise ImportFileError(f'the folder {path} holds no bag: no .mcap or .db3 file')
    return files


def _check_magic(file: Path) -> None:
    try:
        with file.open('rb') as stream:
            start = stream.read(16)
    except OSError as error:
        raise ImportFileError(f'cannot read {file}: {error.strerror or error}') from error
    if not start:
        raise ImportFileError(f'{file} is empty')
    magic = _MAGIC.get(file.suffix)
    if magic is None:
        raise ImportFileError(f'{file} is no bag: neither .mcap nor .db3')
    if not start.startswith(magic):
        raise ImportFileError(f'{file} is no {file.suffix[1:]} file (it begins with {start[:8]!r})')


