"""`emv biography`: each time that a thing or person was observed."""

from __future__ import annotations

import argparse
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context, add_window
from emv_ros.commands.output import plain, tell, write, write_json

if TYPE_CHECKING:
    from emv_ros.memory.queries import Sighting
    from emv_ros.records import Observation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('thing', nargs='+', help='a name, an instance, or the id of an entity (e3)')
    add_window(parser)


def run(args: argparse.Namespace, context: Context) -> int:
    """List the observations in order of time; status 1 where there is none."""
    from emv_ros.memory.appearances import appearances

    asked = ' '.join(args.thing)
    with context.open() as store:
        zone = context.zone(store)
        found = [_fields(item, zone) for item in appearances(
            store, asked, context.window(store, args))]
    if context.as_json:
        write_json(found)
        return int(not found)
    for fields in found:
        start = fields['start'][:19].replace('T', ' ')
        words = (fields['id'], start, fields['name'], fields['instance'], fields['text'],
                 fields['location'])
        write(plain('  '.join(filter(None, words))))
    if not found:
        tell(f'emv biography: nothing called {asked!r} was observed')
    return int(not found)


def _fields(item: Observation | Sighting, zone: tzinfo) -> dict[str, Any]:
    from emv_ros.memory.queries import Sighting
    from emv_ros.timeline import format_rfc3339

    start = format_rfc3339(item.stamp_ns, zone)
    if isinstance(item, Sighting):
        return {'id': f'g{item.scene_id}', 'start': start, 'end': start, 'robot': item.robot,
                'name': item.object.name, 'instance': item.object.instance,
                'text': item.object.state, 'location': ''}
    return {'id': f'o{item.id}', 'start': start, 'end': format_rfc3339(item.end_ns, zone),
            'robot': item.robot, 'name': item.name, 'instance': item.instance,
            'text': ' '.join(filter(None, (item.event, item.text))), 'location': item.location}
