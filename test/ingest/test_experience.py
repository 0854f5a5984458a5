"""Experience files: every type of line, every way a line can be bad."""

import json
from pathlib import Path
import re
from tempfile import TemporaryDirectory

import cv2
from hypothesis import given, settings, strategies as st
from ingest_parts import SECOND, ListSink
import numpy as np
import pytest

from emv_ros.errors import ImportFileError, TimeExpressionError
from emv_ros.ingest import experience, import_path
from emv_ros.ingest.experience import import_experience
from emv_ros.ingest.experience_records import CONVERTERS
from emv_ros.records import Status

SHARED = Path(__file__).resolve().parents[3] / 'shared'
NOON = 1_719_396_000 * SECOND  # 2024-06-26T12:00:00+02:00


def at(second, **fields):
    return {'t': f'2024-06-26T12:00:{second:02d}.000000+02:00'} | fields


def written(folder, *lines):
    path = folder / 'log.jsonl'
    path.write_bytes(b'\n'.join(
        line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines) + b'\n')
    return path


def imported(folder, *lines, **options):
    sink = ListSink()
    return sink, import_experience(written(folder, *lines), sink, 'armar', **options)


def test_every_type_of_line(tmp_path):
    cv2.imwrite(str(tmp_path / 'a.jpg'), np.zeros((8, 16), np.uint8))
    sink, report = imported(
        tmp_path,
        at(0, type='skill', skill='Grasp', status='failed', goal_stack=['Serve'],
           parameters={'arm': 0}, trigger='GUI', narration='n', id='7', parent_id='6',
           t_end='2024-06-26T12:00:01+02:00'),
        at(1, type='goal', goal='Coffee', t_end='2024-06-26T12:00:09+02:00', recording='P01'),
        at(2, type='speech', speaker='robot', text='Hello', confidence=0.5),
        at(3, type='scene', objects=[{'name': 'mug', 'instance': 'm_0', 'bbox': [1, 2, 3, 4],
                                      'colour': 'red'}],
           relations=[{'subject': 'm_0', 'predicate': 'on', 'object': 'table'}]),
        at(4, type='observation', name='mug', event='moved', t_end='2024-06-26T12:00:06+02:00'),
        at(5, type='narration', text='it fell', t_end='2024-06-26T12:00:06+02:00'),
        at(6, type='joints', names=['a', 'b'], position=[1, None], velocity=[2.5]),
        at(7, type='pose', frame='map', position=[1, 2, 3]),
        at(8, type='image', camera='head', path='a.jpg', encoding='mono8'))
    assert report.records == dict.fromkeys(
        ('skill', 'goal', 'speech', 'scene', 'observation', 'narration', 'joints', 'pose',
         'image'), 1)
    assert (report.read, report.refused_count, report.zone) == (9, 0, 'UTC+02:00')
    assert sink.sessions == [('armar', NOON, 'file', 'UTC+02:00', 'log.jsonl')]
    skill, goal, words, scene, seen, told, joints, pose, picture = sink.records
    assert (skill.skill, skill.status, skill.goal_stack) == ('Grasp', Status.FAILED, ('Serve',))
    assert (skill.parameters, skill.source_id, skill.parent_source_id) == ({'arm': 0}, '7', '6')
    assert (skill.stamp_ns, skill.end_ns) == (NOON, NOON + SECOND)
    assert (goal.kind, goal.text, goal.extra) == ('goal', 'Coffee', {'recording': 'P01'})
    assert goal.end_ns == NOON + 9 * SECOND
    assert (words.is_own, words.text, words.confidence) == (True, 'Hello', 0.5)
    assert scene.objects[0].bbox == (1.0, 2.0, 3.0, 4.0)
    assert scene.extra == {'object_fields': [{'colour': 'red'}]}
    assert (seen.name, seen.event, seen.end_ns) == ('mug', 'moved', NOON + 6 * SECOND)
    assert (told.kind, told.text) == ('narration', 'it fell')
    assert (joints.position, joints.velocity) == ((1.0, None), (2.5, None))
    assert (pose.frame, pose.position, pose.orientation) == ('map', (1.0, 2.0, 3.0), None)
    assert (picture.camera, picture.width, picture.height) == ('head', 16, 8)
    assert sink.pictures == [(tmp_path / 'a.jpg').read_bytes()]
    assert {record.robot for record in sink.records} == {'armar'}
    assert {record.session_id for record in sink.records} == {1}
    assert (report.first_ns, report.last_ns) == (NOON, NOON + 8 * SECOND)


def test_lines_in_any_order_come_out_by_time(tmp_path):
    sink, _ = imported(tmp_path, *(
        at(second, type='speech', text=str(second)) for second in (5, 1, 9, 3, 1, 0)))
    assert [record.text for record in sink.records] == ['0', '1', '3', '5', '9']
    assert sink.sessions[0][1] == NOON


@pytest.mark.parametrize(('line', 'told'), [
    (b'not json', 'no JSON'), (b'[1, 2]', 'no JSON object but list'), (b'"text"', 'but str'),
    (b'{"type": "speech", "text": "a"}', 'no time `t`'), (b'\xff\xfe', 'no JSON'),
    (b'{"t": ' + b'[' * 100_000, 'no JSON'),
    (b'{"t": "2024-06-26T12:00:00+02:00", "type": "speech", "text": "\\ud800"}', 'no JSON'),
    ({'t': '2024-06-26T12:00:00', 'type': 'speech', 'text': 'a'}, 'no RFC 3339 time'),
    ({'t': 5, 'type': 'speech', 'text': 'a'}, 'no RFC 3339 time'),
    ({'t': '2024-13-26T12:00:00Z', 'type': 'speech', 'text': 'a'}, 'no such time'),
    ({'t': '1955-01-01T12:00:00Z', 'type': 'speech', 'text': 'a'}, 'outside the years'),
    ({'t': '9999-01-01T12:00:00Z', 'type': 'speech', 'text': 'a'}, 'outside the years'),
    (at(0, type='goal', goal='a', t_end='9999-01-01T12:00:00Z'), 'outside the years'),
    (at(0, text='a'), 'no `type`'), (at(0, type=5), 'no `type`'),
    (at(0, type='speech'), 'no `text`'), (at(0, type='speech', text=['a']), 'no text but list'),
    (at(0, type='skill', status='running'), 'no `skill`'),
    (at(0, type='skill', skill='a', goal_stack='b'), 'no list but str'),
    (at(0, type='skill', skill='a', goal_stack=[1]), 'holds 1, which is no text'),
    (at(0, type='goal', goal='a', t_end='2024-06-26T11:59:59+02:00'), 'before it starts'),
    (at(0, type='goal', goal='a', t_end='soon'), 'no RFC 3339 time'),
    (at(0, type='observation'), 'no `name`'),
    (at(0, type='scene', objects=[{'instance': 'a'}]), 'object 1: it has no name'),
    (at(0, type='scene', objects='mug'), 'no list but str'),
    (at(0, type='joints', names=[]), 'names no joint'),
    (at(0, type='joints', names=['a'], position=['x']), 'no number'),
    (at(0, type='pose', position=[1, 2]), '2 numbers, not 3'),
    (at(0, type='image', camera='a', path='absent.jpg'), 'cannot be read: No such file'),
    (at(0, type='image', camera='a', path='../secret.jpg'), 'outside the folder'),
    (at(0, type='image', camera='a', path='/etc/hostname'), 'outside the folder'),
    (at(0, type='image', camera='a', path='log.jsonl'), 'neither JPEG nor PNG'),
    (at(0, type='image', camera='a', path='a\0b'), 'cannot be read|outside|null'),
])
def test_a_bad_line_is_refused_with_its_number_and_loses_nothing_else(tmp_path, line, told):
    sink, report = imported(
        tmp_path, at(1, type='speech', text='before'), b'', line,
        at(2, type='speech', text='after'))
    assert [record.text for record in sink.records] == ['before', 'after']
    refusal, = report.refused
    assert refusal.where == 'line 3'
    assert re.search(told, refusal.reason)
    assert (report.stored, report.refused_count, report.read) == (2, 1, 3)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(['name', 'bbox', 'subject', 'predicate', 'position', 'x']), inner,
        max_size=3), max_leaves=6)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([*CONVERTERS, 'image']), st.dictionaries(st.sampled_from(
    ['skill', 'status', 'goal_stack', 'parameters', 'goal', 'speaker', 'text', 'confidence',
     'objects', 'relations', 'name', 'names', 'position', 'velocity', 'orientation', 'frame',
     'camera', 'path', 't_end', 'is_person', 'attributes']), JSON))
def test_whatever_a_line_holds_it_is_stored_or_refused(kind, fields):
    with TemporaryDirectory() as folder:
        sink, report = imported(
            Path(folder), at(0, type=kind) | fields, at(1, type='speech', text='after'))
    assert sink.records[-1].text == 'after'
    assert report.read == 2
    assert report.stored == len(sink.records)


def test_what_the_format_does_not_know_is_counted_or_kept(tmp_path):
    sink, report = imported(
        tmp_path, at(0, type='smell', of='smoke'), at(1, type='smell', of='tea'),
        at(2, type='skill', skill='a', status='paused', mood=[1]))
    assert report.skipped == {'smell': 2}
    record, = sink.records
    assert record.status is Status.UNKNOWN
    assert record.extra == {'status': 'paused', 'mood': [1]}
    assert report.read == 3


def test_no_number_in_json_becomes_null(tmp_path):
    sink, _ = imported(
        tmp_path, b'{"t": "2024-06-26T12:00:00Z", "type": "joints", "names": ["a", "b"], '
        b'"position": [NaN, 1], "odd": Infinity}')
    assert sink.records[0].position == (None, 1.0)
    assert sink.records[0].extra == {'odd': None}


def test_the_same_line_twice_is_one_record(tmp_path):
    sink, report = imported(
        tmp_path, at(0, type='speech', text='a'), at(1, type='speech', text='b'),
        at(0, type='speech', text='a'))
    assert [record.text for record in sink.records] == ['a', 'b']
    assert (report.duplicates, report.read) == (1, 3)


def test_the_zone_is_that_of_the_argument_else_of_most_stamps(tmp_path):
    lines = [{'t': f'2024-01-0{day}T12:00:00{offset}', 'type': 'speech', 'text': 'a'}
             for day, offset in ((1, '+01:00'), (2, '+13:00'), (3, '+13:00'))]
    sink, report = imported(tmp_path, *lines)
    assert sink.sessions[0][3] == report.zone == 'UTC+13:00'
    assert 'the stamps have 2 offsets' in report.notes[0]
    sink, report = imported(tmp_path, *lines, zone='Europe/Berlin')
    assert sink.sessions[0][3] == 'Europe/Berlin'
    with pytest.raises(TimeExpressionError, match='Atlantis'):
        imported(tmp_path, *lines, zone='Europe/Atlantis')


def test_a_byte_order_mark_windows_ends_of_line_and_no_last_end(tmp_path):
    path = tmp_path / 'a.jsonl'
    lines = [json.dumps(at(i, type='speech', text=str(i))).encode() for i in range(2)]
    path.write_bytes(b'\xef\xbb\xbf' + b'\r\n'.join(lines))
    sink = ListSink()
    assert import_experience(path, sink, 'r').stored == 2


def test_a_line_that_never_ends_is_refused_and_the_rest_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(experience, 'MAX_LINE_BYTES', 200)
    sink, report = imported(
        tmp_path, b'{"t": "' + b'x' * 1000 + b'"}', at(1, type='speech', text='after'))
    assert report.refused[0].where == 'line 1'
    assert 'longer than 200 bytes' in report.refused[0].reason
    assert [record.text for record in sink.records] == ['after']


@pytest.mark.parametrize(('content', 'told'), [
    (b'', 'is empty'), (b'\n\n', 'is empty'), (b'hello\n', 'no usable record: 1 lines refused')])
def test_a_file_without_a_usable_record_is_refused(tmp_path, content, told):
    path = tmp_path / 'a.jsonl'
    path.write_bytes(content)
    sink = ListSink()
    with pytest.raises(ImportFileError, match=told):
        import_path(path, sink)
    assert sink.sessions == []


def test_paths_that_cannot_be_imported_are_named(tmp_path):
    (tmp_path / 'a.txt').write_text('hello')
    (tmp_path / 'a.bag').write_text('#ROSBAG V2.0')
    for name, told in (('absent.jsonl', 'no file or folder'), ('a.txt', 'unknown kind'),
                       ('a.bag', 'ROS 1')):
        with pytest.raises(ImportFileError, match=told) as caught:
            import_path(tmp_path / name, ListSink())
        assert name in str(caught.value)


def test_progress_reaches_the_end(tmp_path):
    told = []
    imported(tmp_path, *(at(0, type='speech', text=str(i)) for i in range(1200)),
             progress=lambda done, total: told.append((done, total)))
    assert told == [(500, 1200), (1000, 1200), (1200, 1200)]


@pytest.mark.parametrize(('name', 'counts', 'duplicates'), [
    ('armar7_june', {'skill': 1144, 'speech': 29, 'scene': 2}, 0),
    ('teach', {'skill': 5219, 'pose': 4246, 'speech': 475}, 0),
    ('hdepic_P01', {'observation': 2297, 'skill': 502, 'goal': 119}, 3)])
def test_a_real_log_is_read_whole(name, counts, duplicates):
    path = SHARED / 'data' / f'{name}.jsonl'
    if not path.exists():
        pytest.skip('the shared data is not here')
    sink = ListSink()
    report = import_path(path, sink, robot='armar')
    assert report.records == counts
    assert (report.refused_count, report.duplicates) == (0, duplicates)
    stamps = [record.stamp_ns for record in sink.records]
    assert stamps == sorted(stamps)
