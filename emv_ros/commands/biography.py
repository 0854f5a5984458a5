"""`emv biography`: each time that a thing or person was observed, as lines or as a page."""

from __future__ import annotations

import argparse
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context, add_window
from emv_ros.commands.output import plain, size, tell, write, write_json
from emv_ros.errors import EmvError, NotFoundError

if TYPE_CHECKING:
    from emv_ros.memory.lives import Life
    from emv_ros.memory.queries import Sighting, Window
    from emv_ros.memory.store import MemoryStore
    from emv_ros.records import Observation

# Of several things of a name.
LISTED = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('thing', nargs='+', help='a name, an instance, or the id of an entity (e3)')
    parser.add_argument('--html', nargs='?', const='', metavar='FILE',
                        help='write a page with pictures instead (default: biography-e3.html '
                             'here; - is the standard output)')
    add_window(parser)


def run(args: argparse.Namespace, context: Context) -> int:
    """List the observations in order of time; status 1 where there is none."""
    from emv_ros.memory.appearances import appearances

    asked = ' '.join(args.thing)
    with context.open() as store:
        zone = context.zone(store)
        if args.html is not None:
            return _write_page(_life(store, asked, context.window(store, args)), args.html,
                               store, context)
        found = [_fields(item, zone) for item in appearances(
            store, asked, context.window(store, args))]
        heading = _heading(store, asked, context.window(store, args), zone)
    if context.as_json:
        write_json(found)
        return int(not found)
    if heading:
        write(plain(heading))
    for fields in found:
        start = fields['start'][:19].replace('T', ' ')
        words = (fields['id'], start, fields['name'], fields['instance'], fields['text'],
                 fields['location'])
        write(plain('  '.join(filter(None, words))))
    if not found:
        tell(f'emv biography: nothing called {asked!r} was observed')
    return int(not found)


def _heading(store: MemoryStore, asked: str, window: Window, zone: tzinfo) -> str:
    """Return an entity in a line, with what it is told from; '' for what is none."""
    from emv_ros.biography.line import line_of
    from emv_ros.memory.lives import lives

    found = [life for life in lives(store, window, ids=[asked])[0] if life.entity_id is not None]
    if not found:
        return ''
    life = found[0]
    told = [f'{life.id} {line_of(life, zone)}']
    if life.aliases:
        told.append(f'also called {", ".join(life.aliases)}')
    told += [f'not e{key}: {life.reasons[key]}' for key in life.different]
    told += [f'perhaps e{key}' for key in life.unresolved]
    return '; '.join(told)


def _life(store: MemoryStore, asked: str, window: Window) -> Life:
    """Return the one thing that is meant. Raises NotFoundError for none, and for several."""
    from emv_ros.memory.lives import lives

    found, total = lives(store, window, ids=[asked], limit=LISTED)
    if not found:
        found, total = lives(store, window, name=asked, limit=LISTED)
    if not found:
        raise NotFoundError(f'nothing called {asked!r} was observed')
    if total > 1:
        ids = ', '.join(life.id for life in found)
        raise NotFoundError(f'{total} things are called {asked!r}: name one of '
                            f'{ids}{", …" if total > LISTED else ""}')
    return found[0]


def _write_page(life: Life, file: str, store: MemoryStore, context: Context) -> int:
    from emv_ros.biography.page import page

    text = page(store, life, context.zone(store))
    if file == '-':
        write(text.rstrip('\n'))
        return 0
    name = ''.join(letter if letter.isalnum() else '-' for letter in life.id)
    path = Path(file or f'biography-{name}.html')
    try:
        path.write_text(text, 'utf-8')
    except OSError as error:
        raise EmvError(f'cannot write {path}: {error.strerror or error}') from error
    if context.as_json:
        write_json({'id': life.id, 'file': str(path), 'bytes': path.stat().st_size})
    else:
        write(plain(f'{path} ({size(path.stat().st_size)}): {life.id} {life.name}'))
    return 0


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
