"""A memory, or a part of it, as a ROS 2 bag (mcap) that opens in a viewer.

Pictures, joints, poses, words, skills and scenes are messages of the types that `emv import`
reads; summaries, activities and observations are log messages, which a viewer shows as lines of
text and which no import takes for words that were spoken. A bag carries no ids, entities or
verdicts, and no tree: what brings a memory back is the other export.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import heapq
from pathlib import Path
import re
from typing import Any

from emv_ros.errors import EmvError, ExportError, NotFoundError, StoreError
from emv_ros.ingest.bag_messages import LOG_TYPE, BagMessages, Outgoing, as_time
from emv_ros.ingest.bag_types import standard_types
from emv_ros.memory.export_choice import Choice
from emv_ros.memory.export_format import BY_NAME
from emv_ros.memory.export_parts import parts_of
from emv_ros.memory.exporting import PAGE, ExportReport
from emv_ros.memory.new_folder import NewFolder
from emv_ros.memory.queries import ALL, Window
from emv_ros.memory.store import MemoryStore

MARK = 'metadata.yaml'
SKILL_TYPE = 'emv_ros/msg/SkillEvent'
_UNFIT = re.compile(r'[^A-Za-z0-9_/]+')


def export_bag(
        store: MemoryStore, folder: Path, window: Window = ALL, *, overwrite: bool = False,
        progress: Callable[[int], None] = lambda done: None) -> ExportReport:
    """Write what a bag can carry of a window into a new folder, in order of time.

    The report counts messages by topic. Raises ExportError where the folder is there (with
    `overwrite`: and is no bag), or cannot be written.
    """
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

    types = standard_types()
    if SKILL_TYPE not in types.fielddefs:
        raise ExportError('the definitions of our messages are not found: no bag can be written')
    with NewFolder(folder, MARK, overwrite) as partial:
        report = ExportReport(folder)
        writer = Writer(partial, version=8, storage_plugin=StoragePlugin.MCAP)
        writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
        with writer, store.reading() as session:
            source = _Source(store, Choice(store, session, window), report)
            connections: dict[str, Any] = {}
            for message in source.messages():
                if message.topic not in connections:
                    connections[message.topic] = writer.add_connection(
                        message.topic, message.type, typestore=types)
                writer.write(connections[message.topic], message.stamp_ns,
                             types.serialize_cdr(message.content, message.type))
                report.lines[message.topic] += 1
                if report.lines.total() % PAGE == 0:
                    progress(report.lines.total())
        report.size_bytes = sum(file.stat().st_size for file in partial.iterdir())
    return report


def topic_of(*names: str) -> str:
    """Return a topic of names, in which what no topic may hold is '_'."""
    parts = [part for name in names for part in _UNFIT.sub('_', name).split('/') if part]
    return '/' + '/'.join(part if not part[0].isdigit() else f'_{part}' for part in parts)


class _Source:
    """The messages of a memory."""

    def __init__(self, store: MemoryStore, choice: Choice, report: ExportReport) -> None:
        self._pictures = store.pictures
        self._choice = choice
        self._report = report
        # Of one robot nothing is named, so that an import can name it.
        self._are_many = len(choice.robots) > 1
        self._make = BagMessages()

    def messages(self) -> Iterator[Outgoing]:
        """Yield all messages in order of time."""
        made = (('image', self._image), ('joint_sample', self._joints), ('pose', self._pose),
                ('utterance', self._utterance), ('skill_event', self._skill),
                ('scene', self._scene), ('annotation', self._annotation),
                ('observation', self._observation), ('node', self._node))
        yield from heapq.merge(*(self._of(*item) for item in made), key=_stamp)

    def _of(self, name: str, make: Callable[..., Iterator[Outgoing]]) -> Iterator[Outgoing]:
        """Yield the messages of a kind; a run of a skill has some that wait for their time."""
        kind = BY_NAME[name]
        start = getattr(kind.row, kind.start)
        query = self._choice.query(kind).order_by(None).order_by(start, kind.row.id)
        waiting: list[tuple[int, int, Outgoing]] = []
        count = 0
        for page in self._choice.session.execute(
                query.execution_options(yield_per=PAGE)).partitions():
            parts = parts_of(self._choice, kind, [row.id for row in page]) if (
                name == 'scene') else {}
            for row in page:
                while waiting and waiting[0][0] <= getattr(row, kind.start):
                    yield heapq.heappop(waiting)[2]
                for message in self._made(make, row, parts.get(row.id, {})):
                    count += 1
                    heapq.heappush(waiting, (message.stamp_ns, count, message))
        while waiting:
            yield heapq.heappop(waiting)[2]

    def _made(self, make: Callable[..., Iterator[Outgoing]], row: Any,
              parts: dict[str, list[Any]]) -> Iterator[Outgoing]:
        try:
            yield from make(row, parts)
        except (NotFoundError, StoreError) as error:
            self._report.miss(f'i{row.id}: {error}')
        except EmvError as error:
            self._report.miss(str(error))

    def _topic(self, row: Any, *names: str) -> str:
        return topic_of(*((self._choice.robots[row.robot_id],) if self._are_many else ()), *names)

    def _robot(self, row: Any) -> str:
        return self._choice.robots[row.robot_id] if self._are_many else ''

    def _image(self, row: Any, _: Any) -> Iterator[Outgoing]:
        if row.gone:
            return
        data = self._pictures.read(row.sha256, row.media_type)
        self._report.pictures += 1
        way = 'compressedDepth' if row.is_depth else 'compressed'
        yield self._make.image(row, data, self._topic(row, row.camera, 'image_raw', way))

    def _joints(self, row: Any, _: Any) -> Iterator[Outgoing]:
        yield self._make.joints(row, self._topic(row, 'joint_states'))

    def _pose(self, row: Any, _: Any) -> Iterator[Outgoing]:
        yield self._make.pose(row, self._topic(row, 'pose'))

    def _utterance(self, row: Any, _: Any) -> Iterator[Outgoing]:
        yield self._make.utterance(row, self._topic(row, 'speech'), self._robot(row))

    def _skill(self, row: Any, _: Any) -> Iterator[Outgoing]:
        yield from self._make.skill(row, self._topic(row, 'skill_events'), self._robot(row))

    def _scene(self, row: Any, parts: dict[str, list[Any]]) -> Iterator[Outgoing]:
        yield self._make.scene(row, parts, self._topic(row, 'scene_graph'), self._robot(row))

    def _annotation(self, row: Any, _: Any) -> Iterator[Outgoing]:
        yield self._log(row, row.stamp_ns, 'annotations', row.kind, row.text)

    def _observation(self, row: Any, _: Any) -> Iterator[Outgoing]:
        said = ' '.join(part for part in (row.event, row.text) if part)
        yield self._log(row, row.stamp_ns, 'observations', row.name, said or row.location)

    def _node(self, row: Any, _: Any) -> Iterator[Outgoing]:
        yield self._log(row, row.start_ns, 'summaries', f'level {row.level}', row.summary)

    def _log(self, row: Any, stamp_ns: int, name: str, about: str, text: str) -> Outgoing:
        return Outgoing(stamp_ns, self._topic(row, 'memory', name), LOG_TYPE, self._make.of(
            LOG_TYPE, stamp=as_time(self._make, stamp_ns), level=20, name=about, msg=text, file='',
            function='', line=0))


def _stamp(message: Outgoing) -> int:
    return message.stamp_ns
