"""Which parameters of a skill's run say to a person what was done: a rule, and what overrides it.

A robot hands its skills whole configurations. Told are words that name things, places and sayings,
and quantities; not told are numbers, poses and matrices, identifiers and other opaque strings,
frames, hosts and types, placeholders, and what is nested deeper than one step. Secrets (passwords,
keys, tokens) stay in the record and are never told. Nothing here fails or is slow, whatever a
robot sends: only so many leaves are looked at, and only the beginning of a long text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
import math
import re
from typing import Any, Protocol

from emv_ros.memory.documents import words_of_name

MAX_PARAMETERS = 4
# What is looked at of one set of parameters.
MAX_LEAVES, MAX_DEPTH, MAX_IN_LIST, MAX_CHARS, MAX_NAME_CHARS = 4000, 8, 64, 4000, 80

_SILENT_NAMES = {
    'frame', 'frameid', 'agent', 'hostname', 'host', 'dataset', 'provider', 'clocktype', 'uuid',
    'guid', 'robot', 'namespace', 'gazetargetname', 'status', 'mode', 'type', 'topic', 'encoding',
    'checksum', 'hash', 'unit', 'units', 'version', 'timestamp', 'language'}
_SECRET = re.compile(r'passw|secret|token|apikey|accesskey|privatekey|credential')
# What a name must begin with, after its case and underscores are gone, to tell from one step down.
_TELLING = ('class', 'name', 'object', 'location', 'text', 'label', 'person', 'step', 'item',
            'place', 'room', 'destination', 'ingredient', 'tool', 'message', 'question')
_THINGS = frozenset((*_TELLING, 'target', 'goal', 'recipient', 'content', 'shape', 'configuration'))
_QUANTITIES = {'amount', 'quantity', 'portions', 'servings'}
_NOTHING = {'n/a', 'na', 'none', 'null', 'nil', 'nan', 'inf', 'infinity', 'unknown', 'undefined',
            'default', 'auto', 'true', 'false', ''}
_WORD = re.compile(r'[^\W\d_]{2,}')
_PLACEHOLDER = re.compile(r'<[^<>]*>')
_IDENTIFIER = re.compile(r'(?:0x)?[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}', re.I)
_BLOB = re.compile(r'data:\S*|[\w+/=.-]{24,}')
_WORDLIKE = re.compile(r'[a-z]{4,}')
# Coordinates that simulators write behind the name of a thing: 'Fridge|-02.78|+00.00|+02.22'.
_COORDINATES = re.compile(r'(\|[+-]?\d+(\.\d+)?)+')


class Choices(Protocol):
    """What was found once to tell what a skill does."""

    def names_for(self, skill: str, parameters: Mapping[str, Any]) -> tuple[str, ...] | None:
        """Return the dotted names of the telling parameters; None where the rule decides."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value within nested parameters. `names` leads to it; `unit` is what stood beside it."""

    names: tuple[str, ...]
    value: object
    unit: str = ''

    @property
    def name(self) -> str:
        """The dotted name."""
        return '.'.join(self.names)

    @property
    def is_secret(self) -> bool:
        """Whether its name says that nobody should read it."""
        return any(_SECRET.search(_squashed(name)) for name in self.names)


def leaves(parameters: object) -> Iterator[Leaf]:
    """Yield the leaves of nested parameters in their order; a list's bear the name of the list."""
    waiting: list[tuple[tuple[str, ...], object, str]] = [((), parameters, '')]
    for _ in range(MAX_LEAVES):
        if not waiting:
            return
        names, value, unit = waiting.pop()
        if isinstance(value, Mapping):
            if len(names) < MAX_DEPTH:
                inner_unit = _unit_in(value)
                inside = list(islice(value.items(), MAX_LEAVES))
                waiting.extend(((*names, str(key)[:MAX_NAME_CHARS]), inner, inner_unit)
                               for key, inner in reversed(inside))
        elif isinstance(value, list | tuple):
            if len(waiting) < MAX_LEAVES and _holds_more_than_numbers(value):
                waiting.extend((names, inner, unit)
                               for inner in reversed(list(islice(value, MAX_IN_LIST))))
        else:
            yield Leaf(names, value, unit)


def texts_in(parameters: object) -> Iterator[str]:
    """Yield the texts among the leaves, each as it was sent, up to a length."""
    return (leaf.value[:MAX_CHARS] for leaf in leaves(parameters) if isinstance(leaf.value, str))


def bare(text: str) -> str:
    """Return the words of a text, without case and signs: what two ways to write it share."""
    return ' '.join(re.findall(r'\w+', text[:MAX_CHARS].lower()))


def told_parameters(skill: str, parameters: Mapping[str, Any], choices: Choices | None = None,
                    without: Iterable[str] = ()) -> list[str]:
    """Return the values that say what a run did, the few that matter, at their full length.

    `without` are sayings, bare, that the text brings anyway.
    """
    chosen = choices.names_for(skill, parameters) if choices is not None else None
    said = _of_names(parameters, chosen) if chosen is not None else []
    skipped = set(without)
    return [value for value in said or _best(telling(parameters)) if bare(value) not in skipped]


def telling(parameters: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the telling values by the dotted name of their parameter, by the rule alone."""
    found: dict[str, list[str]] = {}
    known: set[str] = set()
    for leaf in leaves(parameters):
        text = _told(leaf)
        if text and text not in known:
            known.add(text)
            found.setdefault(leaf.name, []).append(text)
    return found


def _best(found: Mapping[str, Sequence[str]]) -> list[str]:
    """Return at most MAX_PARAMETERS values: what names a thing before the rest, in their order.

    A parameter that lists more than there is room for, beside one other, says how many.
    """
    names = sorted(found, key=lambda name: not _names_a_thing(name))
    room = MAX_PARAMETERS
    kept: dict[str, list[str]] = {}
    for index, name in enumerate(names):
        if not room:
            break
        values = list(found[name])
        own = room - 1 if room > 2 and index + 1 < len(names) else room
        if len(values) > own:
            values = [*values[:own - 1], f'{len(values) - own + 1} more']
        kept[name] = values
        room -= len(values)
    return [value for name in found for value in kept.get(name, ())]


def _names_a_thing(name: str) -> bool:
    words = words_of_name(name.rpartition('.')[2]).split()
    return any(word in _THINGS or word.removesuffix('s') in _THINGS for word in words)


def _told(leaf: Leaf) -> str:
    """Return what a leaf says by the rule, or ''."""
    if not leaf.names or leaf.is_secret:
        return ''
    last = _squashed(leaf.names[-1])
    if isinstance(leaf.value, int | float):
        is_quantity = leaf.unit or last in _QUANTITIES
        return words_of_value(leaf) if is_quantity and len(leaf.names) <= 2 else ''
    if last in _SILENT_NAMES or len(leaf.names) > 2:
        return ''
    if len(leaf.names) == 2 and (
            not last.startswith(_TELLING) or 'instance' in leaf.names[0].lower()):
        return ''
    return words_of_value(leaf)


def words_of_value(leaf: Leaf) -> str:
    """Return a leaf in words: text without coordinates, a number with its unit or name, else ''."""
    value = leaf.value
    if isinstance(value, bool) or value is None:
        return ''
    if isinstance(value, int | float):
        if abs(value) > 1e12 or not math.isfinite(value):
            return ''
        number = f'{value:.6g}'
        return f'{number} {leaf.unit}' if leaf.unit else (
            f'{words_of_name(leaf.names[-1])} {number}')
    text = _COORDINATES.sub('', ' '.join(str(value)[:MAX_CHARS].split())).strip('"\' ')
    names = {name.lower() for name in leaf.names}
    if text.lower() in _NOTHING or text.lower() in names:
        return ''
    if not _WORD.search(text):
        is_number = leaf.unit and _squashed(leaf.names[-1]) in _QUANTITIES and text[0].isdigit()
        return f'{text} {leaf.unit}' if is_number else ''
    return '' if _is_opaque(text) else text


def _is_opaque(text: str) -> bool:
    """Whether a text is a placeholder, an identifier, or encoded data."""
    if _PLACEHOLDER.fullmatch(text) or _IDENTIFIER.fullmatch(text):
        return True
    if not _BLOB.fullmatch(text):
        return False
    digits = sum(letter.isdigit() for letter in text)
    wordlike = sum(len(part) for part in _WORDLIKE.findall(text))
    return text.startswith('data:') or (digits > 2 and wordlike < 0.4 * len(text))


def _of_names(parameters: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    found: dict[str, dict[str, None]] = {name: {} for name in names}
    for leaf in leaves(parameters):
        if leaf.name in found and (text := words_of_value(leaf)):
            found[leaf.name][text] = None
    return _best({name: list(values) for name, values in found.items() if values})


def _unit_in(value: Mapping[Any, Any]) -> str:
    unit = value.get('unit') or value.get('units')
    if not isinstance(unit, str) or unit.strip().lower() in _NOTHING or len(unit) > 16:
        return ''
    return unit.strip()


def _holds_more_than_numbers(value: Sequence[object]) -> bool:
    return any(not isinstance(item, int | float) for item in islice(value, MAX_IN_LIST))


def _squashed(name: str) -> str:
    return name.lower().replace('_', '').replace('-', '')
