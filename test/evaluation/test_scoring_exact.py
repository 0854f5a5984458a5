"""Answers to exact golds, classed by rule: tables of what people would say of each."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from emv_ros.evaluation.questions import AskedQuestion, Gold, GoldKind
from emv_ros.evaluation.scoring.choosing import choice_of
from emv_ros.evaluation.scoring.exact import score_exact
from emv_ros.timeline import from_datetime

ZONE = ZoneInfo('Europe/Berlin')


def at(text: str) -> int:
    return from_datetime(datetime.fromisoformat(text), ZONE)


NOW_NS = at('2026-01-08 20:00:00')


def scored(gold: Gold, answer: str, text: str = 'What?', status: str = 'ANSWERED',
           choices: tuple[str, ...] = ()) -> str | None:
    question = AskedQuestion('q', '', text, choices=choices, gold=gold)
    found = score_exact(question, answer, status, ZONE, NOW_NS)
    return None if found is None else str(found)


@pytest.mark.parametrize(('question', 'value', 'answer', 'category'), [
    ('How many times did you open the fridge?', 2, '2', 'correct'),
    ('How many of your tasks failed?', 2, '2: mop floor (failed), make bed (failed)', 'correct'),
    ('How many of your tasks failed?', 4, 'At 4:30 one failed.', 'wrong'),
    ('How many times did you open the fridge?', 2, 'You opened it twice.', 'correct'),
    ('How many times did you open the fridge?', 3, 'three times', 'correct'),
    ('How many times did you open the fridge?', 2,
     '2 times: 2026-01-05 07:18:02 and 2026-01-05 09:30:11.', 'correct'),
    ('How many times did you open the fridge?', 5, '2 times: at 05:05:05 on January 5.', 'wrong'),
    ('How many times did you open the fridge?', 2,
     'Twice: once at 07:18 and once at 09:30.', 'correct'),
    ('How many times did you open the fridge?', 2, 'Once at 07:18 and once at 09:30.', 'correct'),
    ('How many times did you open the fridge?', 3, 'In 2 episodes I opened it 3 times.', 'correct'),
    ('How many times did you open the fridge?', 2, '2 or 3 times', 'wrong'),
    ('How many times did you open the fridge?', 2, '2-3 times', 'wrong'),
    ('How many times did you open the fridge?', 3, 'Not 2 but 3 times.', 'correct'),
    ('How many times did you open the fridge?', 2, 'Not 2 but 3 times.', 'wrong'),
    ('How many times did you open the fridge?', 0, 'No times.', 'correct'),
    ('How many times did you open the fridge?', 0, 'You never opened it.', 'correct'),
    ('How many times did you open the fridge?', 0, 'I did not open the fridge.', 'correct'),
    ('How many times did you open the fridge?', 0, 'That is not recorded.', 'no_answer'),
    ('How many times did you open the fridge?', 2, 'I do not know.', 'no_answer'),
    ('How many times did you open the fridge?', 2, 'I did not open the fridge.', 'wrong'),
    ('How many times did you open the fridge?', 2,
     'At 07:18 and at 09:30.', 'partially_correct_missing'),
    ('How many times did you open the fridge?', 2, '', 'no_answer'),
    ('How many mugs did you wash?', 3, 'Of the 5 dishes, 3 mugs were washed.', 'correct'),
    ('How many mugs did you wash?', 3, '1. red mug\n2. blue mug\n3. old mug', 'wrong'),
    ('How many mugs did you wash?', 3, '3.', 'correct'),
    ('How many mugs did you wash?', 12, 'A dozen? No: twelve mugs.', 'correct'),
    ('How many mugs did you wash?', 3, 'Mug s3 was washed.', 'wrong')])
def test_numbers(question: str, value: float, answer: str, category: str) -> None:
    assert scored(Gold(GoldKind.NUMBER, value=value), answer, question) == category


@pytest.mark.parametrize(('value', 'answer', 'category'), [
    (3, '3 days ago', 'correct'), (3, 'three days ago', 'correct'), (3, '3', 'correct'),
    (3, 'On January 5.', 'correct'), (3, '3 days ago, on January 5.', 'correct'),
    (3, 'It was 2026-01-05 at 07:18.', 'correct'), (3, '2 days ago', 'wrong'),
    (1, 'Yesterday.', 'correct'), (0, 'Today.', 'correct'), (0, '0 days ago', 'correct'),
    (2, 'the day before yesterday', 'correct'), (7, 'a week ago', 'correct'),
    (3, 'Today is January 8, so it was 3 days ago.', 'correct'),
    (3, 'It was not 2 days ago, but 3 days ago.', 'correct'), (3, '2 or 3 days ago', 'wrong'),
    (3, 'Either 2 days ago or 3 days ago', 'wrong'), (3, 'Not recorded.', 'no_answer')])
def test_days_ago(value: float, answer: str, category: str) -> None:
    assert scored(Gold(GoldKind.DAYS_AGO, value=value), answer) == category


@pytest.mark.parametrize(('value', 'answer', 'category'), [
    (245, '4 min 05 s', 'correct'), (245, '245 seconds', 'correct'), (245, '0:04:05', 'correct'),
    (245, 'It took 4 minutes and 5 seconds.', 'correct'), (245, 'about 4 minutes', 'correct'),
    (245, 'about 6 minutes', 'wrong'), (280, '5 minutes', 'correct'),
    (85, '1 minute', 'partially_correct_missing'), (12, '12.3 s', 'correct'),
    (12, '30 seconds', 'wrong'), (5400, 'an hour and a half', 'correct'),
    (1800, 'half an hour', 'correct'), (3723, '1 h 02 min 03 s', 'correct'),
    (245, 'From 07:18:02 for 4 min 05 s', 'correct'), (120, '2 minutes ago', 'wrong'),
    (245, 'From 2026-01-05 07:18:02 to 07:22:07.', 'partially_correct_missing'),
    (300, '2 min and then 3 min, 5 min in total', 'correct'),
    (245, 'Not 4 min 05 s.', 'wrong'), (245, 'The duration is unknown.', 'no_answer')])
def test_durations(value: float, answer: str, category: str) -> None:
    assert scored(Gold(GoldKind.DURATION, value=value), answer, 'How long?') == category


ONE = Gold(GoldKind.TIME, times_ns=(at('2026-01-05 07:18:02'),))
TWO = Gold(GoldKind.TIME, times_ns=(at('2026-01-05 07:18:02'), at('2026-01-06 21:30:10')))
DAY = Gold(GoldKind.TIME, times_ns=(at('2026-01-05 12:00:00'),), precision_s=86_400)


@pytest.mark.parametrize(('gold', 'answer', 'category'), [
    (ONE, '2026-01-05 07:18:02', 'correct'), (ONE, 'January 5 at 7:18 AM', 'correct'),
    (ONE, '5 January 2026, 07:18', 'correct'), (ONE, '3 days ago at 7:18', 'correct'),
    (ONE, 'On Monday at 07:18:30.', 'correct'), (ONE, '2026-01-05T07:18:02+01:00', 'correct'),
    (ONE, 'On January 5 I put the mug away at 7:18 AM.', 'correct'),
    (ONE, '2026-01-05 07:18:02 to 07:20:10', 'correct'),
    (ONE, 'January 5', 'partially_correct_missing'),
    (ONE, '3 days ago', 'partially_correct_missing'),
    (ONE, 'on the morning of January 5', 'partially_correct_missing'),
    (ONE, 'January 5 at 7 AM', 'partially_correct_missing'),
    (ONE, '07:18', 'partially_correct_missing'), (ONE, 'January 5 at 9:40 AM', 'wrong'),
    (ONE, 'January 6 at 7:18 AM', 'wrong'), (ONE, 'January 6', 'wrong'),
    (ONE, 'January 5 at 7:18 PM', 'wrong'), (ONE, '2025-01-05 07:18', 'wrong'),
    (ONE, 'Not on January 5 at 7:18 AM.', 'wrong'),
    (ONE, 'I did not do it at 07:18 on January 5, it was on January 6 at 8:00.', 'wrong'),
    (ONE, 'January 5 at 7:18 and January 6 at 9:12', 'correct_tmi'),
    (ONE, 'Jan 5 at 7:18, Jan 6 at 9:12, Jan 6 at 10:00', 'partially_correct_tmi'),
    (ONE, 'After breakfast.', 'wrong'), (ONE, 'There is no record of that.', 'no_answer'),
    (TWO, '2026-01-05 07:18:02 and 2026-01-06 21:30:10', 'correct'),
    (TWO, 'twice, on Jan 5th at 07:18 and on Jan 6th at 9:30 pm', 'correct'),
    (TWO, '2026-01-05 07:18:02', 'partially_correct_missing'),
    (TWO, 'January 5 at 07:18 and January 6', 'partially_correct_missing'),
    (TWO, 'On January 5 at 07:18 and January 7 at 11:11', 'partially_correct_tmi'),
    (TWO, '2026-01-05 07:18, 2026-01-06 21:30 and 2026-01-07 10:00', 'correct_tmi'),
    (DAY, 'January 5', 'correct'), (DAY, '2026-01-05 07:18', 'correct'), (DAY, 'Monday', 'correct'),
    (DAY, 'January 6', 'wrong'), (DAY, 'January 2026', 'wrong')])
def test_times(gold: Gold, answer: str, category: str) -> None:
    assert scored(gold, answer, 'When did you put the mug away?') == category


def test_a_clock_time_takes_the_day_that_the_question_names() -> None:
    asked = 'When on January 5 did you put the mug away?'
    assert scored(ONE, '07:18', asked) == 'correct'
    assert scored(ONE, 'at 7:18 pm', asked) == 'wrong'
    assert scored(ONE, 'January 6 at 07:18', asked) == 'wrong'


TASKS = Gold(GoldKind.LIST, items=(
    ('make coffee', 'prepare coffee'), ('water the plants',), ('wash the mug', 'clean the cup')))
THINGS = Gold(GoldKind.LIST, items=(('cup',), ('red cup',)))
STEPS = Gold(GoldKind.LIST, items=(('open fridge',), ('take milk',), ('close fridge',)),
             is_ordered=True)
MUG = Gold(GoldKind.LIST, items=(('red mug 2', 'red_mug_2'),))
COFFEES = Gold(GoldKind.LIST, items=(('bring Clara a coffee', 'coffee to Clara', 'BringCoffee'),
                                     ('bring Henrik a coffee', 'coffee to Henrik', 'BringCoffee')))
REASON = Gold(GoldKind.LIST, items=(('did not answer', "didn't answer"),))
EMPTY = Gold(GoldKind.LIST, items=(('out of water', 'no water'),))
SINGLE = Gold(GoldKind.LIST, items=(('water the plants',),))


@pytest.mark.parametrize(('gold', 'answer', 'category'), [
    (TASKS, 'Making coffee, watering the plants and washing the mug.', 'correct'),
    (TASKS, 'I did three tasks: I prepared coffee, watered the plants, and cleaned a cup.',
     'correct'),
    (TASKS, '1. Make coffee\n2. Water the plants\n3. Wash the mug', 'correct'),
    (TASKS, '- wash the mug (2026-01-05 07:18:02)\n- water the plants\n- make coffee', 'correct'),
    (TASKS, 'On January 5 at 07:18, I made coffee. Then I watered the plants. Finally, I washed '
            'the mug.', 'correct'),
    (TASKS, 'I made coffee, watered the plants, washed the mug and set the table.', 'correct_tmi'),
    (TASKS, 'I made coffee.', 'partially_correct_missing'),
    (TASKS, 'I made coffee, but I did not water the plants or wash the mug.',
     'partially_correct_missing'),
    (TASKS, 'I made coffee and set the table and fed the cat.', 'partially_correct_missing'),
    (TASKS, 'I made coffee, watered the plants, set the table and fed the cat.',
     'partially_correct_tmi'),
    (TASKS, 'Making coffee, setting the table, feeding the cat, watering the plants, closing the '
            'window, washing the mug, reading aloud.', 'partially_correct_tmi'),
    (TASKS, 'Making coffee, setting the table, feeding the cat, closing the window, reading aloud, '
            'wiping the desk.', 'wrong'),
    (TASKS, 'I washed the window and dried the mug.', 'wrong'),
    (TASKS, 'I did not make coffee.', 'no_answer'), (TASKS, 'I cannot find any task.', 'no_answer'),
    (THINGS, 'the cup and the red cup', 'correct'),
    (THINGS, 'the red cup', 'partially_correct_missing'),
    (STEPS, 'I opened the fridge, took the milk and closed the fridge.', 'correct'),
    (STEPS, 'I took the milk, opened the fridge and closed it the fridge.',
     'partially_correct_missing'),
    (SINGLE, 'After making coffee, I watered the plants.', 'correct'),
    (SINGLE, 'I watered the plants without a can.', 'correct'),
    (SINGLE, 'I made coffee.', 'wrong'),
    (SINGLE, 'You asked what I did: I made the bed, and then I watered the plants.', 'correct'),
    (MUG, 'red_mug_2', 'correct'), (MUG, 'It was the red mug 2.', 'correct'),
    (MUG, 'red_mug_1', 'wrong'), (MUG, 'the red mug', 'wrong'),
    (COFFEES, 'I brought coffees to Clara and Henrik.', 'correct'),
    (COFFEES, 'BringCoffee at noon', 'partially_correct_missing'),
    (COFFEES, 'BringCoffee, BringCoffee', 'correct'),
    (COFFEES, 'I brought Clara a coffee.', 'partially_correct_missing'),
    (REASON, 'The pump did not answer.', 'correct'), (REASON, 'It answered late.', 'wrong'),
    (EMPTY, 'The tank was out of water.', 'correct'), (EMPTY, 'The tank had water.', 'wrong'),
    (Gold(GoldKind.LIST), 'None.', 'correct'), (Gold(GoldKind.LIST), 'The mug.', 'wrong')])
def test_lists(gold: Gold, answer: str, category: str) -> None:
    assert scored(gold, answer, 'What did you do after you made the bed?') == category


def test_a_thing_is_where_it_was_brought_to() -> None:
    asked, answer = 'Where is the bread now?', 'I moved the bread from the shelf to the table.'
    assert scored(Gold(GoldKind.LIST, items=(('table',),)), answer, asked) == 'correct'
    assert scored(Gold(GoldKind.LIST, items=(('shelf',),)), answer, asked) == 'wrong'


@pytest.mark.parametrize(('question', 'answer', 'category'), [
    ('Was it the same mug?', 'Those were two different mugs.', 'correct'),
    ('Was it the same mug?', 'mug_1 and mug_2, so not the same.', 'correct'),
    ('Was it the same mug?', 'It was the same mug.', 'wrong'),
    ('Did you manage to make the bed?', 'I failed to make the bed.', 'correct'),
    ('Did you manage to make the bed?', 'I managed to make the bed.', 'wrong'),
    ('Did Henrik ask you to make the bed?', 'It was Clara.', 'wrong')])
def test_no_in_other_words(question: str, answer: str, category: str) -> None:
    assert scored(Gold(GoldKind.YES_NO, value=0.0), answer, question) == category


@pytest.mark.parametrize(('value', 'answer', 'category'), [
    (1, 'Yes.', 'correct'), (1, 'Yes, on January 5.', 'correct'), (0, 'No', 'correct'),
    (0, 'No, there was no mention of a kettle.', 'correct'), (1, 'No.', 'wrong'),
    (0, 'Yes', 'wrong'), (1, 'I washed the mug at 07:18.', 'correct'),
    (0, 'I did not wash the mug.', 'correct'), (1, 'I did not wash the mug.', 'wrong'),
    (0, 'There was no kettle.', 'correct'), (0, "The mug wasn't washed.", 'correct'),
    (1, 'Yes and no.', 'wrong'), (0, 'I do not know.', 'no_answer'),
    (0, 'That is not recorded.', 'no_answer'), (1, 'The answer is: yes', 'correct')])
def test_yes_or_no(value: float, answer: str, category: str) -> None:
    assert scored(Gold(GoldKind.YES_NO, value=value), answer, 'Did you wash the mug?') == category


@pytest.mark.parametrize(('answer', 'status', 'category'), [
    ('', 'NOT_RECORDED', 'correct'), ('That is not recorded.', 'ANSWERED', 'correct'),
    ('There is no record of a unicorn.', 'ANSWERED', 'correct'),
    ('I have no information about that.', 'ANSWERED', 'correct'),
    ('I never saw a unicorn.', 'ANSWERED', 'correct'),
    ('There was no unicorn.', 'ANSWERED', 'correct'),
    ('No unicorn was found in the recordings.', 'ANSWERED', 'correct'),
    ('On January 5 at 07:18.', 'ANSWERED', 'wrong'), ('No.', 'ANSWERED', 'wrong'),
    ('No, Anna did not like it.', 'ANSWERED', 'wrong'), ('3', 'ANSWERED', 'wrong'),
    ('There is no record of a unicorn, but you fed it at 07:18.', 'ANSWERED', 'wrong'),
    ('', 'LIMIT', 'no_answer'), ('', 'ERROR', 'no_answer')])
def test_what_is_not_recorded(answer: str, status: str, category: str) -> None:
    assert scored(Gold(GoldKind.NONE), answer, 'When did you feed the unicorn?',
                  status) == category


CUPS = ('the red cup', 'the blue cup', 'the cup', '3', 'on the shelf')


@pytest.mark.parametrize(('answer', 'index'), [
    ('the red cup', 0), ('The blue cup.', 1), ('the cup', 2), ('3', 3), ('C', 2), ('(c)', 2),
    ('c)', 2), ('5', 4), ('Option B', 1), ('The answer is E.', 4), ('B. the blue cup', 1),
    ('B: the red cup', None), ('Answer: A', 0), ('It was the red cup.', 0), ('(B) it was seen', 1),
    ('the red cup or the blue cup', None), ('not the red cup but the blue cup', 1),
    ('A cup', None), ('', None), ('F', None), ('something else', None), ('9', None),
    ('I put the cup on the shelf', None), ('4) 3', 3), ('2) 3', None)])
def test_choices(answer: str, index: int | None) -> None:
    question = AskedQuestion('q', '', 'Which?', choices=CUPS)
    assert choice_of(question, answer) == index


@pytest.mark.parametrize(('answer', 'status', 'category'), [
    ('B', 'ANSWERED', 'correct'), ('A', 'ANSWERED', 'wrong'), ('A or B', 'ANSWERED', 'wrong'),
    ('I do not know.', 'ANSWERED', 'no_answer'), ('', 'NOT_RECORDED', 'no_answer')])
def test_a_choice_is_classed(answer: str, status: str, category: str) -> None:
    gold = Gold(GoldKind.CHOICE, value=1)
    assert scored(gold, answer, 'Which?', status, CUPS) == category


def test_words_are_for_a_reader() -> None:
    assert scored(Gold(GoldKind.TEXT, 'in the kitchen'), 'In the kitchen.') is None
    assert score_exact(AskedQuestion('q', '', 'What?'), 'a', 'ANSWERED', ZONE, NOW_NS) is None
    assert scored(Gold(GoldKind.TEXT, 'in the kitchen'), '', status='NOT_RECORDED') == 'no_answer'
