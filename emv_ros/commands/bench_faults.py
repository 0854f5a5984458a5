"""`emv bench faults`: faults that robots meet, repeated at random moments, and what they cost."""

from __future__ import annotations

import argparse
from pathlib import Path
import tempfile

from emv_ros.commands.context import Context, positive
from emv_ros.commands.output import tell, write, write_json, write_table

COLUMNS = ('fault', 'times', 'too_late', 'acknowledged', 'lost', 'lost_untold', 'opened_by_itself',
           'repaired')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('--runs', type=positive, default=200, metavar='COUNT',
                        help='repetitions in all, each fault at least once (default: 200)')
    parser.add_argument('--seed', type=int, default=1, help='of the random moments (default: 1)')
    parser.add_argument('--locked', type=float, default=30.0, metavar='SECONDS',
                        help='how long another process holds the database (default: 30)')


def run(args: argparse.Namespace, context: Context) -> int:
    """Try all faults in folders that are thrown away; status 1 where a memory was not whole."""
    from emv_ros.evaluation.faults.bench_faults import bench_faults

    with tempfile.TemporaryDirectory(prefix='emv_faults_') as made:
        measured = bench_faults(Path(made), args.runs, args.seed, tell, args.locked)
    if context.as_json:
        write_json(measured)
    else:
        write_table(COLUMNS, [[row[name] for name in COLUMNS] for row in measured['faults']])
        write(f'{measured["times"]} times in {measured["seconds"]} s')
        for row in measured['faults']:
            for line in row['wrong']:
                write(f'WRONG  {row["fault"]}: {line}')
        for name in measured['left_out']:
            write(f'not tried, since this machine cannot: {name}')
    return int(not measured['is_whole'] or measured['lost_untold'] > 0)
