"""`emv perceive`: stored pictures to scenes and observations."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from emv_ros.commands.context import Context, interruptible
from emv_ros.commands.output import Progress, amount, plain, tell, write, write_json
from emv_ros.errors import PerceptionError

if TYPE_CHECKING:
    from emv_ros.perception.looks import AppearanceModel
    from emv_ros.perception.perceive import PerceptionReport

# Counted in the report, and told where there are any.
_TOLD = {
    'passed_over': 'pictures passed over', 'late': 'pictures late: their time was looked at before',
    'damaged': 'pictures damaged', 'failed': 'pictures of which the detector told nothing',
    'waiting': 'pictures wait in a clip that is not over; --finish takes them too'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('--finish', action='store_true',
                        help='the last clip of each camera is over, too: nothing more will come')


def run(args: argparse.Namespace, context: Context) -> int:
    """Look at what waits; may be interrupted at any time, and goes on from there when run again."""
    from emv_ros.perception.detectors import make_detector
    from emv_ros.perception.perceive import NOTHING_TO_SEE_WITH, can_see, perceive

    with context.open() as store:
        detector = make_detector(context.settings.perception)
        if detector is None and not can_see(store, context.robot):
            tell(f'emv perceive: {NOTHING_TO_SEE_WITH}')
            return 1
        with interruptible() as cancel, Progress('perceiving') as progress:
            report = perceive(
                store, context.settings, robot=context.robot, detector=detector,
                appearance=_appearance(context), finish=args.finish, cancel=cancel,
                progress=progress.count)
    if context.as_json:
        write_json(asdict(report))
    else:
        _write(report)
    return 0


def _appearance(context: Context) -> AppearanceModel | None:
    """Return the model of looks; without it things are seen, and told apart by no looks."""
    from emv_ros.perception.appearance import make_appearance

    try:
        return make_appearance(context.settings.perception)
    except PerceptionError as error:
        tell(f'note: observations get no looks: {error}')
        return None


def _write(report: PerceptionReport) -> None:
    write(f'{amount(report.pictures)} pictures looked at: {amount(report.clips)} clips, '
          f'{amount(report.scenes)} scenes, {amount(report.observations)} observations, '
          f'{amount(report.separations)} pairs seen apart')
    for name, words in _TOLD.items():
        if count := getattr(report, name):
            write(f'  {amount(count)} {words}')
    for problem in report.problems:
        write(f'  problem: {plain(problem)}')
