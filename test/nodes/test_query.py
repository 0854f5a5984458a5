"""Questions and look-ups over real DDS, with a real model behind HTTP that is slow."""

from __future__ import annotations

import time

import cv2
import numpy as np
import pytest

pytest.importorskip('rclpy')

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from sensor_msgs.msg import Image
from slow_model import SlowModel, serving
from stand_in import result_of, sent, wait_until

from emv_ros import action, srv
from emv_ros.memory import queries
from emv_ros.memory.store import MemoryStore
from emv_ros.msg import Evidence, SkillEvent
from emv_ros.records import ImageRecord, Observation, SkillReport, Status, Utterance
from emv_ros.settings import MemorySettings
from emv_ros.timeline import SECOND_NS

pytestmark = pytest.mark.ros
NOON_NS = 1_750_000_000 * SECOND_NS
PNG = cv2.imencode('.png', np.zeros((3, 4, 3), np.uint8))[1].tobytes()


def filled(where):
    """Return a memory with two runs of a skill, words, a picture, observations of two cups."""
    with MemoryStore.open(MemorySettings(), where) as store:
        for second, status in ((0, Status.RUNNING), (5, Status.SUCCEEDED), (60, Status.RUNNING),
                               (70, Status.FAILED)):
            store.add(SkillReport(
                stamp_ns=NOON_NS + second * SECOND_NS, skill='GraspObject', status=status,
                goal_stack=('Tidy',), parameters={'object': 'milk', 'code': '7', 'force': 2}))
        store.add(Utterance(stamp_ns=NOON_NS, speaker='user', text='Please bring the milk.'))
        store.add_image(PNG, ImageRecord(
            stamp_ns=NOON_NS + SECOND_NS, camera='head', sha256='', media_type='image/png',
            width=4, height=3))
        for second, instance in ((0, 'cup_1'), (1, 'cup_2'), (9, 'cup_1')):
            store.add(Observation(
                stamp_ns=NOON_NS + second * SECOND_NS, end_ns=NOON_NS + (second + 1) * SECOND_NS,
                name='cup', instance=instance))
    return where


@pytest.fixture
def folder(tmp_path):
    return filled(tmp_path / 'memory')


@pytest.fixture(scope='module')
def served(start_all):
    """A query node without a model."""
    start_all('query', filled(start_all.folder), model__model='none', retrieval__embedder='none')


def asking(robot):
    client = ActionClient(robot.node, action.QueryEpisodicMemory, 'query_episodic_memory')
    assert client.wait_for_server(20)
    return client


def test_look_ups(served, robot):
    found = robot.call(srv.GetEvents, 'get_events', skill='grasp object')
    assert (found.status, found.total) == (found.STATUS_OK, 2)
    first, second = found.events
    assert (first.skill, first.status, second.status) == (
        'GraspObject', SkillEvent.STATUS_SUCCEEDED, SkillEvent.STATUS_FAILED)
    assert first.start.sec == 1_750_000_000 and first.end.sec == 1_750_000_005 and first.has_end
    assert list(first.transition_statuses) == [
        SkillEvent.STATUS_RUNNING, SkillEvent.STATUS_SUCCEEDED]
    # The text 7 stays a text, the number 2 a number.
    assert {item.key: item.value for item in first.parameters} == {
        'object': 'milk', 'code': '"7"', 'force': '2'}
    failed = robot.call(
        srv.GetEvents, 'get_events', statuses=[SkillEvent.STATUS_FAILED], newest_first=True)
    assert [event.id for event in failed.events] == [second.id]
    assert robot.call(srv.GetEvents, 'get_events', skill='dance').status == found.STATUS_NOT_FOUND
    bad = robot.call(srv.GetEvents, 'get_events', statuses=[99])
    assert bad.status == bad.STATUS_INVALID_REQUEST and '99' in bad.message

    found = robot.call(srv.SearchEpisodicMemory, 'search_episodic_memory', text='bring milk')
    assert found.status == found.STATUS_OK and found.method == found.METHOD_LEXICAL
    assert found.evidence[0].kind in (Evidence.KIND_UTTERANCE, Evidence.KIND_SKILL_EVENT)

    found = robot.call(srv.GetEvidenceImage, 'get_evidence_image', evidence_ids=[first.id])
    assert bytes(found.images[0].data) == PNG and found.images[0].header.frame_id == 'head'
    assert list(found.evidence_ids) == [first.id] and found.image_ids[0].startswith('i')
    missing = robot.call(srv.GetEvidenceImage, 'get_evidence_image', evidence_ids=['i99'])
    assert missing.status == missing.STATUS_NOT_FOUND and '99' in missing.message
    odd = robot.call(srv.GetEvidenceImage, 'get_evidence_image', evidence_ids=['milk'])
    assert odd.status == odd.STATUS_INVALID_REQUEST

    found = robot.call(srv.GetEpisodes, 'get_episodes')
    assert found.status == found.STATUS_NOT_FOUND and found.message
    found = robot.call(srv.GetBiography, 'get_biography', name='cup', max_observations=1)
    assert found.total == 2 and {item.id for item in found.entities} == {'cup_1', 'cup_2'}
    cup = next(item for item in found.entities if item.id == 'cup_1')
    assert cup.observation_count == 2 and len(cup.observations) == 1 and len(cup.also_seen) == 1


def test_what_a_later_version_brings_is_refused_in_words(served, robot):
    answer = robot.call(srv.CorrectEntity, 'correct_entity')
    assert answer.status == answer.STATUS_UNSUPPORTED and answer.message
    answer = robot.call(srv.GetBiography, 'get_biography', entity_ids=['e3'])
    assert answer.status == answer.STATUS_UNSUPPORTED and answer.message
    client = ActionClient(robot.node, action.ForgetMemory, 'forget_memory')
    assert client.wait_for_server(20)
    reply = result_of(sent(client, action.ForgetMemory.Goal(ids=['u1'])))
    assert reply.result.status == reply.result.STATUS_UNSUPPORTED and reply.result.message
    client.destroy()


def test_without_a_model_a_question_is_looked_up(served, robot):
    answer = robot.call(srv.QueryEpisodicMemory, 'query_episodic_memory',
                        question='Who asked to bring the milk?')
    assert answer.status == answer.STATUS_RETRIEVED_ONLY and 'milk' in answer.answer
    assert answer.evidence and answer.query_id.startswith('q') and answer.message
    empty = robot.call(srv.QueryEpisodicMemory, 'query_episodic_memory', question='  ')
    assert empty.status == empty.STATUS_ERROR and 'empty' in empty.message
    client = asking(robot)
    reply = result_of(sent(client, action.QueryEpisodicMemory.Goal(question='milk?')))
    assert reply.status == GoalStatus.STATUS_SUCCEEDED
    assert reply.result.status == reply.result.STATUS_RETRIEVED_ONLY
    client.destroy()


def test_cancel_inside_a_model_call(start, robot, folder):
    model = SlowModel('pass', 30.0)
    with serving(model) as url:
        node = start('query', folder=folder, model__model='openai/slow', model__api_base=url,
                     retrieval__embedder='none')
        heard = []
        client = asking(robot)
        handle = sent(client, action.QueryEpisodicMemory.Goal(question='When did you grasp milk?'),
                      lambda message: heard.append(message.feedback))
        wait_until(lambda: model.calls, 'a call of the model', 40)
        assert any(item.phase == item.PHASE_MODEL for item in heard)
        began = time.monotonic()
        handle.cancel_goal_async()
        reply = result_of(handle)
        assert time.monotonic() - began < 1.0
        assert reply.status == GoalStatus.STATUS_CANCELED
        assert reply.result.status == reply.result.STATUS_CANCELED
        # A question that comes next is taken: nothing is left of the canceled one.
        calls = model.calls
        second = sent(client, action.QueryEpisodicMemory.Goal(question='What did you grasp?'))
        wait_until(lambda: model.calls > calls, 'the next call')
        busy = robot.call(srv.QueryEpisodicMemory, 'query_episodic_memory', question='And now?')
        assert busy.status == busy.STATUS_BUSY
        # A signal inside a model call: canceled, and an end in order.
        began = time.monotonic()
        assert node.stop() == 0
        assert time.monotonic() - began < 15
        assert second.accepted
        client.destroy()


def test_a_camera_at_30_hz_and_events_while_a_question_runs(start, robot, folder):
    model = SlowModel('pass', 30.0)
    with serving(model) as url:
        start('memory', folder=folder, model__model='openai/slow', model__api_base=url,
              retrieval__embedder='none', tree__period_s=600.0)
        camera = robot.publisher(Image, 'camera/image_raw', reliable=False, wait=False)
        events = robot.publisher(SkillEvent, 'skill_events')
        wait_until(camera.get_subscription_count, 'the camera node')
        client = robot.node.create_client(srv.QueryEpisodicMemory, 'query_episodic_memory')
        assert client.wait_for_service(20)
        client.call_async(srv.QueryEpisodicMemory.Request(question='When did you grasp milk?'))
        wait_until(lambda: model.calls, 'a call of the model', 40)
        picture = Image(width=320, height=240, encoding='rgb8', step=960)
        picture.data.frombytes(bytes(320 * 240 * 3))
        waits, begin = [], time.monotonic()
        look_up = robot.node.create_client(srv.GetEvents, 'get_events')
        assert look_up.wait_for_service(20)
        for number in range(90):
            time.sleep(max(0.0, begin + number / 30 - time.monotonic()))
            camera.publish(picture)
            for part in range(3):
                events.publish(SkillEvent(skill=f's{number}_{part}', status=3))
            if number % 9 == 0:
                asked = time.monotonic()
                future = look_up.call_async(srv.GetEvents.Request(skill='GraspObject'))
                wait_until(future.done, 'a look-up')
                waits.append(time.monotonic() - asked)
        # The asker leaves while its question runs; nobody minds.
        robot.node.destroy_client(client)
        model.hold.set()
        with MemoryStore.open(MemorySettings(), folder) as store:
            wait_until(lambda: len(queries.skill_events(store)) == 2 + 270, 'all events')
            assert store.counts()['image'] >= 2
        assert sorted(waits)[len(waits) // 2] < 0.1, waits
        assert robot.call(srv.GetEvents, 'get_events', skill='grasp object').total == 2
        robot.node.destroy_client(look_up)
