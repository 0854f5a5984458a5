"""Question sets (`*_qa.jsonl`): what is asked, from when, what is right, and what that rests on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
import json
import math
from pathlib import Path
from typing import Any

from emv_ros.agent.choices import problem_of
from emv_ros.errors import ImportFileError, TimeExpressionError
from emv_ros.timeline import Interval, parse_stamp


class GoldKind(StrEnum):
    """How a right answer can be told from a wrong one."""

    TEXT = 'text'  # only by reading it
    NUMBER = 'number'
    DAYS_AGO = 'days_ago'
    DURATION = 'duration'
    TIME = 'time'
    LIST = 'list'
    YES_NO = 'yes_no'
    CHOICE = 'choice'
    NONE = 'none'  # memory does not tell it


_WITH_VALUE = (GoldKind.NUMBER, GoldKind.DAYS_AGO, GoldKind.DURATION, GoldKind.YES_NO)


@dataclass(frozen=True, slots=True)
class Gold:
    """The right answer: in words, and as far as its kind allows in a form that can be compared.

    `value`: NUMBER and DAYS_AGO the number, DURATION seconds, YES_NO 1 or 0, CHOICE the index from
    0. `times_ns`: TIME, all that are to be named, each right within `precision_s`. `items`: LIST,
    all that are to be named, each as the words that may stand for it; `is_ordered` where their
    order is part of the answer.
    """

    kind: GoldKind = GoldKind.TEXT
    text: str = ''
    value: float | None = None
    times_ns: tuple[int, ...] = ()
    precision_s: float = 60.0
    items: tuple[tuple[str, ...], ...] = ()
    is_ordered: bool = False


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question; `query_time_ns` None: nothing is hidden from it.

    `choices` are the answers to choose from; `gold` is None where nobody said what is right.
    """

    id: str
    kind: str
    text: str
    evidence: tuple[Interval, ...] = ()
    query_time_ns: int | None = None
    choices: tuple[str, ...] = ()
    gold: Gold | None = None


def read_questions(path: Path) -> list[AskedQuestion]:
    """Return the questions of a file.

    Raises ImportFileError, naming the line, where it cannot be read or a line is no question.
    """
    try:
        lines = path.read_text('utf-8-sig').split('\n')
    except (OSError, UnicodeDecodeError) as error:
        raise ImportFileError(f'cannot read questions from {path}: {error}') from error
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(_question(json.loads(line), number))
        except (ValueError, TimeExpressionError) as error:
            raise ImportFileError(f'{path}, line {number}: no question: {error}') from error
    return found


def _question(item: Any, number: int) -> AskedQuestion:
    if not isinstance(item, dict):
        raise ValueError('it is no JSON object')
    name, text, asked_at = item.get('id', number), item.get('question'), item.get('query_time')
    if not isinstance(name, str | int):
        raise ValueError(f'the id {name!r} is no text')
    if not isinstance(text, str) or not text.strip():
        raise ValueError('it has no text in "question"')
    choices = item.get('choices') or []
    if isinstance(choices, list):
        choices = [str(choice) if type(choice) in (int, float) else choice for choice in choices]
    choices = _texts(choices, 'choices')
    if problem := problem_of(choices):
        raise ValueError(f'choices: {problem}')
    return AskedQuestion(
        id=str(name), kind=str(item.get('kind') or ''), text=text,
        evidence=_evidence(item.get('evidence') or []),
        query_time_ns=None if asked_at is None else parse_stamp(asked_at)[0],
        choices=choices, gold=_gold(item, choices))


def _texts(value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ValueError(f'{name} is no list of texts: {value!r}')
    return tuple(value)


def _evidence(value: Any) -> tuple[Interval, ...]:
    if not isinstance(value, list) or not all(
            isinstance(span, list) and len(span) == 2 for span in value):
        raise ValueError(f'evidence is no list of stretches, [first, last]: {value!r}')
    return tuple(Interval(parse_stamp(first)[0], parse_stamp(last)[0]) for first, last in value)


def _gold(item: dict[str, Any], choices: tuple[str, ...]) -> Gold | None:
    text = str(item.get('answer') or '')
    if (index := item.get('answer_index')) is not None:
        if not choices:
            raise ValueError('an answer_index without choices')
        if type(index) is not int or not 0 <= index < len(choices):
            raise ValueError(f'answer_index {index!r} is none of {len(choices)} choices, from 0')
        return Gold(GoldKind.CHOICE, text or choices[index], value=index)
    exact = item.get('gold')
    if exact is None:
        return Gold(text=text) if text else None
    if not isinstance(exact, dict) or 'kind' not in exact:
        raise ValueError(f'gold is no object with a kind: {exact!r}')
    return _exact_gold(exact, text)


def _exact_gold(exact: dict[str, Any], text: str) -> Gold:
    """Return the gold that an object tells; what its kind needs is there and in its form."""
    kind = GoldKind(exact['kind'])
    if kind is GoldKind.CHOICE:
        raise ValueError('which choice is right, answer_index tells')
    value = exact.get('value')
    if value is not None or kind in _WITH_VALUE:
        is_flag = kind is GoldKind.YES_NO
        value = float(value) if is_flag and isinstance(value, bool) else _number(value, 'value')
        if is_flag and value not in (0, 1):
            raise ValueError(f'the value of yes_no is 1 or 0, not {value!r}')
    times = _texts(exact.get('times') or [], 'times')
    if kind is GoldKind.TIME and not times:
        raise ValueError('a gold of the kind time needs times')
    precision_s = _number(exact.get('precision_s', 60.0), 'precision_s')
    if precision_s < 0:
        raise ValueError(f'precision_s is negative: {precision_s}')
    if not isinstance(is_ordered := exact.get('ordered', False), bool):
        raise ValueError(f'ordered is true or false, not {is_ordered!r}')
    if kind is GoldKind.LIST and 'items' not in exact:
        raise ValueError('a gold of the kind list needs items')
    return Gold(
        kind=kind, text=text, value=value, times_ns=tuple(parse_stamp(time)[0] for time in times),
        precision_s=precision_s, items=_items(exact.get('items') or []), is_ordered=is_ordered)


def _number(value: Any, name: str) -> float:
    try:
        number = float('nan') if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = float('nan')
    if not math.isfinite(number):
        raise ValueError(f'{name} is no number: {value!r}')
    return number


def _items(value: Any) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list):
        raise ValueError(f'items is no list: {value!r}')
    found = tuple(_texts([words] if isinstance(words, str) else words, 'one of items')
                  for words in value)
    if not all(found):
        raise ValueError('one of items has no words')
    return found
