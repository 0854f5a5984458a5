"""`emv retain`: old records make room, as the settings of retention say."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context, interruptible
from emv_ros.commands.output import amount, size, tell, write, write_json, write_table

if TYPE_CHECKING:
    from emv_ros.memory.retention_report import RetentionReport

NAMES = {'image': 'pictures', 'joint_sample': 'joint states', 'pose': 'poses', 'scene': 'scenes',
         'utterance': 'utterances', 'skill_event': 'skill events',
         'annotation': 'goals and narrations'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('--dry-run', action='store_true',
                        help='tell what would go, and change nothing')
    parser.add_argument('--force', action='store_true',
                        help='drop more than the share of memory.max_share at once, too')


def run(args: argparse.Namespace, context: Context) -> int:
    """Drop what is too old or too much; status 1 where something was refused."""
    from emv_ros.memory.retention import preview, retain
    from emv_ros.memory.retention_rules import is_wanted

    if not is_wanted(context.settings.retention):
        tell('note: the settings of retention let everything stay')
    with context.open() as store:
        if args.dry_run:
            done = preview(store, context.settings, now_ns=context.now_ns())
        else:
            with interruptible() as cancel:
                done = retain(store, context.settings, now_ns=context.now_ns(), force=args.force,
                              time_limit_s=float('inf'), cancel=cancel)
    if context.as_json:
        write_json(fields_of(done))
    else:
        _write(done)
    return int(bool(done.refused))


def fields_of(done: RetentionReport) -> dict[str, Any]:
    """Return a report as JSON has it."""
    return {'dry_run': done.is_preview, 'dropped': dict(done.dropped),
            'by_reason': {reason: dict(counts) for reason, counts in done.reasons.items()},
            'picture_bytes': done.size_bytes, 'files_removed': done.files, 'done': done.is_done,
            'refused': done.refused, 'notes': done.notes}


def _write(done: RetentionReport) -> None:
    rows = [(NAMES[kind], reason, amount(count)) for reason, counts in done.reasons.items()
            for kind, count in counts.items() if count]
    if rows:
        write_table(('would go' if done.is_preview else 'dropped', 'by', 'records'), rows)
        write(f'pictures of {size(done.size_bytes)}, {amount(done.files)} files removed'
              if not done.is_preview else f'pictures of {size(done.size_bytes)}')
    else:
        write('nothing goes')
    for line in (*done.refused, *done.notes):
        tell(f'note: {line}')
    if done.refused:
        tell('`emv retain --force` does it all the same; `emv retain --dry-run` tells what goes')
