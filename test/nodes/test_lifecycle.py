"""The nodes as processes: each alone, their ends, their topics, and what must not end them."""

from __future__ import annotations

import signal
import sqlite3
import time

import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import KeyValue
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Image
from stand_in import wait_until
from std_msgs.msg import String

from emv_ros import records
from emv_ros.errors import StoreReadOnlyError
from emv_ros.memory import queries
from emv_ros.memory.store import MemoryStore
from emv_ros.msg import MemoryStatus, SkillEvent, TopicStatus, Utterance
from emv_ros.nodes.intake import Intake
from emv_ros.settings import MemorySettings, Settings
from emv_ros.srv import QueryEpisodicMemory
from emv_ros.timeline import SECOND_NS

LIMIT_S = 30.0
pytestmark = pytest.mark.ros
ALONE = ('camera_ingest', 'joint_state_ingest', 'speech_ingest', 'skill_ingest', 'pose_ingest',
         'scene_ingest', 'perception', 'consolidation', 'query', 'speech_bridge')


def opened(folder):
    return MemoryStore.open(MemorySettings(), folder)


def topic_when(robot, node, topic, fits, what):
    def found():
        state = robot.topic(node, topic)
        return state if state is not None and fits(state) else None
    try:
        return wait_until(found, what)
    except AssertionError as error:
        raise AssertionError(f'{error}: {robot.topic(node, topic)}') from None


def test_each_node_runs_alone_and_ends_well(start, robot):
    robot.statuses.clear()
    processes = [start(name, model__model='none', retrieval__embedder='none') for name in ALONE]
    wait_until(lambda: set(ALONE) <= set(robot.statuses), 'all nodes', 60)
    for process in processes:
        process.send(signal.SIGTERM)
    for process in processes:
        assert process.stop() == 0, process.output
        assert 'Traceback' not in process.output


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_events_come_loses_none_that_came(start, robot, tmp_path, number):
    process = start('skill_ingest', memory__flush_period_s=30.0, memory__batch_size=100_000)
    events = robot.publisher(SkillEvent, 'skill_events')
    for part in range(300):
        events.publish(SkillEvent(skill=f'skill_{part}', status=SkillEvent.STATUS_SUCCEEDED))
    topic_when(robot, 'skill_ingest', '/skill_events', lambda state: state.received == 300, 'all')
    with opened(tmp_path / 'memory') as store:
        assert not queries.skill_events(store)  # all of them are still to be written
    assert process.stop(number) == 0, process.output
    with opened(tmp_path / 'memory') as store:
        assert len(queries.skill_events(store)) == 300
    assert sqlite3.connect(tmp_path / 'memory' / 'memory.db').execute(
        'PRAGMA integrity_check').fetchone() == ('ok',)
    robot.node.destroy_publisher(events)


def test_transitions(start, robot):
    robot.statuses.clear()
    start('skill_ingest', autostart=False)

    def state():
        return robot.look_up(GetState, 'skill_ingest/get_state').current_state.id

    def change(transition):
        request = Transition(id=transition)
        return robot.call(ChangeState, 'skill_ingest/change_state', transition=request).success

    assert state() == State.PRIMARY_STATE_UNCONFIGURED
    events = robot.publisher(SkillEvent, 'skill_events', wait=False)
    for _ in range(2):  # and once more after a cleanup
        assert change(Transition.TRANSITION_CONFIGURE)
        assert not events.get_subscription_count()
        assert change(Transition.TRANSITION_ACTIVATE)
        wait_until(events.get_subscription_count, 'a subscription')
        assert change(Transition.TRANSITION_DEACTIVATE)
        wait_until(lambda: not events.get_subscription_count(), 'no subscription')
        wait_until(lambda: robot.statuses['skill_ingest'].state == MemoryStatus.STATE_INACTIVE, '')
        assert change(Transition.TRANSITION_CLEANUP)
        assert state() == State.PRIMARY_STATE_UNCONFIGURED
    robot.node.destroy_publisher(events)


def test_a_memory_that_cannot_be_opened_is_told(start, robot, tmp_path):
    (tmp_path / 'file').write_text('no folder')
    process = start('skill_ingest', folder=tmp_path / 'file')
    assert process.process.wait(20) == 1
    assert str(tmp_path / 'file') in process.output
    start.running.remove(process)


def test_a_second_recorder_of_a_name_is_refused(start, robot, tmp_path):
    robot.statuses.clear()
    first = start('skill_ingest')
    wait_until(lambda: 'skill_ingest' in robot.statuses, 'the first')
    second = start('memory', model__model='none', retrieval__embedder='none')
    assert second.process.wait(LIMIT_S) == 1
    assert f"(process {first.process.pid}) records 'robot' into" in second.output
    start.running.remove(second)
    # Another robot, another memory, and the place of one that was killed are free.
    start('skill_ingest', memory__robot='other')
    start('skill_ingest', folder=tmp_path / 'elsewhere')
    first.process.kill()
    first.process.wait(LIMIT_S)
    start.running.remove(first)
    third = start('skill_ingest')
    wait_until(lambda: 'running: ' in third.output, 'the third')
    assert all(process.process.poll() is None for process in start.running)


def test_a_memory_that_cannot_be_written_is_not_recorded_into(monkeypatch, tmp_path):
    opened(tmp_path).close()
    monkeypatch.setattr('emv_ros.memory.store.is_read_only', lambda url: True)
    settings = Settings(memory=MemorySettings(folder=str(tmp_path)))
    with pytest.raises(StoreReadOnlyError, match='nothing would be recorded'):
        Intake().acquire(settings, 'wall', 'skill_ingest')


def test_a_wrong_parameter_is_told(start):
    process = start('skill_ingest', memory__batch_size=0)
    assert process.process.wait(20) == 2
    assert 'memory.batch_size' in process.output
    start.running.remove(process)


def test_topics_follow_their_publishers(start, robot, tmp_path):
    """A typo, a wrong type, silence; publishers before and after us, and of both kinds at once."""
    early = robot.publisher(SkillEvent, 'early', wait=False, latched=True)
    early.publish(SkillEvent(skill='before', status=3))
    wrong = robot.publisher(String, 'wrong', wait=False)
    start('skill_ingest', topics=['early', 'skill_evnets', 'wrong', 'late'])
    name = 'skill_ingest'
    state = topic_when(robot, name, '/early', lambda state: state.received == 1, 'the latched one')
    assert state.reliable
    state = topic_when(robot, name, '/skill_evnets', lambda state: state.message, 'the typo')
    assert state.state == TopicStatus.STATE_NO_PUBLISHER and 'no publisher' in state.message
    state = topic_when(robot, name, '/wrong', lambda state: state.publishers, 'the wrong type')
    assert state.state == TopicStatus.STATE_INCOMPATIBLE
    assert 'std_msgs/msg/String' in state.message and 'SkillEvent' in state.message
    assert robot.statuses[name].state == MemoryStatus.STATE_DEGRADED
    assert '/skill_evnets' in robot.statuses[name].message

    unreliable = robot.publisher(SkillEvent, 'late', reliable=False)
    state = topic_when(robot, name, '/late', lambda state: state.publishers == 1, 'a publisher')
    assert (state.state, state.reliable) == (TopicStatus.STATE_SILENT, False)
    unreliable.publish(SkillEvent(skill='first', status=3))
    topic_when(robot, name, '/late', lambda state: state.received == 1, 'the first')
    reliable = robot.publisher(SkillEvent, 'late')
    reliable.publish(SkillEvent(skill='second', status=3))
    state = topic_when(robot, name, '/late', lambda state: state.received == 2, 'both kinds')
    assert not state.reliable
    robot.node.destroy_publisher(unreliable)
    topic_when(robot, name, '/late', lambda state: state.reliable, 'reliable alone')
    wait_until(lambda: reliable.get_subscription_count() == 1, 'the new subscription')
    reliable.publish(SkillEvent(skill='third', status=3))
    topic_when(robot, name, '/late', lambda state: state.received == 3, 'the third')
    with opened(tmp_path / 'memory') as store:
        wait_until(lambda: {event.skill for event in queries.skill_events(store)} == {
            'before', 'first', 'second', 'third'}, 'all events')
    for publisher in (early, wrong, reliable):
        robot.node.destroy_publisher(publisher)


def test_publishers_of_every_kind_before_and_after_us(start, robot, tmp_path):
    kinds = {
        'reliable_latched': {'reliable': True, 'latched': True},
        'reliable_volatile': {'reliable': True, 'latched': False},
        'best_effort_latched': {'reliable': False, 'latched': True},
        'best_effort_volatile': {'reliable': False, 'latched': False}}
    topics = [f'{kind}_{when}' for kind in kinds for when in ('before', 'after')]
    publishers = {f'{kind}_before': robot.publisher(SkillEvent, f'{kind}_before', wait=False, **how)
                  for kind, how in kinds.items()}
    start('skill_ingest', topics=topics)
    topic_when(robot, 'skill_ingest', f'/{topics[-1]}', lambda state: True, 'the node')
    for kind, how in kinds.items():
        publishers[f'{kind}_after'] = robot.publisher(
            SkillEvent, f'{kind}_after', wait=False, **how)
    for topic, publisher in publishers.items():
        wait_until(publisher.get_subscription_count, topic)
        publisher.publish(SkillEvent(skill=topic, status=3))
    with opened(tmp_path / 'memory') as store:
        wait_until(lambda: {event.skill for event in queries.skill_events(store)} == set(topics),
                   'one event of each')
    for topic in topics:
        state = topic_when(robot, 'skill_ingest', f'/{topic}', lambda state: state.received, topic)
        assert (state.reliable, state.received) == (topic.startswith('reliable'), 1)
    for publisher in publishers.values():
        robot.node.destroy_publisher(publisher)


def test_a_large_best_effort_picture_is_named(start, robot):
    start('camera_ingest', topics=['big/image_raw'])
    camera = robot.publisher(Image, 'big/image_raw', reliable=False)
    state = topic_when(robot, 'camera_ingest', '/big/image_raw', lambda state: state.publishers, '')
    assert 'fastdds.xml' in state.message
    robot.node.destroy_publisher(camera)


def test_nothing_that_comes_ends_a_node(start, robot, tmp_path):
    """Text that is no UTF-8, half a character in JSON, a message that is cut off."""
    start('skill_ingest')
    events = robot.publisher(SkillEvent, 'skill_events')
    raw = serialize_message(SkillEvent(skill='bad words', status=3))
    events.publish(raw.replace(b'bad', b'\xff\xfe\xfd'))
    events.publish(raw[:len(raw) // 2])
    events.publish(SkillEvent(skill='half', parameters=[KeyValue(key='a', value='"x \\ud800"')]))
    events.publish(SkillEvent(skill='good', status=3))
    with opened(tmp_path / 'memory') as store:
        wait_until(lambda: 'good' in {event.skill for event in queries.skill_events(store)}, 'good')
    robot.node.destroy_publisher(events)
    process = start.running.pop()
    assert process.stop() == 0, process.output


def test_what_is_of_the_moment_at_which_a_simulated_clock_stands_is_known(start, robot, tmp_path):
    second = 1_800_000_000
    with opened(tmp_path / 'memory') as store:
        store.add(records.Utterance(
            stamp_ns=second * SECOND_NS, speaker='', text='the red cup fell'))
    start('query', use_sim_time=True, preload=False, retrieval__embedder='none',
          model__model='none')
    clock = robot.publisher(Clock, 'clock', reliable=False)

    def found(now):
        clock.publish(Clock(clock=SkillEvent().header.stamp.__class__(sec=now)))
        answer = robot.call(
            QueryEpisodicMemory, 'query_episodic_memory', question='Which cup was it?')
        return [item.id for item in answer.evidence]

    wait_until(lambda: not found(second - 1), 'the clock')
    assert wait_until(lambda: found(second), 'the word') == ['u1']
    robot.node.destroy_publisher(clock)


def test_simulated_time_that_jumps_back_begins_a_session(start, robot, tmp_path):
    """A zero stamp is the time of /clock; a loop of the bag loses nothing."""
    start('speech_ingest', use_sim_time=True)
    clock = robot.publisher(Clock, 'clock', reliable=False)
    speech = robot.publisher(Utterance, 'speech')

    def at(second, text):
        clock.publish(Clock(clock=SkillEvent().header.stamp.__class__(sec=second)))
        time.sleep(0.2)  # the clock has a topic of its own: nothing orders the two
        speech.publish(Utterance(text=text))

    with opened(tmp_path / 'memory') as store:
        for number, (second, text) in enumerate((
                (100, 'one'), (105, 'two'), (102, 'three'), (104, 'four')), 1):
            at(second, text)
            wait_until(lambda count=number: len(queries.utterances(store)) == count, text)
        found = {item.text: item for item in queries.utterances(store)}
    assert [found[text].stamp_ns // SECOND_NS for text in ('one', 'two', 'three', 'four')] == [
        100, 105, 102, 104]
    assert all(item.stamp_is_receipt for item in found.values())
    assert found['one'].session_id == found['two'].session_id
    assert found['three'].session_id == found['four'].session_id != found['one'].session_id
    assert 'went back' in wait_until(
        lambda: (now := robot.statuses['speech_ingest']).message and now, 'a word').message
    for publisher in (clock, speech):
        robot.node.destroy_publisher(publisher)


def test_stamps_that_are_late_twice_or_of_another_clock(start, robot, tmp_path):
    start('skill_ingest')
    events = robot.publisher(SkillEvent, 'skill_events')
    now_ns = time.time_ns()

    def event(skill, stamp_ns):
        message = SkillEvent(skill=skill, status=SkillEvent.STATUS_SUCCEEDED)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, SECOND_NS)
        events.publish(message)

    event('now', now_ns)
    event('late', now_ns - 5 * SECOND_NS)
    event('late', now_ns - 5 * SECOND_NS)  # again, to the nanosecond
    event('old', 1_000 * SECOND_NS)  # a clock of 1970
    event('far', 2_100_000_000 * SECOND_NS)  # 2036: refused
    state = topic_when(robot, 'skill_ingest', '/skill_events', lambda now: now.received == 5, '')
    assert (state.stored, state.thinned, state.refused) == (3, 1, 1)
    with opened(tmp_path / 'memory') as store:
        wait_until(lambda: len(queries.skill_events(store)) == 3, 'three')
        found = {item.skill: item for item in queries.skill_events(store)}
    assert found['now'].session_id == found['late'].session_id != found['old'].session_id
    assert 'clock' in robot.statuses['skill_ingest'].message
    robot.node.destroy_publisher(events)
