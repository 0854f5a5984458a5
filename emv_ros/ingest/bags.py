"""Import of ROS 2 bags: each message to a record, by its type.

Everything is kept unless thinning is asked for; then the policies of the nodes apply. The stamp
is the one in the header; a message without one gets the time at which it was recorded. Types that
a memory has no use for are counted by topic, a malformed message is refused and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from emv_ros.errors import ImportFileError, RecordError, WithheldError
from emv_ros.ingest.bag_reader import BagReader
from emv_ros.ingest.bag_salvage import RawMessage
from emv_ros.ingest.clocks import SessionTracker
from emv_ros.ingest.messages import KINDS, Converted, Converter
from emv_ros.ingest.report import ImportReport
from emv_ros.ingest.sink import RecordSink
from emv_ros.ingest.thinning import Thinning
from emv_ros.records import ImageRecord
from emv_ros.settings import IngestSettings
from emv_ros.timeline import SECOND_NS, format_rfc3339, parse_zone, zone_name

Progress = Callable[[int, int], None]  # messages done, messages in all (0: unknown)

PROGRESS_EVERY = 500


def import_bag(
        path: Path, sink: RecordSink, settings: IngestSettings, robot: str,
        zone: str | None = None, topics: Sequence[str] | None = None, thin: bool = False,
        progress: Progress | None = None) -> ImportReport:
    """Put the records of a bag into the sink.

    `topics` limits it to these; `thin` applies the periods and thresholds of the settings. Raises
    ImportFileError where nothing can be read, or none of the topics is there.
    """
    name = zone or 'UTC'
    zone_name(parse_zone(name))  # refuses a zone that is none before anything is stored
    report = ImportReport(str(path), zone=name)
    reader = BagReader(path)
    importer = _Importer(reader, sink, settings, robot, report, thin)
    done = 0
    for message in reader.messages():
        done += 1
        if topics is None or message.topic.name in topics:
            importer.take(message)
        if progress and done % PROGRESS_EVERY == 0:
            progress(done, reader.message_count)
    if progress:
        progress(done, max(done, reader.message_count))
    _check_topics(topics or (), reader)
    importer.finish()
    return report


def _check_topics(topics: Iterable[str], reader: BagReader) -> None:
    absent = [topic for topic in topics if topic not in reader.topics]
    if not absent:
        return
    told = (f'{reader.path} has no topic {", ".join(absent)}; it has '
            f'{", ".join(sorted(reader.topics)) or "none"}')
    if all(topic in absent for topic in topics):
        raise ImportFileError(told)
    reader.notes.append(told)


class _Importer:
    """Turns messages, which come in order of their recording, into records in the sink."""

    def __init__(
            self, reader: BagReader, sink: RecordSink, settings: IngestSettings, robot: str,
            report: ImportReport, thin: bool) -> None:
        self._reader = reader
        self._sink = sink
        self._robot = robot
        self._report = report
        self._converter = Converter(settings)
        self._thinning = Thinning(settings) if thin else None
        self._latest: dict[str, tuple[int, bytes]] = {}
        self._tolerance_ns = round(settings.late_tolerance_s * SECOND_NS)
        self._sessions: dict[str, SessionTracker] = {}  # by robot

    def take(self, message: RawMessage) -> None:
        """Store one message; what cannot be stored is told in the report."""
        topic = message.topic
        kind = KINDS.get(topic.type)
        if kind is None:
            self._report.skipped[f'{topic.name} ({topic.type})'] += 1
            return
        try:
            decoded = self._reader.decode(message)
            if self._is_repeated(message, decoded):
                self._report.duplicates += 1
                return
            for item in self._converter.convert(kind, decoded, topic.name, message.log_ns):
                self._store(kind, topic.name, item)
        except WithheldError:
            self._report.withheld[kind] += 1
        except RecordError as error:
            self._report.refuse(f'{topic.name} at {_time(message.log_ns)}', str(error))

    def finish(self) -> None:
        """Put what was noticed on the way into the report."""
        self._report.notes += self._reader.notes
        for sessions in self._sessions.values():
            self._report.notes += sessions.notes
            self._report.session_ids += sessions.session_ids

    def _store(self, kind: str, topic: str, item: Converted) -> None:
        record, data = item
        robot = record.robot or self._robot
        session_id = self._sessions_of(robot).session_of(topic, record.stamp_ns)
        if self._thinning and not self._thinning.keep(topic, record, data):
            self._report.thinned[kind] += 1
            return
        record = replace(record, robot=robot, session_id=session_id)
        if isinstance(record, ImageRecord):
            self._sink.add_image(data or b'', record)
        else:
            self._sink.add(record)
        self._report.count(kind, record.stamp_ns)

    def _is_repeated(self, message: RawMessage, decoded: Any) -> bool:
        """Return whether a message is the one before it again, bytes and stamp alike.

        What has no stamp of its own, or a zero one, is told apart by the time of its recording.
        """
        header = getattr(decoded, 'header', None)
        stamp = getattr(header, 'stamp', None)
        time = (stamp.sec * SECOND_NS + stamp.nanosec if stamp else 0) or message.log_ns
        before = self._latest.get(message.topic.name)
        self._latest[message.topic.name] = (time, message.data)
        return before == (time, message.data)

    def _sessions_of(self, robot: str) -> SessionTracker:
        if robot not in self._sessions:
            self._sessions[robot] = SessionTracker(
                self._tolerance_ns, lambda start_ns: self._sink.begin_session(
                    robot, start_ns, 'bag', self._report.zone, self._reader.path.name))
        return self._sessions[robot]


def _time(log_ns: int) -> str:
    return format_rfc3339(log_ns) if log_ns < 2**62 else str(log_ns)
