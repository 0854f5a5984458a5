"""A whole question against a provider in trouble, over real HTTP."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from fake_provider import Behaviour, Provider, provider
from households import Household, code
from limits import SOON_S
import pytest

from emv_ros.agent.answers import Answer, QueryStatus
from emv_ros.agent.models import ModelClient
from emv_ros.memory import schema
from emv_ros.settings import ModelSettings

pytest.importorskip('litellm')
KEY = 'sk-test-0123456789abcdef'
QUESTION = 'When did you vacuum?'
SECRET = 'xyzzy'
ANSWER = code("rows = events(skill='Vacuum')", "answer(f'At {times(rows)}.', evidence=rows)")
TOLD = 'At 2025-03-05 14:00:00 to 14:30:00.'
LOOK = code("rows = events(skill='Vacuum')", 'print(rows[0])')
BUSY = (('Retry-After', '3600'),)


@pytest.fixture(autouse=True, scope='module')
def _loaded() -> None:
    """Import litellm once, so that no test's limit has to bear it."""
    with provider(Behaviour('ok')) as server:
        client(server, api_key_env='').complete(
            [{'role': 'user', 'content': 'hello'}], purpose='agent', max_tokens=5)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('EMV_TEST_KEY', KEY)


@pytest.fixture
def week(home: Household) -> Household:
    home.run('Vacuum', '2025-03-05 14:00', '2025-03-05 14:30')
    home.say('2025-03-06 09:20', f'the floor is wet, {SECRET}')
    home.consolidate()
    return home


def client(server: Provider, house: Household | None = None, **settings: Any) -> ModelClient:
    values = {'model': 'openai/fake', 'api_base': server.address, 'api_key_env': 'EMV_TEST_KEY',
              'deadline_s': 30.0, 'retry_wait_s': 0.05, 'retries': 2, **settings}
    return ModelClient(ModelSettings(**values), house.store.log_call if house else None)


def outcomes(house: Household) -> list[str]:
    with house.store.reading() as session:
        return [row.outcome for row in session.query(schema.ModelCallRow).order_by(
            schema.ModelCallRow.id)]


def check_nothing_private(house: Household, answer: Answer,
                          caplog: pytest.LogCaptureFixture) -> None:
    """Fail where the key, or what was recorded, stands in a log line or the account of calls."""
    with house.store.reading() as session:
        kept = ' '.join(row.detail for row in session.query(schema.ModelCallRow))
    told = ' '.join(record.getMessage() for record in caplog.records)
    assert KEY not in f'{kept} {told} {answer}'
    assert SECRET not in f'{kept} {told} {answer.message}'


@pytest.mark.parametrize(('behaviour', 'status', 'outcome', 'tries'), [
    (Behaviour(hang=True), QueryStatus.TIMEOUT, 'ModelTimeoutError', 1),
    (Behaviour(drip_s=1.0), QueryStatus.TIMEOUT, 'ModelTimeoutError', 1),
    (Behaviour('slow down', 429, BUSY), QueryStatus.RETRIEVED_ONLY, 'PassingError', 3),
    (Behaviour('oops', 500), QueryStatus.RETRIEVED_ONLY, 'PassingError', 3),
    (Behaviour(ANSWER, cut=60), QueryStatus.RETRIEVED_ONLY, 'PassingError', 3),
    (Behaviour(f'bad key {KEY}', 401), QueryStatus.RETRIEVED_ONLY, 'RefusedError', 1),
    (Behaviour('no such model', 404), QueryStatus.RETRIEVED_ONLY, 'RefusedError', 1),
    (Behaviour('over there', 307, (('Location', '/v2'),)), QueryStatus.RETRIEVED_ONLY,
     'RefusedError', 1),
    (Behaviour('maximum context length is 4096', 400), QueryStatus.RETRIEVED_ONLY,
     'ModelPromptTooLongError', 1),
    (Behaviour(raw=b'<html>'), QueryStatus.RETRIEVED_ONLY, 'PassingError', 3),
    (Behaviour(lambda request: f'{request["messages"]}', 500), QueryStatus.RETRIEVED_ONLY,
     'PassingError', 3)],
    ids=['never answers', 'one byte a second', '429', '500', 'closes in the middle', 'bad key',
         'no model', 'redirect', 'too long', 'a page', 'quotes the prompt'])
def test_a_provider_that_cannot_be_asked(
        week: Household, behaviour: Behaviour, status: QueryStatus, outcome: str, tries: int,
        caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, 'emv_ros')
    limit_s = 1.0 if status is QueryStatus.TIMEOUT else 30.0
    with provider(behaviour) as server:
        began = time.monotonic()
        answer = week.ask(QUESTION, client(server, week), time_limit_s=limit_s)
        assert time.monotonic() - began < limit_s + SOON_S
        assert len(server.requests) == tries
    assert answer.status is status, answer
    assert 's1' in [item.id for item in answer.evidence]
    assert outcomes(week) == [outcome] * tries
    check_nothing_private(week, answer, caplog)


@pytest.mark.parametrize('reply', [
    '', '   ', None, '# thinking', '```python\n# thinking\n```', "I'm sorry, I cannot do that.",
    "```python\nanswer('''At two", "answer('''At two", '{}', '[1, 2]', '```json\n{"a": 1}\n```',
    '{"answer": "At two", }', 'pass'],
    ids=['empty', 'blank', 'null', 'a comment', 'only comments', 'a refusal',
         "an unterminated '''", "an unterminated ''' without a fence", '{}', 'a list', 'JSON',
         'a trailing comma', 'pass'])
def test_replies_that_are_no_command_end_at_a_limit(
        week: Household, reply: str | None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, 'emv_ros')
    with provider(Behaviour(reply)) as server:
        answer = week.ask(QUESTION, client(server, week))
        assert answer.status is QueryStatus.LIMIT, answer
        assert 3 <= len(server.requests) <= 9
    assert answer.answer.startswith('The most similar records: ')
    assert 's1' in [item.id for item in answer.evidence]
    check_nothing_private(week, answer, caplog)


@pytest.mark.parametrize('reply', [
    ANSWER, ANSWER.replace('```python', '```'), f'Sure.\n{ANSWER}\nThis answers it.',
    f'{ANSWER}\nOutput:\n```\nAt nine.\n```\n{code("answer(0)")}',
    ANSWER.removesuffix('```'), ANSWER.replace('\n', '\r\n')],
    ids=['fenced', 'no language', 'prose around', 'two fences', 'a fence left open', 'CRLF'])
def test_commands_in_all_wrappings(week: Household, reply: str) -> None:
    with provider(Behaviour(reply)) as server:
        answer = week.ask(QUESTION, client(server, week))
        assert len(server.requests) == 1
    assert (answer.status, answer.answer) == (QueryStatus.ANSWERED, TOLD)
    assert (answer.prompt_tokens, answer.completion_tokens) == (11, 3)


def test_the_prompt_echoed(week: Household) -> None:
    with provider(Behaviour(lambda request: request['messages'][-1]['content'])) as server:
        answer = week.ask(QUESTION, client(server, week))
        assert len(server.requests) <= 9
    assert answer.status in (QueryStatus.LIMIT, QueryStatus.NOT_RECORDED)


def test_always_the_same_command(week: Household) -> None:
    with provider(Behaviour(LOOK)) as server:
        answer = week.ask(QUESTION, client(server, week))
        assert len(server.requests) == 5  # the first, three repeats, and the forced one
    assert answer.status is QueryStatus.LIMIT
    assert (answer.prompt_tokens, answer.completion_tokens) == (55, 15)


def test_expand_and_collapse_in_turn(week: Household) -> None:
    turns = [Behaviour(code(f'memory.{verb}()  # {turn}')) for turn in range(10)
             for verb in ('expand', 'collapse')]
    with provider(*turns) as server:
        answer = week.ask(QUESTION, client(server, week), max_rounds=6)
        assert len(server.requests) <= 7
    assert answer.status in (QueryStatus.LIMIT, QueryStatus.NOT_RECORDED)


def test_trouble_on_the_way_that_passes(week: Household) -> None:
    """A failing provider, a cut connection, an empty reply, and then the answer."""
    with provider(Behaviour('oops', 500), Behaviour(LOOK), Behaviour(LOOK, cut=50), Behaviour(''),
                  Behaviour(ANSWER)) as server:
        answer = week.ask(QUESTION, client(server, week))
        assert len(server.requests) == 5
    assert (answer.status, answer.answer) == (QueryStatus.ANSWERED, TOLD)
    # Three replies were counted by the provider, the empty one too.
    assert (answer.prompt_tokens, answer.completion_tokens) == (33, 9)
    assert outcomes(week) == ['PassingError', 'ok', 'PassingError', 'ModelReplyError', 'ok']


def test_cancel_within_a_call(week: Household) -> None:
    cancel, canceled = threading.Event(), list[float]()
    with provider(Behaviour(LOOK), Behaviour(hang=True)) as server:
        def cancel_when_asked() -> None:
            while len(server.requests) < 2 and not server.closing.wait(0.01):
                pass
            canceled.append(time.monotonic())
            cancel.set()

        thread = threading.Thread(target=cancel_when_asked)
        thread.start()
        answer = week.ask(QUESTION, client(server, week), cancel=cancel)
        assert time.monotonic() - canceled[0] < SOON_S
        thread.join()
        assert len(server.requests) == 2
    assert answer.status is QueryStatus.CANCELED
    assert outcomes(week) == ['ok', 'ModelCanceledError']


def test_counts_that_cannot_be_do_not_end_a_question(week: Household) -> None:
    absurd = {'prompt_tokens': 10**12, 'completion_tokens': -1, 'total_tokens': 10**12}
    with provider(Behaviour(LOOK, usage=absurd), Behaviour(ANSWER, usage=None)) as server:
        answer = week.ask(QUESTION, client(server, week))
    assert answer.status is QueryStatus.ANSWERED
    assert 500 < answer.prompt_tokens < 10_000
