"""`emv entities`: the things and persons that were observed, each with how often and when."""

from __future__ import annotations

import argparse
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from emv_ros.commands import calibrating
from emv_ros.commands.context import Context, add_window
from emv_ros.commands.output import amount, tell, write_json, write_table

if TYPE_CHECKING:
    from emv_ros.memory.appearances import Thing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('name', nargs='?', default='',
                        help="only what is called so; 'calibrate': show pairs of observations that "
                             'look alike, and set what counts as the same')
    add_window(parser)
    calibrating.add_arguments(parser)


def run(args: argparse.Namespace, context: Context) -> int:
    """List what was observed, the most frequent first; status 1 where nothing was."""
    if args.name == 'calibrate':
        return calibrating.run(args, context)
    from emv_ros.memory.appearances import things

    with context.open() as store:
        zone = context.zone(store)
        found = things(store, context.window(store, args), args.name)
    if context.as_json:
        write_json([thing_fields(thing, zone) for thing in found])
    elif found:
        _write(found, zone)
    else:
        tell('emv entities: nothing was observed')
    return int(not found)


def thing_fields(thing: Thing, zone: tzinfo) -> dict[str, Any]:
    """Return a thing as JSON knows it."""
    from emv_ros.timeline import format_rfc3339

    return {
        'id': f'e{thing.entity_id}' if thing.entity_id is not None else None,
        'name': thing.name, 'instance': thing.instance, 'robot': thing.robot,
        'observations': thing.observations, 'sightings': thing.sightings,
        'first': format_rfc3339(thing.first_ns, zone), 'last': format_rfc3339(thing.last_ns, zone)}


def _write(found: list[Thing], zone: tzinfo) -> None:
    from emv_ros.timeline import format_stamp

    write_table(
        ('id', 'observed', 'seen', 'first', 'last', 'name', 'instance'),
        [(f'e{thing.entity_id}' if thing.entity_id is not None else '-',
          amount(thing.observations), amount(thing.sightings), format_stamp(thing.first_ns, zone),
          format_stamp(thing.last_ns, zone), thing.name, thing.instance) for thing in found])
