"""`emv rename`: tell the memory what a thing or person is called."""

from __future__ import annotations

import argparse

from emv_ros.commands.context import Context
from emv_ros.commands.correction import add_told, author_of, ids_of, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('entity', metavar='ENTITY', help='the id of an entity, as e3')
    parser.add_argument('name', nargs='+', help='what it is called from now on; the old name is '
                        'still found')
    add_told(parser)


def run(args: argparse.Namespace, context: Context) -> int:
    """Rename; status 1 where that is no name or no entity."""
    from emv_ros.biography.corrections import rename

    entity_id, = ids_of([args.entity], 'entity')
    with context.open() as store:
        context.check_own(store, 'entity', [entity_id])
        return show(rename(store, entity_id, ' '.join(args.name), author=author_of(args),
                           reason=args.reason, stamp_ns=context.now_ns()), context)
