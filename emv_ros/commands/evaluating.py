"""`emv eval`: how well questions are answered and found, and things told apart on rendered days."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
import shutil
import tempfile
from typing import TYPE_CHECKING, Any

from emv_ros.commands import (
    evaluating_agreement,
    evaluating_answers,
    evaluating_attacks,
    evaluating_identity,
)
from emv_ros.commands.context import Context, UsageError, positive
from emv_ros.commands.output import Progress, write, write_json, write_table

if TYPE_CHECKING:
    from emv_ros.evaluation.retrieval import WayReport
    from emv_ros.memory.store import MemoryStore
    from emv_ros.retrieval.embedders import TextEmbedder

RUNS = {'qa': evaluating_answers.run, 'report': evaluating_answers.report,
        'identity': evaluating_identity.run, 'attacks': evaluating_attacks.run,
        'agreement': evaluating_agreement.run}
HEADINGS = ('data', 'way', 'questions', 'touched', '95 %', 'wholly covered', '95 %', 'tokens')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('what', nargs='?', default='qa',
                        choices=['qa', 'retrieval', 'identity', 'attacks', 'agreement',
                                 'report'],
                        help='qa (if none is named): are questions answered rightly, in one way '
                             'or several, by one model or several; report: its tables once more, '
                             'without asking; retrieval: does one search find the evidence of '
                             'each question, the whole search and with parts of it left out; '
                             'identity: are the things of rendered days told apart, by looks, by '
                             'name, not at all; attacks: do hostile words in what was recorded '
                             'change answers or call functions; agreement: do the scorers '
                             'grade as people did (--data FILE with graded answers)')
    parser.add_argument('--data', action='append', type=Path, metavar='FILE', default=[],
                        help='an experience file, read into a memory of its own; without one the '
                             'memory that --memory names; may be repeated, each with its --qa')
    parser.add_argument('--qa', action='append', type=Path, metavar='FILE', default=[],
                        help='the questions (*_qa.jsonl)')
    parser.add_argument('--units', type=positive, metavar='N',
                        help='units of one search (default: the setting retrieval.units)')
    parser.add_argument('--keep', type=Path, metavar='FOLDER',
                        help='keep the memories that are made there, and use those that are there')
    evaluating_answers.add_arguments(parser)
    evaluating_identity.add_arguments(parser)
    evaluating_attacks.add_arguments(parser)


def run(args: argparse.Namespace, context: Context) -> int:
    """Measure and show one table; status 1 where no question names its evidence."""
    if args.what != 'retrieval':
        return RUNS[args.what](args, context)
    if not args.qa:
        raise UsageError('emv eval retrieval needs questions: --qa FILE')
    if args.data and len(args.data) != len(args.qa):
        raise UsageError(f'{len(args.data)} --data and {len(args.qa)} --qa: each file of '
                         'experience goes with one of questions')
    if args.keep and len({data.stem for data in args.data}) < len(args.data):
        raise UsageError('files of one name cannot be kept in one folder')
    from emv_ros.retrieval.embedders import make_embedder

    embedder = make_embedder(context.settings.retrieval)
    results: list[tuple[str, WayReport]] = []
    for at, questions in enumerate(args.qa):
        data = args.data[at] if args.data else None
        name = data.stem if data else questions.stem
        with _memory(data, args.keep, context, embedder) as store:
            results += [(name, report) for report in _evaluated(
                store, questions, args.units, context, embedder)]
    if context.as_json:
        write_json([{'data': name, **report.to_dict()} for name, report in results])
    else:
        _write(results)
    return int(not any(report.questions for _, report in results))


def _evaluated(store: MemoryStore, questions: Path, units: int | None, context: Context,
               embedder: TextEmbedder | None) -> list[WayReport]:
    from emv_ros.evaluation.questions import read_questions
    from emv_ros.evaluation.retrieval import evaluate_retrieval

    settings = context.settings.retrieval
    with Progress(questions.stem) as progress:
        return evaluate_retrieval(store, read_questions(questions), settings, context.zone(store),
                                  embedder, units or settings.units, progress=progress.update)


@contextmanager
def _memory(data: Path | None, kept: Path | None, context: Context,
            embedder: TextEmbedder | None) -> Iterator[MemoryStore]:
    """Yield the memory of a file, made where it is not there yet, or the one that is named."""
    from emv_ros.evaluation.evaluated_memory import make_memory, prepare
    from emv_ros.memory.store import MemoryStore

    if data is None:
        with context.open() as store:
            prepare(store, embedder)
            yield store
        return
    with tempfile.TemporaryDirectory(prefix='emv_eval_') as made:
        folder = (kept or Path(made)) / data.stem
        if not (folder / 'memory.db').exists():
            # Made beside its place: one that was broken off is never taken for a whole one.
            made_in = Path(made) / data.stem if kept is None else kept / f'.{data.stem}.part'
            shutil.rmtree(made_in, ignore_errors=True)
            with Progress(data.stem) as progress:
                make_memory(made_in, data, context.settings, embedder, progress.update)
            try:
                made_in.replace(folder)
            except OSError as error:
                raise UsageError(f'{folder} holds something else: {error}') from error
        with MemoryStore.open(context.settings.memory, folder) as store:
            yield store


def _write(results: list[tuple[str, WayReport]]) -> None:
    rows = [(name, *_cells(report.to_dict())) for name, report in results]
    write_table(HEADINGS, rows)
    write()
    write('A window of evidence is touched where a record that is shown overlaps it; a question is '
          'wholly covered where all its windows are. Tokens are a mean, of what is shown.')


def _cells(fields: dict[str, Any]) -> tuple[str, ...]:
    def interval(name: str) -> str:
        low, high = fields[name]
        return f'{100 * low:.0f}–{100 * high:.0f} %'

    return (fields['way'], str(fields['questions']), f'{100 * fields["touched_share"]:.1f} %',
            interval('touched_95'), f'{100 * fields["covered_share"]:.1f} %',
            interval('covered_95'), f'{fields["tokens"]:.0f}')
