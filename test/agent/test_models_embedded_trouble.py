"""The embedded model in trouble: bad files, too little memory, killed, two processes at once."""

from __future__ import annotations

from importlib.util import find_spec
import os
from pathlib import Path
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from emv_ros.agent.models import ModelClient, embedded, weights
from emv_ros.errors import ModelError, ModelPromptTooLongError, ModelUnavailableError
from emv_ros.settings import ModelSettings

HAS_WEIGHTS = weights.find(weights.folder()) is not None
needs_weights = pytest.mark.skipif(not HAS_WEIGHTS, reason='no weights (emv model pull)')
ENVIRONMENT = {**os.environ, 'OMP_NUM_THREADS': '1'}


# Threads that take little room: where one cannot be started, the library ends the process.
SMALL = ('sh', '-c', 'ulimit -s 1024; MALLOC_ARENA_MAX=1 exec "$0" "$@"')


def start(program: str, *arguments: str,
          before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen([*before, sys.executable, '-c', program, *arguments], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)


def output(process: subprocess.Popen[str]) -> str:
    told, errors = process.communicate(timeout=150)
    assert process.returncode == 0, errors[-2000:]
    return told


@pytest.mark.parametrize('content', [b'', b'GGUF', bytes(100_000), b'no model at all ' * 1000],
                         ids=['empty', 'the first four bytes', 'zeros', 'text'])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, content: bytes) -> None:
    pytest.importorskip('xllamacpp')
    path = tmp_path / 'model.gguf'
    path.write_bytes(content)
    with pytest.raises(ModelUnavailableError, match=f'cannot load {path}'):
        embedded.EmbeddedModel(path, 1024, 1)


def test_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    pytest.importorskip('xllamacpp')
    with pytest.raises(ModelUnavailableError, match='Is a directory'):
        embedded.EmbeddedModel(tmp_path, 1024, 1)


@pytest.mark.model
@needs_weights
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / weights.FILE_NAME
    with (weights.folder() / weights.FILE_NAME).open('rb') as file:
        path.write_bytes(file.read(12_000_000))
    with pytest.raises(ModelUnavailableError, match='cannot load'):
        embedded.EmbeddedModel(path, 1024, 1)
    client = ModelClient(ModelSettings(cache_folder=str(tmp_path)))
    assert '12,000,000 bytes instead of' in client.why_unavailable()


def test_bad_weights_are_read_once_and_told_once(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    if find_spec('litellm') is None or find_spec('xllamacpp') is None:  # importing takes seconds
        pytest.skip('no litellm, no xllamacpp')
    monkeypatch.setattr(weights, 'SIZE', 7)
    path, summed, real = tmp_path / weights.FILE_NAME, list[Path](), weights._sum
    monkeypatch.setattr(weights, '_sum', lambda file: summed.append(file) or real(file))
    path.write_bytes(b'rubbish')
    client = ModelClient(ModelSettings(cache_folder=str(tmp_path)))
    for _ in range(3):
        assert 'are not the right ones: SHA-256' in client.why_unavailable('summary')
        assert 'emv model pull' in client.why_unavailable()
    assert summed == [path]
    assert len(caplog.records) == 1
    path.unlink()
    assert client.why_unavailable().startswith(f'the weights are not in {tmp_path}')


LOAD_IN = """
import resource, sys
import xllamacpp
from emv_ros.agent.models import embedded, weights
from emv_ros.errors import ModelUnavailableError
held = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()
limit = held + int(sys.argv[1]) * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    embedded.EmbeddedModel(weights.folder() / weights.FILE_NAME, 8192, 1)
    print('loaded')
except ModelUnavailableError as error:
    print(error)
"""


@pytest.mark.model
@needs_weights
@pytest.mark.parametrize('free_mb', [100, 900], ids=['for nothing', 'not for the weights'])
def test_too_little_memory_to_load_is_an_error_that_says_so(free_mb: int) -> None:
    assert output(start(LOAD_IN, str(free_mb), before=SMALL)).startswith('cannot load ')


def test_a_prompt_longer_than_the_context_is_told_apart() -> None:
    chunks = embedded._Chunks(embedded.Call())
    chunks.take({'error': {'code': 400, 'type': 'exceed_context_size_error',
                           'message': 'request (9000 tokens) exceeds the available context size'}})
    with pytest.raises(ModelPromptTooLongError, match='9000 tokens'):
        chunks.completion()
    chunks.take({'error': {'code': 500, 'message': 'oops'}})
    with pytest.raises(ModelError, match='oops') as caught:
        chunks.completion()
    assert type(caught.value) is ModelError


ASK = """
import sys
from emv_ros.agent.models import embedded, weights
model = embedded.shared(weights.folder() / weights.FILE_NAME, 1024, 1)
print('loaded', flush=True)
fixed = {'role': 'system', 'content': sys.argv[1]}
done = model.complete({'messages': [fixed, {'role': 'user', 'content': 'Say hi.'}],
                       'max_tokens': int(sys.argv[2])}, embedded.Call(fixed_messages=1))
print(done.text)
"""


@pytest.fixture
def prefixes() -> Any:
    """Return the folder of kept prefixes; what a test adds goes with it."""
    folder = weights.folder() / 'prefixes'
    before = set(folder.glob('*'))
    yield folder
    for path in set(folder.glob('*')) - before:
        path.unlink()


@pytest.mark.model
@needs_weights
def test_two_processes_at_once_keep_the_same_prefix(prefixes: Path) -> None:
    before = set(prefixes.glob('*'))
    both = [start(ASK, 'You answer in one word, at once.', '2') for _ in range(2)]
    first, second = (output(process) for process in both)
    assert first == second and first.startswith('loaded\n')
    (kept,) = set(prefixes.glob('*')) - before
    assert kept.suffix == '.kv'


@pytest.mark.model
@needs_weights
def test_killed_within_a_call_the_next_process_answers(prefixes: Path) -> None:
    process = start(ASK, 'You answer with a long poem.', '400')
    assert process.stdout is not None
    watchdog = threading.Timer(120, process.kill)
    watchdog.start()
    assert process.stdout.readline() == 'loaded\n'
    process.kill()
    watchdog.cancel()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert output(start(ASK, 'You answer with a long poem.', '2')).startswith('loaded\n')
