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


WATERED = Gold(GoldKind.TIME, times_ns=(at('2024-06-27 13:04:00'),))
TWICE = Gold(GoldKind.TIME, times_ns=(at('2024-06-27 13:04:00'), at('2024-06-26 09:10:00')))


@pytest.mark.parametrize(('gold', 'answer', 'category'), [
    (WATERED, 'June 27 at 13:04 or June 26 at 12:00.', 'wrong'),
    (WATERED, 'Either on June 26 at 12:00 or on June 27 at 13:04.', 'wrong'),
    (WATERED, 'On June 27 at 13:04 or so.', 'correct'),
    (WATERED, 'On June 27 at 11:00, 12:00, 13:04, 14:00, 15:00 and 16:00.', 'wrong'),
    (WATERED, 'On June 27 at 13:04 and at 15:00.', 'correct_tmi'),
    (TWICE, 'On June 27 at 13:04 and on June 26 at 09:10.', 'correct'),
    (TWICE, 'On June 27 at 13:04, on June 26 at 09:10 and on June 25 at 10:00.', 'correct_tmi')])
def test_times_that_are_hedged_or_listed_by_the_dozen_claim_none(
        gold: Gold, answer: str, category: str) -> None:
    assert scored(gold, answer, 'When did you water the plants?') == category


@pytest.mark.parametrize(('value', 'answer', 'category'), [
    (3, 'More than 3 times.', 'wrong'), (3, 'Fewer than three.', 'wrong'),
    (3, 'At least 3 times.', 'wrong'), (3, 'At most three times.', 'wrong'),
    (3, '3, 4, 5', 'wrong'), (3, 'maybe 3, maybe 4, maybe 5', 'wrong'),
    (3, '3 times, twice in the hall.', 'correct'), (3, 'About 3 times.', 'correct'),
    (2, '2 of 5 tasks failed.', 'correct'), (5, '2 of 5 tasks failed.', 'wrong'),
    (2, 'Out of 5 tasks 2 failed.', 'correct'), (5, 'Out of 5 tasks 2 failed.', 'wrong'),
    (2, '5 tasks, of which 2 failed.', 'correct'), (5, '5 tasks, of which 2 failed.', 'wrong')])
def test_a_bound_or_a_row_of_numbers_is_no_number(
        value: float, answer: str, category: str) -> None:
    assert scored(Gold(GoldKind.NUMBER, value=value), answer,
                  'How many tasks failed?') == category


@pytest.mark.parametrize(('answer', 'category'), [
    ('More than 3 minutes.', 'wrong'), ('Less than 3 minutes.', 'wrong'),
    ('3 minutes or 4 minutes.', 'wrong'), ('3 minutes longer than the other.', 'wrong'),
    ('3 min, 4 min, 5 min', 'wrong'), ('3 minutes, and the other one 8 minutes.', 'correct'),
    ('It took 3 minutes.', 'correct')])
def test_a_bound_of_a_duration_is_no_duration(answer: str, category: str) -> None:
    assert scored(Gold(GoldKind.DURATION, value=180, precision_s=10), answer,
                  'How long did it take?') == category


@pytest.mark.parametrize(('answer', 'category'), [
    ('More than 3 days ago.', 'wrong'), ('Less than three days ago.', 'wrong'),
    ('1, 2, 3 days ago.', 'wrong'), ('At least 3 days ago.', 'wrong'),
    ('3 days ago.', 'correct'), ('In the hall, 3 days ago.', 'correct')])
def test_a_bound_of_days_is_no_number_of_days(answer: str, category: str) -> None:
    assert scored(Gold(GoldKind.DAYS_AGO, value=3), answer,
                  'How many days ago was it?') == category


@pytest.mark.parametrize(('answer', 'category'), [
    ('That is not recorded. It was Tom.', 'wrong'),
    ('There is no record of a harp. Tom played it.', 'wrong'),
    ('No one did; it was Tom.', 'wrong'),
    ('There is no record of a harp. Memory covers June 24 to June 28.', 'correct'),
    ('I do not know. I never saw a harp.', 'correct'), ('Nobody played the harp.', 'correct')])
def test_who_names_something_behind_a_refusal_has_not_refused(answer: str, category: str) -> None:
    assert scored(Gold(GoldKind.NONE), answer, 'Who played the harp?') == category


@pytest.mark.parametrize('gold', [
    WATERED, Gold(GoldKind.DAYS_AGO, value=1), Gold(GoldKind.NUMBER, value=4),
    Gold(GoldKind.DURATION, value=240)])
@pytest.mark.parametrize('answer', [
    'There is no record of it on June 27 at 13:04, or yesterday: 4 times, 4 minutes.',
    'I do not know. Yesterday at 13:04, 4 times, 4 minutes.'])
def test_a_refusal_with_the_right_word_in_it_is_no_answer(gold: Gold, answer: str) -> None:
    assert scored(gold, answer) == 'no_answer'


def test_a_refusal_is_no_refusal_where_it_turns_or_where_none_is_right() -> None:
    assert scored(WATERED, 'I am not sure, but I think on June 27 at 13:04.') == 'correct'
    assert scored(Gold(GoldKind.NUMBER, value=0), 'Nothing of the kind was found: 0 times.',
                  'How often did you swim?') == 'correct'


@pytest.mark.parametrize(('value', 'answer', 'category'), [
    (1, 'Did you water the plants on Thursday?', 'wrong'),
    (1, 'I may have watered the plants on Thursday.', 'wrong'),
    (1, 'Perhaps I watered the plants on Thursday.', 'wrong'),
    (1, 'I should water the plants on Thursday.', 'wrong'),
    (1, 'I forgot to water the plants on Thursday.', 'wrong'),
    (0, 'I forgot to water the plants on Thursday.', 'correct'),
    (1, 'I watered the plants on Tuesday.', 'wrong'),
    (1, 'The answer is: yes or no.', 'wrong'), (0, 'Yes, no.', 'wrong'), (1, 'Yes, no.', 'wrong'),
    (1, 'I watered the plants on Thursday at 13:04.', 'correct'),
    (1, 'I watered the plants at 13:04.', 'correct'),
    (1, 'Yes, on June 27.', 'correct'), (0, 'No, only on Tuesday.', 'correct')])
def test_a_statement_is_a_yes_only_where_it_claims_the_very_thing(
        value: float, answer: str, category: str) -> None:
    assert scored(Gold(GoldKind.YES_NO, value=value), answer,
                  'Did you water the plants on Thursday?') == category


@pytest.mark.parametrize(('right', 'answer', 'category'), [
    (3, '15:32', 'correct'), (1, 'It was at 15:32.', 'correct'), (0, '15:32', 'wrong'),
    (2, 'B', 'wrong'), (3, 'B', 'correct'), (4, '< 5 min', 'wrong'), (5, '< 5 min', 'correct'),
    (4, 'It was < 5 min.', 'wrong')])
def test_choices_that_read_alike_are_one_and_signs_tell_others_apart(
        right: int, answer: str, category: str) -> None:
    choices = ('15:25', '15:32', '15:29', '15:32', '> 5 min', '< 5 min')
    question = AskedQuestion('q', '', 'Which?', choices=choices,
                             gold=Gold(GoldKind.CHOICE, value=right))
    assert score_exact(question, answer, 'ANSWERED', ZONE, NOW_NS) == category
