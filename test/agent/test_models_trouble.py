"""What a provider can do to a call beyond failing: refuse, flood, redirect, miscount, quote."""

from __future__ import annotations

import gzip
import json
import logging
import socket
import threading
import time
from typing import Any

from fake_provider import COUNTED, Behaviour, Provider, provider
from limits import SOON_S
import pytest

from emv_ros.agent.models import ModelClient, Reply, client as client_module, wire
from emv_ros.errors import (
    ModelError,
    ModelPromptTooLongError,
    ModelReplyError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from emv_ros.records import ModelCall
from emv_ros.settings import ModelSettings

pytest.importorskip('litellm')
KEY = 'sk-test-0123456789abcdef'
PROMPT = 'user said "the code of the safe is 4711"'
ESTIMATE = 12  # of 40 bytes, at 3.5 bytes a token
BUSY = (('Retry-After', '3600'),)


@pytest.fixture(autouse=True, scope='module')
def _loaded() -> None:
    """Import litellm once, so that no test's limit has to bear it."""
    with provider(Behaviour('ok')) as server:
        ask(client(server, api_key_env=''))


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('EMV_TEST_KEY', KEY)


def client(server: Provider | str, calls: list[ModelCall] | None = None,
           **settings: Any) -> ModelClient:
    address = server if isinstance(server, str) else server.address
    values = {'model': 'openai/fake', 'api_base': address, 'api_key_env': 'EMV_TEST_KEY',
              'deadline_s': 30.0, 'retry_wait_s': 0.05, 'retries': 2, **settings}
    return ModelClient(ModelSettings(**values), None if calls is None else calls.append)


def ask(model: ModelClient, **options: Any) -> Reply:
    return model.complete([{'role': 'user', 'content': PROMPT}],
                          **{'purpose': 'agent', 'max_tokens': 20, **options})


def error_body(message: str, code: str) -> bytes:
    return json.dumps({'error': {'message': message, 'code': code}}).encode()


TOO_LONG = error_body("This model's maximum context length is 4096 tokens.",
                      'context_length_exceeded')
FILTERED = error_body('The prompt triggered our content management policy.', 'content_filter')
TOOL = {'role': 'assistant', 'content': None, 'tool_calls': [
    {'id': 'a', 'type': 'function', 'function': {'name': 'answer', 'arguments': '{}'}}]}


@pytest.mark.parametrize(('behaviour', 'kind', 'told', 'tries'), [
    (Behaviour(f'bad {KEY}', 401), ModelUnavailableError, r'refuses the key \(HTTP 401\)', 1),
    (Behaviour('forbidden', 403), ModelUnavailableError, 'refuses the key', 1),
    (Behaviour('pay', 402), ModelUnavailableError, 'account is used up', 1),
    (Behaviour('You exceeded your current quota', 429), ModelUnavailableError,
     'account is used up', 1),
    (Behaviour('no such model', 404), ModelUnavailableError, 'no such model or address', 1),
    (Behaviour('moved', 301, (('Location', '/v2'),)), ModelUnavailableError, 'model.api_base', 1),
    (Behaviour('too big', 413), ModelPromptTooLongError, 'too long', 1),
    (Behaviour(raw=TOO_LONG, status=400), ModelPromptTooLongError, 'length is 4096', 1),
    (Behaviour(raw=FILTERED, status=400), ModelReplyError, 'filter held the reply back', 1),
    (Behaviour('Talk', finish='content_filter'), ModelReplyError, 'filter held', 1),
    (Behaviour(None), ModelReplyError, 'is empty', 1),
    (Behaviour(message=TOOL, finish='tool_calls'), ModelReplyError, 'calls a tool', 1),
    (Behaviour(raw=b'{"error": {"message": "no", "code": 503}}'), ModelUnavailableError,
     '503.*3 tries', 3),
    (Behaviour(raw=b'<html>log in</html>'), ModelUnavailableError, 'no reply of its protocol', 3),
    (Behaviour(raw=b''), ModelUnavailableError, 'no reply of its protocol', 3),
    (Behaviour(raw=b'[]'), ModelUnavailableError, 'no reply of its protocol', 3),
    (Behaviour(raw=b'{"id": "caf\xe9 \xff"}'), ModelUnavailableError, 'no reply of its prot', 3),
    (Behaviour(raw=b'data: {"choices": []}\n\ndata: [DONE]\n\n'), ModelUnavailableError,
     'no reply of its protocol', 3),
    (Behaviour('a reply that is cut off', cut=40), ModelUnavailableError, 'broke off', 3),
    (Behaviour('overloaded', 529), ModelUnavailableError, 'overloaded', 3),
])
def test_what_is_told_of_a_failure(behaviour: Behaviour, kind: type[ModelError], told: str,
                                   tries: int) -> None:
    calls: list[ModelCall] = []
    with provider(behaviour) as server:
        with pytest.raises(kind, match=told) as caught:
            ask(client(server, calls))
        assert len(server.requests) == len(calls) == tries
    assert KEY not in str(caught.value) and 'Traceback' not in str(caught.value)
    assert all(call.outcome != 'ok' and call.detail for call in calls)


@pytest.mark.parametrize(('address', 'told'), [
    ('http://no-such-host.invalid/v1', 'no server answers.*(Name|name|address)'),
    ('https://127.0.0.1:{tls}/v1', 'no server answers.*SSL'),
    ('http://127.0.0.1:{closed}/v1', 'no server answers.*refused')])
def test_no_server(address: str, told: str) -> None:
    with provider() as server, socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        model = client(address.format(tls=server.address.rpartition(':')[2],
                                      closed=free.getsockname()[1]))
        began = time.monotonic()
        with pytest.raises(ModelUnavailableError, match=told):
            ask(model)
        assert time.monotonic() - began < SOON_S
        assert server.requests == []


@pytest.mark.parametrize('retries', [0, 1, 3])
def test_a_storm_of_429_makes_no_more_tries_than_the_settings_allow(retries: int) -> None:
    calls: list[ModelCall] = []
    with provider(Behaviour('slow down', 429, BUSY)) as server:
        with pytest.raises(ModelUnavailableError, match='slow down'):
            ask(client(server, calls, retries=retries))
        assert len(server.requests) == retries + 1
    assert [(call.outcome, call.prompt_tokens) for call in calls] == [
        ('PassingError', 0)] * (retries + 1)


@pytest.mark.parametrize(('wait', 'least', 'most'), [
    ('3600', 3590, 3600), ('1e9', 3590, 3600), ('inf', 3590, 3600), ('nan', 0, 0), ('-5', 0, 0),
    ('Wed, 21 Oct 2099 07:28:00 GMT', 0, 0)])
def test_told_to_wait_summaries_wait_and_questions_do_not(
        wait: str, least: float, most: float) -> None:
    busy = Behaviour('slow down', 429, (('Retry-After', wait),))
    with provider(busy, Behaviour('here')) as server:
        model = client(server, retries=0)
        with pytest.raises(ModelUnavailableError, match='slow down'):
            ask(model, purpose='summary')
        reason = model.why_unavailable('summary')
        if most:
            left_s = float(reason.rpartition('asked again in ')[2].removesuffix(' s'))
            assert least <= left_s <= most
            with pytest.raises(ModelUnavailableError, match='asked again in'):
                ask(model, purpose='summary')
            assert len(server.requests) == 1
        assert model.available
        assert ask(model).text == 'here'
        assert model.is_available('summary')  # it answers again


def test_a_refused_key_is_tried_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic
    with provider(Behaviour('no', 401), Behaviour('here')) as server:
        model = client(server)
        with pytest.raises(ModelUnavailableError):
            ask(model, purpose='summary')
        assert 'refuses the key' in model.why_unavailable('summary')
        monkeypatch.setattr(client_module.time, 'monotonic', lambda: now() + 601)
        assert ask(model, purpose='summary').text == 'here'


def test_a_summary_model_needs_no_model_for_questions() -> None:
    model = client('http://127.0.0.1:1', model='none', summary_model='openai/small')
    assert (model.is_available('summary'), model.available) == (True, False)


@pytest.mark.parametrize('usage', [
    None, {'prompt_tokens': None, 'completion_tokens': None, 'total_tokens': None},
    {'prompt_tokens': -5, 'completion_tokens': -3, 'total_tokens': -8},
    {'prompt_tokens': 0, 'completion_tokens': 0, 'total_tokens': 0},
    {'prompt_tokens': 10**30, 'completion_tokens': 10**18, 'total_tokens': 10**30}],
    ids=['none', 'null', 'negative', 'zero', 'absurd'])
def test_tokens_that_were_not_counted_are_estimated_and_marked(usage: Any) -> None:
    calls: list[ModelCall] = []
    with provider(Behaviour('on the table', usage=usage)) as server:
        reply = ask(client(server, calls))
    assert (reply.prompt_tokens, reply.completion_tokens, reply.is_estimated) == (ESTIMATE, 4, True)
    assert (calls[0].prompt_tokens, calls[0].completion_tokens) == (ESTIMATE, 4)
    assert (calls[0].outcome, calls[0].detail) == ('ok', 'tokens estimated')


def test_one_count_that_is_right_stands() -> None:
    with provider(Behaviour('on the table', usage={**COUNTED, 'completion_tokens': -3})) as server:
        reply = ask(client(server))
    assert (reply.prompt_tokens, reply.completion_tokens, reply.is_estimated) == (11, 4, True)


def test_what_a_useless_reply_cost_is_counted() -> None:
    calls: list[ModelCall] = []
    with provider(Behaviour(None)) as server, pytest.raises(ModelReplyError) as caught:
        ask(client(server, calls))
    assert (caught.value.prompt_tokens, caught.value.completion_tokens) == (11, 3)
    assert [(call.prompt_tokens, call.completion_tokens) for call in calls] == [(11, 3)]


@pytest.mark.parametrize(('behaviour', 'outcome', 'tokens'), [
    (Behaviour(hang=True), 'ModelTimeoutError', ESTIMATE),
    (Behaviour('a reply that is cut off', cut=40), 'PassingError', ESTIMATE),
    (Behaviour(raw=b'<html>'), 'PassingError', ESTIMATE),
    (Behaviour('oops', 500), 'PassingError', 0), (Behaviour('no', 401), 'RefusedError', 0)])
def test_what_a_provider_may_charge_for_a_failed_call_is_counted(
        behaviour: Behaviour, outcome: str, tokens: int) -> None:
    calls: list[ModelCall] = []
    with provider(behaviour) as server, pytest.raises(ModelError):
        ask(client(server, calls, retries=0), deadline_s=0.6 if behaviour.hang else 20.0)
    assert [(call.outcome, call.prompt_tokens) for call in calls] == [(outcome, tokens)]
    assert ('tokens estimated' in calls[0].detail) == bool(tokens)


def test_a_price_that_litellm_knows_goes_by_the_estimate() -> None:
    calls: list[ModelCall] = []
    with provider(Behaviour('on the table', usage=None)) as server:
        cost = ask(client(server, calls, model='openai/gpt-4o')).cost
    assert cost == calls[0].cost == pytest.approx(ESTIMATE * 2.5e-6 + 4 * 1e-5)


def test_a_reply_of_100_mb_is_left_where_it_is() -> None:
    with provider(Behaviour(flood=100_000_000)) as server:
        with pytest.raises(ModelReplyError, match='larger than'):
            ask(client(server))
        # Read to the limit, and what the sockets hold.
        assert wire.MAX_REPLY_BYTES <= server.sent < wire.MAX_REPLY_BYTES + 12 * 2**20
        assert len(server.requests) == 1


def test_a_small_reply_that_unpacks_to_a_large_one_is_refused() -> None:
    bomb = gzip.compress(b' ' * 3 * wire.MAX_REPLY_BYTES)
    with provider(Behaviour(raw=bomb, headers=(('Content-Encoding', 'gzip'),))) as server, \
            pytest.raises(ModelReplyError, match='larger than'):
        ask(client(server))
    assert len(bomb) < 100_000


def test_a_packed_reply_is_unpacked() -> None:
    plain = b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": "here"}}]}'
    with provider(Behaviour(raw=gzip.compress(plain),
                            headers=(('Content-Encoding', 'gzip'),))) as server:
        assert ask(client(server)).text == 'here'


@pytest.mark.parametrize('status', [301, 302, 303, 307, 308])
def test_prompts_follow_no_redirect(status: int) -> None:
    with provider(Behaviour('mine now')) as other:
        there = (('Location', f'{other.address}/chat/completions'),)
        with provider(Behaviour('', status, there)) as server, \
                pytest.raises(ModelUnavailableError, match='leads to another'):
            ask(client(server))
        assert other.requests == []


def test_this_machine_is_asked_without_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with provider(Behaviour('from the proxy')) as other, provider(Behaviour('direct')) as server:
        for name in ('HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'):
            monkeypatch.setenv(name, other.address)
            monkeypatch.setenv(name.lower(), other.address)
        assert ask(client(server)).text == 'direct'
        assert other.requests == []
        assert wire.proxy_for('https', 'models.example.org') == other.address
        monkeypatch.setenv('no_proxy', 'example.org')
        assert wire.proxy_for('https', 'models.example.org') == ''
        monkeypatch.setenv('https_proxy', 'proxy:3128')
        assert wire.proxy_for('https', 'models.example.com') == 'http://proxy:3128'


def test_a_remote_provider_is_asked_by_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with provider(Behaviour('from the proxy')) as other:
        monkeypatch.setenv('http_proxy', other.address)
        monkeypatch.delenv('no_proxy', raising=False)
        assert ask(client('http://models.invalid/v1')).text == 'from the proxy'


def test_a_server_that_the_environment_names_is_not_asked(
        monkeypatch: pytest.MonkeyPatch) -> None:
    with provider(Behaviour('hello')) as other:
        monkeypatch.setenv('OPENAI_BASE_URL', other.address)
        monkeypatch.setenv('OPENAI_API_BASE', other.address)
        monkeypatch.setattr(client_module, 'OPENAI_ADDRESS', 'http://127.0.0.1:1')
        with pytest.raises(ModelUnavailableError, match='no server answers'):
            ask(client(''))
        assert other.requests == []


def test_a_late_reply_is_nobody_elses() -> None:
    over = threading.Event()
    with provider(Behaviour('the old one', hold=over), Behaviour('the new one')) as server:
        model = client(server)
        with pytest.raises(ModelTimeoutError):
            ask(model, deadline_s=0.6)
        over.set()
        assert [ask(model).text for _ in range(2)] == ['the new one'] * 2


@pytest.mark.parametrize('jump_s', [-7200.0, 4e8], ids=['back', 'years ahead'])
def test_the_clock_changes_during_a_call(jump_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, clock_ns, calls = time.time, time.time_ns, list[ModelCall]()
    began_ns = clock_ns()

    def jump(request: Any) -> str:
        monkeypatch.setattr(time, 'time', lambda: clock() + jump_s)
        monkeypatch.setattr(time, 'time_ns', lambda: clock_ns() + int(jump_s * 1e9))
        return 'here'

    with provider(Behaviour(jump)) as server:
        reply = ask(client(server, calls), deadline_s=20.0)
    assert reply.text == 'here' and 0 < reply.duration_s < 20
    assert 0 < calls[0].duration_s < 20
    assert began_ns <= calls[0].stamp_ns <= clock_ns()


@pytest.mark.parametrize('quote', [
    PROMPT, json.dumps(PROMPT), json.dumps(json.dumps(PROMPT)), PROMPT.replace(' ', '\n'),
    f'{PROMPT[:30]}...'])
def test_what_a_provider_quotes_of_a_prompt_is_told_nowhere(
        quote: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    calls: list[ModelCall] = []
    with provider(Behaviour(f'cannot read: {quote} (end)', 500),
                  Behaviour(f'refused: {quote}', 400)) as server, \
            pytest.raises(ModelError) as caught:
        ask(client(server, calls))
    logged = [record.getMessage() for record in caplog.records]
    for text in (str(caught.value), *(call.detail for call in calls), *logged):
        assert 'the code of' not in text and '4711' not in text and KEY not in text, text
    assert [call.outcome for call in calls] == ['PassingError', 'ModelError']
    assert calls[0].detail.startswith('openai/fake: cannot read: ') and '…' in calls[0].detail


def test_text_that_no_database_holds_is_left_out() -> None:
    with provider(Behaviour('a\x00b\x1b[2Jc\ud800d\te\nf\u00e9')) as server:
        assert ask(client(server)).text == 'ab[2Jcd\te\nf\u00e9'
    with provider(Behaviour('\x00\ud800')) as server, pytest.raises(ModelReplyError):
        ask(client(server))
