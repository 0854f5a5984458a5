"""`emv show`: one record, node or question, whole."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context, UsageError
from emv_ros.commands.output import plain, tell, write, write_fields, write_json
from emv_ros.errors import NotFoundError
from emv_ros.records import ID_LETTERS

if TYPE_CHECKING:
    from emv_ros.memory.details import Details
    from emv_ros.memory.store import MemoryStore

SHOWN_LINKS = 40
LINE_CHARS = 160


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    letters = ', '.join(f'{letter} {kind.replace("_", " ")}' for kind, letter in ID_LETTERS.items())
    parser.add_argument('ids', nargs='+', metavar='ID',
                        help=f'a letter and a number, as s5; the letters: {letters}')


def run(args: argparse.Namespace, context: Context) -> int:
    """Show each id; status 1 where one names nothing."""
    from emv_ros.memory.details import details, parse_id

    wanted = [(text, parse_id(text)) for text in args.ids]
    if wrong := [text for text, reference in wanted if reference is None]:
        raise UsageError(f'{wrong[0]!r} is no id: a letter of {"".join(ID_LETTERS.values())} and a '
                         'number, as s5')
    found, is_missing = [], False
    with context.open() as store:
        zone = context.zone(store)
        for _, reference in wanted:
            assert reference is not None
            try:
                context.check_own(store, reference[0], reference[1:])
                found.append(_fields(details(store, *reference), store, zone, context.as_json))
            except NotFoundError as error:
                is_missing = True
                tell(f'emv show: {error}')
    if context.as_json:
        write_json(found if len(args.ids) > 1 else found[0] if found else None)
    else:
        for place, fields in enumerate(found):
            if place:
                write()
            _write(fields)
    return int(is_missing)


def _fields(item: Details, store: MemoryStore, zone: tzinfo, with_empty: bool) -> dict[str, Any]:
    """Return what is shown: the id first, the columns, then what hangs on it."""
    values: dict[str, Any] = {
        name.removesuffix('_ns'): _readable(name, value, zone)
        for name, value in item.values.items()}
    links: dict[str, Any] = {
        'path': [_line(store, 'node', key, zone) for key in item.path],
        'children': [_line(store, 'node', key, zone) for key in item.children],
        'members': [_line(store, kind, key, zone) for kind, key in item.members],
        'images': [_line(store, 'image', key, zone) for key in item.images],
        **{name: [_part(fields, zone) for fields in rows] for name, rows in item.parts.items()}}
    when: dict[str, Any] = {
        name: values.pop(name) for name in ('stamp', 'start', 'end') if name in values}
    fields: dict[str, Any] = {
        'id': f'{ID_LETTERS[item.kind]}{item.ref_id}', 'kind': item.kind, 'robot': item.robot,
        **when, **values, 'picture_path': item.picture_path,
        'dropped_by_retention': list(item.lost), **links}
    if with_empty:
        return fields
    if item.kind == 'query':
        fields['evidence'] = [_evidence_line(store, shown, zone) for shown in fields['evidence']]
        fields['trace'] = [_step(step) for step in fields['trace']]
    return {name: value for name, value in fields.items()
            if value is not False and value not in (None, '', [], {}, ())}


def _evidence_line(store: MemoryStore, shown: str, zone: tzinfo) -> dict[str, str]:
    """Return a piece of evidence of an answer: as recorded, or that it is gone."""
    from emv_ros.memory.details import parse_id

    reference = parse_id(shown)
    try:
        return _line(store, *reference, zone) if reference else {
            'id': shown, 'start': '', 'text': ''}
    except NotFoundError:
        return {'id': shown, 'start': '', 'text': '(forgotten since)'}


def _step(step: Mapping[str, Any]) -> dict[str, Any]:
    """Return a step of a trace as a person reads it: the command once, and what is not empty."""
    told = {name: ', '.join(map(str, value)) if isinstance(value, list) else value
            for name, value in step.items() if value not in ('', None, [])}
    # A reply that is nothing but its command says nothing more.
    said = str(told.get('reply', '')).strip('`\n ').removeprefix('python').strip()
    if said and said == str(told.get('code', '')).strip():
        del told['reply']
    return told


def _part(fields: Mapping[str, Any], zone: tzinfo) -> dict[str, Any]:
    return {name.removesuffix('_ns'): _readable(name, value, zone)
            for name, value in fields.items()}


def _readable(name: str, value: Any, zone: tzinfo) -> Any:
    """Return a stamp as RFC 3339 local to the zone; other values as they are."""
    from emv_ros.timeline import format_rfc3339

    if value is None:
        return None
    if name == 'merged_into':
        return f'{ID_LETTERS["entity"]}{value}'
    if name.endswith('_ns'):
        return format_rfc3339(value, zone)
    if name == 'transitions':
        return [{'status': status, 'time': format_rfc3339(stamp, zone)} for status, stamp in value]
    return value


def _line(store: MemoryStore, kind: str, ref_id: int, zone: tzinfo) -> dict[str, str]:
    """Return id, start and words of a linked record."""
    from emv_ros.memory.details import details
    from emv_ros.timeline import format_rfc3339

    item = details(store, kind, ref_id)
    values = item.values
    stamp = values.get('stamp_ns', values.get('start_ns'))
    words = next((values[name] for name in ('summary', 'text', 'skill', 'name', 'camera')
                  if values.get(name)), '')
    status = values.get('status', '')
    letter = ID_LETTERS.get(kind, '')
    return {'id': f'{letter}{ref_id}' if letter else f'{kind} {ref_id}',
            'start': '' if stamp is None else format_rfc3339(stamp, zone),
            'text': f'{words} {status}'.strip() if kind == 'skill_event' else str(words),
            **({'path': item.picture_path} if item.picture_path else {}),
            **({'gone': values['gone']} if values.get('gone') else {})}


def _write(fields: Mapping[str, Any]) -> None:
    simple = {name: value for name, value in fields.items() if not _is_list_of_maps(value)}
    write_fields({
        name: (' > ' if name == 'goal_stack' else ', ').join(map(str, value))
        if isinstance(value, list) else value for name, value in simple.items()})
    for name, value in fields.items():
        if not _is_list_of_maps(value):
            continue
        write(f'{name}:')
        for place, item in enumerate(value, 1):
            if name == 'trace':
                write(f'  step {place}')
                write_fields(item, '    ')
            elif place <= SHOWN_LINKS:
                write(f'  {_in_a_line(item)}')
        if name != 'trace' and len(value) > SHOWN_LINKS:
            write(f'  … and {len(value) - SHOWN_LINKS} more (all with --json)')


def _is_list_of_maps(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _in_a_line(item: Mapping[str, Any]) -> str:
    if {'id', 'start', 'text'} <= set(item):
        start = item['start'][:19].replace('T', ' ')
        gone = f'(file gone: {item["gone"]})' if 'gone' in item else ''
        words = (item['id'], start, item['text'], item.get('path', gone))
        return plain(' '.join(filter(None, words)))[:LINE_CHARS]
    return plain(' '.join(f'{name}={value}' for name, value in item.items()
                          if value not in (None, '', [])))
