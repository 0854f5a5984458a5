"""An exception in a callback is counted and told, and the next message is taken."""

from __future__ import annotations

import logging

import pytest

pytest.importorskip('rclpy')

import rclpy
from rclpy._rclpy_pybind11 import InvalidHandle, RCLError
from rclpy.action import ActionServer
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from stand_in import qos, wait_until

from emv_ros.action import QueryEpisodicMemory
from emv_ros.errors import StoreError
from emv_ros.memory import queries
from emv_ros.memory.store import MemoryStore
from emv_ros.msg import SkillEvent
from emv_ros.nodes.faults import Faults
from emv_ros.nodes.running import Spinner
from emv_ros.nodes.skill_ingest import SkillIngest
from emv_ros.settings import MemorySettings

pytestmark = pytest.mark.ros


class Broken(SkillIngest):
    """Has a bug that shows with the first message."""

    def convert(self, message, source, receipt_ns):
        if message.skill == 'zero':
            raise ZeroDivisionError('a bug')
        return super().convert(message, source, receipt_ns)

    def topic_names(self):
        yield from super().topic_names()
        yield 'second', False


@pytest.fixture
def context():
    context = Context()
    rclpy.init(context=context)
    yield context
    rclpy.try_shutdown(context=context)


def test_an_exception_in_a_callback(context, tmp_path):
    node = Broken(context=context, cli_args=[
        '--ros-args', '-p', f'memory.folder:={tmp_path}', '-p', 'memory.flush_period_s:=0.05'])
    spinner = Spinner(SingleThreadedExecutor(context=context), [node])
    assert node.bring_up()
    spinner.start()
    try:
        other = rclpy.create_node('other', context=context)
        events = other.create_publisher(SkillEvent, 'skill_events', qos())
        wait_until(events.get_subscription_count, 'a subscription')
        for skill in ('zero', 'one'):
            events.publish(SkillEvent(skill=skill, status=3))
        with MemoryStore.open(MemorySettings(), tmp_path) as store:
            wait_until(lambda: [item.skill for item in queries.skill_events(store)] == ['one'], '')
        assert node.faults.counts['/skill_events'] == 1
        assert any('ZeroDivisionError' in problem for problem in node.state().problems)
        node.inputs.append(None)  # breaks `look`, the callback of a timer
        wait_until(lambda: node.faults.counts['look'], 'a fault of the timer')
        node.inputs.pop()
        events.publish(SkillEvent(skill='two', status=3))
        wait_until(lambda: node.inputs[0].counts.stored == 2, 'the next message')
        other.destroy_node()
    finally:
        node.bring_down()
        spinner.stop()
        node.destroy_node()


class Interrupted(SingleThreadedExecutor):
    """Meets an entity that was destroyed meanwhile, as it may when a node is brought down."""

    met = False

    def spin_once(self, timeout_sec=None):
        if not self.met:
            self.met = True
            raise InvalidHandle('cannot use Destroyable because destruction was requested')
        super().spin_once(timeout_sec)


def test_what_is_destroyed_while_the_executor_waits_is_no_fault(context, tmp_path):
    node = SkillIngest(context=context, cli_args=[
        '--ros-args', '-p', f'memory.folder:={tmp_path}', '-p', 'memory.flush_period_s:=0.05'])
    executor = Interrupted(context=context)
    spinner = Spinner(executor, [node])
    assert node.bring_up()
    spinner.start()
    try:
        other = rclpy.create_node('other', context=context)
        events = other.create_publisher(SkillEvent, 'skill_events', qos())
        wait_until(events.get_subscription_count, 'a subscription')
        events.publish(SkillEvent(skill='one', status=3))
        wait_until(lambda: node.inputs[0].counts.stored == 1, 'a message')
        assert executor.met and not node.faults.counts['executor']
        other.destroy_node()
    finally:
        node.bring_down()
        spinner.stop()
        node.destroy_node()


class Refused(SingleThreadedExecutor):
    """Notes that rcl refused what it waits for."""

    met = False

    def spin_once(self, timeout_sec=None):
        try:
            super().spin_once(timeout_sec)
        except RCLError:
            self.met = True
            raise


def test_an_action_server_that_goes_while_the_executor_waits_is_no_fault(context, tmp_path):
    node = SkillIngest(context=context, cli_args=[
        '--ros-args', '-p', f'memory.folder:={tmp_path}', '-p', 'memory.flush_period_s:=0.05'])
    executor = Refused(context=context)
    spinner = Spinner(executor, [node])
    assert node.bring_up()
    server = ActionServer(node, QueryEpisodicMemory, 'ask', lambda goal: None)
    # Just what destroying it does first; it is still among what the executor waits for then.
    server._handle.destroy_when_not_in_use()
    spinner.start()
    try:
        wait_until(lambda: executor.met, 'a refusal')
        server.destroy()
        other = rclpy.create_node('other', context=context)
        events = other.create_publisher(SkillEvent, 'skill_events', qos())
        wait_until(events.get_subscription_count, 'a subscription')
        events.publish(SkillEvent(skill='one', status=3))
        wait_until(lambda: node.inputs[0].counts.stored == 1, 'a message')
        assert not node.faults.counts['executor']
        other.destroy_node()
    finally:
        node.bring_down()
        spinner.stop()
        node.destroy_node()


def test_what_was_mended_is_told_no_more() -> None:
    faults = Faults(logging.getLogger('test'))
    faults.add('look', StoreError('no picture'))
    for _ in range(3):
        faults.add('configure', StoreError('no room'))
    assert faults.words == '4 callbacks failed, the latest configure: no room'
    faults.mended('configure')
    assert faults.words == '1 callbacks failed, the latest look: no picture'
    faults.mended('look')
    assert faults.words == ''
