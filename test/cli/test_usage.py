"""Options, wrong usages, and what a program that calls `emv` can rely on."""

from __future__ import annotations

import os
from pathlib import Path
import signal
import subprocess
import sys

import pytest

import emv_ros
from emv_ros.cli import VERBS, main
from emv_ros.commands.context import interruptible, settings_of
from emv_ros.commands.running import parameters
from emv_ros.errors import SettingsError
from emv_ros.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, '-m', 'emv_ros.cli']


def test_version_and_help(capsys):
    assert main(['--version']) == 0
    assert capsys.readouterr().out == f'emv {emv_ros.__version__}\n'
    assert main(['--help']) == 0
    told = capsys.readouterr().out
    assert all(f'    {verb} ' in told for verb in VERBS)


@pytest.mark.parametrize('verb', [verb for verb in VERBS if verb != 'demo'])
def test_each_verb_tells_its_arguments(verb, capsys):
    assert main([verb, '--help']) == 0
    assert f'usage: emv {verb}' in capsys.readouterr().out


def test_help_imports_nothing_heavy():
    code = ("import sys; from emv_ros.cli import main; main(['--help']); "
            "heavy = {'numpy', 'sqlalchemy', 'yaml', 'litellm', 'cv2', 'rclpy', 'alembic'}; "
            "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)")
    found = subprocess.run([sys.executable, '-c', code], cwd=ROOT, capture_output=True, text=True,
                           timeout=60, check=False)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize(('words', 'status', 'told'), [
    (['dance'], 2, "invalid choice: 'dance'"),
    ([], 2, 'VERB'),
    (['events', '--status', 'sad'], 2, "invalid choice: 'sad'"),
    (['events', '--limit', '0'], 2, 'not positive'),
    (['events', '--start', 'noonish'], 2, "'noonish'"),
    (['events', '--day', '2024-02-30'], 2, "'2024-02-30'"),
    (['events', '--day', 'today', '--start', '13:00'], 2, '--day does not go'),
    (['events', '--start', '2024-06-27', '--end', '2024-06-25'], 2, 'before the start'),
    (['ask'], 2, 'required'),
    (['show', 'x1'], 2, "'x1' is no id"),
    (['show', 's1x'], 2, "'s1x' is no id"),
    (['model', 'fly'], 2, "invalid choice: 'fly'"),
    (['events', '--set', 'agent.max_rounds=many'], 2, 'must be of type int'),
    (['events', '--set', 'agent.max_rounds=0'], 2, '1..100'),
    (['events', '--set', 'agent.courage=1'], 2, "no setting 'agent.courage'"),
    (['events', '--set', 'agent.max_rounds'], 2, 'NAME=VALUE'),
    (['events', '--config', '/absent.yaml'], 2, '/absent.yaml'),
    (['events', '--mem', 'x'], 2, 'unrecognized arguments'),
    (['import', '/absent.jsonl', '--zone', 'Europe/Atlantis'], 2, 'Atlantis'),
    (['import', '/absent.jsonl'], 1, '/absent.jsonl'),
    (['import', '/dev/null'], 1, '/dev/null'),
    (['model', 'path'], 1, 'emv model pull'),
])
def test_wrong_usages(filled, words, status, told):
    found = filled(*words)
    assert (found.status, told in found.err) == (status, True), found.err
    assert 'Traceback' not in found.err


@pytest.mark.parametrize('words', [
    ['events'], ['stats'], ['search', 'x'], ['show', 's1'], ['entities'], ['biography', 'x']])
def test_a_reading_verb_makes_no_memory(emv, tmp_path, words):
    found = emv(*words)
    assert (found.status, 'there is no memory in' in found.err) == (1, True)
    assert not (tmp_path / 'memory').exists()


def test_what_is_no_memory(emv, experience, tmp_path):
    file = tmp_path / 'file'
    file.write_text('hello', 'utf-8')
    found = emv('events', '--memory', file)
    assert (found.status, 'is a file' in found.err) == (1, True)
    found = emv('import', experience, '--memory', '/proc/nowhere/memory')
    assert (found.status, '/proc/nowhere/memory' in found.err) == (1, True)
    (tmp_path / 'other').mkdir()
    (tmp_path / 'other' / 'memory.db').write_bytes(b'this is no database' * 100)
    found = emv('events', '--memory', tmp_path / 'other')
    assert (found.status, 'damaged' in found.err) == (1, True)
    assert found.err.count('\n') == 1


def test_options_stand_before_or_after_the_verb(emv, experience, tmp_path):
    place = tmp_path / 'elsewhere'
    assert emv('--memory', place, 'import', experience).status == 0
    assert emv('--json', '--memory', place, 'events').json == emv(
        'events', '--memory', place, '--json').json
    assert emv('--memory', tmp_path / 'absent', 'events', '--memory', place).status == 0


def test_settings_come_from_a_file_then_from_set_then_from_options(tmp_path):
    config = tmp_path / 'emv.yaml'
    config.write_text('agent: {max_rounds: 5, max_tokens: 900}\nmemory: {robot: r2}\n', 'utf-8')
    settings = settings_of(
        config, ['agent.max_rounds=3', 'tree.use_model=no', 'memory.time_zone = UTC+02:00'],
        '/some/place', 'r9')
    assert (settings.agent.max_rounds, settings.agent.max_tokens) == (3, 900)
    assert settings.tree.use_model is False
    assert (settings.memory.folder, settings.memory.robot, settings.memory.time_zone) == (
        '/some/place', 'r9', 'UTC+02:00')
    with pytest.raises(SettingsError, match='tree.use_model must be of type bool'):
        settings_of(None, ['tree.use_model=perhaps'], '', '')


def test_settings_reach_the_nodes_as_parameters():
    assert parameters(Settings()) == []
    settings = settings_of(None, ['agent.max_rounds=3', 'tree.use_model=false'], '/my memory', '1')
    assert parameters(settings) == [
        '--ros-args', '-p', 'memory.folder:="/my memory"', '-p', 'memory.robot:="1"',
        '-p', 'tree.use_model:=false', '-p', 'agent.max_rounds:=3', '--']


def test_verbose_shows_where_an_error_came_from(filled):
    assert 'Traceback' in filled('-v', 'events', '--start', 'noonish').err


def test_a_reader_that_leaves_ends_it_quietly(emv, experience, tmp_path):
    assert emv('import', experience, '--memory', tmp_path / 'm').status == 0
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(
        [*COMMAND, 'events', '--json', '--memory', str(tmp_path / 'm')], stdout=writing,
        stderr=subprocess.PIPE, env={**os.environ, 'PYTHONPATH': str(ROOT)}, timeout=60,
        check=False)
    os.close(writing)
    assert (process.returncode, process.stderr) == (141, b'')


def test_interrupted_is_quiet(monkeypatch, filled):
    from emv_ros.commands import events

    def interrupted(*_):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(events, 'run', interrupted)
    found = filled('events')
    assert (found.status, found.out, found.err) == (130, '', '')


def test_the_first_interrupt_lets_work_end_in_order():
    reached = False
    with pytest.raises(KeyboardInterrupt), interruptible() as cancel:
        signal.raise_signal(signal.SIGINT)
        assert cancel.is_set()
        reached = True
    assert reached
    with pytest.raises(KeyboardInterrupt), interruptible():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError('the second interrupt was not heard')
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
