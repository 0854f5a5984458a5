"""Bags of every storage, whole and damaged, with our own types and with strange ones."""

from pathlib import Path
import shutil

import cv2
from ingest_parts import SECOND, T0, ListSink
import numpy as np
import pytest

from emv_ros.errors import ImportFileError, TimeExpressionError
from emv_ros.ingest import import_path
from emv_ros.ingest.bag_types import message_folder, standard_types
from emv_ros.records import ImageRecord, JointSample, Pose, Scene, SkillReport, Status, Utterance
from emv_ros.settings import IngestSettings

rosbag2 = pytest.importorskip('rosbags.rosbag2')
from rosbags.rosbag2.enums import CompressionMode, StoragePlugin  # noqa: E402

SHARED = Path(__file__).resolve().parents[3] / 'shared'
PLUGINS = {'mcap': StoragePlugin.MCAP, 'db3': StoragePlugin.SQLITE3}
JPEG = cv2.imencode('.jpg', np.zeros((8, 16), np.uint8))[1].ravel()


def made(kind, **fields):
    return standard_types().types[kind](**fields)


def header(stamp_ns, frame=''):
    return made('std_msgs/msg/Header', frame_id=frame, stamp=time(stamp_ns))


def time(stamp_ns):
    return made('builtin_interfaces/msg/Time', sec=stamp_ns // SECOND, nanosec=stamp_ns % SECOND)


def joints(stamp_ns, *values):
    return made('sensor_msgs/msg/JointState', header=header(stamp_ns),
                name=[f'j{i}' for i in range(len(values))], position=np.array(values, float),
                velocity=np.zeros(0), effort=np.zeros(0))


def picture(stamp_ns, data=JPEG, image_format='jpeg'):
    return made('sensor_msgs/msg/CompressedImage', header=header(stamp_ns, 'cam'),
                format=image_format, data=np.asarray(data, np.uint8))


def text(words):
    return made('std_msgs/msg/String', data=words)


def recorded(path, messages, plugin='mcap', storage_compression=False):
    """A bag of (topic, log time, message); a message may be raw bytes with its type."""
    store = standard_types()
    writer = rosbag2.Writer(path, version=9, storage_plugin=PLUGINS[plugin])
    if storage_compression:
        writer.set_compression(CompressionMode.STORAGE, rosbag2.CompressionFormat.ZSTD)
    connections = {}
    with writer:
        for topic, log_ns, message in messages:
            raw, kind = message if isinstance(message, tuple) else (None, message.__msgtype__)
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=store)
            data = store.serialize_cdr(message, kind) if raw is None else raw
            writer.write(connections[topic], log_ns, data)
    return path


def storage_of(folder):
    return next(file for file in folder.iterdir() if file.suffix in ('.mcap', '.db3'))


def imported(path, **options):
    sink = ListSink()
    return sink, import_path(path, sink, **options)


def everything():
    vector = made('geometry_msgs/msg/Point', x=1.0, y=2.0, z=3.0)
    turn = made('geometry_msgs/msg/Quaternion', x=0.0, y=0.0, z=0.0, w=1.0)
    key_value = made('diagnostic_msgs/msg/KeyValue', key='arm', value='0')
    return [
        ('/joint_states', T0, joints(T0, 1.0, float('nan'))),
        ('/head/image_raw/compressed', T0 + 1, picture(T0 + 1)),
        ('/rgb/image_raw', T0 + 2, made(
            'sensor_msgs/msg/Image', header=header(T0 + 2), height=1, width=2, encoding='rgb8',
            is_bigendian=0, step=6, data=np.arange(6, dtype=np.uint8))),
        ('/task', T0 + 3, text('pick')),
        ('/said', T0 + 4, made(
            'emv_ros/msg/Utterance', header=header(T0 + 4), robot='', speaker='user', text='Hi',
            is_own=False, confidence=0.5, language='en', end=time(0))),
        ('/skills', T0 + 5, made(
            'emv_ros/msg/SkillEvent', header=header(T0 + 5), robot='armar', skill='Grasp',
            status=4, goal_stack=['Serve'], parameters=[key_value], trigger='', narration='',
            id='x', parent_id='', end=time(0))),
        ('/scene', T0 + 6, made(
            'emv_ros/msg/SceneGraph', header=header(T0 + 6, 'map'), robot='', camera='head',
            image_width=0, image_height=0, relations=[], objects=[made(
                'emv_ros/msg/SceneObject', name='mug', instance='m1', has_bbox=False,
                bbox=np.zeros(4, np.float32), has_position=True, position=vector,
                confidence=0.5, state='')])),
        ('/goal', T0 + 7, made(
            'geometry_msgs/msg/PoseStamped', header=header(T0 + 7, 'map'),
            pose=made('geometry_msgs/msg/Pose', position=vector, orientation=turn))),
        ('/tf', T0 + 8, made('tf2_msgs/msg/TFMessage', transforms=[])),
        ('/tf', T0 + 9, made('tf2_msgs/msg/TFMessage', transforms=[])),
    ]


@pytest.mark.parametrize('plugin', ['mcap', 'db3'])
@pytest.mark.parametrize('is_file', [True, False])
def test_every_type_of_message_in_every_storage(tmp_path, plugin, is_file):
    folder = recorded(tmp_path / 'run.bag', everything(), plugin)
    sink, report = imported(
        storage_of(folder) if is_file else folder, robot='robi', zone='Europe/Berlin')
    kinds = [JointSample, ImageRecord, ImageRecord, Utterance, Utterance, SkillReport, Scene, Pose]
    assert [type(record) for record in sink.records] == kinds
    assert report.records == {'joints': 1, 'image': 2, 'speech': 2, 'skill': 1, 'scene': 1,
                              'pose': 1}
    assert report.skipped == {'/tf (tf2_msgs/msg/TFMessage)': 2}
    assert (report.read, report.refused_count, report.notes) == (10, 0, [])
    state, jpeg, raw, task, said, skill, scene, pose = sink.records
    assert state.position == (1.0, None)
    assert sink.pictures[0] == JPEG.tobytes()
    assert (jpeg.camera, raw.camera, raw.width) == ('head', 'rgb', 2)
    assert (task.text, task.stamp_ns, task.stamp_is_receipt) == ('pick', T0 + 3, True)
    assert (said.speaker, said.confidence) == ('user', 0.5)
    assert (skill.status, skill.parameters, skill.robot) == (Status.FAILED, {'arm': 0}, 'armar')
    assert (scene.objects[0].position, scene.objects[0].frame) == ((1.0, 2.0, 3.0), 'map')
    assert pose.frame == 'map'
    assert [record.stamp_ns for record in sink.records] == [T0 + i for i in range(8)]
    source = storage_of(folder).name if is_file else 'run.bag'
    assert sink.sessions == [('robi', T0, 'bag', 'Europe/Berlin', source),
                             ('armar', T0 + 5, 'bag', 'Europe/Berlin', source)]
    assert {(record.robot, record.session_id) for record in sink.records} == {
        ('robi', 1), ('armar', 2)}


def test_a_bag_without_definitions_is_read_by_ours(tmp_path):
    import sqlite3

    folder = recorded(tmp_path / 'run', everything(), 'db3')
    database = sqlite3.connect(storage_of(folder))
    database.execute('DELETE FROM message_definitions')
    database.commit()
    database.close()
    _, report = imported(storage_of(folder))
    assert report.stored == 8


def test_our_message_files_are_found():
    assert (message_folder() / 'SkillEvent.msg').exists()
    for name in ('SkillEvent', 'Utterance', 'SceneGraph'):
        assert f'emv_ros/msg/{name}' in standard_types().fielddefs


def test_a_stamp_of_zero_takes_the_log_time_and_the_year_2099_is_accepted(tmp_path):
    sec_2099 = 4_070_908_800 * SECOND
    # The time of a message is a signed 32-bit number: the year 2038 is its end.
    latest = (2**31 - 1) * SECOND
    folder = recorded(tmp_path / 'a', [('/j', T0, joints(0, 1.0)), ('/j', T0 + 1, joints(1, 2.0))])
    sink, _ = imported(folder)
    assert [(r.stamp_ns, r.stamp_is_receipt) for r in sink.records] == [(T0, True), (1, False)]
    folder = recorded(
        tmp_path / 'b', [('/j', T0, joints(latest, 1.0)), ('/t', sec_2099, text('a'))])
    sink, report = imported(folder)
    assert [r.stamp_ns for r in sink.records] == [latest, sec_2099]
    assert len(sink.sessions) == 2
    assert 'keeps another clock' in report.notes[0]


def test_exact_duplicates_are_one_record_and_equal_words_later_are_not(tmp_path):
    sink, report = imported(recorded(tmp_path / 'a', [
        ('/j', T0, joints(T0, 1.0)), ('/j', T0 + 5, joints(T0, 1.0)), ('/t', T0 + 6, text('a')),
        ('/t', T0 + 6, text('a')), ('/t', T0 + SECOND, text('a')),
        ('/j', T0 + 9, joints(T0 + 9, 1.0))]))
    assert report.duplicates == 2
    assert report.records == {'joints': 2, 'speech': 2}
    assert report.read == 6


def test_a_bag_recorded_over_a_loop_has_a_session_for_each_run(tmp_path):
    sink, report = imported(recorded(tmp_path / 'a', [
        ('/j', T0 + i, joints(stamp * SECOND, stamp)) for i, stamp in enumerate(
            [100, 110, 50, 60, 40, 70])]))
    assert [record.session_id for record in sink.records] == [1, 1, 2, 2, 2, 2]
    assert report.session_ids == [1, 2]
    assert 'went back' in report.notes[0]


def test_a_malformed_message_is_refused_and_nothing_else_is_lost(tmp_path):
    kind, image = 'sensor_msgs/msg/JointState', 'sensor_msgs/msg/CompressedImage'
    whole = bytes(standard_types().serialize_cdr(joints(T0, 1.0), kind))
    huge = bytearray(bytes(standard_types().serialize_cdr(picture(T0), image)))
    length = huge.index(JPEG.size.to_bytes(4, 'little') + JPEG[:4].tobytes())
    huge[length:length + 4] = b'\xff\xff\xff\x7f'
    sink, report = imported(recorded(tmp_path / 'a', [
        ('/j', T0, joints(T0, 1.0)), ('/j', T0 + 1, (whole[:-9], kind)),
        ('/j', T0 + 2, (b'', kind)), ('/c', T0 + 3, (bytes(huge), image)),
        ('/c', T0 + 4, picture(T0 + 4, JPEG[:-60])), ('/j', T0 + 5, joints(T0 + 5)),
        ('/j', T0 + 6, joints(T0 + 6, 2.0))]))
    assert [record.position for record in sink.records] == [(1.0,), (2.0,)]
    assert (report.refused_count, report.read) == (5, 7)
    reasons = [refusal.reason for refusal in report.refused]
    assert 'are no sensor_msgs/msg/JointState' in reasons[0]
    assert 'are no sensor_msgs/msg/CompressedImage' in reasons[2]
    assert 'cut off' in reasons[3]
    assert 'names no joint' in reasons[4]
    assert report.refused[0].where == '/j at 2023-11-14T22:13:20.000000001+00:00'


def many():
    return [('/t', T0 + i * SECOND, text(f'word {i}')) for i in range(400)]


@pytest.mark.parametrize('plugin', ['mcap', 'db3'])
def test_a_bag_that_is_cut_off_gives_what_is_there_and_a_note(tmp_path, plugin):
    whole = storage_of(recorded(tmp_path / 'a', many(), plugin))
    cut = tmp_path / f'cut.{plugin}'
    cut.write_bytes(whole.read_bytes()[:whole.stat().st_size * 6 // 10])
    sink, report = imported(cut)
    texts = [record.text for record in sink.records]
    assert 50 < len(texts) < 400
    numbers = [int(words.removeprefix('word ')) for words in texts]
    assert numbers == sorted(set(numbers))  # a database keeps its pages in any order
    assert plugin == 'db3' or numbers == list(range(len(numbers)))
    assert any('damaged or cut off' in note for note in report.notes)
    assert f'{report.read} messages could be read of it' in report.notes


def test_a_compressed_bag_that_is_cut_off(tmp_path):
    rng = np.random.default_rng(1)
    messages = [('/t', T0 + i, text(rng.bytes(40).hex())) for i in range(2000)]
    folder = recorded(tmp_path / 'a', messages, storage_compression=True)
    assert imported(folder)[1].stored == 2000
    whole = storage_of(folder)
    cut = tmp_path / 'cut.mcap'
    cut.write_bytes(whole.read_bytes()[:whole.stat().st_size // 2])
    sink, _ = imported(cut)
    assert len(sink.records) > 200
    assert [r.text for r in sink.records] == [m.data for _, _, m in messages[:len(sink.records)]]


def test_a_recorder_that_was_killed_left_no_metadata(tmp_path):
    folder = recorded(tmp_path / 'a', many())
    (folder / 'metadata.yaml').unlink()
    other = storage_of(recorded(tmp_path / 'b', [('/t', T0 + 900 * SECOND, text('last'))]))
    shutil.copy(other, folder / 'z.mcap')
    sink, _ = imported(folder)
    assert len(sink.records) == 401
    assert sink.records[-1].text == 'last'


@pytest.mark.parametrize(('name', 'content', 'told'), [
    ('text.mcap', b'hello, this is text', 'is no mcap file'), ('text.db3', b'hello', 'no db3 file'),
    ('empty.mcap', b'', 'is empty'), ('empty.db3', b'', 'is empty'),
    ('head.mcap', b'\x89MCAP0\r\n', 'nothing can be read'),
    ('head.db3', b'SQLite format 3\0' + bytes(84), 'nothing can be read')])
def test_what_is_no_bag_is_refused_by_its_name(tmp_path, name, content, told):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ImportFileError, match=told) as caught:
        imported(path)
    assert name in str(caught.value)


def test_no_file_an_empty_folder_and_a_strange_zone_are_refused(tmp_path):
    with pytest.raises(ImportFileError, match='no file or folder.*absent.mcap'):
        imported(tmp_path / 'absent.mcap')
    with pytest.raises(ImportFileError, match='holds no bag'):
        imported(tmp_path)
    with pytest.raises(ImportFileError, match='/dev/null is neither a file nor a folder'):
        imported(Path('/dev/null'))
    with pytest.raises(TimeExpressionError, match='Atlantis'):
        imported(recorded(tmp_path / 'a', many()), zone='Europe/Atlantis')


def test_what_else_lies_in_a_folder_is_told(tmp_path):
    folder = tmp_path / 'recordings'
    folder.mkdir()
    for name in ('b', 'a'):
        file, = recorded(tmp_path / name, many()).glob('*.mcap')
        shutil.copy(file, folder / f'{name}.mcap')
    (folder / 'log.jsonl').write_text('{}\n', 'utf-8')
    (folder / 'notes.txt').write_text('hello', 'utf-8')
    told = imported(folder)[1].notes
    assert told[0] == ('the folder has no metadata.yaml: its files a.mcap, b.mcap were read as '
                       'one bag')
    assert told[-1].endswith('and not its experience files log.jsonl: name each to read it')
    assert not imported(tmp_path / 'a')[1].notes


def test_topics_limit_the_import_and_a_typo_is_told(tmp_path):
    folder = recorded(tmp_path / 'a', everything())
    _, report = imported(folder, topics=['/task', '/tsak'])
    assert report.records == {'speech': 1}
    assert 'has no topic /tsak; it has /goal' in report.notes[0]
    with pytest.raises(ImportFileError, match='has no topic /tsak'):
        imported(folder, topics=['/tsak'])


def test_thinning_is_asked_for(tmp_path):
    messages = [('/j', T0 + i * SECOND // 20, joints(T0 + i * SECOND // 20, i)) for i in range(21)]
    messages += [('/t', T0 + 2 * SECOND + i, text('Thank you for watching!')) for i in range(20)]
    folder = recorded(tmp_path / 'a', messages)
    assert imported(folder)[1].records == {'joints': 21, 'speech': 20}
    _, report = imported(folder, thin=True, settings=IngestSettings(joint_period_s=0.1))
    assert report.records == {'joints': 11, 'speech': 3}
    assert report.thinned == {'joints': 10, 'speech': 17}
    assert report.read == 41


def test_progress_reaches_the_end(tmp_path):
    told = []
    imported(recorded(tmp_path / 'a', many() + many()),
             progress=lambda done, total: told.append((done, total)))
    assert told == [(500, 800), (800, 800)]


def test_a_real_arm_is_read_whole_and_bit_for_bit():
    path = SHARED / 'data' / 'so101.mcap'
    if not path.exists():
        pytest.skip('the shared data is not here')
    sink, report = imported(path)
    assert report.records == {'joints': 1782, 'image': 179, 'speech': 6}
    assert (report.refused_count, report.duplicates, len(report.session_ids)) == (0, 0, 1)
    with rosbag2.Reader(path) as reader:
        recorded_bytes = [bytes(raw) for connection, _, raw in reader.messages()
                          if connection.msgtype.endswith('CompressedImage')]
    assert len(recorded_bytes) == 179
    for data, raw in zip(sink.pictures, recorded_bytes, strict=True):
        assert data in raw  # the message ends with the picture
        assert len(raw) - len(data) < 64


def test_half_of_a_real_arm(tmp_path):
    path = SHARED / 'data' / 'so101.mcap'
    if not path.exists():
        pytest.skip('the shared data is not here')
    cut = tmp_path / 'cut.mcap'
    cut.write_bytes(path.read_bytes()[:800_000])
    _, report = imported(cut)
    assert 600 < report.stored < 1967
    assert any('cut off' in note for note in report.notes)
