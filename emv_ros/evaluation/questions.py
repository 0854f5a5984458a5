"""Question sets (`*_qa.jsonl`): what is asked, from when, and the moments the answer rests on."""

from __future__ import annotations

from dataclasses import dataclass
import json
from pathlib import Path
from typing import Any

from emv_ros.errors import ImportFileError, TimeExpressionError
from emv_ros.timeline import Interval, parse_stamp


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question; `query_time_ns` None: nothing is hidden from it."""

    id: str
    kind: str
    text: str
    evidence: tuple[Interval, ...] = ()
    query_time_ns: int | None = None


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
    return AskedQuestion(
        id=str(item.get('id', number)), kind=str(item.get('kind', '')),
        text=str(item['question']),
        evidence=tuple(Interval(parse_stamp(first)[0], parse_stamp(last)[0])
                       for first, last in item.get('evidence') or ()),
        query_time_ns=None if asked_at is None else parse_stamp(asked_at)[0])
