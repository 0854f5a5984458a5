"""Whether an answer is right, and whether it rests on the evidence: from a result alone.

A result holds all that this takes, so that results are scored anew whenever a table is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from emv_ros.evaluation.answering.results import Result
from emv_ros.evaluation.questions import AskedQuestion, Gold, GoldKind
from emv_ros.evaluation.scoring.choosing import choice_of
from emv_ros.evaluation.scoring.exact import score_exact
from emv_ros.timeline import Interval, parse_zone

BY_RULE, BY_MODEL = 'exact', 'model'

Spans = Sequence[tuple[int, int]]


def question_of(result: Result) -> AskedQuestion:
    """Return the question that a result answers."""
    return AskedQuestion(
        id=result.id, kind=result.kind, text=result.question,
        evidence=tuple(Interval(start, end) for start, end in result.windows),
        query_time_ns=result.query_time_ns, choices=tuple(result.choices),
        gold=_gold(result))


def _gold(result: Result) -> Gold | None:
    if not result.gold:
        return None
    fields = dict(result.gold)
    return Gold(**{**fields, 'kind': GoldKind(fields['kind']),
                   'times_ns': tuple(fields.get('times_ns') or ()),
                   'items': tuple(tuple(words) for words in fields.get('items') or ())})


def scored(result: Result) -> Result:
    """Return the result with what rules can tell of it; a category by a model stays."""
    question = question_of(result)
    if result.choice is None and question.choices:
        result = replace(result, choice=choice_of(question, result.answer))
    category = score_exact(question, result.answer, result.status, parse_zone(result.zone),
                           result.query_time_ns)
    if category is not None:
        result = replace(result, category=str(category), judged_by=BY_RULE)
    elif result.judged_by != BY_MODEL:
        result = replace(result, category='', judged_by='')
    if not result.windows:
        return result
    cited = [(item['start_ns'], item['end_ns']) for item in result.evidence
             if not str(item['id']).startswith('n')]
    hits, shown_hits = (_hits(spans, result.windows) for spans in (cited, result.shown))
    return replace(
        result, retrieval=retrieval(cited, result.windows),
        evidence_hit=hits > 0, evidence_covered=hits == len(result.windows),
        shown_hit=shown_hits > 0, shown_covered=shown_hits == len(result.windows))


def retrieval(cited: Spans, windows: Spans) -> dict[str, float]:
    """Return precision, recall and F1 of the cited spans against the windows of the evidence.

    A span is right where it shares time with a window; a window is found where one does.
    """
    right = sum(any(_touch(span, window) for window in windows) for span in cited)
    precision = right / len(cited) if cited else 0.0
    recall = _hits(cited, windows) / len(windows)
    both = precision + recall
    return {'precision': precision, 'recall': recall,
            'f1': 2 * precision * recall / both if both else 0.0}


def _hits(spans: Spans, windows: Spans) -> int:
    return sum(any(_touch(span, window) for span in spans) for window in windows)


def _touch(span: tuple[int, int], window: tuple[int, int]) -> bool:
    return span[0] <= window[1] and span[1] >= window[0]
