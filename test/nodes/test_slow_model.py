"""While a real model behind HTTP takes its time: cancel, signals, and everything else goes on."""

from __future__ import annotations

import time

from limits import SOON_S
import pytest

pytest.importorskip('rclpy')

from action_msgs.msg import GoalStatus
from sample import filled
from sensor_msgs.msg import Image
from slow_model import SlowModel, serving
from stand_in import asking, result_of, sent, wait_until

from emv_ros import action, srv
from emv_ros.memory import queries
from emv_ros.memory.store import MemoryStore
from emv_ros.msg import SkillEvent
from emv_ros.settings import MemorySettings

pytestmark = pytest.mark.ros


@pytest.fixture
def folder(tmp_path):
    return filled(tmp_path / 'memory')


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
        assert time.monotonic() - began < SOON_S
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
        assert time.monotonic() - began < SOON_S
        assert second.accepted
        robot.end(client)


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
        asked = [client.call_async(srv.QueryEpisodicMemory.Request(question='When did you grasp?'))
                 for _ in range(3)]
        wait_until(lambda: model.calls, 'a call of the model', 40)
        wait_until(lambda: sum(future.done() for future in asked) == 2, 'two that are busy')
        assert {future.result().status for future in asked if future.done()} == {
            srv.QueryEpisodicMemory.Response.STATUS_BUSY}
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
                began = time.monotonic()
                future = look_up.call_async(srv.GetEvents.Request(skill='GraspObject'))
                wait_until(future.done, 'a look-up')
                waits.append(time.monotonic() - began)
        # The asker leaves while its question runs; nobody minds.
        robot.node.destroy_client(client)
        model.hold.set()
        with MemoryStore.open(MemorySettings(), folder) as store:
            wait_until(lambda: len(queries.skill_events(store)) == 2 + 270, 'all events')
            assert store.counts()['image'] >= 2
            wait_until(lambda: store.counts()['query'], 'the end of the question', 40)
        assert sorted(waits)[len(waits) // 2] < 0.1, waits
        assert robot.call(srv.GetEvents, 'get_events', skill='grasp object').total == 2
        robot.node.destroy_client(look_up)
