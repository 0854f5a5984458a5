"""The searchable text of each unit of retrieval, made from its record alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import re
from typing import Any

from emv_ros.records import Annotation, Node, Observation, Record, SkillEvent, Utterance

MAX_CHARS = 2000
_HUMP = re.compile(r'(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])')
_BREAK = re.compile(r'[_\-/.]+')
# Values that say nothing to a person: numbers of joints, hashes, clocks.
_WORD = re.compile(r'[A-Za-z]{2,}')


def words_of_name(name: str) -> str:
    """Return a programmer's name in words: 'ReceiveObject' -> 'receive object'."""
    return ' '.join(_HUMP.sub(' ', _BREAK.sub(' ', name)).split()).lower()


def named_values(value: Any, name: str = '') -> Iterator[tuple[str, str]]:
    """Yield (dotted name, words) of each leaf of nested parameters that says something in words."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from named_values(inner, f'{name}.{key}' if name else str(key))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from named_values(inner, name)
    elif isinstance(value, str) and _WORD.search(value):
        yield name, ' '.join(value.split())


def text_of(record: Record | Node, called: str = '') -> str | None:
    """Return the text under which a record is found, or None where it is no unit of retrieval.

    `called` is what a person calls the entity of an observation.
    """
    text = _text_of(record, called)
    return ' '.join(text.replace('\0', ' ').split())[:MAX_CHARS] if text else None


def _text_of(record: Record | Node, called: str) -> str | None:
    match record:
        case SkillEvent():
            values = dict.fromkeys(value for _, value in named_values(record.parameters))
            skill = record.skill.replace('\0', ' ')  # as it is stored
            return ' '.join((
                f'{skill} ({words_of_name(skill)})', str(record.status),
                record.narration, '; '.join(values)))
        case Utterance():
            return f'{record.speaker}: {record.text}' if record.speaker else record.text
        case Annotation():
            return record.text
        case Observation() if 'told_by' in record.extra:
            return None  # it says what an observation just before says
        case Observation():
            name = f'{called} ({record.name})' if called not in ('', record.name) else record.name
            return ' '.join((
                name, record.event, record.text, record.location,
                *(value for _, value in named_values(record.attributes))))
        case Node():
            name = words_of_name(record.name)
            return f'{name} {record.summary}' if name else record.summary
        case _:
            return None
