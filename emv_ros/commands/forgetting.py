"""`emv forget`: take records out of the memory, for good: by id, time, kind, speaker or words."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from emv_ros.commands.context import Context, UsageError
from emv_ros.commands.correction import author_of
from emv_ros.commands.output import (
    Progress,
    amount,
    plain,
    size,
    tell,
    write,
    write_json,
    write_table,
)

if TYPE_CHECKING:
    from emv_ros.agent.forgetting import Forgotten
    from emv_ros.memory.choosing import Choice
    from emv_ros.memory.store import MemoryStore

KINDS = ('image', 'joint_sample', 'pose', 'utterance', 'skill_event', 'annotation', 'scene',
         'observation', 'clip', 'query')
# What is told of each number, in this order; others stand below, by their names.
_TOLD = {
    'utterances': 'utterances', 'skill_events': 'runs of skills', 'annotations': 'annotations',
    'scenes': 'scenes', 'scene_objects': 'objects in scenes', 'images': 'pictures',
    'pictures': 'pictures in which a box is filled', 'joint_samples': 'joint samples',
    'poses': 'poses', 'observations': 'observations', 'entities': 'entities', 'clips': 'clips',
    'questions': 'logged questions', 'nodes_rewritten': 'nodes of the tree, written anew',
    'texts_of_others': 'descriptions, made anew'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        'ids', nargs='*', metavar='ID',
        help='what is meant: i9, u4, s5, a2, g7, o7, q3; e3 with all observations of it, n12 with '
             'all records beneath it, c2 with its pictures')
    parser.add_argument('--day', metavar='TIME',
                        help="records of a day or stretch: 2024-06-27, yesterday, 'June 2024'")
    parser.add_argument('--from', dest='start', metavar='TIME',
                        help='records that end after this, as `emv events --start` reads it')
    parser.add_argument('--to', dest='end', metavar='TIME',
                        help='records that begin before this; a day is meant to its end')
    parser.add_argument('--kind', action='append', default=[], choices=KINDS, metavar='KIND',
                        help=f'only this kind; may be repeated: {", ".join(KINDS)}')
    parser.add_argument('--speaker', action='append', default=[], metavar='NAME',
                        help='what this speaker said, by the exact name; may be repeated')
    parser.add_argument('--text', default='', metavar='WORDS',
                        help='records that say this somewhere, in upper or lower case')
    parser.add_argument('--reason', default='', metavar='TEXT',
                        help='why (needed with --yes); it is kept, so do not repeat what goes')
    parser.add_argument('--author', default=None, metavar='NAME',
                        help='who says so (default: the user of this system)')
    parser.add_argument('--force', action='store_true',
                        help='also more of a kind than the share memory.max_share')
    parser.add_argument('--yes', action='store_true',
                        help='do it; without this, only what would go is told')


def run(args: argparse.Namespace, context: Context) -> int:
    """Forget, or tell what would go; status 1 where nothing fits, or an id names nothing."""
    from emv_ros.agent.forgetting import forget
    from emv_ros.errors import RecordError

    if args.yes and not args.reason.strip():
        raise UsageError('--yes needs --reason: why it is forgotten, without repeating it')
    with context.open() as store:
        choice = _choice(args, context, store)
        try:
            choice.check()
        except RecordError as error:
            raise UsageError(str(error)) from error
        with Progress('forgetting') as progress:
            done = forget(store, choice, author=author_of(args), reason=args.reason,
                          stamp_ns=context.now_ns(), dry_run=not args.yes, force=args.force,
                          max_share=context.settings.memory.max_share,
                          progress=lambda phase, *_: progress.update(phase))
    if context.as_json:
        write_json({'forgotten': not done.is_preview, 'numbers': dict(done.numbers),
                    'robots': list(done.robots), 'bytes': done.bytes, 'note': done.note,
                    'audit': done.audit_id})
    else:
        _write(done)
    return 0


def _choice(args: argparse.Namespace, context: Context, store: MemoryStore) -> Choice:
    from emv_ros.memory.choosing import Choice
    from emv_ros.memory.details import parse_id

    references = []
    for text in args.ids:
        reference = parse_id(text)
        if reference is None:
            raise UsageError(f'{text!r} is no id: a letter and a number, as o7 or e3')
        references.append(reference)
    window = context.window(store, args)
    return Choice(
        references=tuple(references), robots=context.robots, start_ns=window.start_ns,
        end_ns=window.end_ns, kinds=frozenset(args.kind), speakers=tuple(args.speaker),
        text=args.text)


def _write(done: Forgotten) -> None:
    rows = [(told, done.numbers[name]) for name, told in _TOLD.items() if name in done.numbers]
    rows += [(name.replace('_', ' '), number) for name, number in done.numbers.items()
             if name not in _TOLD]
    robots = ', '.join(map(plain, done.robots)) or 'all'
    write(f'{"would go" if done.is_preview else "forgotten"}, of {robots}:')
    write_table(('what', 'rows'), [(told, amount(number)) for told, number in rows])
    if done.bytes:
        write(f'{size(done.bytes)} {"of pictures" if done.is_preview else "set free"}')
    if done.note:
        tell(f'note: {done.note}')
    if done.is_preview:
        tell('nothing was forgotten: --yes does it, for good')
    else:
        tell('`emv consolidate` writes anew what the history tree said of that time')
