"""A short load over real DDS between processes: nothing is lost, and the account says so."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip('rclpy')

from emv_ros.evaluation import load
from emv_ros.evaluation.ingest_account import joint_samples, keyframes
from emv_ros.evaluation.process_meter import memory_course, resident_bytes
from emv_ros.settings import IngestSettings

pytestmark = pytest.mark.ros
SECONDS = 5
RATES = {'camera': 10, 'joint': 200, 'events': 40, 'utterances': 10}


def test_a_short_load_loses_nothing() -> None:
    command = [sys.executable, '-m', 'emv_ros.cli', 'bench', 'ingest', '--json',
               '--seconds', str(SECONDS), '--question-period', '2']
    for name, rate in RATES.items():
        command += [f'--{name}-hz', str(rate)]
    environment = {key: value for key, value in os.environ.items() if key != 'EMV_MEMORY'}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False,
                         timeout=120)
    assert ran.stdout, ran.stderr
    found = json.loads(ran.stdout)
    for kind, count in (('event', 200), ('utterance', 50)):
        row = found['records'][kind]
        assert row == {'published': count, 'due': count, 'stored': count, 'lost': 0, 'other': 0,
                       'twice': 0}
        assert found['recorder']['rows'][kind] == count
        assert found['lag'][kind]['rows'] == count
        assert 0 < found['lag'][kind]['p50_s'] <= found['lag'][kind]['max_s']
    # Of 5 s of pictures at 10 Hz one a second is kept, of the moving arm ten samples a second.
    assert found['records']['image']['published'] == 50
    assert 4 <= found['records']['image']['due'] <= 6
    assert found['records']['joint']['published'] == 1000
    assert 40 <= found['records']['joint']['due'] <= 51
    assert found['records']['joint']['stored'] <= 51
    assert set(found['exit_statuses'].values()) == {0}, found['exit_statuses']
    assert found['questions']['answered'] >= 1
    assert set(found['questions']['statuses']) <= {'RETRIEVED_ONLY', 'NOT_RECORDED', 'BUSY'}
    for name in ('ingest', 'consolidation', 'query', 'recorder', 'publisher_signals'):
        assert found['processes'][name]['cpu_s'] > 0
        assert found['processes'][name]['rss_mb'] > 10
    assert found['checks']['no_event_lost'] and found['checks']['no_utterance_lost']
    assert found['checks']['memory_flat'] is None  # too short to tell
    assert found['checks']['own_memory_flat'] is None


def test_what_must_be_kept_is_counted_by_hand() -> None:
    settings = IngestSettings(keyframe_period_s=1.0, joint_period_s=0.1, joint_change=0.001)
    stamps = [round((1000 + number / 30) * 1e9) for number in range(90)]  # 3 s of pictures
    assert keyframes(stamps, settings) == [stamps[0], stamps[30], stamps[60]]
    # The arm moves for 5 s and rests for 5 s: none is kept once it rests.
    stamps = [round((1000 + number / 100) * 1e9) for number in range(1000)]
    kept = [(stamp - stamps[0]) / 1e9 for stamp in joint_samples(stamps, 100.0, settings)]
    assert len(kept) == 51
    np.testing.assert_allclose(np.diff(kept[:50]), 0.1, atol=1e-6)
    assert max(kept) <= 5.01


def test_positions_move_then_rest() -> None:
    at = load.positions(np.array([0.0, 5.0, 7.5, 10.0, 10.5]))
    assert at.shape == (5, load.JOINTS)
    np.testing.assert_array_equal(at[1], at[2])
    np.testing.assert_array_equal(at[2], at[3])
    assert np.abs(at[4] - at[3]).max() > 0.1


def test_pictures_and_words_differ_by_number() -> None:
    assert len({load.mark(number) for number in range(20_000)}) == 20_000
    assert len({load.utterance_text(number) for number in range(6000)}) == 6000
    assert load.picture().shape == (load.HEIGHT, load.WIDTH, 3)


@pytest.mark.parametrize(('slope', 'growth'), [(0.0, 0.0), (1e6, 120.0)])
def test_growth_is_that_from_a_minute_on(slope: float, growth: float) -> None:
    samples = [(float(second), int(2e8 if second < 60 else 3e8 + slope * (second - 60)))
               for second in range(181)]
    course = memory_course(samples)
    assert course['settled_mb'] == 300.0
    assert course['growth_mb'] == pytest.approx(growth, abs=0.01)
    assert course['growth_mb_a_minute'] == pytest.approx(growth / 2, abs=0.01)
    assert memory_course(samples[:65])['growth_mb'] is None


def test_memory_that_is_shared_is_not_its_own() -> None:
    size = 32_000_000
    before = resident_bytes(os.getpid())
    with mmap.mmap(-1, size) as shared:  # as DDS passes pictures on
        shared.write(b'x' * size)
        after = resident_bytes(os.getpid())
    assert before and after
    assert after[0] - before[0] > 0.9 * size
    assert abs(after[1] - before[1]) < 0.2 * size
    assert resident_bytes(2**22 + 1) is None  # no process has such a number
