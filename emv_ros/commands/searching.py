"""`emv search`: moments by words and meaning."""

from __future__ import annotations

import argparse
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context, add_window, positive
from emv_ros.commands.output import tell, write, write_json
from emv_ros.records import ID_LETTERS

if TYPE_CHECKING:
    from emv_ros.retrieval.search import Hit

KINDS = {'summary': 'node', 'speech': 'utterance', 'event': 'skill_event',
         'narration': 'annotation', 'observation': 'observation'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('text', nargs='+', help='what to look for')
    parser.add_argument('--limit', type=positive, metavar='N',
                        help='at most this many (default: the setting retrieval.units)')
    parser.add_argument('--kind', action='append', choices=list(KINDS),
                        help='only this kind; may be repeated')
    add_window(parser)


def run(args: argparse.Namespace, context: Context) -> int:
    """Show what was found, best first; status 1 where nothing was."""
    from emv_ros.retrieval.excerpts import line_of
    from emv_ros.retrieval.search import Searcher

    with context.open() as store:
        zone = context.zone(store)
        result = Searcher(store, context.settings.retrieval).search(
            ' '.join(args.text), context.window(store, args), args.limit,
            [KINDS[kind] for kind in args.kind] if args.kind else None)
    if context.as_json:
        write_json({'hits': [_fields(hit, zone) for hit in result.hits], 'note': result.note})
    else:
        several = len({hit.robot for hit in result.hits}) > 1
        for hit in result.hits:
            write(line_of(hit, zone, with_robot=several))
        if result.note:
            tell(f'note: {result.note}')
        if not result.hits:
            tell('emv search: nothing found')
    return int(not result.hits)


def _fields(hit: Hit, zone: tzinfo) -> dict[str, Any]:
    from emv_ros.timeline import format_rfc3339

    return {
        'id': f'{ID_LETTERS[hit.kind]}{hit.ref_id}', 'kind': hit.kind, 'robot': hit.robot,
        'start': format_rfc3339(hit.start_ns, zone), 'end': format_rfc3339(hit.end_ns, zone),
        'text': hit.text, 'score': hit.score, 'similarity': hit.similarity,
        'repeats': hit.repeats, 'last_id': f'{ID_LETTERS[hit.kind]}{hit.last_ref_id or hit.ref_id}'}
