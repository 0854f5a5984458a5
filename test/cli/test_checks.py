"""`emv doctor` and `emv model`: what is wrong is found, and what only lacks is a note."""

from __future__ import annotations

from pathlib import Path
import sqlite3
import time

import cv2
import numpy as np
import pytest
import yaml

from emv_ros.commands.doctor_installation import field_names
from emv_ros.commands.doctor_settings import NODE_PARAMETERS
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ImageRecord, Utterance
from emv_ros.retrieval.graph import Graph
from emv_ros.settings import MemorySettings

ROOT = Path(__file__).resolve().parents[2]


def states(result, name):
    return [item['state'] for item in result.json if item['name'] == name]


def test_a_good_memory(filled):
    found = filled('doctor', '--no-topics', '--json')
    assert {item['name'] for item in found.json if item['state'] == 'wrong'} == set()
    assert found.status == 0
    assert states(found, 'schema') == states(found, 'text index') == ['ok']
    assert states(found, 'console') == ['ok']
    assert states(found, 'model') == ['note']  # no weights in the test's cache


def test_no_memory_yet_is_a_note_and_none_is_made(emv, tmp_path):
    found = emv('doctor', '--no-topics', '--json')
    assert (found.status, states(found, 'memory')) == (0, ['note'])
    assert not (tmp_path / 'memory').exists()


def test_a_folder_that_cannot_be_looked_at_is_told(emv, tmp_path):
    found = emv('--memory', tmp_path / ('x' * 300), 'doctor', '--no-topics', '--json')
    assert (found.status, states(found, 'database')) == (1, ['wrong'])
    assert 'too long' in details(found, 'database') and states(found, 'console') == ['ok']
    found = emv('--memory', tmp_path / ('x' * 300), 'events')
    assert (found.status, found.out) == (1, '')
    assert 'cannot be looked at: File name too long' in found.err


def mends(result, name):
    return [item['mend'] for item in result.json if item['name'] == name]


def details(result, name):
    return ' '.join(item['detail'] for item in result.json if item['name'] == name)


def test_ros_and_the_interfaces_as_they_are_built(emv):
    pytest.importorskip('rclpy')
    found = emv('doctor', '--no-topics', '--json')
    assert states(found, 'ROS 2') == states(found, 'interfaces') == ['ok']
    assert 'rmw' in details(found, 'ROS 2')


def test_interfaces_of_another_version(emv, monkeypatch, tmp_path):
    pytest.importorskip('rclpy')
    from emv_ros.ingest.bag_types import message_folder

    definitions = {file.name: file.read_text() for file in message_folder().glob('*.msg')}
    definitions['MemoryStatus.msg'] += '\nuint8 NEWER=1\nfloat32 newer_field  # of a later version'
    for name, text in definitions.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr('emv_ros.ingest.bag_types.message_folder', lambda: tmp_path)
    found = emv('doctor', '--no-topics', '--json')
    assert (found.status, states(found, 'interfaces')) == (1, ['wrong'])
    assert details(found, 'interfaces').endswith(': MemoryStatus')


def test_fields_of_a_definition():
    assert field_names('# Words.\nuint8 A=1\nstring B="x = y"\nfloat32[3] position  # m\n\n'
                       'Header header\nint32 with_default 5') == {
        'position', 'header', 'with_default'}


def test_a_key_that_is_not_there(emv, monkeypatch):
    asked = ('doctor', '--no-topics', '--json', '--set', 'model.api_key_env=EMV_TEST_KEY')
    monkeypatch.delenv('EMV_TEST_KEY', raising=False)
    found = emv(*asked)
    assert (found.status, states(found, 'key')) == (1, ['wrong'])
    assert 'export EMV_TEST_KEY' in mends(found, 'key')[0]
    monkeypatch.setenv('EMV_TEST_KEY', 'k')
    assert states(emv(*asked), 'key') == ['ok']


@pytest.mark.parametrize(('text', 'wrong'), [
    ('/**:\n  ros__parameters: {}\ncamera_ingest:\n  ros__parameters: {agent.max_rounds: 2}', ''),
    ('/**:\n  ros__parameters: {}\n/r1/query:\n  ros__parameters: {preload: false}', ''),
    ('/**:\n  ros__parameters: {}\ncamera_ingest:\n  ros__parameters: {topic: [a]}',
     'camera_ingest has no parameter topic'),
    ('/**:\n  ros__parameters: {}\ncamera_ingst:\n  ros__parameters: {topics: [a]}',
     'there is no node camera_ingst'),
    ('camera_ingest:\n  ros__parameters: {topics: [a]}', ''),
    ('r1:\n  query:\n    ros__parameters: {preload: false}\ncamera_ingest:\n'
     '  ros__parameters: {topics: [a]}', ''),
    ('r1:\n  query:\n    ros__parameters: {topics: [a]}', 'r1/query has no parameter topics'),
    ('/**:\n  ros__parameters: {}\ncamera_ingest:\n  ros__parameters: [topics]',
     "the parameters of camera_ingest are ['topics']")])
def test_what_a_file_says_of_nodes(emv, tmp_path, text, wrong):
    (tmp_path / 'emv.yaml').write_text(text)
    found = emv('doctor', '--no-topics', '--json', '--config', tmp_path / 'emv.yaml')
    assert states(found, 'parameters') == ['wrong' if wrong else 'ok']
    assert wrong in details(found, 'parameters')


@pytest.mark.parametrize('seconds', ['nan', 'inf', '-1', 'soon'])
def test_a_look_that_has_no_end_is_refused(emv, seconds):
    assert emv('doctor', f'--look={seconds}').status == 2


def test_the_file_of_the_package_names_every_parameter():
    content = yaml.safe_load((ROOT / 'config' / 'emv.yaml').read_text())
    for node, parameters in NODE_PARAMETERS.items():
        assert {*content[node]['ros__parameters']} == {*parameters, 'autostart'}, node


def test_records_in_the_future_and_another_zone(filled, tmp_path, monkeypatch):
    found = filled('doctor', '--no-topics', '--json', '--set', 'memory.time_zone=Europe/Berlin')
    assert states(found, 'time zone') == states(found, 'clock') == ['ok']
    assert states(found, 'records') == []
    with MemoryStore.open(MemorySettings(), tmp_path / 'memory') as store:
        store.add(Utterance(stamp_ns=time.time_ns() + 10**13, speaker='Ada', text='Soon.'))
    found = filled('doctor', '--no-topics', '--json', '--set', 'memory.time_zone=Asia/Tokyo')
    assert (found.status, states(found, 'records')) == (1, ['wrong'])
    assert '1 of utterance' in details(found, 'records')
    assert states(found, 'time zone') == ['ok', 'note']
    assert states(filled('doctor', '--no-topics', '--json', '--set',
                         'memory.time_zone=Nowhere/Land'), 'time zone') == ['wrong']


def test_caches_against_the_database(filled, tmp_path):
    with MemoryStore.open(MemorySettings(), tmp_path / 'memory') as store:
        graph = Graph(store)
        with store.reading() as session:
            graph.refresh(session)
        graph.save()
    found = filled('doctor', '--no-topics', '--json')
    assert states(found, 'cache graph.bin') == ['ok']
    file = tmp_path / 'memory' / 'cache' / 'graph.bin'
    data = bytearray(file.read_bytes())
    data[-1] ^= 0xFF
    file.write_bytes(data)
    found = filled('doctor', '--no-topics', '--json')
    assert states(found, 'cache graph.bin') == ['note'] and found.status == 0
    assert 'damaged' in details(found, 'cache graph.bin')


def test_privacy_that_cannot_be_had(emv, tmp_path):
    asked = ('doctor', '--no-topics', '--json', '--set')
    assert states(emv(*asked, 'privacy.blur_faces=true'), 'privacy') == ['ok']
    found = emv(*asked, 'privacy.blur_labels=person')
    assert (found.status, states(found, 'privacy')) == (1, ['wrong'])
    assert 'perception.detector' in details(found, 'privacy')
    found = emv(*asked, 'privacy.drop_phrases=/(/')
    assert states(found, 'privacy') == ['wrong']


def test_a_missing_picture(emv, tmp_path):
    with MemoryStore.open(MemorySettings(), tmp_path / 'memory') as store:
        data = cv2.imencode('.png', np.zeros((4, 4, 3), np.uint8))[1].tobytes()
        key = store.add_image(data, ImageRecord(
            stamp_ns=1, camera='front', sha256='', media_type='image/png', width=4, height=4))
        image = store.get('image', key)
        path = store.pictures.path(image.sha256, image.media_type)
    assert states(emv('doctor', '--no-topics', '--json'), 'pictures') == ['ok']
    assert emv('show', f'i{key}', '--json').json['picture_path'] == str(path)
    path.unlink()
    found = emv('doctor', '--no-topics')
    assert found.status == 1
    assert '1 of 1 are missing' in found.out


def test_a_text_index_out_of_step(filled, tmp_path):
    with sqlite3.connect(tmp_path / 'memory' / 'memory.db') as connection:
        connection.execute('DROP TRIGGER document_text_delete')
        connection.execute('DELETE FROM document WHERE id = 1')
    found = filled('doctor', '--no-topics', '--json')
    assert (found.status, states(found, 'text index')) == (1, ['wrong'])


def test_a_newer_schema(filled, tmp_path):
    with sqlite3.connect(tmp_path / 'memory' / 'memory.db') as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    found = filled('doctor', '--no-topics', '--json')
    assert (found.status, states(found, 'schema')) == (1, ['wrong'])
    found = filled('events')
    assert (found.status, '9999' in found.err) == (1, True)


def test_a_database_that_was_only_begun_is_a_note(emv, tmp_path):
    (tmp_path / 'memory').mkdir()
    (tmp_path / 'memory' / 'memory.db').touch()
    found = emv('doctor', '--no-topics', '--json')
    assert (found.status, states(found, 'schema')) == (0, ['note'])
    assert emv('stats', '--json').json['records']['utterance'] == 0


def test_an_older_schema_is_told_and_stays(emv, tmp_path):
    folder = tmp_path / 'memory'
    folder.mkdir()
    with sqlite3.connect(folder / 'memory.db') as connection:
        connection.execute('CREATE TABLE alembic_version (version_num TEXT)')
        connection.execute("INSERT INTO alembic_version VALUES ('0001')")
    found = emv('doctor', '--no-topics', '--json')
    assert states(found, 'schema') == ['note'] and 'next opened' in mends(found, 'schema')[0]
    with sqlite3.connect(folder / 'memory.db') as connection:
        assert connection.execute('SELECT version_num FROM alembic_version').fetchall() == [
            ('0001',)]


def test_a_server_that_does_not_answer(emv):
    found = emv('doctor', '--no-topics', '--json', '--set',
                'memory.url=postgresql+psycopg://u:secret@127.0.0.1:1/none')
    assert (found.status, states(found, 'database')) == (1, ['wrong'])
    assert 'secret' not in found.out and states(found, 'vectors') == []


def test_a_damaged_file(emv, tmp_path):
    (tmp_path / 'memory').mkdir()
    (tmp_path / 'memory' / 'memory.db').write_bytes(b'no database' * 500)
    found = emv('doctor', '--no-topics', '--json')
    assert (found.status, states(found, 'database')) == (1, ['wrong'])


def test_model_status_without_weights(emv, tmp_path):
    found = emv('model', 'status', '--json')
    assert (found.status, found.json['weights']) == (1, '')
    assert found.json['folder'] == str(tmp_path / 'cache')
    assert 'emv model pull' in found.json['models']['agent']['why_unavailable']
