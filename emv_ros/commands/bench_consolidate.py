"""`emv bench consolidate`: a life of many days, consolidated each night, against starting over."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
import json
from pathlib import Path
import shutil
import tempfile
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context, UsageError, interruptible, positive
from emv_ros.commands.output import Progress, amount, size, tell, write, write_json, write_table
from emv_ros.errors import ModelUnavailableError, StoreFullError
from emv_ros.settings import Settings, with_values

if TYPE_CHECKING:
    from emv_ros.agent.models import ModelClient

DAYS, SEED = 100, 1
STAND_IN = 'extractive'
# What a day of both memories and a copy of one take on the disk, with room.
BYTES_A_DAY, SPARE_BYTES = 6_000_000, 200_000_000
SHOWN_DAYS = (1, 10, 25, 50, 75, 100)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the bench."""
    parser.add_argument('--days', type=positive, default=DAYS,
                        help=f'how long the life is (default: {DAYS})')
    parser.add_argument('--seed', type=int, default=SEED,
                        help=f'another seed is another life (default: {SEED})')
    parser.add_argument('--model', metavar='NAME', default=STAND_IN,
                        help="'embedded' or a litellm name; default: a stand-in that copies words "
                             'out of its prompts, since 1,000 real calls take hours')
    parser.add_argument('--every-night', action='store_true',
                        help='start over each night, which takes an hour, not just the first, some '
                             'between and the last')
    parser.add_argument('--no-rebuild', action='store_true', help='never start over')
    parser.add_argument('--out', metavar='FILE', type=Path, help='write the JSON there, too')
    parser.add_argument('--work', metavar='FOLDER', type=Path,
                        help='where the memories may lie while it runs (default: a temporary one)')


def run(args: argparse.Namespace, context: Context) -> int:
    """Run it; the memories that it made are gone afterwards, whatever happens."""
    from emv_ros.evaluation.consolidation import Bench
    from emv_ros.evaluation.metered import token_counter

    if args.out is not None:
        _check_writable(args.out)
    settings, model = _model(args.model, context.settings)
    with _place(args.work, args.days) as folder, interruptible() as cancel, \
            Progress('consolidating the days') as progress:
        results = Bench(
            days=args.days, seed=args.seed, folder=folder, settings=settings,
            counter=token_counter(settings.model), model=model,
            model_name=args.model if model else '', every_night=args.every_night,
            # A rebuild asks a thousand times for what a day asks ten times.
            rebuilds=not args.no_rebuild and model is None,
            cancel=cancel, progress=progress.count).run()
    if args.out is not None:
        args.out.write_text(json.dumps(results, indent=2) + '\n', encoding='utf-8')
    if context.as_json:
        write_json(results)
    else:
        _write(results)
    return 0


def _check_writable(path: Path) -> None:
    """Raise UsageError for a file that cannot be written: before the work, which takes long."""
    is_new = not path.exists()
    try:
        path.open('ab').close()
    except OSError as error:
        raise UsageError(f'--out cannot be written: {path}: {error.strerror}') from error
    if is_new:
        path.unlink()


def _model(name: str, settings: Settings) -> tuple[Settings, ModelClient | None]:
    """Return the settings with the named model, and its client; None is the stand-in.

    Raises ModelUnavailableError where it cannot be asked.
    """
    from emv_ros.agent.models import ModelClient

    if name == STAND_IN:
        return settings, None
    chosen = with_values(settings, {'model.summary_model': name})
    client = ModelClient(chosen.model)
    why = client.why_unavailable('summary')
    if why:
        raise ModelUnavailableError(f'{name} cannot be asked: {why}')
    return chosen, client


@contextmanager
def _place(named: Path | None, days: int) -> Iterator[Path]:
    """Yield a temporary folder with room for the memories; it is removed at the end.

    Raises StoreFullError where no disk has the room.
    """
    needed = SPARE_BYTES + BYTES_A_DAY * days
    choices = [named] if named else [Path(tempfile.gettempdir()), Path('/var/tmp'), Path.cwd()]
    roomy = next((folder for folder in choices
                  if folder.is_dir() and shutil.disk_usage(folder).free >= needed), None)
    if roomy is None:
        raise StoreFullError(f'a life of {days} days takes {size(needed)} of disk, which '
                             f'{" and ".join(map(str, choices))} lack; --work names a folder')
    with tempfile.TemporaryDirectory(prefix='emv-bench-', dir=roomy) as folder:
        yield Path(folder)


# For a person


def _write(results: dict[str, Any]) -> None:
    life, total = results['life'], results['total']
    write(f'A life of {life["days"]} days (seed {life["seed"]}): {amount(life["episodes"])} '
          f'episodes, {amount(life["l0_records"])} records. Summaries by: {results["model"]}; '
          f'tokens by: {results["tokens_by"]}.')
    write()
    last = life['days']
    shown = [cost for cost in results['days'] if cost['day'] in (*SHOWN_DAYS, last)]
    write_table(
        ('day', 'prompt tokens', 'calls', 'longest prompt', 'CPU s', 'wall s', 'rows', 'database'),
        [(cost['day'], amount(cost['prompt_tokens']), cost['calls'], cost['longest_prompt'],
          f'{cost["cpu_s"]:.2f}', f'{cost["wall_s"]:.2f}', amount(cost['rows']),
          size(cost['database_bytes'])) for cost in shown])
    write()
    for name, found in results['flat'].items():
        write(f'{name}: {found["mean"]:.4g} a day; line from {found["fitted_first"]:.4g} to '
              f'{found["fitted_last"]:.4g} ({found["change"]:+.1%}), first and last days '
              f'{found["edges_change"]:+.1%}: {"flat" if found["is_flat"] else "NOT flat"} '
              f'(±{found["tolerance"]:.0%})')
    write(f'in all: {amount(total["prompt_tokens"])} + {amount(total["completion_tokens"])} '
          f'tokens in {amount(total["calls"])} calls, {amount(total["fallbacks"])} of them without '
          f'use; {total["cpu_s"]:.1f} s CPU; longest prompt {results["longest_prompt"]} of '
          f'{results["prompt_budget_tokens"]} tokens, {results["prompts_over_budget"]} over it')
    for name, rival in (results['from_scratch'] or {}).items():
        ratio, night = rival['ratio_of_totals'], rival['ratio_of_last_night']
        write(f'{name.replace("_", " ")} each night: {ratio["prompt_tokens"]:.1f} × the prompt '
              f'tokens and {ratio["cpu_s"]:.1f} × the CPU time in all; '
              f'{night["prompt_tokens"]:.0f} × and {night["cpu_s"]:.0f} × in the last night; '
              f'longest prompt {amount(max(one["longest_prompt"] for one in rival["nights"]))} '
              'tokens')
    _write_tree(results['tree'])


def _write_tree(tree: dict[str, Any]) -> None:
    write(f'tree: {amount(tree["nodes"])} nodes, depth {tree["depth"]}, longest text '
          f'{tree["longest_text"]} characters; {tree["one_path"]:.2%} of '
          f'{amount(tree["records"])} records have exactly one path to the root')
    write()
    write_table(('level', 'nodes with children', 'fewest', 'median', 'most'), [
        (level['level'], level['nodes'], level['fewest'], f'{level["median"]:g}', level['most'])
        for level in tree['fan_out']])
    if tree['roots'] != 1 or tree['records_waiting']:
        tell(f'note: {tree["roots"]} roots, {tree["records_waiting"]} records still wait')
