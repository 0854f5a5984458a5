"""Settings are known by name, kept in their range, and hold no secret."""

from pathlib import Path
import re

import pytest

from emv_ros.errors import SettingsError
from emv_ros.settings import Settings, load, walk, with_values


def test_every_setting_tells_what_it_is_and_its_default_is_in_its_range() -> None:
    for name, item in walk():
        assert len(item.metadata['description']) > 5, name
        assert with_values(Settings(), {name: item.default}) == Settings()


def test_no_setting_holds_a_key() -> None:
    secret = re.compile(r'_key|secret|password|credential', re.IGNORECASE)
    for name, item in walk():
        if secret.search(name):
            assert name.endswith('_env'), name
            assert 'environment variable' in item.metadata['description']
            assert item.default == ''


@pytest.mark.parametrize(('name', 'value', 'reason'), [
    ('agent.max_round', 3, 'there is no setting'),
    ('agents.max_rounds', 3, 'there is no setting'),
    ('max_rounds', 3, 'there is no setting'),
    ('agent', {}, 'there is no setting'),
    ('agent.max_rounds', 0, 'must lie in 1..100'),
    ('agent.max_rounds', 101, 'must lie in 1..100'),
    ('agent.max_rounds', 3.0, 'must be of type int'),
    ('agent.max_rounds', '3', 'must be of type int'),
    ('agent.max_rounds', True, 'must be of type int'),
    ('agent.max_rounds', None, 'must be of type int'),
    ('agent.time_limit_s', float('nan'), 'finite'),
    ('ingest.joint_period_s', float('inf'), 'finite'),
    ('ingest.joint_period_s', -0.1, 'must lie in 0'),
    ('tree.goal_gap_s', 1e300, 'must lie in 0'),
    ('tree.event_gap_s', 1e10, 'must lie in 0'),
    ('tree.use_model', 1, 'must be of type bool'),
    ('memory.robot', 7, 'must be of type str')])
def test_what_is_refused_is_named(name: str, value: object, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason) as caught:
        with_values(Settings(), {name: value})
    assert name in str(caught.value)


def test_values_change_and_the_others_stay() -> None:
    changed = with_values(Settings(), {'agent.max_rounds': 3, 'agent.time_limit_s': 5,
                                       'memory.robot': 'r2'})
    assert (changed.agent.max_rounds, changed.agent.time_limit_s) == (3, 5.0)
    assert isinstance(changed.agent.time_limit_s, float)
    assert changed.memory.robot == 'r2'
    assert changed.tree == Settings().tree


@pytest.mark.parametrize('text', [
    'agent: {max_rounds: 3}\nmemory: {robot: r2}',
    '/**:\n  ros__parameters:\n    agent: {max_rounds: 3}\n    memory: {robot: r2}',
    '/**: {ros__parameters: {agent.max_rounds: 3, memory.robot: r2, use_sim_time: true}}\n'
    '/query: {ros__parameters: {}}'])
def test_files(tmp_path: Path, text: str) -> None:
    (tmp_path / 'emv.yaml').write_text(text)
    found = load(tmp_path / 'emv.yaml')
    assert (found.agent.max_rounds, found.memory.robot) == (3, 'r2')


@pytest.mark.parametrize('text', ['', '# nothing', '{}', '/**: {ros__parameters: }'])
def test_empty_files_change_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / 'emv.yaml').write_text(text)
    assert load(tmp_path / 'emv.yaml') == Settings()


@pytest.mark.parametrize('content', [b'- a list', b'a: [', b'\xff\xfe', b'just words'])
def test_files_that_are_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / 'emv.yaml').write_bytes(content)
    with pytest.raises(SettingsError, match='emv.yaml'):
        load(tmp_path / 'emv.yaml')


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match='nowhere.yaml'):
        load(tmp_path / 'nowhere.yaml')
    assert load() == Settings()


def test_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.delenv('EMV_MEMORY', raising=False)
    assert Settings().folder == tmp_path / '.emv'
    monkeypatch.setenv('EMV_MEMORY', '~/elsewhere')
    assert Settings().folder == tmp_path / 'elsewhere'
    assert with_values(Settings(), {'memory.folder': '/x'}).folder == Path('/x')
