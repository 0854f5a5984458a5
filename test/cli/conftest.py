"""The command line in this process, over memories that the tests make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from emv_ros.cli import main

# Local time is UTC+2: the first run fails, the second is told twice, the third is nested.
EXPERIENCE = [
    {'t': '2024-06-26T20:00:00+02:00', 'type': 'skill', 'skill': 'OpenFridge',
     'status': 'running', 'goal_stack': ['FetchMilk'], 'parameters': {'arm': 'left'}},
    {'t': '2024-06-26T20:00:12.5+02:00', 'type': 'skill', 'skill': 'OpenFridge',
     'status': 'failed', 'goal_stack': ['FetchMilk'], 'parameters': {'arm': 'left'}},
    {'t': '2024-06-26T20:01:00+02:00', 'type': 'skill', 'skill': 'FetchMilk',
     'status': 'aborted', 'goal_stack': []},
    {'t': '2024-06-27T13:03:18+02:00', 'type': 'speech', 'speaker': 'robot',
     'text': 'I can see a soy milk'},
    {'t': '2024-06-27T13:04:00+02:00', 'type': 'skill', 'skill': 'WaterPlants',
     'status': 'succeeded', 'goal_stack': []},
    {'t': '2024-06-27T13:05:00+02:00', 'type': 'scene',
     'objects': [{'name': 'mug', 'instance': 'mug-1', 'state': 'full'}, {'name': 'table'}],
     'relations': [{'subject': 'mug-1', 'predicate': 'on', 'object': 'table'}]},
    {'t': '2024-06-27T13:06:00+02:00', 't_end': '2024-06-27T13:06:20+02:00',
     'type': 'observation', 'name': 'mug', 'instance': 'mug-1', 'event': 'moved'},
]


@dataclass(frozen=True)
class Result:
    """What a command did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Emv = Callable[..., Result]


@pytest.fixture
def experience(tmp_path: Path) -> Path:
    path = tmp_path / 'experience.jsonl'
    path.write_text(''.join(json.dumps(line) + '\n' for line in EXPERIENCE), 'utf-8')
    return path


@pytest.fixture
def emv(capsys: pytest.CaptureFixture[str], tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch) -> Emv:
    """Return a function that runs `emv` over the memory tmp_path/memory, without vectors."""
    monkeypatch.setenv('EMV_MEMORY', str(tmp_path / 'memory'))
    monkeypatch.setenv('EMV_CACHE', str(tmp_path / 'cache'))
    level = logging.getLogger().level

    def run(*words: object) -> Result:
        capsys.readouterr()
        status = main(['--set', 'retrieval.embedder=none', *map(str, words)])
        out, err = capsys.readouterr()
        return Result(status, out, err)

    yield run
    logging.getLogger().setLevel(level)


@pytest.fixture
def filled(emv: Emv, experience: Path) -> Emv:
    """Return `emv` over a memory that holds EXPERIENCE."""
    assert emv('import', experience, '--zone', 'Europe/Berlin').status == 0
    return emv
