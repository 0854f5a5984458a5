"""The publishers of a replay: one for each topic of a recording, reliable and deep."""

from __future__ import annotations

from importlib import import_module
import time
from typing import Any

import rclpy
from rclpy._rclpy_pybind11 import RCLError
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy

from emv_ros.demo.replay import Recording
from emv_ros.errors import ImportFileError
from emv_ros.ingest.bag_salvage import RawMessage

POLL_S = 0.05
# Fast DDS keeps no more samples for one publisher.
DEEPEST = 5000


class ReplayTopics:
    """Sends recorded bytes. `published` and `subscribers` count by topic."""

    def __init__(self, node: Node, recording: Recording, wait_s: float) -> None:
        self.wait_s = wait_s
        counts = recording.counts()
        self.published = dict.fromkeys(counts, 0)
        self._publishers: dict[str, Publisher] = {
            topic: node.create_publisher(message_class(kind, topic), topic, QoSProfile(
                depth=min(counts[topic], DEEPEST), history=HistoryPolicy.KEEP_LAST,
                reliability=ReliabilityPolicy.RELIABLE))
            for topic, kind in sorted(recording.types.items())}

    def subscribers(self) -> dict[str, int]:
        """Return how many subscribers each topic has now."""
        return {topic: publisher.get_subscription_count()
                for topic, publisher in self._publishers.items()}

    def wait_for_subscribers(self) -> list[str]:
        """Wait until each topic has a subscriber, and return the topics that found none in time."""
        ends_s = time.monotonic() + self.wait_s
        while True:
            alone = [topic for topic, count in self.subscribers().items() if not count]
            if not alone or not rclpy.ok() or time.monotonic() >= ends_s:
                return alone
            time.sleep(POLL_S)

    def has_stamp(self, topic: str) -> bool:
        """Return whether messages of a topic carry a header."""
        return 'header' in self._publishers[topic].msg_type.get_fields_and_field_types()

    def send(self, message: RawMessage) -> None:
        """Publish one message; where the middleware has no room, wait for it within the limit."""
        ends_s = time.monotonic() + self.wait_s
        while True:
            try:
                self._publishers[message.topic.name].publish(message.data)
                break
            except RCLError:
                if not rclpy.ok() or time.monotonic() >= ends_s:
                    raise
                time.sleep(POLL_S)
        self.published[message.topic.name] += 1

    def confirmed(self) -> dict[str, bool]:
        """Wait until the subscribers have confirmed all messages; return for which topics."""
        ends_s = time.monotonic() + self.wait_s
        return {topic: publisher.wait_for_all_acked(
                    Duration(seconds=max(POLL_S, ends_s - time.monotonic())))
                for topic, publisher in self._publishers.items()}


def message_class(kind: str, topic: str) -> Any:
    """Return the generated class of a type such as std_msgs/msg/String.

    Raises ImportFileError where it is not installed.
    """
    package, _, name = kind.split('/')
    try:
        return getattr(import_module(f'{package}.msg'), name)
    except (ImportError, AttributeError) as error:
        raise ImportFileError(
            f'the topic {topic} is of the type {kind}, which is not installed') from error
