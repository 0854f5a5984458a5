"""`emv stats`: what the memory holds, and what its tree cost day by day."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context
from emv_ros.commands.output import amount, size, tell, write, write_fields, write_json, write_table

if TYPE_CHECKING:
    from datetime import date, tzinfo

    from emv_ros.memory.costs import Cost
    from emv_ros.memory.growth import Growth
    from emv_ros.memory.statistics import ModelUse, Statistics
    from emv_ros.memory.store import MemoryStore

NAMES = {'image': 'pictures', 'joint_sample': 'joint states', 'pose': 'poses',
         'utterance': 'utterances', 'skill_event': 'skill events', 'skill_report': 'skill reports',
         'annotation': 'goals and narrations', 'scene': 'scenes', 'observation': 'observations',
         'entity': 'entities', 'clip': 'clips', 'node': 'tree nodes', 'query': 'questions'}
# So many days are listed; JSON and the plot have all.
MAX_DAYS = 14


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('--plot', metavar='FILE', type=Path,
                        help='draw the tree and its cost over time into a .png or .svg')
    parser.add_argument('--growth', action='store_true',
                        help='bytes by kind, and how many that is in an hour of recording')


def run(args: argparse.Namespace, context: Context) -> int:
    """Count and show; status 1 where a plot was asked for and there is nothing to draw."""
    from emv_ros.memory.costs import by_day, costs
    from emv_ros.memory.statistics import statistics
    from emv_ros.timeline import format_rfc3339

    if args.growth:
        return _show_growth(context)
    if args.plot is not None:
        from emv_ros.commands.plotting import format_of

        format_of(args.plot)  # refuses a wrong name before any work
    with context.open() as store:
        zone = context.zone(store)
        spent = costs(store, context.robots)
        if args.plot is not None:
            _plot(args.plot, store, context, spent, zone)
            if not context.as_json:
                return 0
        found = statistics(store)
        first, last = (None if stamp is None else format_rfc3339(stamp, zone)
                       for stamp in (found.first_ns, found.last_ns))
        folder = str(store.folder)
    if context.as_json:
        fields = asdict(found)
        del fields['first_ns'], fields['last_ns']
        write_json({'folder': folder, 'first': first, 'last': last, **fields,
                    'cost_by_day': [_cost_fields(*item) for item in by_day(spent, zone).items()]})
        return 0
    write_fields(_readable(found, folder, first, last))
    _write_costs(by_day(spent, zone))
    return 0


def _show_growth(context: Context) -> int:
    """Show bytes by kind."""
    from emv_ros.memory.growth import growth

    with context.open() as store:
        found = growth(store)
    if context.as_json:
        write_json({**asdict(found), 'bytes_per_hour': {
            **{kind: round(found.per_hour(sum(parts.values())))
               for kind, parts in (found.database or {}).items()},
            **{f'pictures {kind}': round(found.per_hour(count))
               for kind, count in found.pictures.items()}}})
        return 0
    rows = [(NAMES.get(kind, kind), amount(found.counts[kind]) if kind in found.counts else '',
             size(parts['rows']), size(parts['indices']), _each(found, kind), size(
                 found.per_hour(sum(parts.values()))))
            for kind, parts in (found.database or {}).items()]
    rows += [(f'picture files {kind}', '', size(count), '', '', size(found.per_hour(count)))
             for kind, count in found.pictures.items() if count]
    write_table(('kind', 'records', 'rows or files', 'indices', 'a record', 'in an hour'), rows)
    write(f'{found.hours:.1f} hours of recording; {size(found.free_bytes)} free in the '
          f'database; {size(found.cache_bytes)} of caches of search')
    if found.database is None:
        tell('note: this database gives no account of its pages')
    return 0


def _each(found: Growth, kind: str) -> str:
    """Return the bytes of one record of a kind, rows and indices."""
    count = found.counts.get(kind, 0)
    return size(sum((found.database or {})[kind].values()) / count) if count else ''


def _plot(path: Path, store: MemoryStore, context: Context, spent: list[Cost],
          zone: tzinfo) -> None:
    from emv_ros.commands.plotting import plot
    from emv_ros.memory.costs import node_spans

    plot(path, node_spans(store, context.robots), spent, zone)
    tell(f'{path} shows the tree and its cost')


def _cost_fields(day: tuple[str, date], cost: Cost) -> dict[str, Any]:
    robot, on = day
    fields = asdict(cost)
    del fields['robot'], fields['up_to_ns']
    return {'robot': robot, 'day': on.isoformat(), **fields}


def _write_costs(days: dict[tuple[str, date], Cost]) -> None:
    if not days:
        return
    latest = list(days.items())[-MAX_DAYS:]
    write(f'cost of the tree by day{f", the latest {MAX_DAYS}" if len(days) > MAX_DAYS else ""}:')
    write_table(('day', 'robot', 'consolidations', 'records', 'seconds', 'calls', 'tokens',
                 'left to the rule'),
                [(f'{on}', robot, amount(cost.consolidations), amount(cost.records),
                  f'{cost.duration_s:.1f}', amount(cost.model_calls),
                  f'{amount(cost.prompt_tokens)} + {amount(cost.completion_tokens)}',
                  amount(cost.fallbacks)) for (robot, on), cost in latest])


def _readable(found: Statistics, folder: str, first: str | None,
              last: str | None) -> dict[str, Any]:
    level_names = {level: f'level {level}' for level in found.nodes_by_level}
    return {
        'memory': folder,
        'robots': ', '.join(found.robots) or 'none',
        'sessions': amount(found.sessions),
        'from': first or 'nothing recorded',
        'to': last or 'nothing recorded',
        'database': 'on a server' if found.database_bytes is None else size(found.database_bytes),
        'picture files': f'{amount(found.picture_files)} ({size(found.picture_bytes)})',
        'searchable texts': amount(found.documents),
        'vectors': ', '.join(f'{amount(count)} by {model}'
                             for model, count in found.vectors.items()) or 'none',
        'records': {name: amount(found.records.get(kind, 0)) for kind, name in NAMES.items()},
        'not yet consolidated': {NAMES[kind]: amount(count)
                                 for kind, count in found.pending.items()} or 'nothing',
        'tree nodes': {level_names[level]: amount(count)
                       for level, count in found.nodes_by_level.items()} or 'none',
        'model calls': {f'{use.purpose} ({use.model})': _told(use)
                        for use in found.model_use} or 'none'}


def _told(use: ModelUse) -> str:
    failed = f', {amount(use.failures)} failed' if use.failures else ''
    cost = f', {use.cost:.4f} USD' if use.cost else ''
    return (f'{amount(use.calls)} calls{failed}, {amount(use.prompt_tokens)} + '
            f'{amount(use.completion_tokens)} tokens, {use.duration_s:.1f} s{cost}')
