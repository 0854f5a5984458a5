"""Records as the plain dictionaries that the console makes into `Record` and `Node` objects.

Times are naive and local to the robot, in whole seconds, so that a model can compare and print
them; exact stamps stay on this side, in the `EvidenceItem` of each row. Recorded text stands on one
line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta, tzinfo
import itertools
from typing import Any

from emv_ros.agent.answers import EvidenceItem
from emv_ros.memory.documents import named_values, words_of_name
from emv_ros.quoting import plain_line
from emv_ros.records import (
    ID_LETTERS,
    Annotation,
    ImageRecord,
    Node,
    Observation,
    Scene,
    SkillEvent,
    Utterance,
)
from emv_ros.timeline import SECOND_NS, Interval, format_span, to_datetime

TEXT_CHARS = 300
# Numbers of a run's own parameters that its row tells: an amount, a target; not whole poses.
MAX_NUMBERS = 4
LINE_CHARS = 400
TOLD_CHARS = 160
# Parameters of a run that name what it handles.
THING_NAMES = frozenset(('object', 'thing', 'item', 'ingredient', 'tool'))


def clean(text: str) -> str:
    """Return recorded text on one line, bounded, unable to pose as anything else."""
    return plain_line(text[:TEXT_CHARS * 4])[:TEXT_CHARS]


def local(stamp_ns: int, zone: tzinfo) -> datetime:
    """Return the naive local time of a stamp in whole seconds."""
    return to_datetime(stamp_ns, zone).replace(tzinfo=None, microsecond=0)


def shown_id(kind: str, ref_id: int | None) -> str:
    """Return an id as people and models see it: 's5'."""
    return f'{ID_LETTERS[kind]}{ref_id}'


def parse_id(text: str) -> tuple[str, int] | None:
    """Return (kind, id) of a shown id, or None where it is none."""
    text = text.strip().lower()
    kinds = {letter: kind for kind, letter in ID_LETTERS.items()}
    if len(text) < 2 or text[0] not in kinds or not text[1:].isascii() or not text[1:].isdigit():
        return None
    return kinds[text[0]], int(text[1:])


def row(kind: str, ref_id: int | None, robot: str, span: Interval, zone: tzinfo, *, name: str = '',
        text: str = '', **others: Any) -> dict[str, Any]:
    """Return the dictionary of one row, with every field that a Record has."""
    start, end = local(span.start_ns, zone), local(span.end_ns, zone)
    seconds = (span.end_ns - span.start_ns) / SECOND_NS
    fields: dict[str, Any] = {
        'id': shown_id(kind, ref_id), 'kind': kind, 'robot': robot,
        'name': clean(name), 'text': clean(text),
        'status': '', 'goal': '', 'event': '', 'speaker': '', 'instance': '', 'place': '',
        'state': '', 'parameters': {}, 'told': '', 'reason': '', 'thing': '',
        'count': 1, 'start': start, 'end': end,
        'day': f'{start:%Y-%m-%d}', 'time': f'{start:%H:%M:%S}', 'when': format_span(span, zone),
        'duration': timedelta(seconds=round(seconds)), 'seconds': round(seconds, 3)}
    fields.update({key: clean(value) if isinstance(value, str) else value
                   for key, value in others.items()})
    fields['told'] = fields['told'] or fields['name']
    fields['thing'] = fields['thing'] or fields['instance']
    fields['line'] = _line(fields, format_span(span, zone))
    return fields


def _line(fields: dict[str, Any], span: str) -> str:
    said = ' '.join(part for part in (
        fields['name'], fields['status'],
        f'(goal {fields["goal"]})' if fields['goal'] else '',
        fields['instance'], fields['place'], fields['state'],
        f'×{fields["count"]}' if fields['count'] > 1 else '',
        f'"{fields["text"]}"' if fields['text'] not in ('', fields['name']) else '') if part)
    return f'{fields["id"]} {span} {said}'[:LINE_CHARS]


def skill_row(event: SkillEvent, zone: tzinfo) -> dict[str, Any]:
    """Return the row of a run of a skill."""
    values = dict(named_values(event.parameters))
    values |= dict(itertools.islice(_numbers(event.parameters), MAX_NUMBERS))
    # In the order of the report, so that an amount stands before its unit.
    order = {name: place for place, name in enumerate(event.parameters)}
    values = dict(sorted(values.items(), key=lambda item: order.get(
        item[0].partition('.')[0], len(order))))
    told = '; '.join(f'{name.rsplit(".", 1)[-1]}={value}' for name, value in values.items())
    text = ' '.join(part for part in (event.narration, told) if part)
    return row('skill_event', event.id, event.robot, span_of(event), zone, name=event.skill,
               text=text, status=str(event.status), goal=' > '.join(event.goal_stack),
               reason=event.narration,
               told=told_of(event.skill, values.values(), str(event.status)),
               thing=thing_of(values),
               parameters={clean(name): clean(value)
                           for name, value in list(values.items())[:20]})


def told_of(skill: str, values: Iterable[str], status: str) -> str:
    """Return a run in words: 'fetch object sewing kit 1 desk', and how it ended unless well."""
    said = ' '.join((words_of_name(skill), *(value.replace('_', ' ') for value in values)))
    return f'{said[:TOLD_CHARS]} ({status})' if status in ('failed', 'aborted', 'canceled') else (
        said[:TOLD_CHARS])


def thing_of(parameters: Mapping[str, str]) -> str:
    """Return what a run handles: the first parameter that is called a thing, '' for none."""
    return next((value for name, value in parameters.items() if THING_NAMES.intersection(
        words_of_name(name.rsplit('.', 1)[-1]).lower().split())), '')


def _numbers(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the numbers of a run's own parameters, and what may be the unit of one: 'g'."""
    for name, value in parameters.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield name, f'{value:g}'
        elif isinstance(value, str) and len(value) == 1 and value.isalpha():
            yield name, value


def speech_row(words: Utterance, zone: tzinfo) -> dict[str, Any]:
    """Return the row of what somebody said."""
    speaker = 'robot' if words.is_own else words.speaker or 'someone'
    return row('utterance', words.id, words.robot, span_of(words), zone, name=f'{speaker} said',
               text=words.text, speaker=speaker, told=words.text)


def annotation_row(item: Annotation, zone: tzinfo) -> dict[str, Any]:
    """Return the row of a goal or narration that its source named."""
    return row('annotation', item.id, item.robot, span_of(item), zone, name=item.text,
               text=item.text)


def identity_of(item: Observation) -> str:
    """Return what tells a thing from others of its name: its instance, or its entity (e3)."""
    if item.instance or item.entity_id is None:
        return item.instance
    return shown_id('entity', item.entity_id)


def observation_row(item: Observation, zone: tzinfo) -> dict[str, Any]:
    """Return the row of something seen or handled for a while."""
    return row('observation', item.id, item.robot, span_of(item), zone, name=item.name,
               text=' '.join(part for part in (item.event, item.text) if part),
               instance=identity_of(item), place=item.location, event=item.event)


def image_row(item: ImageRecord, zone: tzinfo) -> dict[str, Any]:
    """Return the row of a stored picture."""
    return row('image', item.id, item.robot, span_of(item), zone, name='picture',
               text=f'{item.camera} {item.width}x{item.height}'
               + (f', file gone ({item.gone})' if item.gone else ''))


def scene_row(item: Scene, zone: tzinfo) -> dict[str, Any]:
    """Return the row of a whole scene."""
    things = ', '.join(thing.instance or thing.name for thing in item.objects)
    return row('scene', item.id, item.robot, span_of(item), zone, name='scene', text=things)


def node_row(node: Node, zone: tzinfo) -> dict[str, Any]:
    """Return the dictionary of a tree node, as `Node` in the console takes it."""
    fields = row('node', node.id, node.robot, span_of(node), zone, name=node.name,
                 text=node.summary, status=node.status)
    fields |= {'level': node.level, 'summary': fields['text']}
    span = format_span(span_of(node), zone)
    fields['line'] = f'{fields["id"]} {span} {fields["summary"]}'[:LINE_CHARS]
    return fields


ROWS = {'skill_event': skill_row, 'utterance': speech_row, 'annotation': annotation_row,
        'observation': observation_row, 'image': image_row, 'scene': scene_row, 'node': node_row}


def row_of(kind: str, record: Any, zone: tzinfo) -> dict[str, Any]:
    """Return the row of any record that the console can show."""
    return ROWS[kind](record, zone)  # type: ignore[no-any-return, operator]


def span_of(record: Any) -> Interval:
    """Return the span of a record or node; what has no end is an instant."""
    start_ns = getattr(record, 'stamp_ns', None)
    if start_ns is None:
        start_ns = record.start_ns
    end_ns = getattr(record, 'end_ns', None)
    return Interval(start_ns, max(start_ns, end_ns if end_ns is not None else start_ns))


def evidence_item(fields: dict[str, Any], span: Interval, image_path: str = '') -> EvidenceItem:
    """Return what stands behind a row, with its exact stamps."""
    return EvidenceItem(id=fields['id'], kind=fields['kind'], robot=fields['robot'],
                        start_ns=span.start_ns, end_ns=span.end_ns, text=fields['line'],
                        image_path=image_path)
