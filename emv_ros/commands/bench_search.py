"""`emv bench search`: how long search takes in a generated life of any length."""

from __future__ import annotations

import argparse
from pathlib import Path
import tempfile

from emv_ros.commands.context import Context, positive
from emv_ros.commands.output import tell, write_fields, write_json

MAX_SCALE = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('--scale', type=_scale, default=1.0, metavar='TIMES',
                        help="size of the life, in times the paper's 349,538 vertices")
    parser.add_argument('--queries', type=positive, default=120, metavar='COUNT',
                        help='searches to measure')
    parser.add_argument('--folder', type=Path,
                        help='where the life is written and kept; one that is there is used again')
    parser.add_argument('--alone', action='store_true',
                        help='measure no other implementation beside')


def _scale(text: str) -> float:
    """Return the size of a life for argparse: no life of more times the paper's fits a disk."""
    scale = float(text)
    if not 0 < scale <= MAX_SCALE:
        raise argparse.ArgumentTypeError(f'{text} is not above 0 and up to {MAX_SCALE}')
    return scale


def run(args: argparse.Namespace, context: Context) -> int:
    """Write a life, measure and show."""
    from emv_ros.evaluation.bench_search import bench_search
    from emv_ros.retrieval.embedders import MiniLmEmbedder

    with tempfile.TemporaryDirectory(prefix='emv_bench_') as made:
        measured = bench_search(args.folder or Path(made), MiniLmEmbedder(), args.scale,
                                args.queries, not args.alone, tell)
    if context.as_json:
        write_json(measured)
    else:
        write_fields(measured)
    return 0
