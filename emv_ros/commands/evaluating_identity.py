"""`emv eval identity`: how well the things of rendered days are told apart."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context, UsageError, positive
from emv_ros.commands.output import Progress, write, write_json, write_table

if TYPE_CHECKING:
    from emv_ros.evaluation.rendered.identity import SeedReport

HEADINGS = ('identity by', 'precision', '95 %', 'recall', '95 %', 'entities', 'things')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that only this evaluation has."""
    group = parser.add_argument_group('for identity')
    group.add_argument('--seeds', type=positive, default=3, metavar='N',
                       help='so many households, each with things and days of its own (default 3)')
    group.add_argument('--first-seed', type=int, default=7000, metavar='N',
                       help='the first of them (default 7000)')
    group.add_argument('--things', type=positive, default=34, metavar='N',
                       help='things of a household (default 34)')
    group.add_argument('--pairs', type=int, default=12, metavar='N',
                       help='pairs among them that are much alike (default 12)')
    group.add_argument('--days', type=positive, default=5, metavar='N',
                       help='days that are rendered (default 5)')


def run(args: argparse.Namespace, context: Context) -> int:
    """Measure and show one table, with a mean over the seeds and its interval."""
    from emv_ros.evaluation.rendered.days import Days
    from emv_ros.evaluation.rendered.identity import evaluate_identity
    from emv_ros.perception.appearance import make_appearance

    if args.pairs < 0 or args.things < 2 * args.pairs:
        raise UsageError(f'{args.pairs} pairs need {2 * args.pairs} things')
    appearance = make_appearance(context.settings.perception)
    if appearance is None:
        raise UsageError('perception.appearance names no model of looks')
    reports = []
    for seed in range(args.first_seed, args.first_seed + args.seeds):
        days = Days(seed=seed, things=args.things, pairs=args.pairs, days=args.days)
        with Progress(f'seed {seed}') as progress:
            reports.append(evaluate_identity(
                days, context.settings, appearance, progress.update))
    summary = _summary(reports)
    limits = appearance.thresholds
    if context.as_json:
        write_json({'looks': appearance.name, 'match': limits.match,
                    'consistent': limits.consistent, 'group': limits.group, 'ways': summary,
                    'seeds': [report.to_dict() for report in reports]})
    else:
        write(f'{appearance.name}, match {limits.match:g}, consistent {limits.consistent:g}; '
              f'{sum(report.pictures for report in reports)} pictures, '
              f'{sum(report.observations for report in reports)} observations')
        _write(summary)
    return 0


def _summary(reports: list[SeedReport]) -> dict[str, Any]:
    from emv_ros.evaluation.rendered.identity import WAYS, mean_with_interval

    found: dict[str, Any] = {}
    for way in WAYS:
        pairs = [report.ways[way] for report in reports]
        precision = mean_with_interval([item.precision for item in pairs])
        recall = mean_with_interval([item.recall for item in pairs])
        found[way] = {
            'precision': round(precision[0], 4),
            'precision_95': [round(end, 4) for end in precision[1:]],
            'recall': round(recall[0], 4), 'recall_95': [round(end, 4) for end in recall[1:]],
            'entities': sum(report.entities[way] for report in reports),
            'things': sum(report.things for report in reports)}
    return found


def _write(summary: dict[str, Any]) -> None:
    def share(value: float) -> str:
        return f'{100 * value:.1f} %'

    def interval(ends: list[float]) -> str:
        return f'{100 * ends[0]:.0f}–{100 * ends[1]:.0f} %'

    write_table(HEADINGS, [
        (way, share(told['precision']), interval(told['precision_95']), share(told['recall']),
         interval(told['recall_95']), str(told['entities']), str(told['things']))
        for way, told in summary.items()])
