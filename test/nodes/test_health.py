"""/diagnostics beside the status, over real DDS: what is wrong is named there."""

from __future__ import annotations

import math
import sqlite3
import time

import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from fake_provider import Behaviour, provider
from rclpy.clock import ClockType
from rclpy.time import Time
from sensor_msgs.msg import Image
from stand_in import qos, wait_until
from std_msgs.msg import String

from emv_ros import srv
from emv_ros.memory.store import MemoryStore
from emv_ros.msg import MemoryStatus, TopicStatus, Utterance
from emv_ros.nodes import inputs
from emv_ros.nodes.faults import Faults
from emv_ros.nodes.inputs import TopicInput
from emv_ros.nodes.likely_topics import likeliest
from emv_ros.nodes.topic_state import TopicHealth
from emv_ros.records import SkillReport, Status
from emv_ros.settings import MemorySettings
from emv_ros.timeline import SECOND_NS

pytestmark = pytest.mark.ros


class Monitor:
    """Hears /diagnostics, as an aggregator does."""

    def __init__(self, robot):
        self.found = {}
        self._node = robot.node
        self._heard = robot.node.create_subscription(
            DiagnosticArray, '/diagnostics', self._note, qos())

    def _note(self, message):
        for status in message.status:
            self.found[status.name] = message.header.stamp, status

    def __getitem__(self, name):
        return self.found[name][1]

    def get(self, name):
        return self.found.get(name, (None, None))[1]

    def values(self, name):
        return {item.key: item.value for item in self[name].values}

    def close(self):
        self._node.destroy_subscription(self._heard)


@pytest.fixture
def monitor(robot):
    monitor = Monitor(robot)
    yield monitor
    monitor.close()


def words(text, stamp_ns=None):
    message = Utterance(text=text, speaker='Ada')
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(
        time.time_ns() if stamp_ns is None else stamp_ns, SECOND_NS)
    return message


def test_a_node_and_its_topics_are_told(start, robot, monitor):
    start('speech_ingest', memory__robot='r2', __ns='/kitchen', own_topics=[''])
    name = 'kitchen/speech_ingest'
    wait_until(lambda: monitor.get(f'{name}: memory'), 'diagnostics')
    topic = f'{name}: /kitchen/speech'
    assert monitor[topic].level == DiagnosticStatus.WARN
    assert monitor[topic].message.startswith('no publisher')
    speech = robot.publisher(Utterance, '/kitchen/speech')
    began = time.time_ns()
    speech.publish(words('Hello.'))
    wait_until(lambda: monitor.values(topic)['stored'] == '1', 'a record')
    assert monitor[topic].level == DiagnosticStatus.OK
    told = monitor.values(topic)
    assert (told['state'], told['publishers'], told['reliable']) == ('active', '1', 'true')
    assert 0 <= float(told['age (s)']) < 20 and told['type'] == 'emv_ros/msg/Utterance'
    wait_until(lambda: monitor.values(f'{name}: memory').get('records: utterance') == '1', 'counts')
    node, told = monitor[f'{name}: memory'], monitor.values(f'{name}: memory')
    assert (node.level, node.hardware_id, node.message) == (DiagnosticStatus.OK, 'r2',
                                                            'all is well')
    assert (told['dropped'], told['refused'], told['queue (records)']) == ('0', '0', '0')
    assert 0 < float(told['lag (s)']) < (time.time_ns() - began) / SECOND_NS
    assert int(told['free (bytes)']) > 10**6 and int(told['database (bytes)']) > 10**4
    assert told['last consolidation'] == told['latest forgetting'] == 'never'
    stamp = monitor.found[topic][0]
    wait_until(lambda: monitor.found[topic][0] != stamp, 'the next diagnostics')


def test_a_node_that_starts_is_not_called_inactive(start, robot):
    states = []
    begun = robot.node.get_clock().now()

    def hear(message):
        # Not the end of a node before.
        if Time.from_msg(message.header.stamp, ClockType.ROS_TIME) >= begun:
            states.append(message.state)

    heard = robot.node.create_subscription(
        MemoryStatus, 'memory_status', hear, qos(latched=True))
    node = start('speech_ingest', own_topics=[''])
    wait_until(lambda: len(states) > 1, 'the first statuses')
    assert MemoryStatus.STATE_INACTIVE not in states
    assert node.stop() == 0
    wait_until(lambda: states[-1] == MemoryStatus.STATE_INACTIVE, 'its end')
    robot.node.destroy_subscription(heard)


def test_a_memory_that_cannot_be_written_is_an_error_while_that_lasts(
        start, robot, monitor, tmp_path):
    name = 'speech_ingest: memory'
    folder = tmp_path / 'memory'
    start('speech_ingest', folder, own_topics=[''], memory__busy_timeout_s=0.1)
    speech = robot.publisher(Utterance, 'speech')
    speech.publish(words('Before.'))
    wait_until(lambda: monitor.get(name) and monitor.values(name).get('records: utterance') == '1'
               and monitor[name].level == DiagnosticStatus.OK, 'a record', 60)
    holder = sqlite3.connect(folder / 'memory.db', isolation_level=None)
    holder.execute('BEGIN IMMEDIATE')
    speech.publish(words('Meanwhile.'))
    wait_until(lambda: monitor[name].level == DiagnosticStatus.ERROR, 'an error')
    assert 'held by another process' in monitor[name].message
    assert robot.statuses['speech_ingest'].state == MemoryStatus.STATE_ERROR
    holder.execute('ROLLBACK')
    holder.close()
    wait_until(lambda: monitor[name].level == DiagnosticStatus.OK
               and monitor.values(name)['records: utterance'] == '2', 'the end of it')


def test_a_memory_that_cannot_be_looked_at_is_told(start, robot, monitor, tmp_path):
    name = 'speech_ingest: memory'
    folder = tmp_path / 'memory'
    start('speech_ingest', folder, own_topics=[''])
    robot.publisher(Utterance, 'speech')
    wait_until(lambda: monitor.get(name) and monitor[name].level == DiagnosticStatus.OK, 'health')
    folder.rename(tmp_path / 'elsewhere')
    wait_until(lambda: monitor[name].level == DiagnosticStatus.WARN, 'a warning')
    assert str(folder) in monitor[name].message
    (tmp_path / 'elsewhere').rename(folder)
    wait_until(lambda: monitor[name].level == DiagnosticStatus.OK, 'the end of it')


def test_stamps_of_another_clock_make_no_lag(start, robot):
    robot.statuses.clear()
    start('speech_ingest', own_topics=[''])
    speech = robot.publisher(Utterance, 'speech')
    for stamp_ns in (1_000 * SECOND_NS, 1_100 * SECOND_NS, time.time_ns() - 3600 * SECOND_NS):
        speech.publish(words(f'at {stamp_ns}', stamp_ns))
    wait_until(lambda: (now := robot.topic('speech_ingest', '/speech')) and now.stored == 3
               and robot.statuses['speech_ingest'].counts.utterances == 3, 'all')
    assert math.isnan(robot.statuses['speech_ingest'].lag_s)
    speech.publish(words('now'))
    wait_until(lambda: 0 < robot.statuses['speech_ingest'].lag_s < 20, 'a lag')


def test_a_mistyped_topic_is_named_with_the_one_that_is_meant(start, robot, monitor):
    camera = robot.publisher(Image, '/front/camera/image_raw', wait=False)
    robot.publisher(String, '/front/camera/image_row', wait=False)  # alike, but of no picture
    start('camera_ingest', topics=['/front/camera/imag_raw', '/rear/nothing/alike'])
    topic = 'camera_ingest: /front/camera/imag_raw'
    wait_until(lambda: monitor.get(topic) and 'did you mean' in monitor[topic].message, 'a word')
    assert monitor[topic].message == 'no publisher: did you mean /front/camera/image_raw?'
    assert monitor[topic].level == DiagnosticStatus.WARN
    told = '/front/camera/imag_raw: no publisher: did you mean /front/camera/image_raw?'
    wait_until(lambda: told in monitor['camera_ingest: memory'].message, told)
    assert monitor['camera_ingest: memory'].level == DiagnosticStatus.WARN
    other = monitor['camera_ingest: /rear/nothing/alike']
    assert other.message == 'no publisher: is the name right, and its node running?'
    robot.node.destroy_publisher(camera)


@pytest.mark.parametrize(('topic', 'there', 'meant'), [
    ('/camera/image_raw', ['/front/camera/image_raw', '/camera/info'], '/front/camera/image_raw'),
    ('/robot/odom', ['/odom'], '/odom'), ('/odm', ['/odom', '/tf'], '/odom'),
    ('/Joint_States', ['/joint_states'], '/joint_states'),
    ('/open_door/_action/status', ['/consolidate/_action/status'], ''),
    ('/navigat/_action/status', ['/consolidate/_action/status', '/navigate/_action/status'],
     '/navigate/_action/status'),
    ('/speech', ['/joint_states', '/xyz'], ''), ('/speech', [], '')])
def test_likely_topics(topic, there, meant):
    assert likeliest(topic, there) == meant


def test_wrong_types_are_an_error(start, robot, monitor):
    robot.publisher(String, 'camera/image_raw', wait=False)
    start('camera_ingest', topics=['camera/image_raw'])
    topic = 'camera_ingest: /camera/image_raw'
    wait_until(lambda: monitor.get(topic) and monitor[topic].level == DiagnosticStatus.ERROR,
               'an error')
    assert 'std_msgs/msg/String' in monitor[topic].message


def test_a_subscriber_that_hears_no_speech_is_named(start, robot):
    """A robot that answers, and whose speech synthesis asks for what was said before it came."""
    robot.statuses.clear()
    deaf = robot.node.create_subscription(String, 'say', lambda _: None, qos(latched=True))
    start('speech_bridge')
    told = '/say: 1 of its subscribers hear nothing'
    wait_until(lambda: told in getattr(robot.statuses.get('speech_bridge'), 'message', ''), told)
    assert 'in durability' in robot.statuses['speech_bridge'].message
    robot.node.destroy_subscription(deaf)
    wait_until(lambda: told not in robot.statuses['speech_bridge'].message, 'its end')


def test_a_publisher_that_does_not_fit_is_named_until_it_does(robot, monkeypatch):
    """Where publishers are followed nothing stays unheard; so what follows them is kept still."""
    heard = []
    following = inputs.qos.following
    monkeypatch.setattr(inputs.qos, 'following', lambda offers, depth: following([qos()], depth))
    source = TopicInput(
        robot.node, Faults(robot.node.get_logger()), 'fickle', {'std_msgs/msg/String': String},
        lambda message, _: heard.append(message.data))
    steady = robot.publisher(String, 'fickle', wait=False)
    wait_until(lambda: source.look() or source.state().is_subscribed, 'a subscription')
    fickle = robot.node.create_publisher(String, 'fickle', qos(reliable=False))
    state = wait_until(lambda: (now := source.state()).mismatch and now, 'a mismatch')
    assert state.mismatch == 'reliability' and not state.is_well
    assert state.health is TopicHealth.INCOMPATIBLE == TopicStatus.STATE_INCOMPATIBLE
    assert 'quality of service does not fit, in reliability' in state.message
    steady.publish(String(data='heard'))
    wait_until(lambda: heard, 'the other publisher')
    state = source.state()
    assert state.health is TopicHealth.ACTIVE and 'is not heard' in state.message
    # Followed, both are heard, and nothing is wrong any more.
    monkeypatch.setattr(inputs.qos, 'following', following)
    source.look()
    wait_until(fickle.get_subscription_count, 'the best-effort publisher')
    wait_until(lambda: fickle.publish(String(data='both')) or 'both' in heard, 'the other one')
    assert source.state().mismatch == '' and source.state().message == ''
    source.close()
    for publisher in (steady, fickle):
        robot.node.destroy_publisher(publisher)


def test_a_publisher_that_comes_back_with_another_quality_is_heard(start, robot):
    robot.statuses.clear()
    start('speech_ingest', own_topics=[''])
    first = robot.publisher(Utterance, 'speech')
    first.publish(words('one'))
    wait_until(lambda: (now := robot.topic('speech_ingest', '/speech')) and now.stored == 1,
               'the first')
    robot.node.destroy_publisher(first)
    second = robot.publisher(Utterance, 'speech', reliable=False)
    wait_until(lambda: not robot.topic('speech_ingest', '/speech').reliable, 'best effort')
    second.publish(words('two'))
    wait_until(lambda: robot.topic('speech_ingest', '/speech').stored == 2, 'the second')
    assert robot.topic('speech_ingest', '/speech').message == ''


def test_model_errors_are_counted(start, robot, monitor, tmp_path):
    folder = tmp_path / 'memory'
    with MemoryStore.open(MemorySettings(), folder) as store:
        store.add(SkillReport(stamp_ns=1_750_000_000 * SECOND_NS, skill='FeedCat',
                              status=Status.SUCCEEDED))
    with provider(Behaviour('no', status=400)) as server:
        start('query', folder, env={'EMV_TEST_KEY': 'k'}, model__model='openai/broken',
              model__api_base=server.address, model__api_key_env='EMV_TEST_KEY',
              model__retries=0, retrieval__embedder='none')
        wait_until(lambda: monitor.get('query: memory'), 'diagnostics', 60)
        assert monitor.values('query: memory')['model errors'] == '0'
        robot.call(srv.QueryEpisodicMemory, 'query_episodic_memory',
                   question='When did you feed the cat?')
        wait_until(lambda: monitor.values('query: memory')['model errors'] != '0', 'an error')
        assert robot.statuses['query'].model_errors == int(
            monitor.values('query: memory')['model errors'])
