"""`emv import` keeps out of a memory what privacy asks for, from files and bags alike."""

from __future__ import annotations

import json

import cv2
import numpy as np
from private_pictures import (
    FACE_BOX,
    PERSON_BOX,
    drawn_face,
    files_with,
    is_covered,
    jpeg_of_a_person,
    pictures_in,
)
import pytest

T0 = 1_700_000_000_000_000_000
WORDS = ('--set', 'privacy.drop_phrases=xylophone', '--set', 'privacy.drop_speakers=Mallory')
LINES = (
    {'t': '2024-06-26T20:00:00Z', 'type': 'speech', 'speaker': 'Ada', 'text': 'A xylophone!'},
    {'t': '2024-06-26T20:00:01Z', 'type': 'speech', 'speaker': 'Mallory', 'text': 'Zanzibar.'},
    {'t': '2024-06-26T20:00:02Z', 'type': 'speech', 'speaker': 'Ada', 'text': 'The mug is red.'},
    {'t': '2024-06-26T20:00:03Z', 'type': 'skill', 'skill': 'Open', 'status': 'succeeded',
     'goal_stack': [], 'parameters': {'object': 'xylophone'}},
    {'t': '2024-06-26T20:00:04Z', 'type': 'scene',
     'objects': [{'name': 'xylophone', 'instance': 'x-1'}], 'relations': []},
    {'t': '2024-06-26T20:00:05Z', 'type': 'image', 'camera': 'head', 'path': 'person.jpg'},
    {'t': '2024-06-26T20:00:06Z', 'type': 'image', 'camera': 'head', 'path': 'face.png'},
    {'t': 'xylophone', 'type': 'speech', 'speaker': 'Ada', 'text': 'No time.'})


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / 'with a xylophone'
    folder.mkdir()
    (folder / 'person.jpg').write_bytes(jpeg_of_a_person())
    cv2.imwrite(str(folder / 'face.png'), drawn_face())
    path = folder / 'xylophone.jsonl'
    path.write_text(''.join(json.dumps(line) + '\n' for line in LINES))
    return path


def check(memory):
    assert files_with(memory, 'xylophone', 'zanzibar') == []
    assert files_with(memory, 'mug is red')
    by_size = {picture.shape[:2]: picture for picture in pictures_in(memory)}
    assert set(by_size) == {(240, 320), (360, 480)}
    assert is_covered(by_size[240, 320], PERSON_BOX) and is_covered(by_size[360, 480], FACE_BOX)


def test_an_experience_file(emv, source, tmp_path):
    found = emv('import', source, '--json', *WORDS, '--set', 'privacy.blur_faces=true', '--set',
                'privacy.blur_labels=person', '--set', 'perception.detector=household')
    assert found.status == 0
    result, = found.json
    assert result['withheld'] == {'speech': 2} and result['refused'] == 1
    assert result['read'] == len(LINES) and result['stored'] == 5
    assert 'xylophone' not in json.dumps(result['refusals'])
    check(tmp_path / 'memory')
    assert emv('events', '--json').json[0]['parameters'] == {'object': '[…]'}


def test_a_bag(emv, tmp_path):
    rosbag2 = pytest.importorskip('rosbags.rosbag2')
    from rosbags.rosbag2.enums import StoragePlugin

    from emv_ros.ingest.bag_types import standard_types

    types = standard_types()

    def made(kind, **fields):
        return types.types[kind](**fields)

    def picture(second, data):
        head = made('std_msgs/msg/Header', frame_id='', stamp=made(
            'builtin_interfaces/msg/Time', sec=1_700_000_000 + second, nanosec=0))
        return made('sensor_msgs/msg/CompressedImage', header=head, format='jpeg',
                    data=np.frombuffer(data, np.uint8))

    messages = [('/speech', made('std_msgs/msg/String', data=words)) for words in (
        'A xylophone!', 'The mug is red.')]
    face = cv2.imencode('.jpg', drawn_face())[1].tobytes()
    messages += [('/head/image_raw/compressed', picture(second, data))
                 for second, data in enumerate((jpeg_of_a_person(), face))]
    with rosbag2.Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        topics = {}
        for number, (topic, message) in enumerate(messages):
            kind = message.__msgtype__
            if topic not in topics:
                topics[topic] = writer.add_connection(topic, kind, typestore=types)
            writer.write(topics[topic], T0 + number, types.serialize_cdr(message, kind))
    found = emv('import', tmp_path / 'bag', '--json', *WORDS, '--set', 'privacy.blur_faces=true',
                '--set', 'privacy.blur_labels=person', '--set', 'perception.detector=household')
    assert found.status == 0
    assert found.json[0]['withheld'] == {'speech': 1} and found.json[0]['stored'] == 3
    check(tmp_path / 'memory')


def test_what_cannot_be_redacted_is_refused_by_name(emv, source, tmp_path):
    found = emv('import', source, '--json', '--set', 'privacy.blur_labels=person')
    assert found.status != 0 and 'needs a detector' in found.err
    (source.parent / 'face.png').write_bytes(
        cv2.imencode('.png', drawn_face())[1].tobytes()[:-40])
    found = emv('import', source, '--json', *WORDS, '--set', 'privacy.blur_faces=true')
    assert found.status == 0 and found.json[0]['refused'] == 2
    assert [picture.shape[:2] for picture in pictures_in(tmp_path / 'memory')] == [(240, 320)]


def test_an_export_is_not_let_past_the_door(filled, tmp_path):
    assert filled('export', tmp_path / 'out').status == 0
    found = filled('--memory', tmp_path / 'other', 'import', tmp_path / 'out', *WORDS)
    assert found.status == 1
    assert 'privacy.drop_speakers, privacy.drop_phrases does not allow' in found.err
    assert filled('--memory', tmp_path / 'other', 'import', tmp_path / 'out').status == 0


def test_a_question_goes_out_without_what_must_not_be_kept(filled, tmp_path):
    filled('ask', 'Where is the xylophone of 2024?', '--set', 'model.model=none', *WORDS)
    assert files_with(tmp_path / 'memory', 'xylophone') == []
    assert files_with(tmp_path / 'memory', 'of 2024?')
