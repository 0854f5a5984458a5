"""Figures of a run out of its results: shares with intervals, tokens, seconds, evidence, failures.

S_c is the share of answers that are right, S_p of those that are right or partly right (H-EMV,
§IV-D). Results that nobody could judge count in neither, and are told. Where memory does not tell
what is asked, a right answer says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from emv_ros.agent.answers import QueryStatus
from emv_ros.evaluation.answering.results import Result
from emv_ros.evaluation.answering.ways import WAYS
from emv_ros.evaluation.proportions import wilson
from emv_ros.evaluation.questions import GoldKind

RIGHT = ('correct', 'correct_summarized', 'correct_tmi')
PARTLY = (*RIGHT, 'partially_correct_missing', 'partially_correct_tmi')


def report_of(results: Sequence[Result]) -> dict[str, Any]:
    """Return the report: totals by way and length, by kind, growth, refusals, failures."""
    ordered = sorted(results, key=lambda item: (
        item.model, _place(item.way), _length(item), item.set))
    return {
        'totals': [{'model': model, 'way': way, 'history': history, **figures(group)}
                   for (model, way, history), group in _grouped(
                       ordered, lambda item: (item.model, item.way, history_of(item))).items()],
        'kinds': [{'model': model, 'way': way, 'kind': kind, **figures(group),
                   'histories': {history: figures(part) for (history,), part in _grouped(
                       group, lambda item: (history_of(item),)).items()}}
                  for (model, way, kind), group in _grouped(
                      ordered, lambda item: (item.model, item.way, item.kind)).items()],
        'growth': _growth(ordered),
        'refusals': [{'model': model, 'way': way, **refusals(group)}
                     for (model, way), group in _grouped(
                         ordered, lambda item: (item.model, item.way)).items()],
        'failures': _failures(ordered)}


def figures(results: Sequence[Result]) -> dict[str, Any]:
    """Return the figures of some results: shares, and means per question."""
    judged = [item for item in results if item.category]
    with_windows = [item for item in results if item.windows]
    return {
        'questions': len(results), 'judged': len(judged),
        **_share('s_c', [item.category in RIGHT for item in judged]),
        **_share('s_p', [item.category in PARTLY for item in judged]),
        'prompt_tokens': _mean(item.prompt_tokens for item in results),
        'completion_tokens': _mean(item.completion_tokens for item in results),
        'tokens': _mean(item.tokens for item in results),
        'tokens_most': max((item.tokens for item in results), default=0),
        'rounds': _mean(item.rounds for item in results),
        'seconds': _mean(item.seconds for item in results),
        'with_evidence': len(with_windows),
        **{name: _mean(item.retrieval.get(name, 0.0) for item in with_windows)
           for name in ('precision', 'recall', 'f1')},
        **_share('evidence_hit', [bool(item.evidence_hit) for item in with_windows]),
        **_share('evidence_covered', [bool(item.evidence_covered) for item in with_windows]),
        **_share('shown_hit', [item.shown_hit for item in with_windows
                               if item.shown_hit is not None]),
        **_share('shown_covered', [item.shown_covered for item in with_windows
                                   if item.shown_covered is not None])}


def refusals(results: Sequence[Result]) -> dict[str, Any]:
    """Return how often it was said that memory does not tell it, rightly and wrongly."""
    unanswerable = [item for item in results if _is_unanswerable(item)]
    others = [item for item in results if item.gold and not _is_unanswerable(item)]
    return {
        'unanswerable': len(unanswerable), 'answerable': len(others),
        **_share('refused_rightly', [item.category in RIGHT for item in unanswerable]),
        **_share('refused_wrongly', map(_is_refusal, others))}


def history_of(result: Result) -> str:
    """Return what a result is counted under: the length of its history, else its set."""
    return result.set if result.episodes is None else f'{result.episodes} episodes'


def _growth(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return the tokens at the longest history over those at the shortest, of each way."""
    found = []
    simulated = [item for item in results if item.episodes is not None]
    for (model, way), group in _grouped(
            simulated, lambda item: (item.model, item.way)).items():
        lengths = {item.episodes or 0 for item in group}
        short, long = min(lengths), max(lengths)
        first, last = (_mean(item.tokens for item in group if item.episodes == length)
                       for length in (short, long))
        if short < long and first and last:
            found.append({'model': model, 'way': way, 'from': short, 'to': long,
                          'ratio': round(last / first, 3)})
    return found


def _failures(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return each wrong answer with what opens it; the partly right ones are in it, too."""
    return [{'model': item.model, 'way': item.way, 'history': history_of(item), 'set': item.set,
             'kind': item.kind, 'id': item.id, 'category': item.category, 'status': item.status,
             'question': item.question, 'gold': item.gold.get('text', ''), 'answer': item.answer,
             'message': item.message, 'query_id': item.query_id, 'memory': item.memory}
            for item in results if item.category and item.category not in RIGHT]


def _grouped(results: Iterable[Result],
             key: Callable[[Result], tuple[str, ...]]) -> dict[tuple[str, ...], list[Result]]:
    found: dict[tuple[str, ...], list[Result]] = {}
    for item in results:
        found.setdefault(key(item), []).append(item)
    return found


def _share(name: str, cases: Iterable[bool]) -> dict[str, Any]:
    listed = list(cases)
    if not listed:
        return {name: None, f'{name}_95': None}
    low, high = wilson(sum(listed), len(listed))
    return {name: round(sum(listed) / len(listed), 4),
            f'{name}_95': [round(low, 4), round(high, 4)]}


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return round(sum(listed) / len(listed), 3) if listed else None


def _is_unanswerable(result: Result) -> bool:
    return result.gold.get('kind') == str(GoldKind.NONE)


def _is_refusal(result: Result) -> bool:
    return result.status == str(QueryStatus.NOT_RECORDED) or (
        result.category == 'no_answer' and result.status == str(QueryStatus.ANSWERED))


def _place(way: str) -> int:
    return list(WAYS).index(way) if way in WAYS else len(WAYS)


def _length(result: Result) -> int:
    return result.episodes or 0
