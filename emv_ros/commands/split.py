"""`emv split`: tell the memory that some observations of an entity are of another thing."""

from __future__ import annotations

import argparse

from emv_ros.commands.context import Context
from emv_ros.commands.correction import add_told, author_of, ids_of, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('entity', metavar='ENTITY', help='the id of an entity, as e3')
    parser.add_argument('observations', nargs='+', metavar='OBSERVATION',
                        help='ids as o7 o9: those that are of another thing')
    parser.add_argument('--name', default='', help='what that other thing is called')
    add_told(parser)


def run(args: argparse.Namespace, context: Context) -> int:
    """Split; status 1 where it is refused or something does not exist."""
    from emv_ros.biography.corrections import split

    entity_id, = ids_of([args.entity], 'entity')
    observation_ids = ids_of(args.observations, 'observation')
    with context.open() as store:
        context.check_own(store, 'entity', [entity_id])
        return show(split(store, entity_id, observation_ids, name=args.name,
                          author=author_of(args), reason=args.reason,
                          stamp_ns=context.now_ns()), context)
