"""The real command over real recordings, as a person would type it."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
import subprocess
import sys
import time

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / 'shared' / 'data'
LOG, BAG = DATA / 'armar7_june.jsonl', DATA / 'so101.mcap'


def emv(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, 'PYTHONPATH': str(ROOT), 'OMP_NUM_THREADS': '1',
           'EMV_MEMORY': str(folder)}
    return subprocess.run([sys.executable, '-m', 'emv_ros.cli', *map(str, words)], env=env,
                          capture_output=True, text=True, timeout=200, check=False)


@pytest.fixture(scope='module')
def robot_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not LOG.exists():
        pytest.skip(f'{LOG} is not here')
    folder = tmp_path_factory.mktemp('log')
    found = emv(folder, 'import', LOG, '--zone', 'Europe/Berlin', '--json')
    assert found.returncode == 0, found.stderr
    report, = json.loads(found.stdout)
    assert (report['read'], report['stored'], report['lost']) == (1175, 1175, {})
    return folder


@pytest.mark.parametrize(('status', 'count'), [('failed', 15), ('aborted', 12)])
def test_failed_and_aborted_runs(robot_log, status, count):
    events = json.loads(emv(robot_log, 'events', '--status', status, '--json').stdout)
    assert len(events) == count
    lines = [json.loads(line) for line in LOG.read_text('utf-8').splitlines()]
    told = {(line['skill'], line['t'][:23]) for line in lines
            if line['type'] == 'skill' and line['status'] == status}
    assert {(event['skill'], event['end'][:23]) for event in events} <= told


def test_three_failed_to_receive_an_object(robot_log):
    events = json.loads(emv(robot_log, 'events', '--status', 'failed', '--skill',
                            'ReceiveObjectFromHuman', '--json').stdout)
    assert [event['end'][:16] for event in events] == [
        '2024-06-26T19:58', '2024-06-26T20:07', '2024-06-26T20:22']


def test_a_bag_is_accounted_for_and_its_pictures_come_back(tmp_path):
    if not BAG.exists():
        pytest.skip(f'{BAG} is not here')
    assert emv(tmp_path / 'm', 'import', BAG).returncode == 0
    records = json.loads(emv(tmp_path / 'm', 'stats', '--json').stdout)['records']
    assert (records['joint_sample'], records['image'], records['utterance']) == (1782, 179, 6)
    image = json.loads(emv(tmp_path / 'm', 'show', 'i1', '--json').stdout)
    data = Path(image['picture_path']).read_bytes()
    assert hashlib.sha256(data).hexdigest() == image['sha256']
    assert data in BAG.read_bytes() or len(data) == image['size_bytes']


def test_help_comes_at_once():
    took = []
    for _ in range(3):
        began = time.monotonic()
        assert emv(Path('unused'), '--help').returncode == 0
        took.append(time.monotonic() - began)
    assert min(took) < 1.0  # 0.1 s on an idle machine
