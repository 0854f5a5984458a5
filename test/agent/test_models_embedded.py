"""The real local model: counts, repeats itself, keeps to a grammar, knows a prefix again, stops."""

from __future__ import annotations

from collections.abc import Iterator
import os
import subprocess
import sys
import threading
import time

from limits import SOON_S
import pytest

from emv_ros.agent.models import ModelClient, embedded, weights
from emv_ros.errors import ModelCanceledError, ModelError, ModelTimeoutError
from emv_ros.json_replies import json_of
from emv_ros.settings import ModelSettings

pytest.importorskip('xllamacpp')
pytest.importorskip('litellm')
pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        weights.find(weights.folder()) is None, reason='no weights (emv model pull)')]
# 300 lines: more than a minute of computing, so whoever stops it, it was not its end.
LONG = '\n'.join(f'{line}: the robot carried object {line} to place {line * line % 97}.'
                 for line in range(300))


@pytest.fixture(scope='module')
def client() -> Iterator[ModelClient]:
    model = ModelClient(ModelSettings(threads=1, deadline_s=240.0))
    model.warm()
    yield model


def ask(client: ModelClient, text: str, **options: object) -> str:
    return client.complete([{'role': 'user', 'content': text}], purpose='agent',
                           **{'max_tokens': 24, **options}).text  # type: ignore[arg-type]


def test_same_question_same_answer(client: ModelClient) -> None:
    question = 'What is 3 + 4? Answer with one number.'
    first = ask(client, question)
    assert '7' in first
    assert ask(client, question) == first


def test_reply_counts_its_tokens_and_says_that_it_was_cut(client: ModelClient) -> None:
    reply = client.complete([{'role': 'user', 'content': 'Count from 1 to 50.'}],
                            purpose='agent', max_tokens=5)
    assert reply.completion_tokens == 5
    assert reply.truncated
    assert 10 < reply.prompt_tokens < 60
    assert reply.cost == 0


def test_tokens_are_counted_as_the_model_counts(client: ModelClient) -> None:
    assert client.count_tokens('') == 0
    assert client.count_tokens('hello world') == 2
    assert client.count_tokens('1234') == 4  # this tokenizer takes digits one by one


def test_schema(client: ModelClient) -> None:
    schema = {'type': 'object', 'properties': {'colour': {'enum': ['red', 'blue']}},
              'required': ['colour'], 'additionalProperties': False}
    assert json_of(ask(client, 'The colour of a clear sky?', schema=schema)) == {'colour': 'blue'}


def test_grammar_and_stop(client: ModelClient) -> None:
    assert ask(client, 'Say no.', grammar='root ::= "perhaps"') == 'perhaps'
    assert '5' not in ask(client, 'Count from 1 to 9, with commas.', stop=('5',))


def test_prompt_longer_than_the_context_is_refused(client: ModelClient) -> None:
    with pytest.raises(ModelError, match='exceeds the available context'):
        ask(client, LONG * 3)


def test_pictures_are_refused(client: ModelClient) -> None:
    with pytest.raises(ModelError, match='cannot look at pictures'):
        ask(client, 'what is this?', images=[b'\xff\xd8'])


def test_prefix_is_computed_once(client: ModelClient) -> None:
    model = embedded.shared(weights.folder() / weights.FILE_NAME, 8192, 1)
    request = {'max_tokens': 4, 'messages': [
        {'role': 'system', 'content': LONG[:1500]}, {'role': 'user', 'content': 'Where is 3?'}]}
    first = model.complete(request, embedded.Call())
    request['messages'][1]['content'] = 'Which object came last?'  # type: ignore[index]
    second = model.complete(request, embedded.Call())
    assert first.cached_tokens < 50
    assert second.cached_tokens > 0.9 * first.prompt_tokens


@pytest.mark.parametrize('after_s', [0.3, 3.0], ids=['early', 'within the prompt'])
def test_cancel_within_the_prompt(client: ModelClient, after_s: float) -> None:
    cancel = threading.Event()
    timer = threading.Timer(after_s, cancel.set)
    timer.start()
    began = time.monotonic()
    with pytest.raises(ModelCanceledError):
        ask(client, f'{after_s} {LONG}', cancel=cancel)
    assert time.monotonic() - began < after_s + SOON_S
    # What was given up leaves the model: a short question does not wait for the long prompt.
    assert ask(client, 'Say hi.', max_tokens=2, deadline_s=60.0)


def test_deadline_within_the_prompt(client: ModelClient) -> None:
    with pytest.raises(ModelTimeoutError):
        ask(client, f'again {LONG}', deadline_s=1.0)


def test_exit_in_a_call_is_clean() -> None:
    program = (
        'from emv_ros.agent.models import ModelClient\n'
        'from emv_ros.errors import ModelTimeoutError\n'
        'from emv_ros.settings import ModelSettings\n'
        'client = ModelClient(ModelSettings(threads=1))\n'
        'client.warm()\n'
        'try:\n'
        "    client.complete([{'role': 'user', 'content': 'word ' * 3000}], purpose='agent',\n"
        '                    max_tokens=5, deadline_s=1.0)\n'
        'except ModelTimeoutError:\n'
        "    print('left')\n")
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True,
                          timeout=120, env={**os.environ, 'OMP_NUM_THREADS': '1'}, check=False)
    assert (done.returncode, done.stdout) == (0, 'left\n'), done.stderr[-2000:]


def test_fixed_prefix_is_kept_for_the_next_process(client: ModelClient) -> None:
    folder = weights.folder() / 'prefixes'
    before = set(folder.glob('*.kv'))
    program = (
        'import sys\n'
        'from emv_ros.agent.models import ModelClient, embedded, weights\n'
        'from emv_ros.settings import ModelSettings\n'
        'model = embedded.shared(weights.folder() / weights.FILE_NAME, 8192, 1)\n'
        "fixed = {'role': 'system', 'content': sys.argv[1]}\n"
        "question = {'role': 'user', 'content': 'Say hi.'}\n"
        "done = model.complete({'messages': [fixed, question], 'max_tokens': 2},\n"
        '                      embedded.Call(fixed_messages=1))\n'
        "print(done.text, done.prompt_tokens, done.cached_tokens, sep='|')\n")
    replies = []
    try:
        for _ in range(2):
            done = subprocess.run([sys.executable, '-c', program, f'Answer politely. {LONG[:400]}'],
                                  capture_output=True, text=True, timeout=120, check=True)
            replies.append(done.stdout)
        (kept,) = set(folder.glob('*.kv')) - before
        assert kept.stat().st_size > 100_000
    finally:
        for path in set(folder.glob('*.kv')) - before:
            path.unlink()
    text, prompt_tokens, cached_tokens = replies[1].split('|')
    assert replies[0] == replies[1]
    assert int(cached_tokens) > 0.8 * int(prompt_tokens)
    assert text
