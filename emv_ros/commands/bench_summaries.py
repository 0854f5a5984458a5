"""`emv bench summaries`: the tree of a memory made anew by a model, and how its summaries fared."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path
import tempfile
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context, UsageError, interruptible, positive
from emv_ros.commands.output import Progress, amount, tell, write, write_json, write_table
from emv_ros.errors import ModelUnavailableError

if TYPE_CHECKING:
    from emv_ros.agent.models import ModelClient

CALLS = 500


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the bench."""
    parser.add_argument('--groups', action='store_true',
                        help='let the model group, too, instead of pauses (tree.model_groups)')
    parser.add_argument('--calls', type=positive, default=CALLS,
                        help=f'stop after so many calls to the model (default: {CALLS})')
    parser.add_argument('--texts', action='store_true',
                        help='show each text with the lines that it sums up, for a person to judge')


def run(args: argparse.Namespace, context: Context) -> int:
    """Measure on a copy; the memory stays as it is. Status 1 where the checks find a text wrong."""
    from emv_ros.evaluation.summaries import SummaryBench, copy_without_tree
    from emv_ros.memory.database import sqlite_url
    from emv_ros.memory.store import MemoryStore
    from emv_ros.timeline import parse_zone

    model = _model(context)
    settings = replace(context.settings.tree, use_model=True, call_budget=args.calls,
                       model_groups=args.groups or context.settings.tree.model_groups)
    zone = context.settings.memory.time_zone
    with context.open() as store, tempfile.TemporaryDirectory(prefix='emv-bench-') as place:
        robot = _robot(context, store.robots())
        copy_without_tree(store, Path(place))
        with MemoryStore(Path(place), sqlite_url(Path(place)), robot) as copy, \
                interruptible() as cancel, Progress('writing summaries'):
            results = SummaryBench(copy, robot, parse_zone(zone) if zone else None, settings,
                                   model, cancel).run()
    if context.as_json:
        write_json({**results, 'texts': [asdict(text) for text in results['texts']]})
    else:
        _write(results, args.texts)
    return 1 if results['left'] else 0


def _model(context: Context) -> ModelClient:
    from emv_ros.agent.models import ModelClient

    client = ModelClient(context.settings.model)
    why = client.why_unavailable('summary')
    if why:
        raise ModelUnavailableError(f'there is nothing to measure, since {why}')
    return client


def _robot(context: Context, known: list[str]) -> str:
    if context.robot or len(known) == 1:
        return context.robot or known[0]
    raise UsageError(f'--robot names one of: {", ".join(known) or "none"}')


def _write(results: dict[str, Any], with_texts: bool) -> None:
    write(f'{results["model"]}, groups by {"the model" if results["model_groups"] else "pauses"}: '
          f'{amount(results["calls"])} calls, {amount(results["prompt_tokens"])} + '
          f'{amount(results["completion_tokens"])} tokens, {results["seconds"]:.0f} s')
    write()
    rows = [(name, results[key]) for name, key in (
        ('lists grouped', 'lists'), ('summaries', 'summaries')) if results[key]['asked']]
    write_table(('', 'asked for', 'first try', 'asked again', 'fallback'), [
        (name, found['asked'], *(f'{found[key]} ({found[f"{key}_share"]:.0%})' for key in (
            'first_try', 'after_asking_again', 'fallback'))) for name, found in rows])
    for name, found in rows:
        refused = ', '.join(f'{kind} {count}' for kind, count in found['refused'].items())
        write(f'tries for {name} refused for: {refused or "nothing"}')
    left = ', '.join(f'{kind} {count}' for kind, count in results['left'].items())
    write(f'faults that the checks find in the {len(results["texts"])} texts: {left or "none"}')
    if not results['is_whole']:
        tell('note: it ended before all was written')
    for text in results['texts'] if with_texts else ():
        write(f'\nL{text.level} {text.start}')
        for line in text.lines:
            write(f'    {line}')
        write(f'  > {text.summary}')
