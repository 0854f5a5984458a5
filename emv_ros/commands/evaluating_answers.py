"""`emv eval qa`: questions with known answers, asked of the agent; `report`: its tables anew."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
import sys
import tempfile
import time
from typing import TYPE_CHECKING

from emv_ros.commands.context import Context, UsageError, interruptible, positive
from emv_ros.commands.output import Progress, tell, write, write_json, write_table
from emv_ros.errors import EmvError

if TYPE_CHECKING:
    from emv_ros.evaluation.answering.asking import Stand
    from emv_ros.evaluation.answering.results import Result, ResultsFile
    from emv_ros.evaluation.answering.sets import QuestionSet
    from emv_ros.retrieval.embedders import TextEmbedder

# Where nobody watches, a line tells how far it is, each so many seconds.
TOLD_EACH_S = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that only this evaluation has."""
    group = parser.add_argument_group(
        'for qa and report', 'Questions are those of --qa, or of simulated households.')
    group.add_argument('--out', type=Path, metavar='FOLDER',
                       help='where results are kept, and the report; a run that was broken off '
                            'goes on there')
    group.add_argument('--episodes', type=_lengths, metavar='N,N', default=[],
                       help='simulate households with histories of so many episodes')
    group.add_argument('--way', action='append', default=[], metavar='NAME',
                       help="a way of answering, as 'whole-history'; may be repeated (default: "
                            'ours; a wrong name lists them)')
    group.add_argument('--model', action='append', default=[], metavar='NAME',
                       help='a language model; may be repeated (default: the setting model.model)')
    group.add_argument('--kinds', type=_words, default=[], metavar='KIND,KIND',
                       help='only questions of these kinds')
    group.add_argument('--limit', type=positive, metavar='N',
                       help='at most so many questions of a kind, of each set')
    group.add_argument('--judge', action='store_true',
                       help='the model judges answers where no rule can')
    group.add_argument('--again', action='store_true',
                       help='put results aside that are there, and begin anew')


def _lengths(text: str) -> list[int]:
    for word in _words(text):
        if not word.isdecimal() or not int(word):
            raise argparse.ArgumentTypeError(f'{word!r} is no whole number from 1')
    return list(dict.fromkeys(map(int, _words(text))))


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(',') if word.strip()]


def run(args: argparse.Namespace, context: Context) -> int:
    """Ask, keep the results and show the report; status 1 where questions have no result."""
    from emv_ros.evaluation.answering.ways import OURS, known, making_of

    _check(args)
    try:
        ways = known(args.way or [OURS])
    except EmvError as error:
        raise UsageError(str(error)) from error
    if not (args.data or args.episodes):
        for way in filter(making_of, ways):
            raise UsageError(f'the way {way} needs a memory that is made for it: name the '
                             'experience, --data FILE, not a memory')
    models = list(dict.fromkeys(args.model or [context.settings.model.model]))
    if wrong := [name for name in models if name in ('', 'none')]:
        raise UsageError(f'{wrong[0]!r} is no model that could answer; name one with --model')
    with tempfile.TemporaryDirectory(prefix='emv_eval_') as passing:
        if args.out is None:
            tell('emv eval: without --out FOLDER no results are kept')
        return _asked(args, context, args.out or Path(passing), ways, models)


def _check(args: argparse.Namespace) -> None:
    if args.data and len(args.data) != len(args.qa):
        raise UsageError(f'{len(args.data)} --data and {len(args.qa)} --qa: each file of '
                         'experience goes with one of questions')
    if not args.qa and not args.episodes:
        raise UsageError('emv eval qa needs questions: --qa FILE, or --episodes N')
    if args.qa and args.episodes:
        raise UsageError('either --qa FILE or --episodes N, not both')
    for path in (*args.qa, *args.data):
        if not path.is_file():
            raise UsageError(f'there is no file {path}')
    if len({path.stem for path in args.data or args.qa}) < len(args.qa):
        raise UsageError('files of one name cannot be told apart in the results')


def _asked(args: argparse.Namespace, context: Context, folder: Path, ways: Sequence[str],
           models: Sequence[str]) -> int:
    from emv_ros.evaluation.answering.results import alone

    with alone(folder):
        return _asked_alone(args, context, folder, ways, models)


def _asked_alone(args: argparse.Namespace, context: Context, folder: Path, ways: Sequence[str],
                 models: Sequence[str]) -> int:
    from emv_ros.evaluation.answering.account import account_of, check_account
    from emv_ros.evaluation.answering.asking import Asking
    from emv_ros.evaluation.answering.results import ResultsFile
    from emv_ros.retrieval.embedders import make_embedder

    embedder = make_embedder(context.settings.retrieval)
    sets = _sets(args, context, folder, embedder)
    if not any(item.questions for item in sets):
        raise UsageError('there are no questions to ask')
    check_account(folder, account_of(
        context.settings, {item.name: item.questions for item in sets},
        {item.name: item.source for item in sets}, context.robots), args.again)
    with ResultsFile(folder) as results:
        if results.dropped:
            tell(f'emv eval: the last line of the results was torn: {results.dropped} bytes of '
                 'it were dropped')
        with interruptible() as cancel, Progress('emv eval qa') as progress:
            asking = Asking(context.settings, embedder, results, _telling(progress), tell,
                            robots=context.robots)
            stand = asking.run(sets, ways, models, cancel)
        if args.judge:
            _judge(results, context)
        asked = results.results
    _report(asked, folder, context, is_kept=args.out is not None)
    if stand.undone:
        tell(f'emv eval: {stand.undone} questions have no result; the same command asks them again')
    return int(stand.undone > 0)


def _judge(results: ResultsFile, context: Context) -> None:
    """Let the model of the settings judge what no rule can; what it judged once stays."""
    from emv_ros.agent.models.client import ModelClient
    from emv_ros.evaluation.answering.scored import judged, scored
    from emv_ros.evaluation.scoring.judge import Judge

    judge = Judge(ModelClient(context.settings.model))
    waiting = [result for result in map(scored, results.results) if not result.category]
    with interruptible() as cancel, Progress('judging') as progress:
        for place, result in enumerate(waiting):
            if cancel.is_set():
                return
            progress.count(place, len(waiting))
            found = judged(result, judge)
            if found.category:
                results.add(found)


def _sets(args: argparse.Namespace, context: Context, folder: Path,
          embedder: TextEmbedder | None) -> list[QuestionSet]:
    from emv_ros.evaluation.answering import sets
    from emv_ros.evaluation.answering.simulated import simulated_set
    from emv_ros.evaluation.questions import read_questions

    kept, settings = args.keep or folder / 'memories', context.settings
    if args.episodes:
        return [simulated_set(kept, episodes, seed, settings, embedder, args.kinds, args.limit,
                              tell)
                for episodes in args.episodes
                for seed in range(args.first_seed, args.first_seed + args.seeds)]
    found = []
    for at, path in enumerate(args.qa):
        data = args.data[at] if args.data else None
        questions = sets.chosen(read_questions(path), args.kinds, args.limit)
        found.append(sets.QuestionSet(
            data.stem if data else path.stem, questions,
            sets.memory_for_file(data, kept, settings, embedder, tell) if data else
            sets.memory_that_is_there(context.open),
            source=sets.digest_of(data) if data else _place_of(context)))
    return found


def _place_of(context: Context) -> str:
    """Return where the memory that is there lies, without a password."""
    from sqlalchemy.engine import make_url

    url = context.settings.memory.url
    return make_url(url).render_as_string() if url else str(context.settings.folder.resolve())


def report(args: argparse.Namespace, context: Context) -> int:
    """Make the report of results anew, scored anew; nothing is asked."""
    from emv_ros.evaluation.answering.results import FILE, read_results

    if args.out is None:
        raise UsageError('emv eval report needs the results: --out FOLDER')
    path = args.out / FILE
    if not path.is_file():
        raise UsageError(f'there are no results in {args.out}: `emv eval qa` makes them')
    results, _, torn = read_results(path)
    if torn:
        tell('emv eval: the last line of the results is torn; it is left out')
    if not results:
        raise UsageError(f'{path} holds no result')
    _report(results, args.out, context, is_kept=True)
    return 0


def _report(results: Sequence[Result], folder: Path, context: Context, is_kept: bool) -> None:
    from emv_ros.evaluation.answering.scored import scored
    from emv_ros.evaluation.answering.tables import totals_rows
    from emv_ros.evaluation.answering.written import write_report

    made, files = write_report([scored(result) for result in results], folder)
    if context.as_json:
        write_json(made)
        return
    write_table(*totals_rows(made))
    if is_kept:
        write()
        for path in files:
            write(str(path))


def _telling(progress: Progress) -> Callable[[Stand], None]:
    last = [time.monotonic()]

    def update(stand: Stand) -> None:
        left_s = stand.left_s()
        left = '' if left_s is None else f', about {_duration(left_s)} left'
        line = f'{stand.done} of {stand.total}{left}: {stand.now}'
        progress.update(line)
        if not sys.stderr.isatty() and time.monotonic() - last[0] >= TOLD_EACH_S:
            last[0] = time.monotonic()
            tell(f'emv eval qa: {line}')
    return update


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return f'{seconds:.0f} s'
    return f'{minutes} min' if minutes < 120 else f'{minutes // 60} h {minutes % 60} min'
