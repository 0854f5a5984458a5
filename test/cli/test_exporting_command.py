"""`emv export` and the import of what it wrote."""

from __future__ import annotations

import json

import pytest

from emv_ros.memory import restoring
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import MemorySettings


def test_a_memory_goes_out_and_comes_in_again(filled, tmp_path):
    done = filled('export', tmp_path / 'out', '--json')
    assert (done.status, done.json['lines']['skill']) == (0, 3)
    other = ('--memory', tmp_path / 'other')
    told = filled('import', tmp_path / 'out', *other)
    assert told.status == 0, told.err
    assert 'an export of robot, 9 lines' in told.out
    assert filled('events', '--json', *other).json == filled('events', '--json').json
    again = filled('import', tmp_path / 'out/experience.jsonl', *other)
    assert (again.status, 'imported already' in again.err, '--again' in again.err) == (
        0, True, False)
    third = filled('import', tmp_path / 'out', *other, '--robot', 'twin', '--json')
    assert third.json[0]['robots'] == ['twin']
    assert len(filled('events', '--json', *other).json) == 6


def test_a_part_of_it(filled, tmp_path):
    done = filled('export', tmp_path / 'out', '--day', '2024-06-26', '--json')
    assert 'speech' not in done.json['lines']
    assert done.json['lines']['skill'] == 2


def test_what_goes_wrong_is_told(filled, tmp_path):
    (tmp_path / 'out').mkdir()
    (tmp_path / 'out/letter').write_text('dear Ann')
    assert 'is there already' in filled('export', tmp_path / 'out').err
    assert 'is no export' in filled('export', tmp_path / 'out', '--force').err
    assert filled('export', tmp_path / 'bag', '--format', 'mcap', '--queries').status == 2
    assert filled('export', tmp_path / 'good').status == 0
    refused = filled('import', tmp_path / 'good')
    assert (refused.status, 'already holds records' in refused.err) == (1, True)
    file = tmp_path / 'good/experience.jsonl'
    file.write_bytes(file.read_bytes()[:-20])
    refused = filled('import', tmp_path / 'good', '--memory', tmp_path / 'other')
    assert (refused.status, 'was cut off' in refused.err) == (1, True)


def test_a_bag_comes_in_again(filled, tmp_path):
    assert filled('export', tmp_path / 'bag', '--format', 'mcap').status == 0
    assert filled('import', tmp_path / 'bag', '--memory', tmp_path / 'other').status == 0
    keys = ('skill', 'status', 'goal_stack', 'parameters', 'duration_s')
    seen = [[{key: run[key] for key in keys} for run in filled('events', '--json', *where).json]
            for where in ((), ('--memory', tmp_path / 'other'))]
    assert seen[0] == seen[1]


def test_nothing_consolidates_half_an_import(filled, tmp_path, monkeypatch):
    filled('export', tmp_path / 'out')
    other = ('--memory', tmp_path / 'other')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(restoring, 'LOT', 4)
        patch.setattr(restoring._Restoring, 'insert', _third_breaks())
        with pytest.raises(KeyError):
            filled('import', tmp_path / 'out', *other)
    stopped = filled('consolidate', *other, '--set', 'tree.use_model=false')
    assert (stopped.status, 'was cut off' in stopped.err) == (1, True)
    assert 'rows were taken back' in filled('import', '--undo', *other).out
    with MemoryStore.open(MemorySettings(), tmp_path / 'other') as store:
        assert store.robots() == []
    assert filled('import', '--undo', *other).status == 1
    assert filled('import', tmp_path / 'out', *other).status == 0
    assert filled('consolidate', *other, '--set', 'tree.use_model=false').status == 0
    assert filled('import').status == 2


def _third_breaks():
    insert, calls = restoring._Restoring.insert, iter(range(2))

    def broken(self, session, lot):
        if next(calls, None) is None:
            raise KeyError('as if the process were killed')
        return insert(self, session, lot)

    return broken


def test_a_plain_file_is_no_export(emv, experience):
    assert json.loads(experience.read_text('utf-8').splitlines()[0])['type'] == 'skill'
    assert emv('import', experience, '--json').json[0]['read'] == 7
