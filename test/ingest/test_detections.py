"""Detections of vision_msgs: both shapes of the message, bad ones, and those of a bag."""

import math
from pathlib import Path

from ingest_parts import SECOND, T0, ListSink, Part, header
import numpy as np
import pytest

from emv_ros.errors import RecordError
from emv_ros.ingest import import_path
from emv_ros.ingest.bag_types import standard_types
from emv_ros.ingest.detections import camera_of_detections, detections_from_ros

NAN = float('nan')


def pose():
    return Part(position=Part(x=0.0, y=0.0, z=0.0))


def detection(*results, box=(100.0, 80.0, 40.0, 20.0), turn=0.0, id='7'):  # noqa: A002
    """A Detection2D of vision_msgs 4."""
    x, y, width, height = box
    return Part(
        header=header(), id=id, results=[
            Part(hypothesis=Part(class_id=name, score=score), pose=pose())
            for name, score in results or (('mug', 0.75),)],
        bbox=Part(center=Part(position=Part(x=x, y=y), theta=turn), size_x=width, size_y=height))


def older(name=3, score=0.5, tracking_id='t1'):
    """A Detection2D of the first versions: flat results, a geometry_msgs/Pose2D as centre."""
    return Part(header=header(), tracking_id=tracking_id,
                results=[Part(id=name, score=score, pose=pose())],
                bbox=Part(center=Part(x=10.0, y=20.0, theta=0.0), size_x=4.0, size_y=6.0))


def solid(x=1.0, y=2.0, z=3.0, size=0.1):
    return Part(header=header(frame='map'), id='', results=detection().results,
                bbox=Part(center=Part(position=Part(x=x, y=y, z=z)),
                          size=Part(x=0.1, y=0.1, z=size)))


def array(*items):
    return Part(header=header(frame='camera_optical'), detections=list(items))


def test_a_detection_is_an_object_with_its_box_and_its_id():
    scene = detections_from_ros(array(detection(('cup', 0.2), ('mug', 0.75))),
                                '/camera/wrist/detections', 5)
    (mug,) = scene.objects
    assert (mug.name, mug.instance, mug.confidence) == ('mug', '7', 0.75)
    assert mug.bbox == (80.0, 70.0, 120.0, 90.0)
    assert (scene.stamp_ns, scene.camera, scene.relations) == (T0, 'camera/wrist', ())


def test_the_older_message_says_the_same():
    scene = detections_from_ros(array(older()), '/detections', 5)
    (item,) = scene.objects
    assert (item.name, item.instance, item.bbox) == ('3', 't1', (8.0, 17.0, 12.0, 23.0))
    assert scene.camera == ''


def test_a_turned_box_becomes_the_upright_one_around_it():
    scene = detections_from_ros(array(detection(turn=math.pi / 2)), 'x/detections', 5)
    assert scene.objects[0].bbox == pytest.approx((90.0, 60.0, 110.0, 100.0))


def test_a_box_in_space_gives_a_position():
    (item,) = detections_from_ros(array(solid()), 'x/detections_3d', 5).objects
    assert (item.position, item.frame, item.bbox) == ((1.0, 2.0, 3.0), 'map', None)


def test_a_box_that_nobody_set_is_none():
    (item,) = detections_from_ros(array(detection(box=(0.0, 0.0, 0.0, 0.0))), 'd', 5).objects
    assert item.bbox is None


@pytest.mark.parametrize(('bad', 'reason'), [
    (detection(box=(NAN, 1.0, 2.0, 2.0)), 'not finite'),
    (detection(box=(1.0, 1.0, -2.0, 2.0)), 'size of -2×2'),
    (detection(box=(1.0, 1.0, 0.0, 2.0)), 'size of 0×2'),
    (detection(box=(1.0, float('inf'), 2.0, 2.0)), 'not finite'),
    (detection(turn=NAN), 'not finite'),
    (detection((' ', 0.5)), 'no name'),
    (Part(header=header(), id='', results=[], bbox=detection().bbox), 'no hypothesis'),
    (solid(z=NAN), 'not finite'),
    (solid(size=-1.0), 'negative size')])
def test_a_bad_detection_is_named_and_loses_no_other(bad, reason):
    scene = detections_from_ros(array(bad, detection()), 'd', 5)
    assert [item.name for item in scene.objects] == ['mug']
    assert reason in scene.extra['refused'][0] and 'detection 1' in scene.extra['refused'][0]
    with pytest.raises(RecordError, match=reason):
        detections_from_ros(array(bad), 'd', 5)


def test_a_picture_in_which_nothing_was_found_is_a_scene():
    assert detections_from_ros(array(), 'd', 5).objects == ()


def test_a_score_that_is_none_is_unknown():
    (item,) = detections_from_ros(array(detection(('mug', NAN))), 'd', 5).objects
    assert item.confidence is None


@pytest.mark.parametrize(('topic', 'camera'), [
    ('/camera/wrist/detections', 'camera/wrist'), ('/head/detections_2d', 'head'),
    ('/yolo/detections', ''), ('/head/yolo/tracked_objects', 'head'), ('/front', 'front')])
def test_the_camera_is_read_from_the_topic(topic, camera):
    assert camera_of_detections(topic) == camera


def made(kind, **fields):
    return standard_types().types[kind](**fields)


def in_a_bag(path: Path) -> Path:
    from rosbags.rosbag2 import Writer
    from rosbags.rosbag2.enums import StoragePlugin

    kind, store = 'vision_msgs/msg/Detection2DArray', standard_types()
    point = made('geometry_msgs/msg/Point', x=0.0, y=0.0, z=0.0)
    turn = made('geometry_msgs/msg/Quaternion', x=0.0, y=0.0, z=0.0, w=1.0)
    where = made('geometry_msgs/msg/PoseWithCovariance', covariance=np.zeros(36),
                 pose=made('geometry_msgs/msg/Pose', position=point, orientation=turn))
    head = made('std_msgs/msg/Header', frame_id='cam', stamp=made(
        'builtin_interfaces/msg/Time', sec=T0 // SECOND, nanosec=0))
    found = made(
        'vision_msgs/msg/Detection2D', header=head, id='4',
        results=[made('vision_msgs/msg/ObjectHypothesisWithPose', pose=where, hypothesis=made(
            'vision_msgs/msg/ObjectHypothesis', class_id='mug', score=0.5))],
        bbox=made('vision_msgs/msg/BoundingBox2D', size_x=10.0, size_y=20.0, center=made(
            'vision_msgs/msg/Pose2D', theta=0.0, position=made(
                'vision_msgs/msg/Point2D', x=50.0, y=60.0))))
    message = made(kind, header=head, detections=[found, found])
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        topic = writer.add_connection('/head/detections', kind, typestore=store)
        writer.write(topic, T0 + 1, store.serialize_cdr(message, kind))
        writer.write(topic, T0 + 2, b'\x00\x01\x00\x00short')
    return path


def test_detections_of_a_bag_are_scenes(tmp_path):
    pytest.importorskip('rosbags.rosbag2')
    sink = ListSink()
    report = import_path(in_a_bag(tmp_path / 'run'), sink)
    (scene,) = sink.records
    assert (scene.camera, scene.stamp_ns) == ('head', T0)
    assert [(item.name, item.instance, item.bbox) for item in scene.objects] == [
        ('mug', '4', (45.0, 50.0, 55.0, 70.0))] * 2
    assert report.records == {'scene': 1} and report.refused_count == 1


def test_a_bag_without_definitions_is_read_by_ours(tmp_path):
    pytest.importorskip('rosbags.rosbag2')
    from emv_ros.ingest.bag_salvage import RawMessage, Topic
    from emv_ros.ingest.bag_types import BagTypes

    kind = 'vision_msgs/msg/Detection3DArray'
    store = standard_types()
    head = made('std_msgs/msg/Header', frame_id='cam', stamp=made(
        'builtin_interfaces/msg/Time', sec=5, nanosec=0))
    data = bytes(store.serialize_cdr(made(kind, header=head, detections=[]), kind))
    topic = Topic(name='/d', type=kind, definition='', form='NONE')
    assert BagTypes().decode(RawMessage(topic=topic, log_ns=1, data=data)).detections == []
