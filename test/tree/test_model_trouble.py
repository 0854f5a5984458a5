"""A whole consolidation against a provider in trouble, over real HTTP, and what comes after it.

Two small lives of twelve spoken words each. Where pauses make the groups, they are two episodes of
five and one of two below one day: four texts to write, a call each. Where the model makes them, it
gets one list of twelve; where it fails at that, the pauses make two groups of six below the day.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
import json
import logging
from pathlib import Path
import shutil
import socket
import threading
import time
from typing import Any

from fake_provider import Behaviour, Provider, Request, provider
from life_parts import SETTINGS, check_whole, is_plain, listed, open_memory, say
from limits import SOON_S
import pytest
from sqlalchemy import select

from emv_ros.agent.models import ModelClient
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import ModelSettings
from emv_ros.tree.consolidate import ConsolidationReport, consolidate

pytest.importorskip('litellm')
KEY = 'sk-test-0123456789abcdef'
SECRET = 'xyzzy'  # the first of the words said
WORDS = (SECRET, 'lantern', 'pebble', 'harbour', 'cricket', 'velvet', 'meadow', 'copper', 'thimble',
         'walnut', 'saddle', 'feather')
# What a reply may bring that no record says, or no summary should show.
STRANGE = ('And then', 'Bob', 'sorry', 'cannot', '```', '{', '[1', '"groups"', 'Records:', 'Sum up',
           'umbrella', 'Reply with', '\x1b', '\x00', '\ud800')
DEADLINE_S = 0.6


@pytest.fixture(autouse=True, scope='module')
def _loaded() -> None:
    """Import litellm once, so that no deadline has to bear it."""
    with provider(Behaviour('ok')) as server:
        client(server, deadline_s=60.0, api_key_env='').complete(
            [{'role': 'user', 'content': 'hello'}], purpose='summary', max_tokens=5)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('EMV_TEST_KEY', KEY)


@pytest.fixture(scope='module')
def memories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with both lives, not consolidated: a copy is quicker than a new memory."""
    folder = tmp_path_factory.mktemp('lives')
    with open_memory(folder / 'paused') as memory:
        memory.add_many([*(say(n * 10, WORDS[n]) for n in range(10)), say(2000, WORDS[10]),
                         say(2010, WORDS[11])])
    with open_memory(folder / 'listed') as memory:
        memory.add_many([say(n * 10, word) for n, word in enumerate(WORDS)])
    return folder


@pytest.fixture
def paused(memories: Path, tmp_path: Path) -> Iterator[MemoryStore]:
    """Yield a memory whose groups are made by pauses: 5, 5 and 2."""
    shutil.copytree(memories / 'paused', tmp_path / 'memory')
    with open_memory(tmp_path / 'memory') as memory:
        yield memory


@pytest.fixture
def listed_whole(memories: Path, tmp_path: Path) -> Iterator[MemoryStore]:
    """Yield a memory whose twelve words make one list for the model."""
    shutil.copytree(memories / 'listed', tmp_path / 'memory')
    with open_memory(tmp_path / 'memory') as memory:
        yield memory


def client(server: Provider | str, store: MemoryStore | None = None,
           **settings: Any) -> ModelClient:
    address = server if isinstance(server, str) else server.address
    values = {'model': 'openai/fake', 'api_base': address, 'api_key_env': 'EMV_TEST_KEY',
              'deadline_s': 20.0, 'retry_wait_s': 0.05, 'retries': 2, **settings}
    return ModelClient(ModelSettings(**values), store.log_call if store else None)


def run(store: MemoryStore, model: ModelClient, groups: bool = False,
        cancel: threading.Event | None = None) -> ConsolidationReport:
    return consolidate(store, replace(SETTINGS, model_groups=groups), model=model, cancel=cancel)


def sound(request: Request) -> str:
    """Reply as a good model does, in words of what is listed."""
    messages = request['messages']
    lines = listed(messages)
    if is_plain(messages):
        return f'Talk about {lines[0].split()[-1]}.'
    return json.dumps({'groups': [
        {'first': start, 'last': start + 2, 'summary': f'Talk of {lines[start - 1].split()[-1]}.'}
        for start in range(1, len(lines), 3)]})


def upper(store: MemoryStore) -> list[schema.NodeRow]:
    with store.reading() as session:
        return list(session.scalars(select(schema.NodeRow).where(schema.NodeRow.level >= 4)
                                    .order_by(schema.NodeRow.start_ns, schema.NodeRow.level)))


def makers(store: MemoryStore) -> list[str]:
    return [node.made_by for node in upper(store)]


def outcomes(store: MemoryStore) -> list[str]:
    with store.reading() as session:
        return list(session.scalars(
            select(schema.ModelCallRow.outcome).order_by(schema.ModelCallRow.id)))


def check_sound(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    """Fail unless the tree is whole, nothing is invented, and nothing private is told."""
    check_whole(store)
    for node in upper(store):
        assert node.summary, node
        assert not [word for word in STRANGE if word in node.summary], node.summary
        assert 0 <= node.prompt_tokens < 10_000 and 0 <= node.completion_tokens < 10_000
    with store.reading() as session:
        kept = ' '.join(session.scalars(select(schema.ModelCallRow.detail)))
    told = ' '.join(record.getMessage() for record in caplog.records
                    if record.name.startswith('emv_ros'))
    for secret in (KEY, SECRET):
        assert secret not in kept, kept
        assert secret not in told, told


def check_upgrade(store: MemoryStore, groups: bool, answered: Sequence[Request]) -> None:
    """Have a sound provider write what is left: each text once, and nothing that stands."""
    left = makers(store).count('calendar')
    with provider(Behaviour(sound)) as server:
        report = run(store, client(server, store), groups)
        assert report.fallbacks == 0
        if not groups:
            assert len(server.requests) == left
        asked = [json.dumps(request['messages']) for request in [*answered, *server.requests]]
        assert len(asked) == len(set(asked))
        assert set(makers(store)) <= {'model', 'rule'}
        done = len(server.requests)
        run(store, client(server, store), groups)
        assert len(server.requests) == done
    check_whole(store)


@dataclass(frozen=True)
class Trouble:
    """What a provider does, and what comes of it where pauses make the groups.

    `calls` that reach it, the `outcome` of each, who `made` the four texts.
    """

    name: str
    behaviour: Behaviour
    calls: int
    outcome: str
    made: str = 'calendar'


BUSY = (('Retry-After', '3600'),)
# Not to be reached: the whole consolidation stops asking (after three that were too slow), and a
# later one makes up for it.
AWAY = [
    Trouble('never answers', Behaviour(hang=True), 3, 'ModelTimeoutError'),
    Trouble('one byte a second', Behaviour(drip_s=1.0), 3, 'ModelTimeoutError'),
    Trouble('429, an hour', Behaviour('slow down', 429, BUSY), 3, 'PassingError'),
    Trouble('500', Behaviour('oops', 500), 3, 'PassingError'),
    Trouble('500 that quotes the prompt', Behaviour(
        lambda request: f'cannot do {json.dumps(request["messages"][-1])}', 500), 3,
        'PassingError'),
    Trouble('closes in the middle', Behaviour('Talk about it.', cut=60), 3, 'PassingError'),
    Trouble('401 with the key', Behaviour(f'bad key {KEY}', 401), 1, 'RefusedError'),
    Trouble('404', Behaviour('no model of that name', 404), 1, 'RefusedError'),
    Trouble('quota', Behaviour('You exceeded your current quota', 429), 1, 'RefusedError'),
    Trouble('redirect', Behaviour('over there', 307, (('Location', '/v2'),)), 1, 'RefusedError'),
    Trouble('an error with status 200', Behaviour(
        raw=b'{"error": {"message": "overloaded"}}'), 1, 'ModelError'),
    Trouble('a page', Behaviour(raw=b'<html>log in</html>'), 3, 'PassingError'),
    Trouble('not UTF-8', Behaviour(raw=b'{"choices": "caf\xe9 \xff"}'), 3, 'PassingError'),
    Trouble('a stream nobody asked for', Behaviour(
        raw=b'data: {"choices": [{"delta": {"content": "Talk"}}]}\n\ndata: [DONE]\n\n'), 3,
        'PassingError'),
    Trouble('refuses a parameter', Behaviour('no such parameter', 400), 1, 'ModelError'),
]
# Answers that cannot be used, the same each time: a second try, a third without the words that were
# refused where there are such words, then the template for good.
WRONG = [
    Trouble('{}', Behaviour('{}'), 8, 'ok', 'rule'),
    Trouble('a list', Behaviour('[1, 2]'), 12, 'ok', 'rule'),
    Trouble('the prompt echoed', Behaviour(
        lambda request: request['messages'][-1]['content']), 12, 'ok', 'rule'),
    Trouble('all of the prompt echoed', Behaviour(
        lambda request: '\n'.join(m['content'] for m in request['messages'])), 12, 'ok', 'rule'),
    Trouble('a refusal', Behaviour("I'm sorry, I cannot help with that."), 8, 'ok', 'rule'),
    Trouble('a name in no child', Behaviour(
        lambda request: f'They told Bob about {listed(request["messages"])[0].split()[-1]}.'),
        12, 'ok', 'rule'),
    Trouble('too long', Behaviour(
        lambda request: f'{listed(request["messages"])[0].split()[-1]} ' * 200), 8, 'ok', 'rule'),
    Trouble('only a comment', Behaviour('# thinking'), 8, 'ok', 'rule'),
    Trouble("an unterminated '''", Behaviour("answer('''the mug"), 12, 'ok', 'rule'),
    Trouble('empty', Behaviour(''), 8, 'ModelReplyError', 'rule'),
    Trouble('content null', Behaviour(None), 8, 'ModelReplyError', 'rule'),
    Trouble('a tool call', Behaviour(finish='tool_calls', message={
        'role': 'assistant', 'content': None, 'tool_calls': [
            {'id': 'a', 'type': 'function', 'function': {'name': 'answer', 'arguments': '{}'}}]}),
        8, 'ModelReplyError', 'rule'),
    Trouble('filtered', Behaviour('Talk about', finish='content_filter'), 8, 'ModelReplyError',
            'rule'),
    Trouble('filtered before', Behaviour(
        'content_filter: the prompt triggered our policy', 400), 8, 'ModelReplyError', 'rule'),
]
# Odd, and good all the same.
GOOD = [
    Trouble('sound', Behaviour(sound), 4, 'ok', 'model'),
    Trouble('cut off', Behaviour(lambda request: f'{sound(request)} And then the robot said',
                                 finish='length'), 4, 'ok', 'model'),
    Trouble('in a fence', Behaviour(lambda request: f'```\n{sound(request)}\n```'), 4, 'ok',
            'model'),
    Trouble('no usage', Behaviour(sound, usage=None), 4, 'ok', 'model'),
    Trouble('negative usage', Behaviour(sound, usage={
        'prompt_tokens': -5, 'completion_tokens': -3, 'total_tokens': -8}), 4, 'ok', 'model'),
    Trouble('absurd usage', Behaviour(sound, usage={
        'prompt_tokens': 10**30, 'completion_tokens': 10**18, 'total_tokens': 10**30}), 4, 'ok',
        'model'),
    Trouble('what no database holds', Behaviour(
        lambda request: f'\x00\x1b{sound(request)}\x07\ud800'), 4, 'ok', 'model'),
]


def _named(troubles: Sequence[Trouble]) -> Any:
    return pytest.mark.parametrize('trouble', troubles, ids=lambda trouble: trouble.name)


@_named(AWAY + WRONG + GOOD)
def test_texts_of_groups_made_by_pauses(paused: MemoryStore, trouble: Trouble,
                                        caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, 'emv_ros')
    with provider(trouble.behaviour) as server:
        began = time.monotonic()
        report = run(paused, client(server, paused, deadline_s=DEADLINE_S
                                    if trouble.outcome == 'ModelTimeoutError' else 20.0))
        assert time.monotonic() - began < 3 * DEADLINE_S + SOON_S
        assert len(server.requests) == trouble.calls
        answered = server.requests if trouble.made == 'model' else []
    assert makers(paused) == [trouble.made] * 4
    assert report.fallbacks == (4 if trouble.made == 'rule' else 0)
    assert outcomes(paused) == [trouble.outcome] * trouble.calls
    check_sound(paused, caplog)
    check_upgrade(paused, False, answered)


def with_lists(reply: Any, plain: Any = sound) -> Any:
    """Return a behaviour that replies so to lists, and otherwise to prompts in plain words."""
    return lambda request: Behaviour(
        (plain if is_plain(request['messages']) else reply), finish='stop')


def ranges(*pairs: tuple[int, int]) -> str:
    return json.dumps({'groups': [
        {'first': first, 'last': last, 'summary': 'Words were said.'} for first, last in pairs]})


def inventive(request: Request) -> str:
    return sound(request).replace('Talk of', 'They told Bob of')


SORRY = "I'm sorry, I cannot help with that."
# Good groups of three below the day, in whatever wrapping: the list and the day, a call each.
WRAPPED = {
    'plain': sound,
    'in a fence': lambda request: f'```json\n{sound(request)}\n```',
    'two fences': lambda request: f'```json\n{sound(request)}\n```\nor\n```\n{{}}\n```',
    'another fence first': lambda request: f'As\n```\nx: 1\n```\n```json\n{sound(request)}\n```',
    'prose around': lambda request: f'Here [as asked] it is: {sound(request)} Hope it {{helps}}!',
    'a newline in a string': lambda request: sound(request).replace('Talk of', 'Talk\nof'),
    'a trailing comma': lambda request: sound(request).replace('}]}', '},]}'),
    'a list alone': lambda request: json.dumps(json.loads(sound(request))['groups']),
}
# No groups to be had: two tries, then the groups by pauses one by one, and the day.
NO_GROUPS = {
    'cut off': lambda request: sound(request)[:60],
    '{}': lambda request: '{}',
    'an empty list': lambda request: '[]',
    'numbers': lambda request: '[1, 2]',
    'overlap': lambda request: ranges((1, 7), (6, 12)),
    'backwards': lambda request: ranges((6, 1), (7, 12)),
    'in the wrong order': lambda request: ranges((7, 12), (1, 6)),
    'a gap': lambda request: ranges((1, 5), (8, 12)),
    'past the end': lambda request: ranges((1, 6), (7, 99)),
    'from zero': lambda request: ranges((0, 5), (6, 11)),
    'far too many': lambda request: ranges(*((n, n) for n in range(1, 4000))),
    'the prompt echoed': lambda request: request['messages'][1]['content'],
    'a refusal': lambda request: SORRY,
    'empty': lambda request: '',
    'huge numbers': lambda request: ranges((1, 10**40)),
    'deep nesting': lambda request: '[' * 5000,
    "an unterminated '''": lambda request: "{'groups': '''all",
}


@pytest.mark.parametrize('name', WRAPPED)
def test_groups_by_the_model_in_all_wrappings(listed_whole: MemoryStore, name: str,
                                              caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, 'emv_ros')
    with provider(with_lists(WRAPPED[name])) as server:
        report = run(listed_whole, client(server, listed_whole), groups=True)
        assert [len(listed(request['messages'])) for request in server.requests] == [12, 4]
        answered = server.requests
    assert (report.fallbacks, makers(listed_whole)) == (0, ['model'] * 5)
    assert [node.summary for node in upper(listed_whole) if node.level == 4] == [
        f'Talk of "{WORDS[start]}".' for start in (0, 3, 6, 9)]
    check_sound(listed_whole, caplog)
    check_upgrade(listed_whole, True, answered)


@pytest.mark.parametrize('name', NO_GROUPS)
def test_no_groups_by_the_model(listed_whole: MemoryStore, name: str,
                                caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, 'emv_ros')
    with provider(with_lists(NO_GROUPS[name])) as server:
        report = run(listed_whole, client(server, listed_whole), groups=True)
        assert [len(listed(request['messages'])) for request in server.requests] == [
            12, 12, 6, 6, 2]
        answered = server.requests
    assert (report.fallbacks, makers(listed_whole)) == (0, ['model'] * 3)
    check_sound(listed_whole, caplog)
    check_upgrade(listed_whole, True, answered)


def test_good_groups_with_a_name_in_no_child(listed_whole: MemoryStore,
                                             caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, 'emv_ros')
    with provider(with_lists(inventive)) as server:
        run(listed_whole, client(server, listed_whole), groups=True)
        # The groups stand; each is summarised alone.
        assert [len(listed(request['messages'])) for request in server.requests] == [
            12, 12, 3, 3, 3, 3, 4]
    assert makers(listed_whole) == ['model'] * 5
    check_sound(listed_whole, caplog)


@pytest.mark.parametrize(('behaviour', 'calls', 'outcome', 'made'), [
    (Behaviour(hang=True), 2, 'ModelTimeoutError', 'calendar'),
    (Behaviour('slow down', 429, BUSY), 3, 'PassingError', 'calendar'),
    (Behaviour('{"groups": [', cut=60), 3, 'PassingError', 'calendar'),
    (Behaviour('no', 401), 1, 'RefusedError', 'calendar'),
    (Behaviour(SORRY), 8, 'ok', 'rule'), (Behaviour(None), 8, 'ModelReplyError', 'rule')],
    ids=['never answers', '429', 'closes in the middle', 'bad key', 'a refusal', 'null'])
def test_groups_by_a_model_that_never_serves(
        listed_whole: MemoryStore, behaviour: Behaviour, calls: int, outcome: str, made: str,
        caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, 'emv_ros')
    with provider(behaviour) as server:
        run(listed_whole, client(server, listed_whole,
                                 deadline_s=DEADLINE_S if behaviour.hang else 20.0), groups=True)
        assert len(server.requests) == calls
    assert outcomes(listed_whole) == [outcome] * calls
    assert makers(listed_whole) == [made] * 3
    check_sound(listed_whole, caplog)
    check_upgrade(listed_whole, True, [])


@pytest.mark.parametrize('groups', [False, True])
@pytest.mark.parametrize('address', ['http://no-such-host.invalid/v1', 'http://127.0.0.1:{}/v1'],
                         ids=['no such name', 'refused'])
def test_nobody_there(paused: MemoryStore, address: str, groups: bool,
                      caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, 'emv_ros')
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        began = time.monotonic()
        run(paused, client(address.format(free.getsockname()[1]), paused), groups)
        assert time.monotonic() - began < SOON_S
    assert outcomes(paused) == ['ModelUnavailableError']
    assert set(makers(paused)) == {'calendar'}
    check_sound(paused, caplog)
    check_upgrade(paused, groups, [])


@pytest.mark.parametrize('groups', [False, True])
def test_cancel_within_a_call(paused: MemoryStore, groups: bool) -> None:
    cancel, canceled = threading.Event(), list[float]()
    with provider(Behaviour(hang=True)) as server:
        def cancel_when_asked() -> None:
            server.arrived.wait(30)
            canceled.append(time.monotonic())
            cancel.set()

        thread = threading.Thread(target=cancel_when_asked)
        thread.start()
        report = run(paused, client(server, paused), groups, cancel)
        assert time.monotonic() - canceled[0] < SOON_S
        thread.join()
        assert (report.canceled, len(server.requests)) == (True, 1)
    assert outcomes(paused) == ['ModelCanceledError']
    check_whole(paused)
    check_upgrade(paused, groups, [])


def test_a_prompt_that_is_refused_costs_its_own_text_alone(
        paused: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    """A filter that a word sets off, and a context too short for one prompt."""
    def touchy(request: Request) -> Behaviour:
        asked = listed(request['messages'])
        if any(WORDS[0] in line for line in asked) and len(asked) == 5:
            return Behaviour('content_filter: the prompt triggered our policy', 400)
        if any(WORDS[5] in line for line in asked) and len(asked) == 5:
            return Behaviour('maximum context length is 4096 tokens', 400)
        return Behaviour(sound)

    caplog.set_level(logging.DEBUG, 'emv_ros')
    with provider(touchy) as server:
        run(paused, client(server, paused))
        assert len(server.requests) <= 2 + 3 + 1 + 1
        made = {node.start_ns: node.made_by for node in upper(paused) if node.level == 4}
        assert [made[start] for start in sorted(made)] == ['rule', 'rule', 'model']
        # The same prompts would be refused again: they are not sent.
        before = len(server.requests)
        run(paused, client(server, paused))
        assert len(server.requests) == before
    check_sound(paused, caplog)


def test_a_refusing_provider_is_left_alone_for_some_time(paused: MemoryStore) -> None:
    """A node that consolidates each minute does not ask each minute."""
    for behaviour, calls in ((Behaviour('no', 401), 1), (Behaviour('wait', 429, BUSY), 3)):
        with provider(behaviour) as server:
            model = client(server, paused)
            for _ in range(3):
                run(paused, model)
            assert len(server.requests) == calls
            assert 'asked again in' in model.why_unavailable('summary')
    assert makers(paused) == ['calendar'] * 4


def test_a_late_reply_is_no_other_texts(paused: MemoryStore) -> None:
    over = threading.Event()

    def late(request: Request) -> Behaviour:
        if not over.is_set() and len(server.requests) == 1:
            return Behaviour('Talk about walnut.', hold=over)
        over.set()
        return Behaviour(sound)

    with provider(late) as server:
        run(paused, client(server, paused, deadline_s=1.0))
        assert len(server.requests) == 3
    assert [(node.made_by, node.summary) for node in upper(paused) if node.level == 4][1:] == [
        ('model', f'Talk about "{WORDS[5]}".'), ('model', f'Talk about "{WORDS[10]}".')]
    check_upgrade(paused, False, [])
    assert makers(paused) == ['model'] * 4


def test_a_provider_that_fails_half_way(paused: MemoryStore) -> None:
    """What is written stands; what is left is written later, and nothing is asked for twice."""
    with provider(Behaviour(sound), Behaviour(sound), Behaviour('oops', 500)) as server:
        run(paused, client(server, paused))
        answered = server.requests[:2]
        assert len(server.requests) == 5
    assert sorted(makers(paused)) == ['calendar', 'calendar', 'model', 'model']
    check_whole(paused)
    check_upgrade(paused, False, answered)
    assert makers(paused) == ['model'] * 4


def test_failed_calls_count_in_the_budget_of_an_hour(paused: MemoryStore) -> None:
    """Three calls an hour: a reply that cannot be used is one, a provider that is busy is none."""
    settings = replace(SETTINGS, hourly_calls=3)
    with provider(Behaviour('slow down', 429), Behaviour('oops', 500), Behaviour(None),
                  Behaviour(sound)) as server:
        for _ in range(3):
            consolidate(paused, settings, model=client(server, paused))
        assert outcomes(paused) == ['PassingError', 'PassingError', 'ModelReplyError', 'ok', 'ok']
        assert len(server.requests) == 5
    with paused.reading() as session:
        row = schema.ModelCallRow
        assert [tuple(found) for found in session.execute(select(
            row.prompt_tokens, row.completion_tokens).order_by(row.id))] == [
            (0, 0), (0, 0), (11, 3), (11, 3), (11, 3)]


def test_a_model_for_summaries_needs_none_for_questions(paused: MemoryStore) -> None:
    with provider(Behaviour(sound)) as server:
        run(paused, client(server, paused, model='none', summary_model='openai/fake'))
    assert makers(paused) == ['model'] * 4
    with provider(Behaviour(sound)) as server:
        run(paused, client(server, paused, summary_model='none'))
        assert server.requests == []
