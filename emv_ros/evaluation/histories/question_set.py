"""Choose the questions about a history and write them: some of each kind, of as many forms as can.

Every question that could be asked of it is drafted from the truth; what cannot be asked without
doubt is not drafted at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
import json
from pathlib import Path
import random
from typing import Any

from emv_ros.evaluation.histories import (
    asking_nothing,
    asking_tasks,
    asking_things,
    asking_times,
)
from emv_ros.evaluation.histories.drafts import Draft, Maker
from emv_ros.evaluation.histories.phrasing import Phrasing
from emv_ros.evaluation.histories.truth import Truth
from emv_ros.evaluation.questions import AskedQuestion, Gold, GoldKind
from emv_ros.timeline import HOUR_NS, MINUTE_NS, day_span, to_datetime
from emv_ros.tree.words import forms, words_in

MAKERS: tuple[Maker, ...] = (
    asking_tasks.tasks, asking_tasks.detail, asking_tasks.before, asking_tasks.after,
    asking_tasks.by_object, asking_tasks.by_action, asking_tasks.at_time,
    asking_tasks.days_ago_list, asking_times.when, asking_times.how_many_days_ago,
    asking_times.count, asking_times.duration, asking_things.failure, asking_times.first_last,
    asking_things.where, asking_things.which_like, asking_things.said, asking_things.is_so,
    asking_nothing.unanswerable)


def ask(truth: Truth, seed: int, per_kind: int) -> list[AskedQuestion]:
    """Return up to `per_kind` questions of each kind; the same seed chooses the same ones."""
    say = _phrasing(truth, seed)
    found: list[AskedQuestion] = []
    for maker in MAKERS:
        texts: set[str] = set()
        for draft in _spread(_mixed(list(maker(truth, say)), say.chance)):
            text = say.chance.choice(draft.asks)
            if _tells_itself(text, draft.gold):
                continue
            if len(texts) < per_kind and text not in texts:
                texts.add(text)
                found.append(AskedQuestion(
                    f'{draft.kind}_{len(texts)}', draft.kind, text, draft.evidence, say.now_ns,
                    gold=draft.gold))
    return found


def drafts(truth: Truth, seed: int) -> list[Draft]:
    """Return everything that could be asked of a history."""
    say = _phrasing(truth, seed)
    return [draft for maker in MAKERS for draft in maker(truth, say)]


def _phrasing(truth: Truth, seed: int) -> Phrasing:
    chance = random.Random(f'questions/{len(truth.tasks)}/{seed}')
    return Phrasing(truth, _asked_at(truth, chance), chance)


def _asked_at(truth: Truth, chance: random.Random) -> int:
    """Return when all questions are asked: late on the last day, or on the day after."""
    day = day_span(truth.days[-1], truth.zone)
    return chance.choice((day.end_ns - 20 * MINUTE_NS, day.end_ns + 18 * HOUR_NS))


def _mixed(found: list[Draft], chance: random.Random) -> Iterator[Draft]:
    """Yield all drafts, one of each form in turn."""
    chance.shuffle(found)
    forms: dict[str, list[Draft]] = {}
    for draft in found:
        forms.setdefault(draft.form, []).append(draft)
    lots = list(forms.values())
    for turn in range(max(map(len, lots), default=0)):
        yield from (lot[turn] for lot in lots if turn < len(lot))


def _spread(found: Iterable[Draft]) -> Iterator[Draft]:
    """Yield all drafts, those whose number is asked already last: 'once' alone tells nothing."""
    seen: set[float] = set()
    later: list[Draft] = []
    for draft in found:
        value = draft.gold.value
        if draft.gold.kind in (GoldKind.NUMBER, GoldKind.DAYS_AGO) and value is not None:
            if value in seen:
                later.append(draft)
                continue
            seen.add(value)
        yield draft
    yield from later


def _tells_itself(text: str, gold: Gold) -> bool:
    """Whether a question holds all words of its own answer: 'tasks with the rubbish bag?'."""
    have = {form for word in words_in(text) for form in forms(word)}
    return bool(gold.items) and all(
        any(all(forms(word) & have for word in words_in(words)) for words in alternatives)
        for alternatives in gold.items)


def write_questions(path: Path, questions: Sequence[AskedQuestion], zone: tzinfo) -> None:
    """Write questions as a set that `read_questions` reads back as they are."""
    lines = [json.dumps(_line(question, zone), ensure_ascii=False) for question in questions]
    path.write_text('\n'.join(lines) + '\n', 'utf-8')


def rfc3339(stamp_ns: int, zone: tzinfo) -> str:
    """Return a stamp, exact to the nanosecond, as `parse_stamp` reads it."""
    moment = to_datetime(stamp_ns, zone)
    return f'{moment:%Y-%m-%dT%H:%M:%S}.{stamp_ns % 10**9:09d}{moment.isoformat()[-6:]}'


def _line(question: AskedQuestion, zone: tzinfo) -> dict[str, Any]:
    if question.gold is None or question.query_time_ns is None:
        raise ValueError(f'{question.id} has no answer or no time at which it is asked')
    return {
        'id': question.id, 'kind': question.kind, 'question': question.text,
        'answer': question.gold.text, 'query_time': rfc3339(question.query_time_ns, zone),
        'evidence': [[rfc3339(span.start_ns, zone), rfc3339(span.end_ns, zone)]
                     for span in question.evidence],
        'gold': _gold(question.gold, zone)}


def _gold(gold: Gold, zone: tzinfo) -> dict[str, Any]:
    return {
        'kind': str(gold.kind), 'value': gold.value,
        'times': [rfc3339(stamp, zone) for stamp in gold.times_ns],
        'precision_s': gold.precision_s, 'items': [list(words) for words in gold.items],
        'ordered': gold.is_ordered}
