"""The record of each type of line in an experience file.

A field that is missing is unknown; one of the wrong kind refuses the line; one that the format
does not know is kept in the record's `extra`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from emv_ros.errors import RecordError
from emv_ros.ingest import joints, poses, scenes, skills, speech
from emv_ros.records import Annotation, Observation, Record, Status
from emv_ros.timeline import MAX_NS, MIN_NS, parse_stamp

_OBJECT_FIELDS = frozenset(
    ('name', 'instance', 'bbox', 'position', 'frame', 'confidence', 'state'))


@dataclass
class Line:
    """The fields of one line. What `take` was never asked for is what `rest` returns."""

    fields: Mapping[str, Any]
    stamp_ns: int
    end_ns: int | None
    taken: set[str] = field(default_factory=lambda: {'t', 't_end', 'type'})

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Line:
        """Return the line; RecordError or TimeExpressionError where its times make no span."""
        stamp_ns, _ = parse_stamp(fields['t'])
        end = fields.get('t_end')
        end_ns = None if end is None else parse_stamp(end)[0]
        if end_ns is not None:
            check_stamp(end_ns, end)
            if end_ns < stamp_ns:
                raise RecordError(f'it ends at {end}, before it starts at {fields["t"]}')
        return cls(fields, stamp_ns, end_ns)

    def take(self, name: str) -> Any:
        """Return a field, None where it is missing."""
        self.taken.add(name)
        return self.fields.get(name)

    def text(self, name: str, is_needed: bool = False) -> str:
        """Return a field of words, '' where it is missing; a number counts as its digits."""
        value = self.take(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str | None):
            raise RecordError(f'`{name}` is no text but {type(value).__name__}')
        if is_needed and not (value or '').strip():
            raise RecordError(f'it has no `{name}`')
        return value or ''

    def items(self, name: str) -> list[Any]:
        """Return a field that is a list, [] where it is missing."""
        value = self.take(name)
        if not isinstance(value, list | None):
            raise RecordError(f'`{name}` is no list but {type(value).__name__}')
        return value or []

    def texts(self, name: str) -> list[str]:
        """Return a field that is a list of words, [] where it is missing."""
        found = self.items(name)
        for value in found:
            if not isinstance(value, str):
                raise RecordError(f'`{name}` holds {value!r}, which is no text')
        return found

    def mapping(self, name: str) -> dict[str, Any]:
        """Return a field that is an object; anything else that is there stands under 'value'."""
        value = self.take(name)
        if value is None:
            return {}
        return value if isinstance(value, dict) else {'value': value}

    def rest(self) -> dict[str, Any]:
        """Return the fields that nobody took."""
        return {name: value for name, value in self.fields.items() if name not in self.taken}


def check_stamp(stamp_ns: int, text: object) -> None:
    """Raise RecordError for a time that the memory cannot hold."""
    if not MIN_NS <= stamp_ns < MAX_NS:
        raise RecordError(f'the time {text} is outside the years 1970 to 2200')


def _skill(line: Line, robot: str) -> Record:
    skill, word = line.text('skill', True), line.text('status')
    status = Status(word) if word in tuple(Status) else Status.UNKNOWN
    return skills.skill_report(
        line.stamp_ns, skill, status, goal_stack=line.texts('goal_stack'),
        parameters=line.mapping('parameters'), trigger=line.text('trigger'),
        narration=line.text('narration'), source_id=line.text('id'),
        parent_source_id=line.text('parent_id'), end_ns=line.end_ns,
        extra=line.rest() | ({'status': word} if word and word != status else {}))


def _speech(line: Line, robot: str) -> Record:
    return speech.utterance(
        line.stamp_ns, line.text('text', True), line.text('speaker'), robot=robot,
        confidence=speech.confidence_of(line.take('confidence')),
        language=line.text('language'), end_ns=line.end_ns, extra=line.rest())


def _scene(line: Line, robot: str) -> Record:
    refused: list[str] = []
    objects = scenes.collect(line.items('objects'), 'object', _object, refused)
    relations = scenes.collect(line.items('relations'), 'relation', _relation, refused)
    unknown = [_unknown(item) for item in line.fields.get('objects') or []]
    return scenes.scene(
        line.stamp_ns, objects, relations, refused, camera=line.text('camera'),
        extra=line.rest() | ({'object_fields': unknown} if any(unknown) else {}))


def _object(item: Any) -> Any:
    part = _part(item)
    return scenes.scene_object(
        part.text('name'), part.text('instance'), part.items('bbox') or None,
        part.items('position') or None, part.text('frame'), part.take('confidence'),
        part.text('state'))


def _unknown(item: Any) -> dict[str, Any]:
    if not isinstance(item, dict):
        return {}
    return {name: value for name, value in item.items() if name not in _OBJECT_FIELDS}


def _relation(item: Any) -> Any:
    part = _part(item)
    return scenes.scene_relation(
        part.text('subject'), part.text('predicate'), part.text('object'))


def _part(item: Any) -> Line:
    if not isinstance(item, dict):
        raise RecordError(f'it is no JSON object but {type(item).__name__}')
    return Line(item, 0, None)


def _observation(line: Line, robot: str) -> Record:
    return Observation(
        stamp_ns=line.stamp_ns, end_ns=line.stamp_ns if line.end_ns is None else line.end_ns,
        name=line.text('name', True), instance=line.text('instance'), event=line.text('event'),
        text=line.text('text'), location=line.text('location'),
        attributes=line.mapping('attributes'), is_person=line.take('is_person') is True,
        extra=line.rest())


def _annotation(kind: str, text_field: str) -> Callable[[Line, str], Record]:
    def convert(line: Line, robot: str) -> Record:
        return Annotation(
            stamp_ns=line.stamp_ns, end_ns=line.stamp_ns if line.end_ns is None else line.end_ns,
            kind=kind, text=line.text(text_field, True), extra=line.rest())
    return convert


def _joints(line: Line, robot: str) -> Record:
    return joints.joint_sample(
        line.stamp_ns, line.texts('names'), line.items('position'), line.items('velocity'),
        line.items('effort'), line.rest())


def _pose(line: Line, robot: str) -> Record:
    return poses.pose(
        line.stamp_ns, line.text('frame'), line.items('position'),
        line.items('orientation') or None, extra=line.rest())


def image_fields(line: Line) -> tuple[str, str, str]:
    """Return camera, path and encoding of an `image` line."""
    return line.text('camera') or 'camera', line.text('path', True), line.text('encoding')


CONVERTERS: Mapping[str, Callable[[Line, str], Record]] = {
    'skill': _skill, 'speech': _speech, 'scene': _scene, 'observation': _observation,
    'goal': _annotation('goal', 'goal'), 'narration': _annotation('narration', 'text'),
    'joints': _joints, 'pose': _pose}
