"""Answers that hold the right words without claiming them: none of them may count as right."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from emv_ros.evaluation.questions import AskedQuestion, Gold, GoldKind
from emv_ros.evaluation.scoring.exact import score_exact
from emv_ros.timeline import from_datetime

ZONE = ZoneInfo('Europe/Berlin')


def at(text: str) -> int:
    return from_datetime(datetime.fromisoformat(text), ZONE)


NOW_NS = at('2024-06-28 20:00:00')


def scored(gold: Gold, answer: str, text: str = 'What?') -> str:
    found = score_exact(AskedQuestion('q', '', text, gold=gold), answer, 'ANSWERED', ZONE, NOW_NS)
    assert found is not None
    return str(found)


def items(*names: str) -> Gold:
    return Gold(GoldKind.LIST, items=tuple((name,) for name in names))


@pytest.mark.parametrize(('gold', 'answer', 'category'), [
    (items('lemon juice'), 'I brought lemon juice, cocoa, milk, water and soup.', 'wrong'),
    (items('lemon juice'), 'It could be lemon juice, cocoa, milk, water or soup.', 'wrong'),
    (items('lemon juice'), 'Lemon juice and cocoa.', 'partially_correct_tmi'),
    (items('lemon juice'), 'Lemon juice, lemon juice and lemon juice.', 'correct'),
    (items('lemon juice', 'cocoa'), 'I brought lemon juice, cocoa and milk.', 'correct_tmi'),
    (items('sweep the hall', 'iron the shirts'),
     'I neither swept the hall nor ironed the shirts.', 'wrong'),
    (items('sweep the hall', 'iron the shirts', 'bake bread'),
     'I neither swept the hall nor ironed the shirts, but I baked bread.',
     'partially_correct_missing')])
def test_what_is_listed_behind_the_right_item_counts_against_it(
        gold: Gold, answer: str, category: str) -> None:
    assert scored(gold, answer, 'What did you do?') == category
