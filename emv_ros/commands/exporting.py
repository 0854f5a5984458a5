"""`emv export`: the memory, or a part of it, as files that others can read."""

from __future__ import annotations

import argparse
from pathlib import Path
import time
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context, UsageError, add_window
from emv_ros.commands.output import Progress, amount, plain, size, write, write_json

if TYPE_CHECKING:
    from emv_ros.memory.exporting import ExportReport

SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('folder', type=Path, metavar='FOLDER', help='the folder to make')
    parser.add_argument('--format', choices=('jsonl', 'mcap'), default='jsonl',
                        help='jsonl: all of it, for `emv import`; mcap: a ROS 2 bag of what a bag '
                        'can carry, for a viewer (default: jsonl)')
    parser.add_argument('--queries', action='store_true',
                        help='of jsonl: with the questions that were asked, and their traces, '
                        'which quote what they found')
    parser.add_argument('--force', action='store_true', help='write an older export anew')
    add_window(parser)


def run(args: argparse.Namespace, context: Context) -> int:
    """Export; status 1 where a picture could not be read, the rest being exported."""
    began = time.monotonic()
    if args.format == 'mcap' and args.queries:
        raise UsageError('--queries is for --format jsonl alone')
    with context.open() as store, Progress(f'{args.folder.name}: exporting') as progress:
        window = context.window(store, args)
        if args.format == 'mcap':
            from emv_ros.ingest.bag_export import export_bag

            report = export_bag(store, args.folder, window, overwrite=args.force,
                                progress=lambda done: progress.count(done, 0))
        else:
            from emv_ros.memory.exporting import export_memory

            report = export_memory(
                store, args.folder, window, now_ns=context.now_ns(), with_queries=args.queries,
                overwrite=args.force, progress=lambda done: progress.count(done, 0))
    result: dict[str, Any] = {
        'path': str(args.folder), 'format': args.format, 'lines': dict(report.lines),
        'pictures': report.pictures, 'bytes': report.size_bytes,
        'pictures_lost': report.damaged_count, 'refusals': report.damaged[:SHOWN],
        'seconds': round(time.monotonic() - began, 3)}
    if context.as_json:
        write_json(result)
    else:
        _write(report, result['seconds'])
    return int(report.damaged_count > 0)


def _write(report: ExportReport, seconds: float) -> None:
    kinds = ', '.join(f'{amount(count)} {kind}' for kind, count in report.lines.items())
    write(f'{report.path}: {kinds}; {amount(report.pictures)} pictures, '
          f'{size(report.size_bytes)} in {seconds:.1f} s')
    if report.damaged_count:
        write(f'  {amount(report.damaged_count)} pictures could not be read:')
    for told in report.damaged[:SHOWN]:
        write(f'    {plain(told)}')
