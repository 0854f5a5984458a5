"""No unredacted pixel or word reaches the folder of a memory, or a model, over real DDS."""

from __future__ import annotations

import base64
import json
import time

import pytest

pytest.importorskip('rclpy')

import cv2
from diagnostic_msgs.msg import KeyValue
from fake_provider import Behaviour, provider
from private_pictures import (
    FACE_BOX,
    PERSON_BOX,
    decoded,
    drawn_face,
    files_with,
    is_covered,
    jpeg_of_a_person,
    pictures_in,
    strings_in,
)
from sensor_msgs.msg import CompressedImage
from stand_in import wait_until
from std_msgs.msg import String

from emv_ros import srv
from emv_ros.memory import queries
from emv_ros.memory.store import MemoryStore
from emv_ros.msg import SceneGraph, SceneObject, SkillEvent, Utterance
from emv_ros.nodes.speech_bridge import WITHHELD
from emv_ros.settings import MemorySettings
from emv_ros.timeline import SECOND_NS

pytestmark = pytest.mark.ros
SECRETS = ('xylophone', 'quagmire', 'zanzibar')
REPLY = json.dumps({'name': 'thing', 'summary': 'A thing is seen.', 'event': 'It stands.',
                    'location': 'room', 'attributes': {}})


def stamped(message, later_s=0):
    stamp_ns = time.time_ns() + later_s * SECOND_NS
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, SECOND_NS)
    return message


def compressed(data, later_s=0):
    message = stamped(CompressedImage(format='jpeg'), later_s)
    message.data.frombytes(data)
    return message


def say(robot):
    words = robot.publisher(Utterance, 'speech')
    wait_until(lambda: words.get_subscription_count() == 2, 'ingest and the bridge')
    words.publish(stamped(Utterance(text='My xylophone is locked.', speaker='Ada')))
    words.publish(stamped(Utterance(text='Where is the quagmire?', speaker='Ada')))
    words.publish(stamped(Utterance(text='Zanzibar it is.', speaker='Mallory')))
    words.publish(stamped(Utterance(text='The mug is red.', speaker='Ada')))
    events = robot.publisher(SkillEvent, 'skill_events')
    events.publish(stamped(SkillEvent(
        skill='open_xylophone', status=SkillEvent.STATUS_SUCCEEDED, goal_stack=['find quagmire'],
        narration='The XYLOPHONE opens.', parameters=[KeyValue(key='code', value='quagmire 7')])))
    scenes = robot.publisher(SceneGraph, 'scene_graph')
    scenes.publish(stamped(SceneGraph(camera='head', objects=[SceneObject(name='xylophone')])))


def show(robot):
    camera = robot.publisher(CompressedImage, 'room/image_raw/compressed')
    face = cv2.imencode('.jpg', drawn_face())[1].tobytes()
    for later_s in range(4):
        camera.publish(compressed(jpeg_of_a_person(), later_s - 6))
    camera.publish(compressed(face, -2))
    wait_until(lambda: robot.topic('camera_ingest', '/room/image_raw/compressed').stored == 5,
               'all pictures')


def test_nothing_private_is_stored_or_sent(start, robot, tmp_path):
    folder = tmp_path / 'memory'
    robot.statuses.clear()
    with provider(Behaviour(REPLY)) as server:
        node = start('memory', folder, env={'EMV_TEST_KEY': 'k'}, **{
            'model.model': 'openai/fake', 'model.vision_model': 'openai/eye',
            'model.api_base': server.address, 'model.api_key_env': 'EMV_TEST_KEY',
            'model.retries': 0, 'retrieval.embedder': 'none', 'tree.period_s': 0.5,
            'perception.detector': 'household', 'perception.period_s': 0.2,
            'perception.min_visible_s': 0.0, 'perception.appearance': 'none',
            'perception.clip_gap_s': 2.0,
            'camera_ingest:topics': ['room/image_raw/compressed'],
            'camera_ingest:ingest.keyframe_period_s': 0.0,  # they come at once: none is left out
            'privacy.blur_faces': True, 'privacy.blur_labels': 'person',
            'privacy.drop_speakers': 'Mallory', 'privacy.drop_phrases': 'xylophone; /quag\\w+/'})
        wait_until(lambda: 'speech_bridge' in robot.statuses, 'the last node', 60)
        spoken = robot.listen(String, 'say')
        show(robot)
        say(robot)
        # By voice it is not asked at all, by the service without what must not be kept.
        wait_until(lambda: [item for item in spoken if item.data == WITHHELD], 'a refusal')
        with MemoryStore.open(MemorySettings(), folder) as store:
            wait_until(lambda: queries.utterances(store, text='mug'), 'the words that may be kept')
            event, = wait_until(lambda: queries.skill_events(store), 'an event')
            wait_until(lambda: queries.observations(store), 'observations')
        robot.call(srv.QueryEpisodicMemory, 'query_episodic_memory',
                   question='When did you open the xylophone?')
        wait_until(lambda: sum('image' in str(item)[:10**6] for item in server.requests),
                   'a picture for the vision model')
        assert node.stop() == 0
        requests = server.requests
    assert event.skill == 'open_[…]' and event.parameters == {'code': '[…] 7'}
    assert files_with(folder, *SECRETS) == []
    assert files_with(folder, 'mug is red'), 'the search itself finds what is there'
    assert not [word for word in SECRETS if word in node.output.lower()]
    texts = [text for request in requests for text in strings_in(request)]
    assert not [text for text in texts for word in SECRETS if word in text.lower()]
    check_pictures(pictures_in(folder), [decoded(base64.b64decode(text.partition(',')[2]))
                                         for text in texts if text.startswith('data:image')])


def check_pictures(stored, sent):
    """Of what is stored and sent nothing shows the person or the face."""
    people = [item for item in stored if item.shape[:2] == (240, 320)]
    faces = [item for item in stored if item.shape[:2] == (360, 480)]
    assert len(people) == len(faces) == 1 and sent
    assert is_covered(people[0], PERSON_BOX) and is_covered(faces[0], FACE_BOX)
    whole = (decoded(jpeg_of_a_person()), drawn_face())
    for box, picture in zip((PERSON_BOX, FACE_BOX), whole, strict=True):
        x1, y1, x2, y2 = box
        patch = picture[y1 + 30:y1 + 70, x1 + 10:x1 + 35]  # of the person, of the face
        for seen in (*stored, *sent):
            if seen.shape[0] >= patch.shape[0] and seen.shape[1] >= patch.shape[1]:
                found = cv2.matchTemplate(seen, patch, cv2.TM_SQDIFF).min() / patch.size
                assert found > 100, 'the patch is there, but for noise'


def test_pictures_that_wait_at_the_end_are_covered_and_stored(start, robot, tmp_path):
    robot.statuses.clear()
    folder = tmp_path / 'memory'
    node = start('camera_ingest', folder, privacy__blur_faces=True,
                 ingest__keyframe_period_s=0.0,  # all that comes at once may wait
                 topics=['room/image_raw/compressed'])
    camera = robot.publisher(CompressedImage, 'room/image_raw/compressed')
    large = cv2.resize(drawn_face(), (1920, 1440))
    for number in range(6):
        large[:40, :40] = 40 * number  # no two alike
        camera.publish(compressed(cv2.imencode('.jpg', large)[1].tobytes(), number - 9))
    wait_until(lambda: (now := robot.topic('camera_ingest', '/room/image_raw/compressed'))
               and now.received == 6, 'all pictures')
    assert node.stop() == 0
    stored = pictures_in(folder)
    assert len(stored) == 6
    assert all(is_covered(picture, tuple(4 * edge for edge in FACE_BOX)) for picture in stored)


def test_a_detector_that_is_not_there_keeps_the_camera_from_starting(start, robot, tmp_path):
    node = start('camera_ingest', tmp_path / 'memory', privacy__blur_labels='person')
    wait_until(lambda: 'privacy.blur_labels needs a detector' in node.output, 'the reason')
    assert node.stop() is not None
    start.running.clear()


def test_depth_pictures_are_left_out_where_they_must_be(start, robot, tmp_path):
    robot.statuses.clear()
    folder = tmp_path / 'memory'
    start('camera_ingest', folder, privacy__blur_faces=True, privacy__drop_depth=True,
          topics=['room/image_raw/compressed'])
    camera = robot.publisher(CompressedImage, 'room/image_raw/compressed')
    depth = compressed(cv2.imencode('.png', drawn_face()[:, :, 0].astype('uint16'))[1].tobytes())
    depth.format = '16UC1; png compressed'
    camera.publish(depth)
    camera.publish(compressed(cv2.imencode('.jpg', drawn_face())[1].tobytes(), 2))
    state = wait_until(lambda: (now := robot.topic(
        'camera_ingest', '/room/image_raw/compressed')) and now.received == 2 and now, 'both')
    assert (state.stored, state.thinned, state.refused) == (1, 1, 0)
    wait_until(lambda: len(pictures_in(folder)) == 1, 'the picture')
    assert is_covered(pictures_in(folder)[0], FACE_BOX)
