"""Questions from beginning to end with a model by script: each status, each guard."""

import threading

from fake_provider import Behaviour, provider
from households import Household, ScriptedModel, code, open_memory
import pytest

from emv_ros.agent.agent import Agent
from emv_ros.agent.answers import Progress, QueryStatus, Question
from emv_ros.agent.models.client import ModelClient
from emv_ros.errors import (
    ConsoleError,
    ModelCanceledError,
    ModelReplyError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from emv_ros.settings import AgentSettings, ModelSettings, Settings

FIRST = code("rows = events(skill='Vacuum')", 'print(rows[0])')
ANSWER = code("rows = events(skill='Vacuum')", "answer(f'At {times(rows)}.', evidence=rows)")


@pytest.fixture
def week(home: Household) -> Household:
    home.run('Vacuum', '2025-03-05 14:00', '2025-03-05 14:30')
    home.run('Mop', '2025-03-06 09:00', '2025-03-06 09:10', 'failed')
    home.say('2025-03-06 09:20', 'the floor is wet')
    home.see('2025-03-06 09:30', 'mug', 'table')
    home.consolidate()
    return home


def test_an_answer_with_evidence_and_its_account(week: Household) -> None:
    model, seen = ScriptedModel([FIRST, ANSWER]), list[Progress]()
    answer = week.ask('When did you vacuum?', model, on_progress=seen.append)
    assert answer.status is QueryStatus.ANSWERED
    assert answer.answer == 'At 2025-03-05 14:00:00 to 14:30:00.'
    assert [item.id for item in answer.evidence] == ['s1']
    assert (answer.evidence[0].start_ns, answer.evidence[0].end_ns) == (
        week.at('2025-03-05 14:00'), week.at('2025-03-05 14:30'))
    assert (answer.rounds, answer.prompt_tokens, answer.completion_tokens) == (2, 200, 20)
    assert [item.phase for item in seen] == [
        'searching', 'thinking', 'running', 'thinking', 'running', 'answering']
    assert seen[-1].command.startswith('rows = events') and seen[-1].round == 2
    record = week.store.get('query', answer.query_id)
    assert record.status == 'ANSWERED' and record.evidence == ('s1',)
    assert [step['round'] for step in record.trace] == [1, 2]
    assert record.trace[0]['output'].startswith('s1 2025-03-05 14:00:00 to 14:30:00 Vacuum')
    assert 'Output:\ns1 2025-03-05 14:00:00' in model.last_prompt


def test_nothing_recorded(week: Household) -> None:
    answer = week.ask('When did you feed the cat?', ScriptedModel([
        code("not_recorded('no cat')")]))
    assert (answer.status, answer.message) == (QueryStatus.NOT_RECORDED, 'no cat')
    assert answer.answer == '' and answer.evidence == ()


def test_asked_whether_it_was_done_nothing_recorded_is_a_no(week: Household) -> None:
    answer = week.ask('Did you ever feed the cat?', ScriptedModel([
        code("not_recorded('no cat')")]))
    assert answer.status is QueryStatus.ANSWERED
    assert answer.answer == ('No, nothing about that is recorded on the days that memory covers '
                             '(2025-03-05, 2025-03-06).')
    assert [item.kind for item in answer.evidence] == ['node', 'node']


def test_how_the_world_stands_is_not_denied_for_want_of_records(week: Household) -> None:
    answer = week.ask('Is the window open?', ScriptedModel([code('not_recorded()')]))
    assert answer.status is QueryStatus.NOT_RECORDED


def test_an_empty_search_for_what_memory_never_heard_of_ends_early(week: Household) -> None:
    model = ScriptedModel([code("search('zebra')")])
    answer = week.ask('When did the zebra come?', model)
    assert answer.status is QueryStatus.NOT_RECORDED and len(model.prompts) == 1
    assert answer.message == 'nothing recorded mentions zebra, come'


def test_searches_for_other_words_deny_nothing_that_memory_mentions(week: Household) -> None:
    looked = code("events(skill='Hoover')")
    model = ScriptedModel([looked, looked, ANSWER])
    answer = week.ask('Did you vacuum?', model)
    assert (answer.status, answer.rounds) == (QueryStatus.ANSWERED, 3)
    assert [item.id for item in answer.evidence] == ['s1']
    assert 'These records may tell it:\ns1 2025-03-05 14:00:00' in model.last_prompt
    stubborn = week.ask('Did you vacuum?', ScriptedModel([looked]))
    assert stubborn.status is QueryStatus.LIMIT
    assert 's1' in [item.id for item in stubborn.evidence]


@pytest.mark.parametrize('said', ["'On July 3.'", "f'At {datetime(2030, 1, 2)}.'"])
def test_a_refusal_bears_out_nothing_of_what_it_quotes(week: Household, said: str) -> None:
    asked = [code(f"answer({said}, evidence=events(skill='Vacuum'))", f'x = {n}') for n in range(4)]
    assert week.ask('When did you vacuum?', ScriptedModel(asked)).status is QueryStatus.LIMIT


def test_not_recorded_after_an_answer_takes_nothing_back(week: Household) -> None:
    answer = week.ask('When did you vacuum?', ScriptedModel([code(
        "rows = events(skill='Vacuum')", 'if rows:\n    answer(rows[0].when, evidence=rows)',
        "not_recorded('no rows')")]))
    assert answer.status is QueryStatus.ANSWERED and [item.id for item in answer.evidence] == ['s1']


def test_not_recorded_is_doubted_once_where_memory_mentions_the_thing(week: Household) -> None:
    nothing = code("events(skill='Dust')", "not_recorded('nothing')")
    model = ScriptedModel([nothing, ANSWER])
    answer = week.ask('When did you vacuum?', model)
    assert answer.status is QueryStatus.ANSWERED and answer.rounds == 2
    assert 'These records may tell it' in model.last_prompt
    assert 's1 2025-03-05 14:00:00' in model.last_prompt
    stubborn = ScriptedModel([nothing])
    assert week.ask('When did you vacuum?', stubborn).status is QueryStatus.NOT_RECORDED


@pytest.mark.parametrize('reason', ['no model is set', 'the weights are not there'])
def test_without_a_model_the_best_evidence(week: Household, reason: str) -> None:
    model = None if 'set' in reason else ScriptedModel([], reason)
    answer = week.ask('When did you vacuum?', model)
    assert (answer.status, answer.message) == (QueryStatus.RETRIEVED_ONLY, reason)
    assert answer.answer.startswith('The most similar records: ')
    assert 's1' in [item.id for item in answer.evidence]


@pytest.mark.parametrize(('asked', 'found'), [
    ('soy milk', ['u1', 'u2', 'u3']),  # the words of a search end sentences that say something
    ('Where is the soy milk?', ['u1', 'u3'])])
def test_a_question_that_was_heard_is_no_evidence_of_itself(
        home: Household, asked: str, found: list[str]) -> None:
    home.say('2025-03-05 10:00', 'I can see a soy milk', 'robot')
    home.say('2025-03-06 10:00', 'Hey robot, where is the soy milk?')
    home.say('2025-03-06 11:00', 'Please, you who were sent to the kitchen yesterday by me, ask '
                                 'the cook: where is the soy milk?')
    answer = home.ask(asked, None)
    assert sorted(item.id for item in answer.evidence) == found


@pytest.mark.parametrize(('failure', 'status'), [
    (ModelTimeoutError('too slow'), QueryStatus.TIMEOUT),
    (ModelCanceledError('given up'), QueryStatus.CANCELED),
    (ModelUnavailableError('no server'), QueryStatus.RETRIEVED_ONLY)])
def test_a_model_that_fails_on_the_way(week: Household, failure: Exception,
                                       status: QueryStatus) -> None:
    answer = week.ask('When did you vacuum?', ScriptedModel([FIRST, failure]))
    assert (answer.status, answer.message) == (status, str(failure))
    assert (answer.rounds, answer.prompt_tokens) == (2, 100)  # what was used is told
    assert bool(answer.evidence) == (status is not QueryStatus.CANCELED)
    assert week.store.get('query', answer.query_id).trace[1]['output'] == str(failure)


@pytest.mark.parametrize('reply', [
    'I am sorry, but I cannot help with that.', '```python\n# thinking\n```', '', '   ',
    '```python\npass\n```', '"""just words"""', 'answer', '12',
    ModelReplyError('the reply is empty')])
def test_replies_without_a_command_end_at_a_limit(week: Household, reply: object) -> None:
    model = ScriptedModel([reply])
    answer = week.ask('When did you vacuum?', model)
    assert answer.status is QueryStatus.LIMIT, answer
    assert 'writes no commands' in answer.message
    assert len(model.prompts) == 3 and model.temperatures == [0.0, 0.7, 0.7]
    assert 's1' in [item.id for item in answer.evidence]


def test_the_prompt_echoed(week: Household) -> None:
    model = ScriptedModel([lambda messages, **_: messages[-1]['content']])
    answer = week.ask('When did you vacuum?', model)
    assert answer.status in (QueryStatus.LIMIT, QueryStatus.NOT_RECORDED)
    model = ScriptedModel([
        lambda messages, **_: '\n'.join(message['content'] for message in messages)])
    assert week.ask('When did you vacuum?', model).status is not QueryStatus.ERROR


def test_always_the_same_command(week: Household) -> None:
    model = ScriptedModel([FIRST])
    answer = week.ask('When did you vacuum?', model)
    assert answer.status is QueryStatus.LIMIT
    assert answer.rounds == 5  # the first, three repeats, and the forced one
    assert 'run before' in model.last_prompt and 'No more rounds' in model.last_prompt


def test_the_forced_round_may_still_answer(week: Household) -> None:
    answer = week.ask('When did you vacuum?', ScriptedModel([FIRST, FIRST, FIRST, FIRST, ANSWER]))
    assert answer.status is QueryStatus.ANSWERED and answer.rounds == 5


def test_expand_and_collapse_in_turn_end_at_the_rounds(week: Household) -> None:
    turn = iter(range(100))
    model = ScriptedModel([lambda messages, **_: code(
        f'{"memory.expand()" if next(turn) % 2 else "memory.collapse()"}  # {next(turn)}')])
    answer = week.ask('When did you vacuum?', model, max_rounds=5)
    assert answer.status in (QueryStatus.LIMIT, QueryStatus.NOT_RECORDED)
    assert answer.rounds <= 6


def test_a_limit_of_tokens(week: Household) -> None:
    numbers = iter(range(100))
    model = ScriptedModel([lambda messages, **_: code(f'print(events()[0], {next(numbers)})')])
    answer = week.ask('When did you vacuum?', model, max_tokens=250)
    assert (answer.status, answer.message) == (QueryStatus.LIMIT, '250 tokens gave no answer')
    assert answer.rounds == 4  # 110 tokens each; the third passes the limit; one forced


def test_the_time_runs_out_within_a_long_call(week: Household,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    from emv_ros.memory import queries
    over = threading.Event()
    monkeypatch.setattr(queries, 'utterances', lambda *_, **__: over.wait(0.5) or [])
    tried = code('for i in range(100):\n    try:\n        speech()\n    except ValueError:\n'
                 '        pass')
    answer = week.ask('When did you vacuum?', ScriptedModel([tried]), time_limit_s=1.2)
    assert (answer.status, answer.message) == (
        QueryStatus.TIMEOUT, 'the time for the question is over')
    assert answer.duration_s < 10


def test_canceled_while_code_runs(week: Household) -> None:
    cancel, model = threading.Event(), ScriptedModel([FIRST])

    def on_progress(progress: Progress) -> None:
        if progress.phase == 'running':
            cancel.set()

    answer = week.ask('When did you vacuum?', model, cancel=cancel, on_progress=on_progress)
    assert (answer.status, answer.message) == (QueryStatus.CANCELED, 'the question was canceled')
    assert len(model.prompts) == 1


def test_a_second_question_is_told_to_wait(week: Household) -> None:
    asked, go = threading.Event(), threading.Event()

    def reply(messages: object, **options: object) -> str:
        asked.set()
        assert go.wait(30)
        return ANSWER

    agent = Agent(week.store, Settings(), ScriptedModel([reply]))
    question = Question(text='When did you vacuum?', query_time_ns=week.at('2025-03-10 12:00'))
    answers = []
    thread = threading.Thread(target=lambda: answers.append(agent.ask(question)))
    thread.start()
    assert asked.wait(30)
    busy = agent.ask(question)
    assert (busy.status, busy.message) == (
        QueryStatus.BUSY, 'another question is being answered')
    go.set()
    thread.join(30)
    assert answers[0].status is QueryStatus.ANSWERED
    assert agent.ask(question).status is QueryStatus.ANSWERED  # and it is free again


@pytest.mark.parametrize(('text', 'message'), [
    ('', 'the question is empty'), (' \n ', 'the question is empty'),
    ('why ' * 1000, 'the question has 4000 characters; at most 2000 are allowed')])
def test_no_questions(week: Household, text: str, message: str) -> None:
    answer = week.ask(text, ScriptedModel([ANSWER]))
    assert (answer.status, answer.message) == (QueryStatus.ERROR, message)


def test_a_console_that_does_not_start(week: Household, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: object) -> None:
        raise ConsoleError('the sandbox does not start: no such file')

    monkeypatch.setattr('emv_ros.agent.agent.Sandbox.__enter__', fails)
    answer = week.ask('When did you vacuum?', ScriptedModel([ANSWER]))
    assert (answer.status, answer.message) == (
        QueryStatus.ERROR, 'the sandbox does not start: no such file')


def test_an_empty_memory_and_a_robot_that_is_not_there(home: Household) -> None:
    model = ScriptedModel([ANSWER])
    answer = home.ask('When did you vacuum?', model)
    assert answer.status is QueryStatus.NOT_RECORDED and not model.prompts
    home.run('Vacuum', '2025-03-05 14:00', '2025-03-05 14:30')
    answer = home.ask('When did you vacuum?', model, robots=('r7',))
    assert answer.message == 'nothing was recorded by r7 before the time of the question'
    assert home.ask('When did you vacuum?', model, now='2025-03-01 12:00').status is (
        QueryStatus.NOT_RECORDED)


def test_a_memory_without_a_tree(home: Household) -> None:
    home.run('Vacuum', '2025-03-05 14:00', '2025-03-05 14:30')
    assert home.ask('When did you vacuum?', ScriptedModel([ANSWER])).status is QueryStatus.ANSWERED
    look = code('for node in memory:\n    print(node)', 'print(memory)', 'days()')
    assert home.ask('What did you do?', ScriptedModel([look, ANSWER])).status is (
        QueryStatus.ANSWERED)


def test_an_error_is_shown_with_a_hint(week: Household) -> None:
    model = ScriptedModel([code('print(events(skill="Fly")[0])'), ANSWER])
    answer = week.ask('When did you vacuum?', model)
    assert answer.status is QueryStatus.ANSWERED
    assert ('IndexError: list index out of range — there are no rows: test `if rows:` first, '
            'or try search(text)\nnote: no skills are called') in model.last_prompt


def test_an_answer_in_code_that_fails_afterwards_does_not_count(week: Household) -> None:
    failing = code("rows = events(skill='Vacuum')", "answer('yes', evidence=rows)", 'rows[5]')
    answer = week.ask('When did you vacuum?', ScriptedModel([failing, ANSWER]))
    assert answer.rounds == 2 and answer.answer.startswith('At 2025')


def test_evidence_is_bounded_and_counted(home: Household) -> None:
    for minute in range(30):
        home.run('Step', f'2025-03-05 14:{minute:02d}', f'2025-03-05 14:{minute:02d}:30')
    answer = home.ask('How many steps did you take?', ScriptedModel([code(
        "rows = events(skill='Step')", "answer(f'{len(rows)} steps', evidence=rows)")]))
    assert answer.answer == '30 steps' and len(answer.evidence) == 20
    assert answer.message == 'of 30 pieces of evidence the first 20 are given'


def test_prompts_keep_to_their_budget_however_long_the_history(week: Household) -> None:
    numbers = iter(range(100))
    model = ScriptedModel([lambda messages, **_: code(
        f"print(events()[0], 'x' * 2900, {next(numbers)})", 'memory.expand()')])
    settings = AgentSettings(max_rounds=12, max_tokens=10**6)
    answer = week.ask('When did you vacuum?', model, agent=settings)
    assert answer.status is QueryStatus.LIMIT and len(model.prompts) == 13
    for messages in model.prompts:
        used = model.count_tokens('\n'.join(message['content'] for message in messages))
        assert used <= 8192 - 400 - 200
    assert 'Question: When did you vacuum?' in model.last_prompt
    assert model.last_prompt.startswith('You answer questions')
    assert 'x' * 2800 in model.last_prompt  # the latest output is whole


def test_a_very_small_context(week: Household) -> None:
    from dataclasses import replace
    settings = Settings()
    settings = replace(settings, model=replace(settings.model, context_tokens=1500))
    model = ScriptedModel([code("events()\nprint('x' * 3000)"), ANSWER])
    answer = Agent(week.store, settings, model).ask(
        Question(text='When did you vacuum?', query_time_ns=week.at('2025-03-10 12:00')))
    assert answer.status is QueryStatus.ANSWERED
    assert max(model.count_tokens('\n'.join(message['content'] for message in messages))
               for messages in model.prompts) <= 1000


def test_questions_in_another_zone_and_window(tmp_path) -> None:  # type: ignore[no-untyped-def]
    home = open_memory(tmp_path, 'UTC+13:00')
    home.run('Vacuum', '2025-03-05 00:30', '2025-03-05 00:40')
    home.run('Vacuum', '2025-03-06 00:30', '2025-03-06 00:40')
    answer = home.ask('When did you vacuum?', ScriptedModel([ANSWER]),
                      end_ns=home.at('2025-03-06 00:00'))
    assert answer.answer == 'At 2025-03-05 00:30:00 to 00:40:00.'
    home.store.close()


def test_a_memory_that_cannot_be_written_answers_all_the_same(
        week: Household, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(week.store, 'is_read_only', True)
    with provider(Behaviour(FIRST), Behaviour(ANSWER)) as server:
        settings = ModelSettings(model='openai/some', api_base=f'{server.address}/v1')
        answer = week.ask('When did you vacuum?', ModelClient(settings, week.store.log_call))
    assert (answer.status, answer.query_id) == (QueryStatus.ANSWERED, None)
    assert answer.answer == 'At 2025-03-05 14:00:00 to 14:30:00.'
    assert not [record for record in caplog.records if record.levelname == 'ERROR']
