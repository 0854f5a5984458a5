"""`emv stats`: what the memory holds."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context
from emv_ros.commands.output import amount, size, write_fields, write_json

if TYPE_CHECKING:
    from emv_ros.memory.statistics import ModelUse, Statistics

NAMES = {'image': 'pictures', 'joint_sample': 'joint states', 'pose': 'poses',
         'utterance': 'utterances', 'skill_event': 'skill events', 'skill_report': 'skill reports',
         'annotation': 'goals and narrations', 'scene': 'scenes', 'observation': 'observations',
         'entity': 'entities', 'clip': 'clips', 'node': 'tree nodes', 'query': 'questions'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb: it has none of its own."""


def run(args: argparse.Namespace, context: Context) -> int:
    """Count and show."""
    from emv_ros.memory.statistics import statistics
    from emv_ros.timeline import format_rfc3339

    with context.open() as store:
        zone = context.zone(store)
        found = statistics(store)
        first, last = (None if stamp is None else format_rfc3339(stamp, zone)
                       for stamp in (found.first_ns, found.last_ns))
        folder = str(store.folder)
    if context.as_json:
        fields = asdict(found)
        del fields['first_ns'], fields['last_ns']
        write_json({'folder': folder, 'first': first, 'last': last, **fields})
        return 0
    write_fields(_readable(found, folder, first, last))
    return 0


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
