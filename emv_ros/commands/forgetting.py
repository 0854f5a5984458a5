"""`emv forget`: take observations and entities out of the memory, for good."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from emv_ros.commands.context import Context, UsageError
from emv_ros.commands.correction import author_of
from emv_ros.commands.output import amount, tell, write, write_json

if TYPE_CHECKING:
    from emv_ros.biography.forgetting import Forgotten


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('ids', nargs='+', metavar='ID',
                        help='observations (o7) and entities (e3, with all their observations)')
    parser.add_argument('--reason', required=True, metavar='TEXT',
                        help='why; it is kept, so do not repeat what is to be forgotten')
    parser.add_argument('--author', default=None, metavar='NAME',
                        help='who says so (default: the user of this system)')
    parser.add_argument('--yes', action='store_true',
                        help='do it; without this, only what would go is told')


def run(args: argparse.Namespace, context: Context) -> int:
    """Forget, or tell what would go; status 1 where an id names nothing that can be forgotten."""
    from emv_ros.agent.forgetting import forget
    from emv_ros.memory.details import parse_id

    references = []
    for text in args.ids:
        reference = parse_id(text)
        if reference is None:
            raise UsageError(f'{text!r} is no id: a letter and a number, as o7 or e3')
        references.append(reference)
    if not args.reason.strip():
        raise UsageError('--reason is empty')
    with context.open() as store:
        done = forget(store, references, author=author_of(args), reason=args.reason,
                      stamp_ns=context.now_ns(), dry_run=not args.yes)
    if context.as_json:
        write_json({'forgotten': not done.is_preview, 'numbers': dict(done.numbers),
                    'robots': list(done.robots), 'note': done.note})
    else:
        _write(done)
    return 0


def _write(done: Forgotten) -> None:
    told = ', '.join(f'{amount(number)} {name.replace("_", " ")}'
                     for name, number in done.numbers.items())
    write(f'{"would go" if done.is_preview else "forgotten"}: {told}')
    if done.note:
        tell(f'note: {done.note}')
    if done.is_preview:
        tell('nothing was forgotten: --yes does it, for good')
    else:
        tell('`emv consolidate` writes anew what the history tree said of that time')
