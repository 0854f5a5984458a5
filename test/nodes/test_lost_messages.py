"""Messages that came faster than they were taken are counted where the middleware tells nothing."""

from __future__ import annotations

import logging

import pytest

pytest.importorskip('rclpy')

import rclpy
from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from stand_in import qos, wait_until
from std_msgs.msg import String

from emv_ros.nodes.faults import Faults
from emv_ros.nodes.inputs import TopicInput

pytestmark = pytest.mark.ros
DEPTH = 10


def test_a_queue_that_ran_over():
    context = Context()
    rclpy.init(context=context)
    try:
        node = rclpy.create_node('listener', context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        heard = []
        source = TopicInput(
            node, Faults(logging.getLogger('test')), 'flood', {'std_msgs/msg/String': String},
            lambda message, _: heard.append(message.data), depth=DEPTH)
        publishers = [node.create_publisher(String, 'flood', qos()) for _ in range(2)]
        wait_until(lambda: source.look() or source.state().is_subscribed, 'a subscription')
        wait_until(lambda: all(item.get_subscription_count() for item in publishers), 'a match')

        def say(count, publisher):
            for number in range(count):
                publisher.publish(String(data=str(number)))
            assert publisher.wait_for_all_acked(Duration(seconds=10))

        def listen(until):
            wait_until(lambda: executor.spin_once(timeout_sec=0.05) or until(), 'the messages')

        for count, publisher in zip((3, 6), publishers, strict=True):
            say(3, publisher)
            listen(lambda count=count: len(heard) == count)
        assert source.counts.lost == 0
        say(DEPTH + 25, publishers[0])
        listen(lambda: heard[-1] == str(DEPTH + 24))
        assert len(heard) == 6 + DEPTH and source.counts.lost == 25
        assert '25 messages got lost' in source.state().message
        say(2, publishers[1])  # each publisher counts for itself
        listen(lambda: len(heard) == 8 + DEPTH)
        assert source.counts.lost == 25
        source.close()
        node.destroy_node()
    finally:
        rclpy.shutdown(context=context)
