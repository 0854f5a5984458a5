"""Imports: what is told of them, what is refused, and that nothing stands twice by mistake."""

from __future__ import annotations

import json
import shutil
import sqlite3

import pytest

from emv_ros.commands import importing
from emv_ros.errors import StoreError
from emv_ros.memory.imports import claim
from emv_ros.memory.store import MemoryStore
from emv_ros.memory.writer import BatchWriter
from emv_ros.records import Utterance
from emv_ros.settings import MemorySettings


def test_a_report_of_what_was_read(emv, experience):
    found = emv('import', experience, '--json')
    assert found.status == 0
    report, = found.json
    assert (report['read'], report['stored'], report['refused']) == (7, 7, 0)
    assert report['records'] == {'skill': 4, 'speech': 1, 'scene': 1, 'observation': 1}
    assert (report['zone'], report['lost']) == ('UTC+02:00', {})


def test_bad_lines_are_told_by_their_numbers(emv, experience):
    with experience.open('a', encoding='utf-8') as file:
        file.write('no json\n{"type": "speech"}\n')
        file.write('{"t": "2024-06-27T14:00:00+02:00", "type": "smell", "text": "coffee"}\n')
    found = emv('import', experience)
    assert found.status == 0
    assert '10 records read, 7 stored' in found.out
    assert 'line 8' in found.out
    assert 'line 9' in found.out
    assert '1 of an unknown type: smell' in found.out


def test_the_first_ten_refusals_are_shown_and_the_rest_is_counted(emv, experience):
    with experience.open('a', encoding='utf-8') as file:
        file.write('{}\n' * 25)
    found = emv('import', experience)
    assert found.out.count('    line ') == 10
    assert 'and 15 more' in found.out


def test_a_file_is_read_once_under_whatever_name(emv, experience, tmp_path):
    assert emv('import', experience).status == 0
    copy = tmp_path / 'copy.jsonl'
    shutil.copy(experience, copy)
    again = emv('import', copy)
    assert (again.status, 'imported already' in again.err) == (0, True)
    assert len(emv('events', '--json').json) == 3
    assert emv('import', copy, '--again').status == 0
    assert len(emv('events', '--json').json) == 6


def test_an_interrupted_import_is_told(emv, experience, tmp_path):
    from emv_ros.memory.imports import fingerprint

    with MemoryStore.open(MemorySettings(), tmp_path / 'memory') as store:
        assert claim(store, 'robot', fingerprint(experience), experience, 0) is None
    found = emv('import', experience)
    assert (found.status, 'interrupted' in found.err) == (1, True)


def test_a_file_with_nothing_usable_can_be_tried_again(emv, tmp_path):
    path = tmp_path / 'empty.jsonl'
    path.write_text('nothing\n', 'utf-8')
    for _ in range(2):
        found = emv('import', path)
        assert (found.status, 'line 1' in found.err) == (1, True)


def test_one_bad_path_costs_no_other(emv, experience, tmp_path):
    found = emv('import', tmp_path / 'absent.jsonl', experience, '--json')
    assert found.status == 1
    assert [set(item) >= {'error'} for item in found.json] == [True, False]
    assert len(emv('events', '--json').json) == 3


def test_more_records_than_the_queue_holds_are_all_stored(emv, tmp_path):
    path = tmp_path / 'joints.jsonl'
    path.write_text(''.join(json.dumps({
        't': f'2024-06-26T20:{number // 60:02d}:{number % 60:02d}Z', 'type': 'joints',
        'names': ['elbow'], 'position': [number / 100]}) + '\n' for number in range(600)), 'utf-8')
    found = emv('--set', 'memory.queue_size=10', '--set', 'memory.batch_size=5', 'import', path)
    assert found.status == 0
    assert emv('stats', '--json').json['records']['joint_sample'] == 600


def test_what_can_never_be_written_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(importing, 'PATIENCE_S', 0.5)
    folder = tmp_path / 'memory'
    with MemoryStore.open(MemorySettings(busy_timeout_s=0.1), folder) as store:
        writer = BatchWriter(store, batch_size=5, queue_size=10)
        sink = importing.Unhurried(writer, 10)
        other = sqlite3.connect(folder / 'memory.db', isolation_level=None)
        other.execute('BEGIN IMMEDIATE')
        with pytest.raises(StoreError, match=r'could not be written for .* s \(.* locked\)'):
            for number in range(20):
                sink.add(Utterance(stamp_ns=number, speaker='', text=f'number {number}'))
        assert sink.is_stuck
        other.execute('ROLLBACK')
        monkeypatch.setattr(importing, 'PATIENCE_S', 20.0)
        sink.drain(0)  # what waited is written as soon as that can be done
        assert writer.written.total() == sink.taken - 1
        assert writer.close()
        other.close()


def test_a_wrong_path_makes_no_memory(emv, tmp_path):
    (tmp_path / 'notes.txt').write_text('hello', 'utf-8')
    (tmp_path / 'empty').mkdir()
    found = emv('import', tmp_path / 'absent.jsonl', tmp_path / 'notes.txt', tmp_path / 'empty')
    assert (found.status, found.err.count('emv import: ')) == (1, 3)
    assert not (tmp_path / 'memory').exists()
