"""What is told of an observation without a vision model: only what was recorded around it.

Relations of its scenes say where it was, who held it, and how that changed; runs of skills that
name it say what was going on; a colour says what it looks like. Knows nothing of the store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
import re
from typing import Any

from emv_ros.memory.documents import named_values, words_of_name
from emv_ros.memory.names import squash, stem

HELD = frozenset(('held by', 'in hand of', 'grasped by', 'carried by'))
# What somebody does who holds a thing, as their own relation to it, and as that of the thing.
HOLDS = {'holds': 'held by', 'holding': 'held by', 'carries': 'held by', 'grasps': 'held by',
         'drinks from': 'drunk from by', 'eats from': 'eaten from by', 'uses': 'used by',
         'washes': 'washed by'}
_IN_HAND = HELD | frozenset(HOLDS.values())
# What carries a thing, and how it is said that the thing got there.
SUPPORTS = {'on': 'put on', 'on top of': 'put on', 'in': 'put into', 'inside': 'put into',
            'inside of': 'put into', 'under': 'put under', 'at': 'put at'}
BESIDE = frozenset(('next to', 'beside', 'near'))
# Of so many looks or more, a place that only one of them shows is noise.
MANY_LOOKS = 5
MAX_PARTS, MAX_RUNS, MAX_CHARS = 5, 2, 240
COLOURS = frozenset((
    'beige', 'black', 'blue', 'brown', 'cyan', 'gold', 'golden', 'gray', 'green', 'grey', 'magenta',
    'maroon', 'olive', 'orange', 'pink', 'purple', 'red', 'silver', 'teal', 'turquoise', 'violet',
    'white', 'yellow'))
_SAME = {'grey': 'gray', 'golden': 'gold', 'violet': 'purple'}
_WORD = re.compile(r'[^\W_]+')

State = tuple[str, str]  # predicate in words, the other thing


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a skill around an observation."""

    skill: str
    goals: tuple[str, ...]
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """What the rule says: each on one line, '' for nothing. `doing` names the skills."""

    event: str = ''
    text: str = ''
    location: str = ''
    doing: str = ''

    @property
    def line(self) -> str:
        """All of it."""
        return '; '.join(part for part in (self.event, self.doing, self.text, self.location)
                         if part)


def states_of(looks: Iterable[Sequence[State]]) -> list[State]:
    """Return how a thing stood, look by look in order of time; looks that do not tell are left out.

    A look that shows it held says so, whatever else it shows.
    """
    found: list[State] = []
    for relations in looks:
        known = [(words_of_name(predicate), other) for predicate, other in relations]
        best = next((state for state in known if state[0] in _IN_HAND), None) or next(
            (state for state in known if state[0] in SUPPORTS), None)
        if best is not None:
            found.append(best)
    if len(found) < MANY_LOOKS:
        return found
    steady = [list(group) for _, group in groupby(found)]
    return [state for group in steady
            if len(group) > 1 or group[0][0] in _IN_HAND for state in group]


def changes_in(states: Sequence[State]) -> list[str]:
    """Return what happened to a thing, in order: taken, held, put; nothing where it only stays."""
    parts: list[str] = []
    before: State | None = None
    for state, _ in groupby(states):
        is_held = state[0] in _IN_HAND
        if before is not None and before[0] not in _IN_HAND:
            parts.append(f'taken from {before[1]}')
        if is_held:
            parts.append(f'{state[0]} {state[1]}')
        elif before is not None:
            parts.append(f'{SUPPORTS[state[0]]} {state[1]}')
        before = state
    return list(dict.fromkeys(parts))


def place_in(states: Sequence[State], looks: Iterable[Sequence[State]] = ()) -> str:
    """Return where a thing was at the end: '' where somebody held it; else what it was next to."""
    if states:
        last = states[-1]
        return '' if last[0] in _IN_HAND else ' '.join(last)
    beside = Counter((words_of_name(predicate), other) for relations in looks
                     for predicate, other in relations if words_of_name(predicate) in BESIDE)
    return ' '.join(beside.most_common(1)[0][0]) if beside else ''


def tell(looks: Sequence[Sequence[State]], runs: Sequence[Run], name: str,
         attributes: Mapping[str, Any], is_person: bool,
         holds: Iterable[str] = ()) -> Told:
    """Return what the rule says of an observation.

    `looks` are its relations in each scene; `runs` those that concern it; `holds` what a person
    was seen to hold.
    """
    states = states_of(looks)
    parts = changes_in(states)
    parts += [f'holds {thing}' for thing in dict.fromkeys(holds)]
    event = ', '.join(parts if len(parts) <= MAX_PARTS else (*parts[:2], '…', *parts[-2:]))
    colours = [colour for colour in colours_of(attributes)
               if _same(colour) not in map(_same, _WORD.findall(name.lower()))]
    text = ' and '.join(colours)
    if text and is_person:
        text = f'wearing {text}'
    return Told(event[:MAX_CHARS], text, place_in(states, looks), doing_of(runs)[:MAX_CHARS])


def doing_of(runs: Sequence[Run]) -> str:
    """Return what was going on: 'during BringCoffee: hand over red mug'."""
    goals = {goal for run in runs for goal in run.goals}
    told: dict[str, None] = {}
    for run in runs:
        if run.skill in goals:
            continue  # its parts tell more
        value = next((text for _, text in named_values(run.parameters)), '')
        doing = words_of_name(run.skill)
        said = f'{doing} {value}'.strip() if len(value) <= 60 else doing
        told.setdefault(f'during {run.goals[0]}: {said}' if run.goals else f'during {said}')
    return '; '.join(list(told)[:MAX_RUNS])


def concerns(run: Run, name: str, instance: str, attributes: Mapping[str, Any]) -> bool:
    """Whether the parameters of a run name a thing, or a word of its name.

    A value of another instance, or of another colour, names another thing.
    """
    own = _stems(name)
    colours = {_same(colour) for colour in colours_of(attributes)}
    for _, value in named_values(run.parameters):
        if instance and squash(value) == squash(instance):
            return True
        if instance and any(character.isdigit() for character in value):
            continue
        words = _stems(value)
        asked = {_same(word) for word in words if word in COLOURS}
        if asked and colours and not asked & colours:
            continue
        if own and words and (set(own) <= set(words) or set(words) <= set(own)
                              or own[-1] in words):
            return True
    return False


def colours_of(attributes: Mapping[str, Any]) -> list[str]:
    """Return the words of the colours in attributes['colour'], a text or a list, in order."""
    value = attributes.get('colour')
    texts = value if isinstance(value, list | tuple) else [value]
    return list(dict.fromkeys(word for text in texts if isinstance(text, str)
                              for word in _WORD.findall(text.lower()) if word in COLOURS))


def colour_words(text: str) -> set[str]:
    """Return the colours that a text names, each by one word."""
    return {_same(word) for word in _WORD.findall(text.lower()) if word in COLOURS}


def _same(colour: str) -> str:
    return _SAME.get(colour, colour)


def _stems(text: str) -> list[str]:
    return [stem(word) for word in _WORD.findall(words_of_name(text))]
