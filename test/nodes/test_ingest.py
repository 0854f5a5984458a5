"""Every kind of message over real DDS ends in the memory, as it was sent."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from action_msgs.msg import GoalStatus, GoalStatusArray
from diagnostic_msgs.msg import KeyValue
from geometry_msgs.msg import Point, PoseStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message
from sensor_msgs.msg import CompressedImage, Image, JointState
from stand_in import wait_until
from std_msgs.msg import String

from emv_ros.memory import queries, schema
from emv_ros.memory.store import MemoryStore
from emv_ros.msg import SceneGraph, SceneObject, SceneRelation, SkillEvent, Utterance
from emv_ros.records import Status
from emv_ros.settings import MemorySettings
from emv_ros.timeline import SECOND_NS

pytestmark = pytest.mark.ros
NOON_NS = 1_780_000_000 * SECOND_NS


def stamped(message, stamp_ns=None):
    stamp_ns = time.time_ns() if stamp_ns is None else stamp_ns
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, SECOND_NS)
    return message


def opened(folder):
    return MemoryStore.open(MemorySettings(), folder)


@pytest.fixture(scope='module')
def folder(start_all, robot):
    """The folder of a memory whose nodes run, all in one process."""
    start_all('memory', **{
        'model.model': 'none', 'retrieval.embedder': 'none', 'tree.period_s': 600.0,
        'skill_ingest:actions': ['navigate'], 'speech_ingest:topics': ['speech', 'words'],
        'speech_bridge:topics': ['unheard'], 'speech_ingest:speaker': 'operator',
        'pose_ingest:topics': ['odom', 'goal_pose'], 'pose_ingest:tf_frame': 'map',
        'joint_state_ingest:topics': ['joint_states', 'odd_joints'],
        'camera_ingest:topics': [
            'head/image_raw', 'wrist/image_raw/compressed', 'bad/image_raw', 'depth/image_raw',
            'cut/image_raw/compressed'],
        # Pictures come here in bursts, of which a camera that is thinned keeps the latest few.
        'camera_ingest:ingest.keyframe_period_s': 0.0})
    wait_until(lambda: 'speech_bridge' in robot.statuses, 'the last node')
    return start_all.folder


def stored(robot, node, topic, count):
    wait_until(lambda: (state := robot.topic(node, topic)) and state.stored >= count,
               f'{count} records of {topic}, {robot.topic(node, topic)}')


def test_skills(folder, robot):
    events = robot.publisher(SkillEvent, 'skill_events')
    for status, later in ((SkillEvent.STATUS_RUNNING, 0), (SkillEvent.STATUS_FAILED, 7)):
        events.publish(stamped(SkillEvent(
            skill='grasp', status=status, goal_stack=['tidy'], id='x1', trigger='please tidy',
            parameters=[KeyValue(key='object', value='cup'), KeyValue(key='force', value='1.5')]),
            NOON_NS + later * SECOND_NS))
    goals = robot.publisher(GoalStatusArray, 'navigate/_action/status', latched=True)
    goal = GoalStatus(status=GoalStatus.STATUS_EXECUTING)
    goal.goal_info.goal_id.uuid = list(range(16))
    goals.publish(GoalStatusArray(status_list=[goal]))
    stored(robot, 'skill_ingest', '/skill_events', 2)
    stored(robot, 'skill_ingest', '/navigate/_action/status', 1)
    with opened(folder) as store:
        wait_until(lambda: len(queries.skill_events(store)) == 2, 'both events')
        grasp, navigate = queries.skill_events(store)
    assert (grasp.skill, grasp.status, grasp.goal_stack) == ('grasp', Status.FAILED, ('tidy',))
    assert grasp.parameters == {'object': 'cup', 'force': 1.5}
    assert grasp.end_ns - grasp.stamp_ns == 7 * SECOND_NS
    assert (navigate.skill, navigate.status) == ('navigate', Status.RUNNING)
    assert navigate.source_id == bytes(range(16)).hex()


def test_speech(folder, robot):
    heard = robot.publisher(Utterance, 'speech')
    own = robot.publisher(Utterance, 'own_speech')
    heard.publish(stamped(Utterance(text='Where is the milk?', speaker='Ada', confidence=0.5)))
    own.publish(stamped(Utterance(text='The milk is in the fridge.', is_own=True)))
    stored(robot, 'speech_ingest', '/own_speech', 1)
    heard.publish(stamped(Utterance(text='the milk is in fridge')))
    stored(robot, 'speech_ingest', '/speech', 2)
    with opened(folder) as store:
        wait_until(lambda: len(queries.utterances(store, text='milk')) == 3, 'three utterances')
        asked, said, echo = queries.utterances(store, text='milk')
    assert (asked.speaker, asked.is_own, asked.confidence) == ('Ada', False, 0.5)
    assert (said.speaker, said.is_own) == ('robot', True)
    assert echo.is_own and echo.extra == {'heard_itself': True}


def test_plain_strings_are_speech_of_the_speaker(folder, robot):
    robot.publisher(String, 'words').publish(String(data='hello'))
    stored(robot, 'speech_ingest', '/words', 1)
    with opened(folder) as store:
        said, = wait_until(lambda: queries.utterances(store, text='hello'), 'an utterance')
    assert (said.text, said.speaker, said.stamp_is_receipt) == ('hello', 'operator', True)
    assert abs(said.stamp_ns - time.time_ns()) < 20 * SECOND_NS


def test_scenes_joints_and_poses(folder, robot):
    scenes = robot.publisher(SceneGraph, 'scene_graph')
    scene = stamped(SceneGraph(
        camera='head', objects=[
            SceneObject(name='mug', instance='mug_1', has_position=True, position=Point(x=1.0)),
            SceneObject(name='')],
        relations=[SceneRelation(subject='mug_1', predicate='on', object='table')]))
    scenes.publish(scene)
    joints = robot.publisher(JointState, 'joint_states')
    for names, position in ((['a', 'b', 'c'], [1.0, math.nan]), ([], []), (['d'], [2.0])):
        joints.publish(stamped(JointState(name=names, position=position)))
    stored(robot, 'scene_ingest', '/scene_graph', 1)
    stored(robot, 'joint_state_ingest', '/joint_states', 2)
    wait_until(lambda: robot.topic('joint_state_ingest', '/joint_states').refused == 1, 'a refusal')
    with opened(folder) as store:
        found, = wait_until(lambda: queries.scenes(store), 'a scene')
        wait_until(lambda: store.counts()['joint_sample'] == 2, 'two samples')
        sample = store.get('joint_sample', 1)
    assert [item.instance for item in found.objects] == ['mug_1']
    assert found.relations[0].predicate == 'on'
    assert sample.names == ('a', 'b', 'c') and sample.position == (1.0, None, None)


def test_poses_of_both_kinds(folder, robot):
    for kind, topic in ((Odometry, 'odom'), (PoseStamped, 'goal_pose')):
        message = stamped(kind())
        message.header.frame_id = 'map'
        inner = message.pose.pose if kind is Odometry else message.pose
        inner.position.x, inner.orientation.w = 2.0, 1.0
        robot.publisher(kind, topic).publish(message)
        stored(robot, 'pose_ingest', f'/{topic}', 1)
    with opened(folder) as store:
        wait_until(lambda: store.counts()['pose'] == 2, 'two poses')
        assert store.get('pose', 2).position == (2.0, 0.0, 0.0)
    try:
        import tf2_ros  # noqa: F401
    except ImportError:
        assert 'tf2_ros is not installed' in robot.statuses['pose_ingest'].message


def picture(value=0, width=8, height=4, encoding='rgb8'):
    message = stamped(Image(width=width, height=height, encoding=encoding, step=3 * width))
    message.data.frombytes(np.full((height, 3 * width), value, np.uint8).tobytes())
    return message


def test_cameras_raw_and_compressed(folder, robot):
    import cv2

    raw = robot.publisher(Image, 'head/image_raw', reliable=False)
    packed = robot.publisher(CompressedImage, 'wrist/image_raw/compressed')
    raw.publish(picture(200))
    jpeg = cv2.imencode('.jpg', np.full((6, 10, 3), 90, np.uint8))[1].tobytes()
    message = stamped(CompressedImage(format='rgb8; jpeg compressed bgr8'))
    message.data.frombytes(jpeg)
    packed.publish(message)
    stored(robot, 'camera_ingest', '/head/image_raw', 1)
    stored(robot, 'camera_ingest', '/wrist/image_raw/compressed', 1)
    assert not robot.topic('camera_ingest', '/head/image_raw').reliable
    with opened(folder) as store:
        wait_until(lambda: store.counts()['image'] >= 2, 'two pictures')
        images = {image.camera: image for image in queries.images(store)}
        assert store.picture(images['wrist'].id) == jpeg  # bit for bit
    assert (images['head'].width, images['head'].height, images['head'].encoding) == (8, 4, 'rgb8')
    assert images['wrist'].stamp_ns == message.header.stamp.sec * SECOND_NS + (
        message.header.stamp.nanosec)


def test_pictures_that_are_none_are_refused_and_cost_no_other(folder, robot):
    camera = robot.publisher(Image, 'bad/image_raw')
    bad = []
    for fields in ({'width': 0}, {'step': 0}, {'height': 2**31}, {'encoding': 'sepia7'}):
        message = picture()
        for name, value in fields.items():
            setattr(message, name, value)
        bad.append(message)
    for cut in (0, 5, 95):  # no data, half a row, one byte short
        message = picture()
        del message.data[cut:]
        bad.append(message)
    far = picture()
    far.header.stamp.sec = 2**31 - 1  # 2038, far from now
    for message in (*bad, far, picture(7)):
        camera.publish(message)
    stored(robot, 'camera_ingest', '/bad/image_raw', 1)
    state = wait_until(
        lambda: (now := robot.topic('camera_ingest', '/bad/image_raw')).refused and now, '')
    assert (state.refused, state.stored, state.thinned) == (len(bad) + 1, 1, 0)
    assert 'after its receipt' in state.message
    with opened(folder) as store:
        wait_until(lambda: len(queries.images(store, camera='bad')) == 1, 'the good one')


def image(pixels, encoding, *, step=None, is_bigendian=False, stamp_ns=None):
    """Return an Image of an array whose rows are `step` bytes apart."""
    rows = np.ascontiguousarray(pixels).view(np.uint8).reshape(pixels.shape[0], -1)
    step = step or rows.shape[1]
    padded = np.full((rows.shape[0], step), 0xEE, np.uint8)
    padded[:, :rows.shape[1]] = rows
    message = stamped(Image(height=pixels.shape[0], width=pixels.shape[1], encoding=encoding,
                            step=step, is_bigendian=int(is_bigendian)), stamp_ns)
    message.data.frombytes(padded.tobytes())
    return message


def test_depth_pictures_are_exact(folder, robot):
    import cv2

    camera = robot.publisher(Image, 'depth/image_raw')
    mm = np.arange(12, dtype=np.uint16).reshape(3, 4) * 1000
    metres = np.array([[np.nan, np.inf, -1.0, 0.25], [1.0, 2.0, 3.0, 70.0]], np.float32)
    sent = (
        (image(mm, '16UC1'), mm),
        (image(mm, '16UC1', step=11), mm),
        (image(mm.astype('>u2'), '16UC1', is_bigendian=True), mm),
        (image(metres, '32FC1'), np.array([[0, 0, 0, 250], [1000, 2000, 3000, 0]], np.uint16)))
    begin_ns = time.time_ns()
    for number, (message, _) in enumerate(sent):
        stamp_ns = begin_ns + number * 2 * SECOND_NS
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, SECOND_NS)
        camera.publish(message)
    stored(robot, 'camera_ingest', '/depth/image_raw', len(sent))
    with opened(folder) as store:
        found = wait_until(lambda: len(images := queries.images(store, camera='depth')) == len(sent)
                           and images, 'all pictures')
        for record, (_, wanted) in zip(found, sent, strict=True):
            pixels = cv2.imdecode(
                np.frombuffer(store.picture(record.id), np.uint8), cv2.IMREAD_UNCHANGED)
            assert record.is_depth and pixels.dtype == np.uint16
            assert pixels.tolist() == wanted.tolist()


def test_compressed_pictures_that_are_none_are_refused(folder, robot):
    import cv2

    camera = robot.publisher(CompressedImage, 'cut/image_raw/compressed')
    whole = cv2.imencode('.jpg', np.full((40, 50, 3), 90, np.uint8))[1].tobytes()
    for data in (b'', b'words', whole[:len(whole) // 2], whole[:-2], whole):
        message = stamped(CompressedImage(format='jpeg'))
        message.data.frombytes(data)
        camera.publish(message)
    stored(robot, 'camera_ingest', '/cut/image_raw/compressed', 1)
    assert robot.topic('camera_ingest', '/cut/image_raw/compressed').refused == 4


def test_joints_of_two_publishers_that_are_odd(folder, robot):
    arm, hand = (robot.publisher(JointState, 'odd_joints') for _ in range(2))
    begin_ns = time.time_ns()
    sent = (
        (arm, ['j1', 'j2', 'j3'], [1.0, 2.0], ('j1', 'j2', 'j3'), (1.0, 2.0, None)),
        (hand, ['f1'], [0.5], ('f1',), (0.5,)),
        (arm, ['j1', 'j2', 'j3'], [math.nan, math.inf, 3.0], ('j1', 'j2', 'j3'), (None, None, 3.0)),
        (hand, ['f1', 'f1', ''], [0.75, 9.0, 9.0], ('f1',), (0.75,)),
        (arm, [], [], None, None), (hand, ['f1'], [], None, None))
    for number, (publisher, names, position, *_) in enumerate(sent):
        publisher.publish(stamped(
            JointState(name=names, position=position), begin_ns + number * SECOND_NS))
    stored(robot, 'joint_state_ingest', '/odd_joints', 4)
    wait_until(lambda: robot.topic('joint_state_ingest', '/odd_joints').refused == 2, 'refusals')
    with opened(folder) as store:
        wanted = {(names, position) for *_, names, position in sent if names}
        def samples():
            with store.reading() as session:
                return {(tuple(row.names), tuple(row.position)) for row in session.query(
                    schema.JointSampleRow).filter(schema.JointSampleRow.stamp_ns >= begin_ns)}
        wait_until(lambda: wanted <= samples(), f'{wanted}')


def test_joint_states_cut_short_are_refused_and_cost_no_other(folder, robot):
    arm = robot.publisher(JointState, 'joint_states')
    wait_until(lambda: robot.topic('joint_state_ingest', '/joint_states'), 'a status')
    before = robot.topic('joint_state_ingest', '/joint_states')
    whole = serialize_message(stamped(JointState(name=['cut'], position=[1.0])))
    for length in (8, 30, len(whole) - 20):
        arm.publish(whole[:length])
    arm.publish(whole[:2] + b'\0\0' + b'\xff' * (len(whole) - 4))  # a stamp that is none
    arm.publish(whole)
    wait_until(lambda: robot.topic('joint_state_ingest', '/joint_states').stored
               == before.stored + 1, 'the whole one')
    state = robot.topic('joint_state_ingest', '/joint_states')
    assert state.refused == before.refused + 4, state


def test_a_joint_whose_name_is_no_text_costs_no_other(folder, robot):
    arm = robot.publisher(JointState, 'joint_states')
    raw = serialize_message(stamped(JointState(name=['elbow', 'Xrist'], position=[1.0, 2.0])))
    arm.publish(raw.replace(b'Xrist', b'\xffrist'))
    with opened(folder) as store:
        def names():
            with store.reading() as session:
                return {tuple(row.names) for row in session.query(schema.JointSampleRow)}
        wait_until(lambda: ('elbow', '\N{REPLACEMENT CHARACTER}rist') in names(), 'both joints')


def test_of_a_fast_arm_what_moved_is_kept(folder, robot):
    arm = robot.publisher(JointState, 'odd_joints')
    wait_until(lambda: robot.topic('joint_state_ingest', '/odd_joints'), 'a status')
    before = robot.topic('joint_state_ingest', '/odd_joints')
    begin_ns = time.time_ns()
    for number in range(200):  # 0.4 s of movement, as long of rest
        position = [min(number, 100) * 0.01] * 3
        arm.publish(stamped(JointState(name=['x', 'y', 'z'], position=position),
                            begin_ns + number * 4_000_000))
    wait_until(lambda: robot.topic('joint_state_ingest', '/odd_joints').received
               == before.received + 200, 'all of them')
    state = robot.topic('joint_state_ingest', '/odd_joints')
    # At 0.0, 0.1, 0.2, 0.3 and 0.4 s it has moved, and then no more.
    assert (state.stored - before.stored, state.thinned - before.thinned) == (5, 195)


def test_the_zone_of_the_machine(monkeypatch):
    from emv_ros.timeline import system_zone

    monkeypatch.setenv('TZ', ':Pacific/Auckland')
    assert system_zone() == 'Pacific/Auckland'
    monkeypatch.setenv('TZ', 'nonsense')
    assert system_zone()  # of the machine
