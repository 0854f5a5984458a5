"""Whether an answer is right, and whether it rests on the evidence: from a result alone.

A result holds all that this takes, so that results are scored anew whenever a table is made.
"""

from __future__ import annotations

from dataclasses import replace

from emv_ros.agent.answers import QueryStatus
from emv_ros.evaluation.answering.results import Result
from emv_ros.evaluation.questions import AskedQuestion, Gold, GoldKind
from emv_ros.evaluation.scoring.categories import Category
from emv_ros.evaluation.scoring.choosing import choice_of
from emv_ros.evaluation.scoring.evidence import score_evidence
from emv_ros.evaluation.scoring.exact import score_exact
from emv_ros.evaluation.scoring.judge import Judge
from emv_ros.timeline import Interval, parse_zone

BY_RULE, BY_MODEL = 'exact', 'model'
# The text under these is what resembles the question most: the way itself came to no answer.
SEARCHED = (QueryStatus.LIMIT, QueryStatus.TIMEOUT)


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
    category = Category.NO_ANSWER if result.gold and result.status in SEARCHED else score_exact(
        question, result.answer, result.status, parse_zone(result.zone), result.query_time_ns)
    if category is not None:
        result = replace(result, category=str(category), judged_by=BY_RULE)
    elif result.judged_by != BY_MODEL:
        result = replace(result, category='', judged_by='')
    if not question.evidence:
        return result
    cited = score_evidence([Interval(item['start_ns'], item['end_ns']) for item in result.evidence
                            if not str(item['id']).startswith('n')], question.evidence)
    shown = score_evidence([Interval(start, end) for start, end in result.shown],
                           question.evidence)
    return replace(
        result, retrieval={'precision': cited.precision, 'recall': cited.recall, 'f1': cited.f1},
        evidence_hit=cited.is_hit, evidence_covered=cited.is_covered,
        shown_hit=shown.is_hit if result.query_id else None,
        shown_covered=shown.is_covered if result.query_id else None)


def judged(result: Result, judge: Judge) -> Result:
    """Return the result with the category that a model gives it, where rules give none.

    Nothing changes where there is no gold, or where the model names no category. Raises ModelError
    where it cannot be asked.
    """
    gold = str(result.gold.get('text') or '')
    if result.category or not gold:
        return result
    judgement = judge.category_of(result.question, gold, result.answer)
    if judgement.category is None:
        return result
    return replace(result, category=str(judgement.category), judged_by=BY_MODEL)
