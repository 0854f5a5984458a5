"""`emv bench ingest`: a robot's full rate into a memory over DDS, beside a plain recorder."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
import tempfile
from typing import Any

from emv_ros.commands.context import Context, UsageError
from emv_ros.commands.output import amount, size, tell, write, write_json, write_table
from emv_ros.commands.running import check_ros, parameters

RATES = {'camera_hz': (30.0, '1280×720 pictures a second'),
         'joint_hz': (500.0, 'states of 30 joints a second'),
         'events_hz': (50.0, 'skill events a second'),
         'utterances_hz': (10.0, 'utterances a second')}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the bench."""
    parser.add_argument('--seconds', type=float, default=600.0, metavar='S',
                        help='how long is published (default: 600)')
    for name, (rate, what) in RATES.items():
        parser.add_argument(f'--{name.replace("_", "-")}', type=float, default=rate, metavar='HZ',
                            help=f'{what} (default: {rate:g}; 0: none)')
    parser.add_argument('--question-period', type=float, default=10.0, metavar='S',
                        help='time between questions (default: 10; 0: none)')
    parser.add_argument('--model', action='store_true',
                        help='questions and summaries by the model of the settings; without it '
                             'evidence is only retrieved, since the embedded model takes all cores')
    parser.add_argument('--no-recorder', action='store_true',
                        help='without the recorder of the same topics to compare with')
    parser.add_argument('--work', metavar='FOLDER', type=Path,
                        help='where the memory may lie while it runs (default: a temporary one)')
    parser.add_argument('--keep', action='store_true', help='leave the memory and the logs there')


def run(args: argparse.Namespace, context: Context) -> int:
    """Run it; the status is 1 where anything that was wanted is not so."""
    from emv_ros.evaluation.bench_ingest import IngestBench
    from emv_ros.evaluation.load import Load

    load = Load(args.seconds, *(getattr(args, name) for name in RATES))
    if not load.seconds > 0 or args.question_period < 0 or any(
            getattr(load, name) < 0 for name in RATES):
        raise UsageError('the length must be positive, and no rate negative')
    if not load.events_hz or not load.utterances_hz:
        raise UsageError('without events or utterances there is nothing to lose')
    check_ros()
    settings = context.settings
    if not args.model:
        settings = replace(settings, model=replace(settings.model, model='none'))
    settings = replace(settings, memory=replace(settings.memory, folder='', url=''))
    folder = Path(tempfile.mkdtemp(prefix='emv-bench-', dir=args.work))
    try:
        figures = IngestBench(
            folder, load, settings, parameters(settings), args.question_period,
            not args.no_recorder, tell).run()
    finally:
        if args.keep:
            tell(f'the memory and the logs are in {folder}')
        else:
            _remove(folder)
    if context.as_json:
        write_json(figures)
    else:
        _write(figures)
    return int(False in figures['checks'].values())


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


# For a person


def _write(figures: Mapping[str, Any]) -> None:
    load = figures['load']
    write(f'{load["seconds"]:g} s on {figures["cores"]} cores: {load["camera_hz"]:g} pictures, '
          f'{load["joint_hz"]:g} joint states, {load["events_hz"]:g} events and '
          f'{load["utterances_hz"]:g} utterances a second; '
          + (f'a question every {figures["question_period_s"]:g} s, '
             if figures['question_period_s'] else 'no questions, ')
          + ('by retrieval alone: no language model is asked' if figures['model'] == 'none'
             else f'answered by {figures["model"]}'))
    write()
    lag = figures['lag']
    write_table(
        ('kind', 'published', 'to be stored', 'stored', 'lost', 'lag p50 s', 'p99 s', 'max s'),
        [(kind, *(amount(row[key]) for key in ('published', 'due', 'stored', 'lost')),
          *(f'{lag[kind][key]:.3f}' if kind in lag else '-' for key in ('p50_s', 'p99_s', 'max_s')))
         for kind, row in figures['records'].items()])
    write(f'all rows: lag p99 {lag["all"]["p99_s"]:.3f} s, at most {lag["all"]["max_s"]:.3f} s')
    write()
    write_table(
        ('process', 'CPU s', 'cores', 'memory MB', 'after a minute', 'growth since, MB',
         'of its own'),
        [(name, f'{row["cpu_s"]:.1f}', f'{row["cores"]:.2f}', _number(row['rss_mb']),
          _number(row['settled_mb']), _number(row['growth_mb']), _number(row['own_growth_mb']))
         for name, row in figures['processes'].items()])
    write()
    stored, recorder, ratio = figures['stored'], figures['recorder'], figures['ratio']
    write(f'memory: {amount(stored["rows"])} rows, {size(stored["database"])} of database (log '
          f'{figures["log_peak_mb"]:g} MB at most), {size(stored["pictures"])} of pictures, '
          f'{amount(stored["nodes"])} nodes of the tree')
    if recorder:
        write(f'recorder: {amount(sum(recorder["rows"].values()))} rows, '
              f'{size(recorder["file_bytes"])}; {ratio["bytes_of_recorder_to_memory"]:g} × the '
              f'bytes; ingest takes {ratio["cpu_of_ingest_to_recorder"]:g} × the CPU of it')
    runs = figures['consolidations']
    write(f'consolidation: {len(runs)} runs, {amount(sum(run["records"] for run in runs))} '
          f'records, {sum(run["seconds"] for run in runs):.1f} s; '
          f'{amount(figures["unconsolidated_at_end"])} records waited at the end')
    asked = figures['questions']
    if asked:
        write(f'questions: {asked["answered"]} of {asked["asked"]} answered, median '
              f'{_number(asked["median_s"])} s, at most {_number(asked["max_s"])} s: '
              f'{asked["statuses"]}')
    write()
    for name, is_so in figures['checks'].items():
        said = 'too short to tell' if is_so is None else 'yes' if is_so else 'NO'
        write(f'{name.replace("_", " ")}: {said}')


def _number(value: float | None) -> str:
    return '-' if value is None else f'{value:.2f}'
