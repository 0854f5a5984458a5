"""Answers that people graded: read, and where the gold allows in a form that rules can compare.

One JSON object a line: `now` ('YYYY/MM/DD HH:MM:SS'), `question`, `gold`, `answer`, `category` (one
of the seven). Golds are in words; times, days, yes or no and lists of tasks are recognised by their
form, and local times are taken as UTC: all are of one zone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
import json
from pathlib import Path
import re

from emv_ros.errors import ImportFileError, TimeExpressionError
from emv_ros.evaluation.questions import AskedQuestion, Gold, GoldKind
from emv_ros.evaluation.scoring.categories import Category
from emv_ros.timeline import from_datetime
from emv_ros.whens import parse_when

_TIME = re.compile(r'^[A-Z][a-z]+ \d{1,2} at \d{1,2}:\d{2} [AP]M$')
# 'and' within a task is followed by how it ends: 'cook a potato and serve on a plate'.
_TASK_END = re.compile(r'\.(?:\s+|$)|\s+and\s+(?!serve on\b|serve in\b)')
_FIELDS = ('now', 'question', 'gold', 'answer', 'category')
_DAYS_AGO = re.compile(r'^(\d+) days? ago$')


@dataclass(frozen=True, slots=True)
class GradedAnswer:
    """An answer, the question with its gold, and the class that people gave it."""

    question: AskedQuestion
    gold_text: str
    answer: str
    category: Category
    now_ns: int


def read_graded(path: Path) -> list[GradedAnswer]:
    """Return the graded answers of a file.

    Raises ImportFileError, naming the line, where it cannot be read or a line is none.
    """
    try:
        lines = path.read_text('utf-8-sig').split('\n')
    except (OSError, UnicodeDecodeError) as error:
        raise ImportFileError(f'cannot read graded answers from {path}: {error}') from error
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
            if not isinstance(item, dict):
                raise ValueError('it is no JSON object')
            if strange := [name for name in _FIELDS if not isinstance(item.get(name), str)]:
                raise ValueError(f'it has no text in {strange[0]!r}')
            now_ns = from_datetime(datetime.strptime(item['now'], '%Y/%m/%d %H:%M:%S'), UTC)
            gold = _gold(str(item['gold']), now_ns)
            found.append(GradedAnswer(
                AskedQuestion(str(number), '', str(item['question']), query_time_ns=now_ns,
                              gold=gold),
                str(item['gold']), str(item['answer']), Category(item['category']), now_ns))
        except (ValueError, TypeError, KeyError, TimeExpressionError) as error:
            raise ImportFileError(f'{path}, line {number}: no graded answer: {error}') from error
    return found


def with_list(graded: GradedAnswer) -> GradedAnswer:
    """Return an answer whose gold, where it tells tasks, is the list of them.

    Tasks end in a full stop ('make a salad. clean the pans.'), two of a day are joined by 'and'.
    What was done in a task (parts without a full stop) stays in words.
    """
    gold = graded.question.gold
    if gold is None or gold.kind is not GoldKind.TEXT or not gold.text.strip().endswith('.'):
        return graded
    tasks = dict.fromkeys(part.strip() for part in _TASK_END.split(gold.text) if part.strip())
    listed = replace(gold, kind=GoldKind.LIST, items=tuple((task,) for task in tasks))
    return replace(graded, question=replace(graded.question, gold=listed))


def _gold(text: str, now_ns: int) -> Gold:
    said = text.strip().rstrip('.')
    if said.lower() in ('yes', 'no'):
        return Gold(GoldKind.YES_NO, text, value=float(said.lower() == 'yes'))
    if match := _DAYS_AGO.match(said):
        return Gold(GoldKind.DAYS_AGO, text, value=float(match[1]))
    if _TIME.match(said):
        return Gold(GoldKind.TIME, text, times_ns=(parse_when(said, now_ns, UTC).start_ns,))
    return Gold(GoldKind.TEXT, text)
