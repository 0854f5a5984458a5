"""A model that does not look, or that fails before it looks: the agent looks in its stead."""

from households import Household, ScriptedModel, code
import pytest

from emv_ros.agent.answers import QueryStatus
from emv_ros.settings import AgentSettings

UNKNOWN = code('rows = times(rows)', 'answer(told(rows), evidence=rows)')
GIVES_UP = code("not_recorded('nothing')")
FROM_ROWS = code('answer(told(rows), evidence=rows)')
NOW = '2025-03-07 12:00'


def test_a_first_command_that_fails_is_asked_for_again_as_if_it_were_the_first(
        days: Household) -> None:
    good = code("rows = goals(when='March 6')", 'answer(told(rows), evidence=rows)')
    model = ScriptedModel([UNKNOWN, good])
    answer = days.ask('What did you do on March 6?', model, NOW)
    assert (answer.status, answer.answer, answer.rounds) == (QueryStatus.ANSWERED, 'mop', 2)
    assert model.prompts[0] == model.prompts[1]
    assert model.temperatures[0] == 0.0 < model.temperatures[1]
    trace = days.store.get('query', answer.query_id).trace
    assert 'NameError' in trace[0]['output']


@pytest.mark.parametrize('replies', [
    [UNKNOWN, UNKNOWN, FROM_ROWS], [GIVES_UP, GIVES_UP, FROM_ROWS]])
@pytest.mark.parametrize(('question', 'told', 'ids'), [
    ('What did you do on March 6?', 'mop', ['s2']),
    ('What have you done from March 5 to March 6?', 'vacuum, mop', ['s1', 's2']),
    ('What did you do on March 5 around 2 PM?', 'vacuum', ['s1']),
    ('What did you do on March 5 shortly after 2 PM?', 'vacuum', ['s1'])])
def test_the_activities_of_the_time_that_is_asked_about_are_looked_up(
        days: Household, replies: list[str], question: str, told: str, ids: list[str]) -> None:
    model = ScriptedModel(replies)
    answer = days.ask(question, model, NOW)
    assert (answer.status, answer.answer) == (QueryStatus.ANSWERED, told)
    assert [item.id for item in answer.evidence] == ids
    looks = [step for step in days.store.get('query', answer.query_id).trace
             if step.get('by') == 'agent']
    assert len(looks) == 1 and looks[0]['code'].startswith(
        "rows = around('2025-03-05 14:00:00')" if '2 PM' in question else
        "rows = goals(when='2025-03-0")
    assert 'NameError' not in model.last_prompt and "not_recorded('nothing')" not in '\n'.join(
        message['content'] for message in model.prompts[-1] if message['role'] == 'assistant')


@pytest.mark.parametrize(('question', 'look', 'reply', 'told'), [
    ('How many days have passed since you had to mop?', "rows = goals(text='mop')",
     "answer(f'{(now().date() - rows[-1].start.date()).days} days ago', evidence=rows)",
     '1 days ago'),
    ('What did you do right before you mopped on March 6?',
     "rows = goals(text='mopped', when='2025-03-06 to 2025-03-06')",
     'answer(told(before(rows[-1])), evidence=rows + before(rows[-1]))', 'vacuum'),
    ('When did you get something from the courier?', "rows = goals_with(text='courier')",
     "answer(f'At {times(rows)}.', evidence=rows)", 'At 2025-03-06 11:00:00 to 11:10:00.'),
    ('Who told you about the holidays?', "rows = speech(text='holidays')",
     'answer(rows[0].speaker, evidence=rows)', 'Ada'),
    ('Why was the gardener here?', "rows = search('Why was the gardener here?', k=5)",
     "not_recorded('nothing')", '')])
def test_the_things_that_are_asked_about_are_looked_up(
        days: Household, question: str, look: str, reply: str, told: str) -> None:
    days.say('2025-03-06 10:00', 'the holidays begin', 'Ada')
    days.run('TakeDelivery', '2025-03-06 11:00', '2025-03-06 11:10')
    days.run('Receive', '2025-03-06 11:05', '2025-03-06 11:06', stack=['TakeDelivery'],
             parameters={'giver': 'courier'})
    model = ScriptedModel([UNKNOWN, UNKNOWN, code(reply)])
    answer = days.ask(question, model, NOW)
    assert answer.answer == told
    looks = [step['code'] for step in days.store.get('query', answer.query_id).trace
             if step.get('by') == 'agent']
    assert looks[0].startswith(f'{look}\nprint(*rows' if told else look)
    assert ('just before: s1 2025-03-05 14:00:00' in model.last_prompt) is ('before' in question)


@pytest.mark.parametrize(('question', 'hint'), [
    ('When did you mop?', "answer(f'At {times(rows)}.', evidence=rows)"),
    ('Which task came right before you had to mop?', 'first = before(rows[-1])\nanswer('),
    ('Did you mop?', ''), ('Why was the gardener here?', '')])
def test_a_look_shows_how_to_answer_as_the_nearest_example_does(
        days: Household, question: str, hint: str) -> None:
    model = ScriptedModel([GIVES_UP, GIVES_UP, GIVES_UP])
    days.ask(question, model, NOW)
    shown = '\n'.join(message['content'] for message in model.prompts[-1][2:])
    told = shown.rpartition('If they tell it, for example:\n')
    assert told[2].startswith(hint) if hint else not told[1]


def test_who_denies_all_that_was_done_then_is_answered_from_it(days: Household) -> None:
    answer = days.ask('What did you do on March 6?', ScriptedModel([GIVES_UP]), NOW)
    assert (answer.status, answer.answer) == (QueryStatus.ANSWERED, 'mop')
    trace = days.store.get('query', answer.query_id).trace
    assert [step['code'] for step in trace if step.get('by') == 'agent'][-1] == (
        'answer(told(rows), evidence=rows)')
    for question in ('Which task failed on March 6?', 'Why was the gardener here on March 6?'):
        answer = days.ask(question, ScriptedModel([GIVES_UP]), NOW)
        assert answer.status is QueryStatus.NOT_RECORDED


def test_what_the_model_has_read_is_no_doubt(days: Household) -> None:
    """It says that there is no number, having read that there will be one."""
    days.say('2025-03-06 10:00', 'I have a new phone, I give you the number later', 'Clara')
    model = ScriptedModel([code("search('phone number of Clara')"), GIVES_UP,
                           code("answer('later', evidence=['u1'])")])
    answer = days.ask('What is the phone number of Clara?', model, NOW)
    assert (answer.status, answer.rounds) == (QueryStatus.NOT_RECORDED, 2)


def test_a_look_that_is_repeated_is_told_how_to_go_on(days: Household) -> None:
    look = code("rows = goals(text='mop')", "print(*rows, sep='\\n')")
    model = ScriptedModel([UNKNOWN, UNKNOWN, look, FROM_ROWS])
    answer = days.ask('When did you mop?', model, NOW)
    assert "its rows are there: answer(f'At {times(rows)}.', evidence=rows)" in model.last_prompt
    assert [item.id for item in answer.evidence] == ['s2']


def test_a_look_is_for_what_is_asked_about_not_for_what_sounds_like_it(days: Household) -> None:
    days.run('CheckRooms', '2025-03-06 20:00', '2025-03-06 20:05')
    days.run('LookAround', '2025-03-06 20:01', '2025-03-06 20:02', stack=['CheckRooms'],
             parameters={'room': 'bedroom'})
    gives_up = code("events(skill='MakeBed')", "not_recorded('no bed')")
    answer = days.ask('Is it true that you made the bed on March 6?', ScriptedModel([gives_up]),
                      NOW)
    looks = [step for step in days.store.get('query', answer.query_id).trace
             if step.get('by') == 'agent']
    assert not looks and answer.answer.startswith('No, nothing about that is recorded')


def test_of_many_rows_the_first_and_the_last_are_shown(home: Household) -> None:
    for day in range(1, 21):
        home.run('Vacuum', f'2025-02-{day:02} 14:00', f'2025-02-{day:02} 14:30')
    model = ScriptedModel([UNKNOWN, UNKNOWN, code("answer(f'{len(rows)} times', evidence=rows)")])
    answer = home.ask('How often did you vacuum?', model, NOW)
    assert answer.answer == '20 times'
    shown = model.last_prompt.partition('20 rows:\n')[2].splitlines()
    assert [line.split()[1] if line[0] == 's' else line for line in shown[:7]] == [
        '2025-02-01', '2025-02-02', '2025-02-03', '…', '2025-02-18', '2025-02-19', '2025-02-20']


def test_without_exact_functions_the_look_is_a_search(days: Household) -> None:
    model = ScriptedModel([GIVES_UP, FROM_ROWS])
    answer = days.ask('What did you do on March 6?', model, NOW,
                      agent=AgentSettings(exact_functions=False))
    looks = [step['code'] for step in days.store.get('query', answer.query_id).trace
             if step.get('by') == 'agent']
    assert len(looks) == 1 and looks[0].startswith("rows = search('What did you do on March 6?', ")


def test_that_nothing_was_done_is_doubted_where_something_was(days: Household) -> None:
    wrong = code("rows = events(skill='CheckRooms', when='March 6')",
                 "answer(told(rows), evidence=rows) if rows else not_recorded('nothing was done')")
    answer = days.ask('List everything you were busy with on March 6.',
                      ScriptedModel([wrong, FROM_ROWS]), NOW)
    assert (answer.status, answer.answer) == (QueryStatus.ANSWERED, 'mop')


def test_a_look_that_finds_nothing_leaves_it_not_recorded(days: Household) -> None:
    answer = days.ask('What did you do on March 3?', ScriptedModel([GIVES_UP]), NOW)
    assert answer.status is QueryStatus.NOT_RECORDED and answer.rounds == 3


def test_a_speaker_whom_the_question_does_not_name_is_left_out(days: Household) -> None:
    days.say('2025-03-06 10:00', 'the holidays begin', 'Ada')
    days.say('2025-03-06 10:05', 'it rains', 'Bea')
    of_bea = code("rows = speech(text='holidays', speaker='Bea')",
                  'answer(rows[0].speaker, evidence=rows)')
    answer = days.ask('Who mentioned the holidays?', ScriptedModel([of_bea]), NOW)
    assert (answer.status, answer.answer) == (QueryStatus.ANSWERED, 'Ada')
    named = ScriptedModel([code("rows = speech(text='holidays', speaker='Bea')", 'print(rows)'),
                           GIVES_UP])
    answer = days.ask('What did Bea say about holidays?', named, NOW)
    assert "no speakers are called 'Bea'" not in str(named.prompts)
    assert answer.status is QueryStatus.NOT_RECORDED


@pytest.mark.parametrize(('question', 'told'), [
    ('From whom did you hear about holidays?', True), ('Who mentioned the holidays?', True),
    ('What did I tell you about holidays?', False)])
def test_who_said_it_is_none_of_the_two_who_talk(
        days: Household, question: str, told: bool) -> None:
    days.say('2025-03-06 10:00', 'the holidays begin', 'Ada')
    look = code("rows = speech(text='holidays', speaker='user')",
                'print(len(rows))')
    model = ScriptedModel([look, GIVES_UP])
    answer = days.ask(question, model, NOW)
    assert days.store.get('query', answer.query_id).trace[0]['output'].startswith('01'[told])


def test_no_is_said_of_the_first_of_many_days_and_of_all(home: Household) -> None:
    for day in range(1, 29):
        home.run('Vacuum', f'2025-02-{day:02} 14:00', f'2025-02-{day:02} 14:30')
    home.consolidate()
    mopped = code("rows = goals(text='mop')",
                  "answer('Yes', evidence=rows) if rows else not_recorded('nothing was mopped')")
    answer = home.ask('Is it true that you mopped on 2 February?', ScriptedModel([mopped]), NOW)
    assert answer.status is QueryStatus.ANSWERED and answer.answer.endswith('(2025-02-02).')
    answer = home.ask('Did you ever mop?', ScriptedModel([mopped]), NOW)
    assert answer.answer.endswith('(2025-02-01 to 2025-02-28).') and len(answer.evidence) == 20
