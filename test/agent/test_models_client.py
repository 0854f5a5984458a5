"""The client against a provider that hangs, drips, refuses, fails and closes; all on loopback."""

from __future__ import annotations

from collections.abc import Callable
import os
import socket
import threading
import time
from typing import Any

from fake_provider import Behaviour, Provider, provider
from limits import SOON_S
import pytest

from emv_ros.agent.models import ModelClient, Reply, calls as calls_module
from emv_ros.agent.models.calls import Call, Limits
from emv_ros.errors import (
    ModelCanceledError,
    ModelError,
    ModelReplyError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from emv_ros.records import ModelCall
from emv_ros.settings import ModelSettings

pytest.importorskip('litellm')
KEY = 'sk-test-0123456789abcdef'


@pytest.fixture(autouse=True, scope='module')
def _loaded() -> None:
    """Import litellm once, so that no test's limit has to bear it."""
    with provider(Behaviour('ok')) as server:
        ask(client(server))


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('EMV_TEST_KEY', KEY)


def client(server: Provider | str, calls: list[ModelCall] | None = None,
           **settings: Any) -> ModelClient:
    address = server if isinstance(server, str) else server.address
    values = {'model': 'openai/fake', 'api_base': address, 'deadline_s': 30.0,
              'retry_wait_s': 0.2, 'retries': 2, **settings}
    return ModelClient(ModelSettings(**values), None if calls is None else calls.append)


def ask(model: ModelClient, **options: Any) -> Reply:
    return model.complete([{'role': 'user', 'content': 'where is the mug?'}],
                          **{'purpose': 'agent', 'max_tokens': 20, **options})


def test_reply_with_its_counts_is_returned_and_recorded() -> None:
    calls: list[ModelCall] = []
    with provider(Behaviour('on the table')) as server:
        before = time.time_ns()
        reply = ask(client(server, calls), stop=('\n',))
    assert (reply.text, reply.model) == ('on the table', 'openai/fake')
    assert (reply.prompt_tokens, reply.completion_tokens, reply.truncated) == (11, 3, False)
    (call,) = calls
    assert (call.purpose, call.model, call.outcome) == ('agent', 'openai/fake', 'ok')
    assert (call.prompt_tokens, call.completion_tokens) == (11, 3)
    assert before <= call.stamp_ns <= time.time_ns()
    (request,) = server.requests
    assert request['max_tokens'] == 20
    assert request['stop'] == ['\n']
    assert request['temperature'] == 0


@pytest.mark.parametrize('behaviour', [Behaviour(hang=True), Behaviour(drip_s=1.0)],
                         ids=['never answers', 'one byte a second'])
def test_our_deadline_holds(behaviour: Behaviour) -> None:
    calls: list[ModelCall] = []
    with provider(behaviour) as server:
        began = time.monotonic()
        with pytest.raises(ModelTimeoutError, match=r'openai/fake: no answer within 0\.8 s'):
            ask(client(server, calls), deadline_s=0.8)
        assert 0.7 < time.monotonic() - began < SOON_S
        assert len(server.requests) == 1
    assert [call.outcome for call in calls] == ['ModelTimeoutError']


def test_cancel_returns_at_once_and_calls_no_more() -> None:
    cancel = threading.Event()
    with provider(Behaviour(hang=True)) as server:
        model = client(server)
        canceled: list[float] = []

        def cancel_when_asked() -> None:
            server.arrived.wait(10)
            canceled.append(time.monotonic())
            cancel.set()

        thread = threading.Thread(target=cancel_when_asked)
        thread.start()
        with pytest.raises(ModelCanceledError):
            ask(model, cancel=cancel)
        assert time.monotonic() - canceled[0] < SOON_S
        thread.join()
        with pytest.raises(ModelCanceledError):
            ask(model, cancel=cancel)
        assert len(server.requests) == 1


def test_cancel_ends_the_wait_between_tries() -> None:
    cancel = threading.Event()
    busy = Behaviour('slow down', 429, (('Retry-After', '3600'),))
    with provider(busy) as server:
        threading.Thread(target=lambda: (server.arrived.wait(10), cancel.set())).start()
        with pytest.raises(ModelCanceledError):
            ask(client(server, retry_wait_s=20.0), cancel=cancel)
        assert len(server.requests) == 1


def test_retry_after_an_hour_waits_no_longer_than_the_settings() -> None:
    calls: list[ModelCall] = []
    busy = Behaviour('slow down', 429, (('Retry-After', '3600'),))
    with provider(busy, Behaviour('here')) as server:
        began = time.monotonic()
        assert ask(client(server, calls, retry_wait_s=0.3)).text == 'here'
        assert 0.3 <= time.monotonic() - began < SOON_S
    assert [call.outcome for call in calls] == ['PassingError', 'ok']


def test_no_wait_that_would_pass_the_deadline() -> None:
    busy = Behaviour('slow down', 429, (('Retry-After', '3600'),))
    with provider(busy) as server:
        began = time.monotonic()
        with pytest.raises(ModelUnavailableError, match='slow down.*one try'):
            ask(client(server, retry_wait_s=20.0), deadline_s=15.0)
        assert time.monotonic() - began < SOON_S
        assert len(server.requests) == 1


@pytest.mark.parametrize('failing', [
    Behaviour('oops', 500), Behaviour('bad gateway', 502), Behaviour('later', 503),
    Behaviour('a reply that is cut off', cut=40)],
    ids=['500', '502', '503', 'closes in the middle'])
def test_passing_failure_is_tried_again(failing: Behaviour) -> None:
    with provider(failing, Behaviour('better')) as server:
        assert ask(client(server)).text == 'better'
        assert len(server.requests) == 2


def test_failing_for_good_is_unavailable_after_the_tries() -> None:
    with provider(Behaviour('oops', 500)) as server:
        with pytest.raises(ModelUnavailableError, match='oops.*3 tries'):
            ask(client(server))
        assert len(server.requests) == 3


@pytest.mark.parametrize('status', [401, 403, 404])
def test_wrong_key_or_model_is_not_tried_again(status: int) -> None:
    with provider(Behaviour(f'no: {KEY}', status)) as server:
        with pytest.raises(ModelUnavailableError) as caught:
            ask(client(server, api_key_env='EMV_TEST_KEY'))
        assert KEY not in str(caught.value)
        assert len(server.requests) == 1


def test_refused_request_is_an_error_of_its_own() -> None:
    with provider(Behaviour('no such parameter', 400)) as server:
        with pytest.raises(ModelError, match='no such parameter') as caught:
            ask(client(server))
        assert type(caught.value) is ModelError
        assert len(server.requests) == 1


def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        address = f'http://127.0.0.1:{free.getsockname()[1]}'
    with pytest.raises(ModelUnavailableError, match='no server answers'):
        ask(client(address))


@pytest.mark.parametrize('behaviour', [
    Behaviour(''), Behaviour(' \n'), Behaviour(None),
    Behaviour(raw=b'{"id": "r", "object": "chat.completion", "created": 1, "choices": []}')],
    ids=['empty', 'blank', 'null', 'no choice'])
def test_empty_reply(behaviour: Behaviour) -> None:
    with provider(behaviour) as server, pytest.raises(ModelReplyError):
        ask(client(server, retries=0))


def test_key_goes_to_the_provider_and_nowhere_else(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[ModelCall] = []
    caplog.set_level('DEBUG')
    with provider(Behaviour(f'bad {KEY}', 500)) as server:
        model = client(server, calls, api_key_env='EMV_TEST_KEY', retries=0)
        with pytest.raises(ModelError) as caught:
            ask(model)
        assert server.authorizations == [f'Bearer {KEY}']
    ours = [record.getMessage() for record in caplog.records if record.name.startswith('emv_ros')]
    assert KEY not in ' '.join([str(caught.value), *map(str, calls), *ours, repr(vars(model))])


def test_key_of_the_environment_is_not_used_unless_named(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', KEY)
    with provider(Behaviour('ok')) as server:
        ask(client(server))
        assert KEY not in server.authorizations[0]


def test_why_unavailable(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.delenv('EMV_TEST_KEY')
    with provider() as server:
        no_key = client(server, api_key_env='EMV_TEST_KEY')
        assert 'EMV_TEST_KEY' in no_key.why_unavailable()
        with pytest.raises(ModelUnavailableError, match='EMV_TEST_KEY'):
            ask(no_key)
        assert server.requests == []
    assert not ModelClient(ModelSettings(model='none')).available
    no_weights = ModelClient(ModelSettings(cache_folder=str(tmp_path)))
    assert 'emv model pull' in no_weights.why_unavailable()
    with pytest.raises(ModelUnavailableError, match='emv model pull'):
        ask(no_weights)
    assert no_weights.why_unavailable('vision') == "no model is set for the purpose 'vision'"


def test_purposes_have_their_models() -> None:
    model = ModelClient(ModelSettings(summary_model='openai/small', vision_model='openai/eye'))
    assert model.name('agent') == 'embedded/qwen2.5-coder-1.5b'
    assert model.name('summary') == 'openai/small'
    assert model.name('vision') == 'openai/eye'
    assert ModelClient(ModelSettings()).name('summary') == 'embedded/qwen2.5-coder-1.5b'
    with pytest.raises(ValueError, match='poetry'):
        model.name('poetry')


def test_pictures_and_schema_reach_the_provider() -> None:
    png = b'\x89PNG\r\n\x1a\n' + bytes(8)
    schema = {'type': 'object', 'properties': {'a': {'type': 'integer'}}}
    with provider(Behaviour('{"a": 1}')) as server:
        ask(client(server, vision_model='openai/eye'), purpose='vision', images=[png],
            schema=schema)
        (request,) = server.requests
    text, picture = request['messages'][-1]['content']
    assert text == {'type': 'text', 'text': 'where is the mug?'}
    assert picture['image_url']['url'].startswith('data:image/png;base64,iVBORw0KGgo')
    assert request['response_format']['json_schema']['schema'] == schema


def test_calls_that_hang_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls_module, 'MAX_HANGING', 2)
    over = threading.Event()

    def deaf(call: Call) -> None:
        over.wait(30)

    def run() -> None:
        calls_module.run(deaf, 'm', Limits(time.monotonic() + 0.05, 0.05, None), Call())

    wait_until(lambda: not calls_module._live)
    try:
        for _ in range(2):
            with pytest.raises(ModelTimeoutError):
                run()
        with pytest.raises(ModelUnavailableError, match='2 earlier calls still hang'):
            run()
    finally:
        over.set()
    wait_until(lambda: not calls_module._live)


def wait_until(done: Callable[[], bool], longest_s: float = 10.0) -> None:
    """Fail unless a condition holds within the limit."""
    ends = time.monotonic() + longest_s
    while not done():
        assert time.monotonic() < ends
        threading.Event().wait(0.01)


def test_a_call_that_was_given_up_ends_with_the_next_byte() -> None:
    with provider(Behaviour(drip_s=0.1)) as server:  # no library's own limit would ever end it
        with pytest.raises(ModelTimeoutError):
            ask(client(server), deadline_s=0.4)
        wait_until(lambda: not calls_module._live, 3.0)


def test_library_is_told_to_look_nothing_up() -> None:
    import litellm
    assert os.environ['LITELLM_LOCAL_MODEL_COST_MAP'] == 'True'
    assert litellm.telemetry is False
