"""`emv consolidate`: what was recorded finds its place in the tree, and texts get their vectors."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from emv_ros.commands.context import Context, interruptible
from emv_ros.commands.output import Progress, amount, tell, write, write_json
from emv_ros.errors import ModelError

if TYPE_CHECKING:
    import threading

    from emv_ros.agent.models import ModelClient
    from emv_ros.biography.upkeep import UpkeepReport
    from emv_ros.memory.store import MemoryStore
    from emv_ros.tree.consolidate import ConsolidationReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('--no-model', action='store_true',
                        help='summaries by calendar and template; a later run with a model '
                             'writes them anew')
    parser.add_argument('--no-vectors', action='store_true',
                        help='make no vectors of texts and pictures')


def run(args: argparse.Namespace, context: Context) -> int:
    """Consolidate; may be interrupted at any time, and goes on from there when run again."""
    from emv_ros.commands.retaining import fields_of
    from emv_ros.memory.retention import retain
    from emv_ros.tree.consolidate import consolidate

    with context.open() as store:
        with interruptible() as cancel, Progress('consolidating') as progress:
            kept = _keep_biographies(args, context, store, cancel)
            report = consolidate(
                store, context.settings, robot=context.robot or None,
                zone=context.settings.memory.time_zone or None,
                model=None if args.no_model else _model(context, store),
                now_ns=context.now_ns(), cancel=cancel, progress=progress.count)
        vectors = 0 if args.no_vectors else _vectors(context, store)
        pictures = 0 if args.no_vectors else _picture_vectors(context, store)
        with interruptible() as cancel:
            retained = retain(store, context.settings, now_ns=context.now_ns(), cancel=cancel)
    if context.as_json:
        write_json({**asdict(report), 'vectors': vectors, 'picture_vectors': pictures,
                    'biographies': {robot: asdict(done) for robot, done in kept.items()},
                    'retention': fields_of(retained)})
    else:
        _write(report, vectors, pictures)
        for robot, done in kept.items():
            for line in done.lines():
                write(line if len(kept) == 1 else f'{robot}: {line}')
        for line in retained.lines():
            write(line)
    return 0


def _keep_biographies(args: argparse.Namespace, context: Context, store: MemoryStore,
                      cancel: threading.Event) -> dict[str, UpkeepReport]:
    """Say what was seen, and whose it was: before the tree, which tells of it."""
    from emv_ros.agent.models import ModelClient
    from emv_ros.biography.upkeep import keep
    from emv_ros.perception.symbolic import observe_scenes

    vision = None if args.no_model or not context.settings.tree.use_model else ModelClient(
        context.settings.model, on_call=store.log_call)
    done: dict[str, UpkeepReport] = {}
    for robot in store.robots():
        if robot != (context.robot or robot) or cancel.is_set():
            continue
        observe_scenes(store, context.settings, robot, cancel, finish=context.now_ns() is None)
        done[robot] = keep(store, context.settings, robot, vision=vision, cancel=cancel)
    return done


def _model(context: Context, store: MemoryStore) -> ModelClient | None:
    from emv_ros.agent.models import ModelClient

    if not context.settings.tree.use_model:
        return None
    client = ModelClient(context.settings.model, on_call=store.log_call)
    why = client.why_unavailable('summary')
    if why:
        tell(f'note: summaries by calendar, since {why}')
        return None
    return client


def _vectors(context: Context, store: MemoryStore) -> int:
    """Give each text that has none its vector, and return how many got one."""
    from emv_ros.retrieval.embedders import make_embedder
    from emv_ros.retrieval.index import count_missing, embed_missing

    try:
        embedder = make_embedder(context.settings.retrieval)
        if embedder is None:
            return 0
        with store.reading() as session:
            total = count_missing(session, embedder)
        done = 0
        with Progress('text vectors') as progress:
            while made := embed_missing(store, embedder, limit=64):
                done += made
                progress.count(done, total)
        return done
    except ModelError as error:
        tell(f'note: no text vectors: {error}')
        return 0


def _picture_vectors(context: Context, store: MemoryStore) -> int:
    """Give the newest pictures their vectors where the settings name a model; return how many."""
    from emv_ros.retrieval.picture_vectors import embed_pictures, make_picture_embedder

    settings = context.settings.retrieval
    try:
        embedder = make_picture_embedder(settings)
    except ModelError as error:
        tell(f'note: pictures get no vectors: {error}')
        return 0
    if embedder is None:
        return 0
    with interruptible() as cancel:
        done = embed_pictures(store, embedder, settings.pictures_a_run, cancel.is_set)
    if done.problem:
        tell(f'note: {done.problem}')
    return done.made


def _write(report: ConsolidationReport, vectors: int, pictures: int) -> None:
    write(f'{amount(report.events)} events, {amount(report.goals)} goals and '
          f'{amount(report.summaries)} summaries made or changed in {report.duration_s:.1f} s')
    if report.model_calls:
        cost = f', ${report.cost:.4f}' if report.cost else ''
        write(f'{amount(report.model_calls)} model calls, {amount(report.prompt_tokens)} + '
              f'{amount(report.completion_tokens)} tokens{cost}; {amount(report.fallbacks)} '
              'summaries without the model after all')
    if report.stopped:
        write(f'some texts are templates for now: {report.stopped}')
    if vectors:
        write(f'{amount(vectors)} texts got their vectors')
    if pictures:
        write(f'{amount(pictures)} pictures got their vectors')
