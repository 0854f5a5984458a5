"""`emv reindex`: make anew what is derived: which observations are of one thing."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from emv_ros.commands.context import Context, UsageError, interruptible
from emv_ros.commands.output import tell, write, write_json

if TYPE_CHECKING:
    from emv_ros.biography.rebuild import RebuildReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('--entities', action='store_true',
                        help='associate all observations anew, by the settings as they are now; '
                             'what persons merged, split and named holds, and ids stay')


def run(args: argparse.Namespace, context: Context) -> int:
    """Associate anew; when interrupted, the next run or consolidation goes on from there."""
    from emv_ros.biography.rebuild import rebuild

    if not args.entities:
        raise UsageError('say what to make anew: --entities')
    settings = context.settings
    done: dict[str, RebuildReport] = {}
    with context.open() as store, interruptible() as cancel:
        for robot in [context.robot] if context.robot else store.robots():
            if not cancel.is_set():
                done[robot] = rebuild(store, settings.biography, robot, cancel=cancel,
                                      clip_gap_s=settings.perception.clip_gap_s)
    if context.as_json:
        write_json({robot: asdict(report) for robot, report in done.items()})
    else:
        for robot, report in done.items():
            write(report.words() if len(done) == 1 else f'{robot}: {report.words()}')
    if not any(report.observations for report in done.values()):
        tell('emv reindex: nothing was observed that tells of an entity')
    return 0
