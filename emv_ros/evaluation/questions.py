"""Question sets (`*_qa.jsonl`): what is asked, from when, what is right, and what that rests on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
import json
from pathlib import Path
from typing import Any

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
        lines = path.read_text('utf-8').splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ImportFileError(f'cannot read questions from {path}: {error}') from error
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(_question(json.loads(line), number))
        except (ValueError, TypeError, KeyError, AttributeError, TimeExpressionError) as error:
            raise ImportFileError(f'{path}, line {number}: no question: {error}') from error
    return found


def _question(item: dict[str, Any], number: int) -> AskedQuestion:
    asked_at = item.get('query_time')
    choices = tuple(str(choice) for choice in item.get('choices') or ())
    return AskedQuestion(
        id=str(item.get('id', number)), kind=str(item.get('kind', '')),
        text=str(item['question']),
        evidence=tuple(Interval(parse_stamp(first)[0], parse_stamp(last)[0])
                       for first, last in item.get('evidence') or ()),
        query_time_ns=None if asked_at is None else parse_stamp(asked_at)[0],
        choices=choices, gold=_gold(item, choices))


def _gold(item: dict[str, Any], choices: tuple[str, ...]) -> Gold | None:
    text = str(item.get('answer') or '')
    if choices and item.get('answer_index') is not None:
        index = int(item['answer_index'])
        if not 0 <= index < len(choices):
            raise ValueError(f'answer_index {index} is none of {len(choices)} choices')
        return Gold(GoldKind.CHOICE, text or choices[index], value=index)
    exact = item.get('gold')
    if exact is None:
        return Gold(text=text) if text else None
    value = exact.get('value')
    return Gold(
        kind=GoldKind(exact['kind']), text=text, value=None if value is None else float(value),
        times_ns=tuple(parse_stamp(time)[0] for time in exact.get('times') or ()),
        precision_s=float(exact.get('precision_s', 60.0)),
        items=tuple((words,) if isinstance(words, str) else tuple(map(str, words))
                    for words in exact.get('items') or ()),
        is_ordered=bool(exact.get('ordered', False)))
