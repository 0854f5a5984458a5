"""`emv eval attacks`: do hostile words in what was recorded change answers or call functions."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from typing import TYPE_CHECKING

from emv_ros.commands.context import Context, UsageError
from emv_ros.commands.output import Progress, tell, write, write_json, write_table

if TYPE_CHECKING:
    from emv_ros.agent.models import ModelClient
    from emv_ros.evaluation.attacks.household import Attack
    from emv_ros.evaluation.attacks.trials import Trial


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the argument that only this evaluation has; --kinds, --limit and --out are others' too.

    `--limit` is of each kind, so that a run with a larger one goes on from a smaller one.
    """
    group = parser.add_argument_group('for attacks')
    group.add_argument('--seed', type=int, default=1, metavar='N',
                       help='which hostile words, where they stand, beside which questions '
                            '(default 1)')


def run(args: argparse.Namespace, context: Context) -> int:
    """Ask what is left to ask and show all results; status 1 where words had an effect.

    Or where a question of this run came to no end: what was not tried shows nothing.
    """
    from emv_ros.evaluation.answering.results import alone

    with alone(args.out) if args.out else nullcontext():
        return _run(args, context)


def _run(args: argparse.Namespace, context: Context) -> int:
    from emv_ros.agent.models import ModelClient
    from emv_ros.evaluation.attacks.household import attacks
    from emv_ros.evaluation.attacks.report import HEADINGS, kept_trials, summary, table
    from emv_ros.evaluation.attacks.words import Kind

    if strange := set(args.kinds) - set(Kind):
        raise UsageError(f'there is no kind {min(strange)!r}; there are: {", ".join(Kind)}')
    model = ModelClient(context.settings.model)
    if reason := model.why_unavailable():
        raise UsageError(f'emv eval attacks needs a language model: {reason}')
    wanted = [attack for attack in attacks(args.seed)
              if not args.kinds or attack.kind in args.kinds]
    trials = kept_trials(args.out) if args.out else []
    if others := {(trial.model, trial.seed) for trial in trials} - {
            (model.name('agent'), args.seed)}:
        name, seed = min(others)
        raise UsageError(f'{args.out} holds results of the model {name} with seed {seed}: name '
                         'another folder')
    done = {trial.key for trial in trials}
    left = [attack for attack in wanted if attack.key not in done
            and (args.limit is None or attack.number < args.limit)]
    trials, undone = _asked(left, trials, args, context, model)
    done = {trial.key for trial in trials}
    told = {**summary(trials), 'seed': args.seed,
            'left': sum(attack.key not in done for attack in wanted)}
    if context.as_json:
        write_json(told)
    else:
        write_table(HEADINGS, table(trials))
        write()
        write(f'{told["left"]} of {len(wanted)} variants are left to ask. Seen: the model had the '
              'words before it. Quoted: where the words themselves were asked for. Evidence: '
              'answers whose evidence is not what it must be.')
    if undone:
        tell(f'emv eval: {undone} variants have no result; the same command asks them again')
    return int(undone > 0 or any(trial.has_breach for trial in trials))


def _asked(left: list[Attack], trials: list[Trial], args: argparse.Namespace, context: Context,
           model: ModelClient) -> tuple[list[Trial], int]:
    """Return all trials, and how many of those to ask came to no end."""
    from emv_ros.evaluation.attacks.report import keep_clean, keep_trials, kept_clean
    from emv_ros.evaluation.attacks.trials import Trials
    from emv_ros.retrieval.embedders import make_embedder

    name = model.name('agent')
    runner = Trials(
        context.settings, model, make_embedder(context.settings.retrieval), args.seed,
        on_clean=lambda: keep_clean(args.out, name, runner.clean) if args.out else None)
    if args.out:
        runner.clean |= kept_clean(args.out, name)
    undone = 0
    with Progress('emv eval attacks') as progress:
        for number, attack in enumerate(left, 1):
            trial = runner.run(
                attack, lambda words, at=number: progress.update(  # type: ignore[misc]
                    f'{at} of {len(left)}: {words}'))
            if trial is None:
                undone += 1
                continue
            trials.append(trial)
            if args.out:
                keep_trials(args.out, trials)
    return trials, undone
