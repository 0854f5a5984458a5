"""`emv doctor` and `emv model`: what is wrong is found, and what only lacks is a note."""

from __future__ import annotations

import sqlite3

import cv2
import numpy as np

from emv_ros.memory.store import MemoryStore
from emv_ros.records import ImageRecord
from emv_ros.settings import MemorySettings


def states(result, name):
    return [item['state'] for item in result.json if item['name'] == name]


def test_a_good_memory(filled):
    found = filled('doctor', '--json')
    assert {item['name'] for item in found.json if item['state'] == 'wrong'} == set()
    assert found.status == 0
    assert states(found, 'schema') == states(found, 'text index') == ['ok']
    assert states(found, 'console') == ['ok']
    assert states(found, 'model') == ['note']  # no weights in the test's cache


def test_no_memory_yet_is_a_note_and_none_is_made(emv, tmp_path):
    found = emv('doctor', '--json')
    assert (found.status, states(found, 'memory')) == (0, ['note'])
    assert not (tmp_path / 'memory').exists()


def test_a_missing_picture(emv, tmp_path):
    with MemoryStore.open(MemorySettings(), tmp_path / 'memory') as store:
        data = cv2.imencode('.png', np.zeros((4, 4, 3), np.uint8))[1].tobytes()
        key = store.add_image(data, ImageRecord(
            stamp_ns=1, camera='front', sha256='', media_type='image/png', width=4, height=4))
        image = store.get('image', key)
        path = store.pictures.path(image.sha256, image.media_type)
    assert states(emv('doctor', '--json'), 'pictures') == ['ok']
    assert emv('show', f'i{key}', '--json').json['picture_path'] == str(path)
    path.unlink()
    found = emv('doctor')
    assert found.status == 1
    assert '1 of 1 are missing' in found.out


def test_a_text_index_out_of_step(filled, tmp_path):
    with sqlite3.connect(tmp_path / 'memory' / 'memory.db') as connection:
        connection.execute('DROP TRIGGER document_text_delete')
        connection.execute('DELETE FROM document WHERE id = 1')
    found = filled('doctor', '--json')
    assert (found.status, states(found, 'text index')) == (1, ['wrong'])


def test_a_newer_schema(filled, tmp_path):
    with sqlite3.connect(tmp_path / 'memory' / 'memory.db') as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    found = filled('doctor', '--json')
    assert (found.status, states(found, 'schema')) == (1, ['wrong'])
    found = filled('events')
    assert (found.status, '9999' in found.err) == (1, True)


def test_a_damaged_file(emv, tmp_path):
    (tmp_path / 'memory').mkdir()
    (tmp_path / 'memory' / 'memory.db').write_bytes(b'no database' * 500)
    found = emv('doctor', '--json')
    assert (found.status, states(found, 'database')) == (1, ['wrong'])


def test_model_status_without_weights(emv, tmp_path):
    found = emv('model', 'status', '--json')
    assert (found.status, found.json['weights']) == (1, '')
    assert found.json['folder'] == str(tmp_path / 'cache')
    assert 'emv model pull' in found.json['models']['agent']['why_unavailable']
