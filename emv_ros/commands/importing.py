"""`emv import`: bags and experience files into the memory."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
import time
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context, UsageError
from emv_ros.commands.output import Progress, amount, plain, size, tell, write, write_json
from emv_ros.errors import EmvError, ImportFileError, StoreError

if TYPE_CHECKING:
    from emv_ros.ingest.privacy import WordFilter
    from emv_ros.ingest.report import ImportReport
    from emv_ros.memory.store import MemoryStore
    from emv_ros.memory.writer import BatchWriter
    from emv_ros.records import ImageRecord, Record

SHOWN_REFUSALS = 10
# So long nothing can be written before an import gives up; other writers have had their turn then.
PATIENCE_S = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('paths', nargs='*', type=Path, metavar='PATH',
                        help='an experience file (.jsonl), a ROS 2 bag (.mcap, .db3, folder), or '
                        'an export (folder)')
    parser.add_argument('--zone', help="the robot's time zone, as Europe/Berlin or UTC+02:00 "
                        '(default: the offset of the stamps; of a bag UTC)')
    parser.add_argument('--topic', action='append', dest='topics', metavar='TOPIC',
                        help='of a bag read only this topic; may be repeated')
    parser.add_argument('--thin', action='store_true',
                        help='of a bag keep only what the recording nodes would keep')
    parser.add_argument('--again', action='store_true',
                        help='read a file that was imported before once more')
    parser.add_argument('--undo', action='store_true',
                        help='take back what came in of exports whose import was cut off')


def run(args: argparse.Namespace, context: Context) -> int:
    """Import each path; one that fails costs no other."""
    from emv_ros.commands.importing_exports import import_export, undo
    from emv_ros.commands.private import check_export_allowed
    from emv_ros.ingest.importing import check_path
    from emv_ros.memory.export_reader import export_file
    from emv_ros.timeline import parse_zone

    if args.undo or not args.paths:
        if bool(args.paths) == args.undo:
            raise UsageError('name what to import, or --undo without a path')
        return undo(context)
    zone = args.zone or context.settings.memory.time_zone or None
    if zone is not None:
        parse_zone(zone)
    results, failed = [], False
    store: MemoryStore | None = None
    with ExitStack() as opened:
        for path in args.paths:
            try:
                export = export_file(path)
                if export is None:
                    check_path(path)
                else:
                    check_export_allowed(context.settings)
                if store is None:  # made only where there is something to read
                    store = opened.enter_context(context.open_or_make())
                results.append(
                    _import(path, zone, args, context, store) if export is None
                    else import_export(path, export, context, store))
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
    from emv_ros.ingest.privacy import WordFilter
    from emv_ros.memory.imports import claim, fingerprint, settle

    words = WordFilter(context.settings.privacy)
    began, robot = time.monotonic(), context.settings.memory.robot
    with Progress(f'{path.name}: reading') as progress:
        sha256 = fingerprint(path, lambda done, total: progress.update(
            f'{size(done)} of {size(total)}'))
    earlier = claim(
        store, robot, sha256, Path(words.text(str(path))), context.now_ns(), args.again)
    if earlier is not None:
        return told_already(path, earlier, store, context)
    report, losses = _read(path, zone, args, context, store, sha256, words)
    settle(store, robot, sha256, report.stored)
    result = _result(report, losses, time.monotonic() - began, words)
    if not context.as_json:
        _write_report(result)
    if not report.stored:
        raise ImportFileError(f'nothing of {path} could be read into the memory')
    return result


def _read(path: Path, zone: str | None, args: argparse.Namespace, context: Context,
          store: MemoryStore, sha256: str,
          words: WordFilter) -> tuple[ImportReport, dict[str, int]]:
    """Return the report, and what the memory refused by type."""
    from emv_ros.commands.private import private_sink
    from emv_ros.ingest.importing import import_path
    from emv_ros.memory.imports import settle
    from emv_ros.memory.writer import BatchWriter

    memory = context.settings.memory
    writer = BatchWriter(store, memory.flush_period_s, memory.batch_size, memory.queue_size)
    sink, is_read = Unhurried(writer, memory.queue_size), False
    try:
        with Progress(f'{path.name}: importing') as progress:
            report = import_path(
                path, private_sink(context.settings, sink, words), context.settings.ingest,
                memory.robot, zone, args.topics, args.thin, progress.count)
        sink.drain(0)
        is_read = True
    finally:
        # Where writing was given up, what waits is tried once more at most.
        is_written = writer.close(PATIENCE_S if not sink.is_stuck else 1.0)
        # What stored something and broke off stays noted, so that it is not doubled unnoticed.
        if not is_read and not sink.taken:
            settle(store, memory.robot, sha256, 0)
    if not is_written:
        raise EmvError(f'not everything of {path} could be written: {writer.last_error}')
    return report, dict(writer.refused + writer.dropped)


class Unhurried:
    """A sink that waits for the writer before its queue is full: a file can wait.

    Its methods raise StoreError where nothing at all could be written for PATIENCE_S: a full disk.
    """

    def __init__(self, writer: BatchWriter, queue_size: int) -> None:
        self._writer = writer
        self._limit = max(1, queue_size // 2)
        self.taken = 0
        self.is_stuck = False

    def begin_session(
            self, robot: str, start_ns: int, clock_source: str, zone: str, source: str) -> int:
        """Begin a session after all that is queued."""
        self.taken += 1
        self.drain(0)
        return self._writer.begin_session(robot, start_ns, clock_source, zone, source)

    def add(self, record: Record) -> None:
        """Take a record."""
        self._make_room()
        self._writer.add(record)

    def add_image(self, data: bytes, record: ImageRecord) -> None:
        """Take a picture."""
        self._make_room()
        self._writer.add_image(data, record)

    def drain(self, most: int) -> None:
        """Wait until at most so many records are queued, as long as some get written."""
        while (queued := self._writer.queued) > most:
            if not self._writer.flush(PATIENCE_S) and self._writer.queued >= queued:
                self.is_stuck = True
                raise StoreError(
                    f'{amount(queued)} records could not be written for {PATIENCE_S:.0f} s '
                    f'({self._writer.last_error or "the disk is too slow"}); those read before '
                    'them are stored')

    def _make_room(self) -> None:
        self.taken += 1
        self.drain(self._limit - 1)


def told_already(path: Path, earlier: dict[str, Any], store: MemoryStore,
                 context: Context, is_final: bool = False) -> dict[str, Any]:
    """Tell that a file was imported before, which is final where it cannot be read again."""
    from emv_ros.timeline import format_stamp

    when = format_stamp(earlier['stamp_ns'], context.zone(store))
    what = (f'was imported already, on {when} ({amount(earlier["records"])} records)'
            if earlier['is_done'] else
            f'is being imported, or its import of {when} was interrupted and is incomplete')
    again = '' if is_final else (
        '; --again reads it once more, and what is stored then stands twice')
    tell(f'{path} {what}{again}')
    return {'path': str(path), 'already': True, 'is_complete': earlier['is_done']}


def _result(report: ImportReport, losses: dict[str, int], seconds: float,
            words: WordFilter) -> dict[str, Any]:
    from emv_ros.timeline import format_rfc3339, parse_zone

    zone = parse_zone(report.zone)
    first, last = (None if stamp is None else format_rfc3339(stamp, zone)
                   for stamp in (report.first_ns, report.last_ns))
    return {
        'path': report.path, 'read': report.read, 'stored': report.stored,
        'records': dict(report.records), 'refused': report.refused_count,
        'refusals': [{'where': item.where, 'reason': words.text(item.reason)}
                     for item in report.refused[:SHOWN_REFUSALS]],
        'unknown': dict(report.skipped), 'thinned': dict(report.thinned),
        'withheld': dict(report.withheld),
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
                       ('withheld', 'withheld for privacy'), ('lost', 'refused by the memory')):
        for kind, count in result[name].items():
            write(f'  {amount(count)} {told}: {plain(kind)}')
    for note in result['notes']:
        write(f'  note: {plain(note)}')
