"""`emv bench biography`: what associating observations costs as a life grows."""

from __future__ import annotations

import argparse
from pathlib import Path
import tempfile

from emv_ros.commands.context import Context, positive
from emv_ros.commands.output import tell, write_fields, write_json, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('--observations', type=positive, default=300_000, metavar='COUNT',
                        help='length of the life, from 2000 (default: 300,000, as in the paper)')
    parser.add_argument('--dimension', type=positive, default=384, metavar='COUNT',
                        help='length of a vector of looks')
    parser.add_argument('--compared', type=int, default=20_000, metavar='COUNT',
                        help='decisions that are made exactly, too; 0: none')


def run(args: argparse.Namespace, context: Context) -> int:
    """Write a life, associate it piece by piece, and show."""
    from emv_ros.evaluation.bench_biography import bench_biography

    with tempfile.TemporaryDirectory(prefix='emv_bench_') as made:
        measured = bench_biography(
            Path(made), args.observations, args.dimension, max(0, args.compared), tell)
    if context.as_json:
        write_json(measured)
        return 0
    curve = measured.pop('curve')
    write_table(list(curve[0]), [list(row.values()) for row in curve])
    write_fields(measured)
    return 0
