"""`emv merge`: tell the memory that several entities are one and the same thing."""

from __future__ import annotations

import argparse

from emv_ros.commands.context import Context
from emv_ros.commands.correction import add_told, author_of, ids_of, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('entities', nargs='+', metavar='ENTITY',
                        help='ids as e3 e5: the first stays, and answers to those of the others')
    parser.add_argument('--name', default='', help='what it is called from now on')
    parser.add_argument('--force', action='store_true',
                        help='also where they were seen apart in one picture, or told apart')
    add_told(parser)


def run(args: argparse.Namespace, context: Context) -> int:
    """Merge; status 1 where it is refused or something does not exist."""
    from emv_ros.biography.corrections import merge

    entity_ids = ids_of(args.entities, 'entity')
    with context.open() as store:
        context.check_own(store, 'entity', entity_ids)
        return show(merge(store, entity_ids, name=args.name, author=author_of(args),
                          reason=args.reason, stamp_ns=context.now_ns(), force=args.force),
                    context)
