"""Which of a question's choices rows or a value bear out: by time, number, order or words.

Each way is exact where it can be: spans by how much of them the rows cover, quantities by number
and unit, orders by pairs, words by those that tell the choices apart. Where nothing fits, or two
fit alike, that is said: no choice is taken by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import combinations
import re
from typing import Any

from emv_ros.agent.console.choice_times import coverage, nearest_s, spans_of
from emv_ros.agent.console.windows import Clock
from emv_ros.agent.roots import root_of
from emv_ros.errors import EmvError
from emv_ros.retrieval.similarity import Similarity
from emv_ros.timeline import Interval

# A moment this far from a choice is not the one that it names.
NEAR_S = 30.0
# By meaning alone the best must be this near, and this far before the next.
LEAST_MEANING = 0.45
LEAD = 0.02
MAX_COMPARED = 120
_QUANTITY = re.compile(r'^\W*(?P<number>-?\d+(?:[.,]\d+)?)\s*(?P<unit>[^\W\d]*)\b')
_NUMBER = re.compile(r'(?<![\w.])-?\d+(?:\.\d+)?')
_ORDER = re.compile(r'\s*(?:->|→|=>|>|;|\bthen\b)\s*')
_WORD = re.compile(r'[^\W_]+')
_SECONDS = {'s': 1, 'sec': 1, 'second': 1, 'min': 60, 'minute': 60, 'h': 3600, 'hour': 3600,
            'day': 86_400}


@dataclass(frozen=True, slots=True)
class Given:
    """What a choice is to be picked by: rows (texts, facts, spans), moments or plain values.

    A choice that is a fact of a row as it stands fits better than one that a long text mentions.
    """

    texts: list[str] = field(default_factory=list)
    facts: list[tuple[str, ...]] = field(default_factory=list)  # of each row, its single values
    goals: list[tuple[str, ...]] = field(default_factory=list)  # what each row was done for
    told: list[str] = field(default_factory=list)  # what each row says besides its goals
    spans: list[Interval] = field(default_factory=list)
    moments: list[Interval] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)


def pick(choices: Sequence[str], given: Given, clock: Clock, similarity: Similarity,
         is_missing: bool = False) -> int:
    """Return the index of the choice that is borne out best (`is_missing`: least).

    Raises EmvError where nothing is given, nothing fits or several fit alike.
    """
    if not choices:
        raise EmvError('the question has no choices: use answer(text, evidence=rows)')
    if not (given.values or given.texts or given.moments):
        raise EmvError('pick() got no rows: look with other words or without a filter')
    spans = [spans_of(choice, clock) for choice in choices]
    if all(spans):
        scores = _by_time(spans, given)
    elif all(_QUANTITY.match(choice) for choice in choices):
        scores = _by_number(choices, given)
    elif all(len(_ORDER.split(choice)) > 1 for choice in choices) and given.texts:
        scores = _by_order(choices, given)
    else:
        values = [str(value) for value in given.values]
        facts = {frozenset(roots(fact)) for row in given.facts for fact in row}
        return _by_words(choices, [*given.texts, *values], facts, similarity, is_missing)
    return _best(scores, choices)


def _best(scores: Sequence[float], choices: Sequence[str]) -> int:
    best = max(scores)
    if best <= 0:
        raise EmvError('none of the choices fits: look with other words, another time or another '
                       'function')
    fitting = [index for index, score in enumerate(scores) if score >= best - 1e-9]
    if len(fitting) > 1:
        alike = ', '.join(repr(choices[index][:40]) for index in fitting[:4])
        raise EmvError(f'these choices fit alike: {alike}; give rows that tell them apart')
    return fitting[0]


def _by_time(choices: Sequence[Sequence[Interval]], given: Given) -> list[float]:
    """Return how much of each choice the rows cover; of moments, how near one comes."""
    moments = given.moments or [Interval(span.start_ns, span.start_ns) for span in given.spans]
    if not moments:
        raise EmvError('the choices are times: give rows or times to pick()')
    is_long = all(any(span.end_ns - span.start_ns > 1_000_000_000 for span in spans)
                  for spans in choices)
    if is_long and given.spans:
        return [coverage(spans, given.spans) for spans in choices]
    return [max(0.0, 1 - nearest_s(spans[0], moments) / NEAR_S) for spans in choices]


def _by_number(choices: Sequence[str], given: Given) -> list[float]:
    """Return which choices name a number: the given one, one with its unit in a row, or a count."""
    wanted = [_quantity(choice) for choice in choices]
    numbers = [_as_number(value) for value in given.values]
    if known := [number for number in numbers if number is not None]:
        return [float(any(abs(_in_seconds(number, unit, given) - value) <= 0.01 * abs(value)
                          for value in known)) for number, unit in wanted]
    if any(unit for _, unit in wanted):
        return [max(_quantity_in(number, unit, text, facts) for text, facts in zip(
            given.texts, given.facts, strict=True)) for number, unit in wanted]
    held = [float(any(abs(number - float(found)) < 1e-9 for text in given.texts
                      for found in _NUMBER.findall(text))) for number, _ in wanted]
    if sum(held) == 1:
        return held
    return [float(number == len(given.texts)) for number, _ in wanted]


def _quantity(text: str) -> tuple[float, str]:
    match = _QUANTITY.match(text)
    assert match is not None
    return float(match['number'].replace(',', '.')), match['unit'].lower()


def _quantity_in(number: float, unit: str, text: str, facts: Sequence[str]) -> float:
    """Return 2 where number and unit are facts of a row, 1 where its text tells them, else 0."""
    has_number = any(_as_number(fact) == number for fact in facts)
    has_unit = not unit or any(root_of(fact.lower()) == root_of(unit) for fact in facts)
    if has_number and has_unit:
        return 2.0
    told = rf'(?<![\w.]){re.escape(f"{number:g}")}\s?{re.escape(unit)}'
    return float(re.search(told, text, re.IGNORECASE) is not None)


def _as_number(value: Any) -> float | None:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (int, float)):
        return float(value)
    match = _QUANTITY.match(value) if isinstance(value, str) else None
    return float(match['number'].replace(',', '.')) if match else None


def _in_seconds(number: float, unit: str, given: Given) -> float:
    if not any(isinstance(value, timedelta) for value in given.values):
        return number
    return number * _SECONDS.get(unit, _SECONDS.get(unit.removesuffix('s'), 1))


def _by_order(choices: Sequence[str], given: Given) -> list[float]:
    """Return the share of each choice's pairs that come in its order among the rows.

    Where several goals were worked on in turn, the rows of the one count that holds most items.
    """
    items = list(dict.fromkeys(item for choice in choices for item in _ORDER.split(choice)))
    told = [roots(words) for words in given.told]
    groups = [told, *([words for words, goals in zip(told, given.goals, strict=True)
                       if goals == one] for one in dict.fromkeys(given.goals))]
    places = max((_places(items, group) for group in groups[::-1]), key=len)
    scores = []
    for choice in choices:
        pairs = list(combinations(_ORDER.split(choice), 2))
        right = sum(one in places and other in places and places[one] < places[other]
                    for one, other in pairs)
        scores.append(right / len(pairs) if pairs else 0.0)
    return scores


def _places(items: Sequence[str], told: Sequence[set[str]]) -> dict[str, int]:
    """Return for each item the first of the rows that hold most of its words, if most of them."""
    places: dict[str, int] = {}
    for item in items:
        asked = roots(item)
        shares = [len(asked & words) / max(1, len(asked)) for words in told]
        if shares and max(shares) > 0.5:
            places[item] = shares.index(max(shares))
    return places


def _by_words(choices: Sequence[str], texts: Sequence[str], facts: set[frozenset[str]],
              similarity: Similarity, is_missing: bool) -> int:
    """Return the choice whose telling words a text holds; by meaning where words do not decide."""
    held = [roots(text) for text in texts]
    asked = [roots(choice) for choice in choices]
    common = set.intersection(*asked)
    telling = [words - common or words for words in asked]
    scores = [max((len(words & text) / max(1, len(words)) for text in held), default=0.0)
              for words in telling]
    if not is_missing:
        scores = [score + (frozenset(words) in facts)
                  for score, words in zip(scores, asked, strict=True)]
    best = min(scores) if is_missing else max(scores)
    alike = [index for index, score in enumerate(scores) if abs(score - best) < 1e-9]
    if len(alike) == 1 and (is_missing or best >= 0.5):
        return alike[0]
    if not is_missing and best >= 0.5 and len({frozenset(asked[index]) for index in alike}) > 1:
        # All fit fully: the one that says most.
        longest = max(alike, key=lambda index: len(telling[index]))
        if all(index == longest or telling[index] < telling[longest] for index in alike):
            return longest
    among = alike if best >= 0.5 or is_missing else list(range(len(choices)))
    return among[_by_meaning([choices[index] for index in among], texts, similarity, is_missing)]


def _by_meaning(choices: Sequence[str], texts: Sequence[str], similarity: Similarity,
                is_missing: bool) -> int:
    distinct = list(dict.fromkeys(texts))
    if len(distinct) > MAX_COMPARED:
        raise EmvError(f'{len(distinct)} rows are too many to tell by: narrow them by when=, '
                       'skill= or goal=')
    near = [max(similarity.scores(choice, distinct)) for choice in choices]
    ranked = sorted(near) if is_missing else sorted(near, reverse=True)
    is_clear = len(ranked) < 2 or abs(ranked[0] - ranked[1]) >= LEAD
    if not is_clear or (not is_missing and ranked[0] < LEAST_MEANING):
        raise EmvError('the rows do not tell which choice fits: look with other words, another '
                       'time or another function')
    return near.index(ranked[0])


def roots(text: str) -> set[str]:
    """Return the roots of a text's words; numbers stay."""
    return {root_of(word) for word in _WORD.findall(text.lower())}
