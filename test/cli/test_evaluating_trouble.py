"""`emv eval qa` and `report` where folders, files and runs are not as they should be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import json
import os
from pathlib import Path
import resource
import signal
import subprocess
import sys
from typing import Any

from fake_provider import Behaviour, Provider, provider
import pytest

from emv_ros.errors import EmvError
from emv_ros.evaluation.answering.results import Result, ResultsFile
from emv_ros.settings import Settings

Emv = Callable[..., Any]
QUESTIONS = [
    {'id': 'when', 'kind': 'when', 'question': 'When did you water the plants?',
     'answer': '2024-06-27 13:04', 'gold': {'kind': 'time', 'times': ['2024-06-27T13:04:00+02:00']},
     'evidence': [['2024-06-27T13:03:30+02:00', '2024-06-27T13:04:30+02:00']]},
    {'id': 'cat', 'kind': 'absent', 'question': 'When did you feed the cat?',
     'gold': {'kind': 'none'}}]
CODE = "rows = events(skill='WaterPlants')\nanswer(times(rows), evidence=rows)"


@pytest.fixture
def model() -> Iterator[Provider]:
    with provider(Behaviour(text=f'```python\n{CODE}\n```')) as server:
        yield server


@pytest.fixture
def words(tmp_path: Path, model: Provider) -> tuple[object, ...]:
    path = tmp_path / 'mine_qa.jsonl'
    path.write_text(''.join(json.dumps(line) + '\n' for line in QUESTIONS), 'utf-8')
    return ('--set', 'model.model=openai/fake', '--set', f'model.api_base={model.address}/v1',
            'eval', 'qa', '--qa', path, '--out', tmp_path / 'out', '--kinds', 'when')


def lines(folder: Path) -> list[dict[str, Any]]:
    path = folder / 'out' / 'results.jsonl'
    return [json.loads(line) for line in path.read_text('utf-8').splitlines()]


def test_results_of_another_memory_or_robot_are_not_mixed(
        filled: Emv, experience: Path, words: tuple[object, ...], model: Provider,
        tmp_path: Path) -> None:
    assert filled(*words).status == 0
    other = tmp_path / 'other'
    assert filled('--memory', other, 'import', experience).status == 0
    mixed = filled('--memory', other, *words)
    assert mixed.status == 1 and f'the memory of mine_qa was {tmp_path / "memory"}' in mixed.err
    assert 'robots was' in filled('--robot', Settings().memory.robot, *words).err
    assert len(model.requests) == 1 and len(lines(tmp_path)) == 1
    assert filled('--memory', other, *words, '--again').status == 0
    assert len(model.requests) == 2


def test_an_account_that_was_torn_ends_no_folder_for_ever(
        filled: Emv, words: tuple[object, ...], tmp_path: Path) -> None:
    assert filled(*words).status == 0
    (tmp_path / 'out' / 'run.json').write_text('')
    torn = filled(*words)
    assert torn.status == 1 and '--again' in torn.err
    assert filled(*words, '--again').status == 0 and len(lines(tmp_path)) == 1
    assert not list((tmp_path / 'out').glob('*.part'))


@pytest.mark.parametrize('fields', [
    {'gold': {'kind': 'guess'}}, {'gold': [1]}, {'gold': {'kind': 'number', 'size': 1}},
    {'windows': [['a', 'b']]}, {'windows': [[1]]}, {'shown': [1]}, {'set': ['a']},
    {'prompt_tokens': 'x'}, {'seconds': float('nan')}, {'seconds': True}, {'answer': None},
    {'query_time_ns': None}, {'choices': 5}, {'choices': [1]}, {'category': 'perfect'},
    {'evidence': [{'id': 's1'}]}, {'evidence': ['s1']}, {'episodes': 'five'}, {'zone': 'Mars'},
    {'retrieval': []}])
def test_a_foreign_line_of_results_is_named(
        filled: Emv, tmp_path: Path, fields: dict[str, Any]) -> None:
    line = {'set': 's', 'way': 'ours', 'model': 'm', 'id': 'i', 'kind': 'k', 'question': 'When?'}
    (tmp_path / 'out').mkdir()
    (tmp_path / 'out' / 'results.jsonl').write_text(
        f'{json.dumps(line)}\n{json.dumps(line | fields)}\n')
    told = filled('eval', 'report', '--out', tmp_path / 'out')
    assert told.status == 1 and 'results.jsonl, line 2: no result' in told.err, told.err


def test_of_two_runs_into_one_folder_the_second_is_told(
        filled: Emv, words: tuple[object, ...], tmp_path: Path) -> None:
    with provider(Behaviour(hang=True)) as server:
        child = subprocess.Popen(
            [sys.executable, '-m', 'emv_ros.cli', '--set', 'retrieval.embedder=none', '--set',
             'model.model=openai/fake', '--set', f'model.api_base={server.address}/v1',
             *map(str, words[4:])],
            env=os.environ | {'EMV_MEMORY': str(tmp_path / 'memory')}, stderr=subprocess.DEVNULL)
        try:
            while not server.requests:
                server.arrived.clear()
                assert child.poll() is None and server.arrived.wait(60)
            second = filled(*words, '--again')
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait()
    assert second.status == 1 and 'another run' in second.err
    # A run that was killed holds nothing.
    assert filled(*words, '--again').status == 0


def test_a_model_that_cannot_be_asked_is_told_before_the_others_are_asked(
        filled: Emv, words: tuple[object, ...], model: Provider) -> None:
    done = filled(*words, '--model', 'openai/fake', '--model', 'embedded')
    assert done.status == 1 and 'the model embedded cannot be asked' in done.err
    assert not model.requests


def test_a_full_disk_ends_with_whole_lines(tmp_path: Path) -> None:
    """The limit of a file's size stands for a disk without room."""
    result = Result(set='s', way='ours', model='m', id='1', kind='k', question='?' * 3000)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with ResultsFile(tmp_path) as file:
            file.add(result)
            size = (tmp_path / 'results.jsonl').stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, before[1]))
            with pytest.raises(EmvError, match='cannot write'):
                file.add(Result(**{**vars_of(result), 'id': '2'}))
            assert ('s', 'ours', 'm', '2') not in file
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert (tmp_path / 'results.jsonl').stat().st_size == size


def vars_of(result: Result) -> dict[str, Any]:
    return {name: getattr(result, name) for name in Result.__dataclass_fields__}


@pytest.mark.parametrize(('given', 'said'), [
    ('abc', "'abc' is no whole number from 1"), ('0', "'0' is no whole number from 1"),
    ('5,1.5', "'1.5' is no whole number from 1")])
def test_lengths_that_are_none_are_told(emv: Emv, capsys: pytest.CaptureFixture[str], given: str,
                                        said: str) -> None:
    done = emv('eval', 'qa', '--episodes', given)
    assert done.status == 2 and said in done.err
