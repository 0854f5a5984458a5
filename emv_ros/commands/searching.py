"""`emv search`: moments by words and meaning."""

from __future__ import annotations

import argparse
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context, add_window, positive
from emv_ros.commands.output import tell, write, write_json
from emv_ros.records import ID_LETTERS

if TYPE_CHECKING:
    from emv_ros.retrieval.units import Unit

KINDS = {'summary': 'node', 'speech': 'utterance', 'event': 'skill_event',
         'narration': 'annotation', 'observation': 'observation', 'picture': 'image'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('text', nargs='+', help="what to look for; it may name a time: 'yesterday'")
    parser.add_argument('--limit', type=positive, metavar='N',
                        help='at most this many (default: the setting retrieval.units)')
    parser.add_argument('--kind', action='append', choices=list(KINDS),
                        help='only this kind; may be repeated')
    add_window(parser)


def run(args: argparse.Namespace, context: Context) -> int:
    """Show what was found, best first; status 1 where nothing was."""
    from emv_ros.retrieval.excerpts import unit_line
    from emv_ros.retrieval.finding import Finder
    from emv_ros.retrieval.search import Searcher

    with context.open() as store:
        zone = context.zone(store)
        found = Finder(store, Searcher(store, context.settings.retrieval)).find(
            ' '.join(args.text), context.window(store, args), now_ns=context.now_ns(), zone=zone,
            limit=args.limit, kinds=[KINDS[kind] for kind in args.kind] if args.kind else None)
    if context.as_json:
        write_json({'hits': [_fields(unit, zone) for unit in found.units], 'note': found.note})
    else:
        several = len({unit.robot for unit in found.units}) > 1
        for unit in found.units:
            write(unit_line(unit, zone, with_robot=several))
        if found.note:
            tell(f'note: {found.note}')
        if not found.units:
            tell('emv search: nothing found')
    return int(not found.units)


def _fields(unit: Unit, zone: tzinfo) -> dict[str, Any]:
    from emv_ros.timeline import format_rfc3339

    letter = ID_LETTERS[unit.kind]
    records = [{'id': f'{letter}{span.ref_id}', 'start': format_rfc3339(span.start_ns, zone),
                'end': format_rfc3339(span.end_ns, zone)} for span in unit.spans]
    return {
        **records[0], 'kind': unit.kind, 'robot': unit.robot, 'text': unit.text,
        'goal': unit.goal, 'score': unit.score, 'similarity': unit.similarity,
        'repeats': unit.total, 'records': records,
        'entity': None if unit.entity_id is None else f'{ID_LETTERS["entity"]}{unit.entity_id}',
        'also_seen': [format_rfc3339(stamp_ns, zone) for stamp_ns in unit.also_ns],
        'others': unit.verdicts}
