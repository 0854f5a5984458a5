"""A memory as a bag: what comes back when it is imported, and what a viewer finds in it."""

from __future__ import annotations

import io
import json
from pathlib import Path
import sqlite3

from PIL import Image
import pytest

from emv_ros.errors import ExportError
from emv_ros.ingest.bag_export import export_bag, topic_of
from emv_ros.ingest.experience import import_experience
from emv_ros.ingest.importing import import_path
from emv_ros.memory.database import sqlite_url
from emv_ros.memory.exporting import export_memory
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.memory.writer import BatchWriter
from emv_ros.records import (
    Annotation,
    ImageRecord,
    JointSample,
    Node,
    Observation,
    Pose,
    Scene,
    SceneObject,
    SceneRelation,
    SkillReport,
    Status,
    Utterance,
)
from emv_ros.timeline import SECOND_NS, parse_stamp

NOON_NS = parse_stamp('2024-03-01T12:00:00Z')[0]


def at(seconds: float) -> int:
    return NOON_NS + round(seconds * SECOND_NS)


def opened(folder: Path) -> MemoryStore:
    return MemoryStore(folder, sqlite_url(folder), 'robot')


def encoded(mode: str, value: int, form: str) -> bytes:
    stream = io.BytesIO()
    Image.new(mode, (16, 8), value).save(stream, form)
    return stream.getvalue()


def fill(store: MemoryStore) -> None:
    """Fill a memory with what a bag can carry, and with what it cannot."""
    store.begin_session(start_ns=at(0), zone='Europe/Berlin')
    for status, second in ((Status.PREPARING, 1), (Status.RUNNING, 2), (Status.FAILED, 200)):
        store.add(SkillReport(
            stamp_ns=at(second), skill='Grasp', status=status, goal_stack=('Fetch',),
            parameters={'arm': 'left', 'number': '5', 'deep': {'list': [1, None]}},
            trigger='bring it', narration='it slipped' if second == 200 else ''))
    store.add_many([
        SkillReport(stamp_ns=at(3), skill='Look', status=Status.SUCCEEDED, end_ns=at(4)),
        Utterance(stamp_ns=at(5), speaker='Ann', text='bring\nthe mug 🤖', confidence=0.5,
                  language='en', end_ns=at(6)),
        JointSample(stamp_ns=at(6), names=('a', 'b'), position=(0.25, None), effort=(None, 1.0)),
        Pose(stamp_ns=at(7), frame='map', position=(1.0, 2.0, 0.5),
             orientation=(0.0, 0.0, 0.0, 1.0)),
        Pose(stamp_ns=at(8), frame='map', position=(1.5, 2.0, 0.5), stamp_is_receipt=True),
        Scene(stamp_ns=at(9), camera='head', objects=(
            SceneObject(name='mug', instance='mug-1', bbox=(0.0, 0.0, 1.5, 2.0), confidence=0.5),
            SceneObject(name='table', position=(1.0, 2.0, 3.0), frame='map', state='clear')),
            relations=(SceneRelation(subject='mug-1', predicate='on', object='table'),)),
        Annotation(stamp_ns=at(1), end_ns=at(9), kind='goal', text='Fetch the mug'),
        Observation(stamp_ns=at(9), end_ns=at(10), name='mug', event='moved')])
    store.add_image(encoded('RGB', 7, 'JPEG'), ImageRecord(
        stamp_ns=at(10), camera='head/left', sha256='', media_type='image/jpeg', width=16,
        height=8, encoding='rgb8', frame='optical'))
    store.add_image(encoded('I;16', 1234, 'PNG'), ImageRecord(
        stamp_ns=at(11), camera='depth', sha256='', media_type='image/png', width=16, height=8,
        encoding='16UC1', is_depth=True))
    with store.node_writer() as writer:
        writer.add(Node(robot='robot', level=4, start_ns=at(0), end_ns=at(20),
                        summary='Nothing was fetched.'))


def brought_back(bag: Path, folder: Path) -> list[str]:
    """Import a bag into a new memory, and return what the import could not use."""
    with opened(folder) as store:
        writer = BatchWriter(store)
        report = import_path(bag, writer)
        assert writer.close()
        assert report.refused_count == 0, report.refused
    return sorted(report.skipped)


def rows(folder: Path) -> dict[str, list[str]]:
    """Return what rows say that a bag carries."""
    told = {
        'skill_event': 'stamp_ns, end_ns, skill, status, goal_stack, parameters, trigger, '
                       'narration, transitions',
        'utterance': 'stamp_ns, end_ns, speaker, text, confidence, language, is_own',
        'joint_sample': 'stamp_ns, names, position, velocity, effort',
        'pose': 'stamp_ns, frame, position, orientation, stamp_is_receipt',
        'scene': 'stamp_ns, camera', 'scene_object':
            'stamp_ns, name, instance, bbox, position, frame, confidence, state',
        'scene_relation': 'subject, predicate, object',
        'image': 'stamp_ns, camera, sha256, media_type, width, height, encoding, is_depth, frame'}
    with sqlite3.connect(folder / 'memory.db') as database:
        return {table: [json.dumps(row) for row in database.execute(
            f'SELECT {columns} FROM {table} ORDER BY {columns}')]
            for table, columns in told.items()}


def test_what_a_bag_carries_comes_back(tmp_path):
    with opened(tmp_path / 'one') as store:
        fill(store)
        report = export_bag(store, tmp_path / 'bag')
    assert report.lines['/skill_events'] == 4
    assert report.pictures == 2
    assert brought_back(tmp_path / 'bag', tmp_path / 'two') == [
        f'/memory/{name} (rcl_interfaces/msg/Log)'
        for name in ('annotations', 'observations', 'summaries')]
    assert rows(tmp_path / 'two') == rows(tmp_path / 'one')


def test_a_viewer_finds_every_topic_with_its_type(tmp_path):
    from rosbags.highlevel import AnyReader

    with opened(tmp_path / 'one') as store:
        fill(store)
        export_bag(store, tmp_path / 'bag')
    assert sorted(file.name for file in (tmp_path / 'bag').iterdir()) == [
        'bag.mcap', 'metadata.yaml']
    with AnyReader([tmp_path / 'bag']) as reader:
        types = {item.topic: item.msgtype for item in reader.connections}
        stamps, texts = [], []
        for connection, stamp_ns, data in reader.messages():
            stamps.append(stamp_ns)
            if connection.topic == '/memory/summaries':
                texts.append(reader.deserialize(data, connection.msgtype).msg)
    assert types == {
        '/head/left/image_raw/compressed': 'sensor_msgs/msg/CompressedImage',
        '/depth/image_raw/compressedDepth': 'sensor_msgs/msg/CompressedImage',
        '/joint_states': 'sensor_msgs/msg/JointState', '/pose': 'geometry_msgs/msg/PoseStamped',
        '/speech': 'emv_ros/msg/Utterance', '/skill_events': 'emv_ros/msg/SkillEvent',
        '/scene_graph': 'emv_ros/msg/SceneGraph',
        **{f'/memory/{name}': 'rcl_interfaces/msg/Log'
           for name in ('annotations', 'observations', 'summaries')}}
    assert stamps == sorted(stamps)
    assert texts == ['Nothing was fetched.']


def test_a_window_and_several_robots(tmp_path):
    with opened(tmp_path / 'one') as store:
        fill(store)
        store.add(Utterance(stamp_ns=at(5.5), robot='2nd', speaker='user', text='hello'))
        report = export_bag(store, tmp_path / 'bag', Window(start_ns=at(5), end_ns=at(7)))
        assert dict(report.lines) == {
            '/robot/speech': 1, '/_2nd/speech': 1, '/robot/joint_states': 1,
            '/robot/skill_events': 3, '/robot/memory/annotations': 1}
        alone = export_bag(store, tmp_path / 'alone', Window(robots=('2nd',)))
        assert dict(alone.lines) == {'/speech': 1}
    brought_back(tmp_path / 'bag', tmp_path / 'two')
    with opened(tmp_path / 'two') as store:
        assert store.robots() == ['2nd', 'robot']


def test_what_cannot_be_written_is_named(tmp_path):
    with opened(tmp_path / 'one') as store:
        fill(store)
        image = store.get('image', 1)
        store.pictures.delete(image.sha256, image.media_type)
        store.add(Utterance(stamp_ns=parse_stamp('2040-01-01T00:00:00Z')[0], speaker='',
                            text='from far away'))
        report = export_bag(store, tmp_path / 'bag')
        assert report.damaged_count == 2
        assert sorted(told[:3] for told in report.damaged) == ['i1:', 'no ']
        with pytest.raises(ExportError, match='is there already'):
            export_bag(store, tmp_path / 'bag')
        export_bag(store, tmp_path / 'bag', overwrite=True)


def test_topics_hold_what_topics_may():
    assert topic_of('Küche 2', 'cam//0', '9') == '/K_che_2/cam/_0/_9'


def test_what_reads_experience_files_reads_an_export(tmp_path):
    with opened(tmp_path / 'one') as store:
        fill(store)
        export_memory(store, tmp_path / 'out', now_ns=at(100))
    with opened(tmp_path / 'two') as store:
        writer = BatchWriter(store)
        report = import_experience(tmp_path / 'out/experience.jsonl', writer, 'robot')
        assert writer.close()
    assert report.refused_count == 0, report.refused
    assert sorted(report.skipped) == ['emv_export', 'end', 'node', 'robot', 'session']
    assert (report.zone, report.stored) == ('UTC+01:00', 11)
    one, two = rows(tmp_path / 'one'), rows(tmp_path / 'two')
    for table in ('utterance', 'joint_sample', 'scene_object', 'scene_relation'):
        assert two[table] == one[table]
