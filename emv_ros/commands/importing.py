"""`emv import`: bags and experience files into the memory."""

from __future__ import annotations

import argparse
from pathlib import Path
import time
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context
from emv_ros.commands.output import Progress, amount, plain, size, tell, write, write_json
from emv_ros.errors import EmvError, ImportFileError

if TYPE_CHECKING:
    from emv_ros.ingest.report import ImportReport
    from emv_ros.memory.store import MemoryStore
    from emv_ros.memory.writer import BatchWriter
    from emv_ros.records import ImageRecord, Record

SHOWN_REFUSALS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('paths', nargs='+', type=Path, metavar='PATH',
                        help='an experience file (.jsonl) or a ROS 2 bag (.mcap, .db3, folder)')
    parser.add_argument('--zone', help="the robot's time zone, as Europe/Berlin or UTC+02:00 "
                        '(default: the offset of the stamps; of a bag UTC)')
    parser.add_argument('--topic', action='append', dest='topics', metavar='TOPIC',
                        help='of a bag read only this topic; may be repeated')
    parser.add_argument('--thin', action='store_true',
                        help='of a bag keep only what the recording nodes would keep')
    parser.add_argument('--again', action='store_true',
                        help='read a file that was imported before once more')


def run(args: argparse.Namespace, context: Context) -> int:
    """Import each path; one that fails costs no other."""
    from emv_ros.timeline import parse_zone

    zone = args.zone or context.settings.memory.time_zone or None
    if zone is not None:
        parse_zone(zone)
    results, failed = [], False
    with context.open_or_make() as store:
        for path in args.paths:
            try:
                results.append(_import(path, zone, args, context, store))
            except ImportFileError as error:
                failed = True
                results.append({'path': str(path), 'error': str(error)})
                tell(f'emv import: {error}')
    if context.as_json:
        write_json(results)
    is_short = any(result.get('lost') or not result.get('is_complete', True) for result in results)
    return int(failed or is_short)


def _import(path: Path, zone: str | None, args: argparse.Namespace, context: Context,
            store: MemoryStore) -> dict[str, Any]:
    from emv_ros.memory.imports import claim, fingerprint, settle

    if not path.is_file() and not path.is_dir():
        raise ImportFileError(f'there is no file or folder {path}')
    began, robot = time.monotonic(), context.settings.memory.robot
    with Progress(f'{path.name}: reading') as progress:
        sha256 = fingerprint(path, lambda done, total: progress.update(
            f'{size(done)} of {size(total)}'))
    earlier = claim(store, robot, sha256, path, context.now_ns(), args.again)
    if earlier is not None:
        return _told_already(path, earlier, store, context)
    report, losses = _read(path, zone, args, context, store, sha256)
    settle(store, robot, sha256, report.stored)
    result = _result(report, losses, time.monotonic() - began)
    if not context.as_json:
        _write_report(result)
    if not report.stored:
        raise ImportFileError(f'nothing of {path} could be read into the memory')
    return result


def _read(path: Path, zone: str | None, args: argparse.Namespace, context: Context,
          store: MemoryStore, sha256: str) -> tuple[ImportReport, dict[str, int]]:
    """Return the report, and what the memory refused by type."""
    from emv_ros.ingest.importing import import_path
    from emv_ros.memory.imports import settle
    from emv_ros.memory.writer import BatchWriter

    memory = context.settings.memory
    writer = BatchWriter(store, memory.flush_period_s, memory.batch_size, memory.queue_size)
    sink, is_read = _Unhurried(writer, memory.queue_size), False
    try:
        with Progress(f'{path.name}: importing') as progress:
            report = import_path(path, sink, context.settings.ingest, memory.robot, zone,
                                 args.topics, args.thin, progress.count)
        is_read = True
    finally:
        is_written = writer.close()
        # What stored something and broke off stays noted, so that it is not doubled unnoticed.
        if not is_read and not sink.taken:
            settle(store, memory.robot, sha256, 0)
    if not is_written:
        raise EmvError(f'not everything of {path} could be written: {writer.last_error}')
    return report, dict(writer.refused + writer.dropped)


class _Unhurried:
    """A sink that waits for the writer before its queue is full: a file can wait."""

    def __init__(self, writer: BatchWriter, queue_size: int) -> None:
        self._writer = writer
        self._limit = max(1, queue_size // 2)
        self.taken = 0

    def begin_session(
            self, robot: str, start_ns: int, clock_source: str, zone: str, source: str) -> int:
        self.taken += 1
        return self._writer.begin_session(robot, start_ns, clock_source, zone, source)

    def add(self, record: Record) -> None:
        self._wait()
        self._writer.add(record)

    def add_image(self, data: bytes, record: ImageRecord) -> None:
        self._wait()
        self._writer.add_image(data, record)

    def _wait(self) -> None:
        self.taken += 1
        while self._writer.queued >= self._limit:
            self._writer.flush()


def _told_already(path: Path, earlier: dict[str, Any], store: MemoryStore,
                  context: Context) -> dict[str, Any]:
    from emv_ros.timeline import format_stamp

    when = format_stamp(earlier['stamp_ns'], context.zone(store))
    what = (f'was imported already, on {when} ({amount(earlier["records"])} records)'
            if earlier['is_done'] else
            f'is being imported, or its import of {when} was interrupted and is incomplete')
    tell(f'{path} {what}; --again reads it once more, and what is stored then stands twice')
    return {'path': str(path), 'already': True, 'is_complete': earlier['is_done']}


def _result(report: ImportReport, losses: dict[str, int], seconds: float) -> dict[str, Any]:
    from emv_ros.timeline import format_rfc3339, parse_zone

    zone = parse_zone(report.zone)
    first, last = (None if stamp is None else format_rfc3339(stamp, zone)
                   for stamp in (report.first_ns, report.last_ns))
    return {
        'path': report.path, 'read': report.read, 'stored': report.stored,
        'records': dict(report.records), 'refused': report.refused_count,
        'refusals': [{'where': item.where, 'reason': item.reason}
                     for item in report.refused[:SHOWN_REFUSALS]],
        'unknown': dict(report.skipped), 'thinned': dict(report.thinned),
        'duplicates': report.duplicates, 'lost': losses, 'notes': list(report.notes),
        'sessions': list(report.session_ids), 'zone': report.zone, 'first': first, 'last': last,
        'seconds': round(seconds, 3)}


def _write_report(result: dict[str, Any]) -> None:
    kinds = ', '.join(f'{amount(count)} {kind}' for kind, count in result['records'].items())
    write(f'{result["path"]}: {amount(result["read"])} records read, '
          f'{amount(result["stored"])} stored ({kinds or "none"}) in {result["seconds"]:.1f} s')
    if result['first']:
        write(f'  from {result["first"]} to {result["last"]}, zone {result["zone"]}')
    for name, told in (('duplicates', 'stood there twice and were stored once'),
                       ('refused', 'refused:')):
        if result[name]:
            write(f'  {amount(result[name])} {told}')
    for item in result['refusals']:
        write(f'    {plain(item["where"])}: {plain(item["reason"])}')
    if result['refused'] > len(result['refusals']):
        write(f'    … and {amount(result["refused"] - len(result["refusals"]))} more')
    for name, told in (('unknown', 'of an unknown type'), ('thinned', 'thinned out'),
                       ('lost', 'refused by the memory')):
        for kind, count in result[name].items():
            write(f'  {amount(count)} {told}: {plain(kind)}')
    for note in result['notes']:
        write(f'  note: {plain(note)}')
