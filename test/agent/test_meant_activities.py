"""What a small model gets half right: activities in other words, copied times, early ends."""

from households import Household, ScriptedModel, code
import pytest

from emv_ros.agent.answers import QueryStatus
from emv_ros.agent.asked import target_in


@pytest.fixture
def day(home: Household) -> Household:
    home.run('TakeDelivery', '2025-03-04 10:00', '2025-03-04 10:05')
    home.say('2025-03-04 10:01', 'Here is a letter for Anna.', 'postman')
    home.run('ReceiveObject', '2025-03-04 10:02', '2025-03-04 10:03', stack=('TakeDelivery',),
             parameters={'object': 'letter_1', 'giver': 'postman'})
    home.run('TakeDelivery', '2025-03-06 10:00', '2025-03-06 10:05')
    home.run('ReceiveObject', '2025-03-06 10:02', '2025-03-06 10:03', stack=('TakeDelivery',),
             parameters={'object': 'parcel_1', 'giver': 'postman'})
    home.run('FeedCat', '2025-03-06 12:00', '2025-03-06 12:05')
    home.consolidate()
    return home


@pytest.mark.parametrize(('asked', 'found'), [
    ('take letter for Anna from the postman', ['s1']),
    ('take something from the postman', ['s1', 's3']),
    ('take parcel from the postman', ['s3']),
    ('take a key from the gardener', [])])
def test_activities_are_found_by_what_was_done_and_said_within_them(
        day: Household, asked: str, found: list[str]) -> None:
    with day.console('2025-03-07 12:00') as console:
        assert console.value(f'[r.id for r in goals(text={asked!r})]') == str(found)


def test_what_rows_were_found_by_stands_for_them(day: Household) -> None:
    answer = day.ask('When did you take a letter from the postman?', ScriptedModel([code(
        "rows = goals(text='take letter postman')", 'answer(times(rows), evidence=rows)')]))
    assert answer.status is QueryStatus.ANSWERED and answer.rounds == 1
    assert [item.id for item in answer.evidence] == ['s1']


def test_an_end_without_a_look_is_told_so_once(day: Household) -> None:
    model = ScriptedModel([code("not_recorded('nothing was done')"), code(
        "rows = goals(when='March 6')", 'answer(told(rows), evidence=rows)')])
    answer = day.ask('What did you do on March 6?', model)
    assert (answer.status, answer.rounds) == (QueryStatus.ANSWERED, 2)
    assert answer.answer == 'take delivery, feed cat'
    idle = day.ask('What did you do on March 5?', ScriptedModel([code("not_recorded('idle')")]))
    assert (idle.status, idle.rounds, idle.message) == (QueryStatus.NOT_RECORDED, 3, 'idle')


@pytest.mark.parametrize(('question', 'when', 'ids'), [
    ('What did you do on March 6?', '2025-03-04 10:00:00', ['s3', 's5']),  # copied
    ('What did you do on the day after March 3?', '2025-03-04', ['s1']),
    ('What did you do on March 4?', 'March 4', ['s1'])])
def test_the_time_that_is_asked_takes_the_place_of_a_copied_one(
        day: Household, question: str, when: str, ids: list[str]) -> None:
    answer = day.ask(question, ScriptedModel([code(
        f'rows = goals(when={when!r})', 'answer(told(rows), evidence=rows)')]))
    assert [item.id for item in answer.evidence] == ids


def test_no_is_right_where_a_thing_is_of_other_days(day: Household) -> None:
    answer = day.ask('Did you feed the cat on March 4?', ScriptedModel([code(
        "rows = goals(text='feed cat', when='March 4')",
        "answer('No.', evidence=rows or days('March 4'))")]))
    assert (answer.status, answer.answer, answer.rounds) == (QueryStatus.ANSWERED, 'No.', 1)


def test_what_was_never_noted_of_a_task_is_not_recorded(day: Household) -> None:
    told = code("rows = goals(text='feed cat')", 'answer(told(rows), evidence=rows)')
    other = code("rows = goals(text='feed cat', when='March 6')",
                 'answer(told(rows), evidence=rows)')
    for question in ('How many grams of fish did the cat get when you fed it?',
                     'Which brand was it when you fed the cat?'):
        answer = day.ask(question, ScriptedModel([told, other]))
        assert answer.status is QueryStatus.NOT_RECORDED, question


@pytest.mark.parametrize(('question', 'target'), [
    ('How many grams of food did it get?', ('grams', True)),
    ('Which brand of soap was it?', ('brand', False)),
    ('What did you do?', ('', False)), ('Which tasks did you do?', ('', False))])
def test_what_a_question_wants_named(question: str, target: tuple[str, bool]) -> None:
    assert target_in(question) == target


def test_with_choices_a_skill_that_nothing_is_called_stands_for_a_like_one(
        day: Household) -> None:
    command = "rows = events(skill='receive_thing', text='letter')"
    with day.console('2025-03-07 12:00', choices=('letter', 'parcel')) as console:
        assert console.lines(command + '\nprint(pick(rows))')[0] == 'letter'
    with day.console('2025-03-07 12:00') as console:
        assert console.value(f'len({command[7:]})') == '0'


def test_the_thing_of_a_run_under_whatever_name(day: Household) -> None:
    with day.console('2025-03-07 12:00') as console:
        parts = "events(text='postman')"
        assert console.value(f'[r.thing for r in {parts}]') == "['letter_1', 'parcel_1']"
        assert console.value(f"{parts}[0].parameters['thing']") == 'letter_1'
        assert console.value(f"{parts}[0].parameters['giver']") == 'postman'
        assert 'KeyError' in console.run(f"print({parts}[0].parameters['weight'])").error
        assert console.value("told(speech(text='letter'))") == 'Here is a letter for Anna.'


def test_a_day_of_the_tree_is_a_time(day: Household) -> None:
    with day.console('2025-03-07 12:00') as console:
        assert console.value("[r.id for r in goals(when=days('March 4')[0])]") == "['s1']"
        assert console.value('len(events(when=memory))') == '5'


@pytest.fixture
def drinks(home: Household) -> Household:
    home.run('BringCoffee', '2025-03-04 10:00', '2025-03-04 10:05', parameters={'for': 'Henrik'})
    home.run('BringChocolate', '2025-03-05 10:00', '2025-03-05 10:05', 'failed',
             parameters={'for': 'Henrik'}, narration='the coffee machine had no water')
    home.run('BringCoffee', '2025-03-06 10:00', '2025-03-06 10:05', 'failed',
             parameters={'for': 'Henrik'}, narration='the cup fell')
    home.run('Fill', '2025-03-06 10:02', '2025-03-06 10:04', 'failed', ['BringCoffee'],
             narration='no chocolate was left')
    return home


@pytest.mark.parametrize(('expression', 'found'), [
    ("goals(text='bring coffee Henrik')", ['s1', 's3']),
    ("goals(text='bring coffee', status='failed')", ['s3']),
    ("goals(text='bring coffee', when='March 5')", []),
    ("goals_with('coffee')", ['s1', 's3']),
    ("goals_with('chocolate')", ['s2']),
    # Where nothing is called so, the reason is meant.
    ("goals(text='machine')", ['s2']), ("goals_with('water')", ['s2']),
    ("goals(text='cup fell', status='failed')", ['s3'])])
def test_a_word_of_a_reason_is_no_name_of_what_was_done(
        drinks: Household, expression: str, found: list[str]) -> None:
    with drinks.console('2025-03-10 12:00') as console:
        assert console.value(f'[r.id for r in {expression}]') == str(found)
