"""`emv bench perception`: pictures a second through detection, tracking and looks, by stage."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
import tempfile

from emv_ros.commands.context import Context, positive
from emv_ros.commands.output import tell, write_fields, write_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('--pictures', type=positive, default=300, metavar='COUNT',
                        help='rendered pictures that are looked at (default: 300)')


def run(args: argparse.Namespace, context: Context) -> int:
    """Store pictures in a memory that is thrown away, look at them, and show what it took."""
    from emv_ros.evaluation.bench_perception import bench_perception
    from emv_ros.perception.appearance import make_appearance
    from emv_ros.perception.detectors import HOUSEHOLD, make_detector

    settings = context.settings
    if not settings.perception.detector:
        settings = replace(settings, perception=replace(settings.perception, detector=HOUSEHOLD))
    detector = make_detector(settings.perception)
    assert detector is not None  # it was named
    with tempfile.TemporaryDirectory(prefix='emv_bench_') as made:
        measured = bench_perception(Path(made), settings, detector,
                                    make_appearance(settings.perception), args.pictures, tell)
    if context.as_json:
        write_json(measured)
    else:
        write_fields(measured)
    return 0
