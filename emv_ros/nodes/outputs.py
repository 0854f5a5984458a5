"""What a node publishes for others to act on, with a word on subscribers that do not hear it.

A subscriber that asks for more than is offered hears nothing, and nobody tells it.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from rclpy.event_handler import PublisherEventCallbacks, UnsupportedEventTypeError
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile

from emv_ros.nodes import qos

Message = TypeVar('Message')


class Output(Generic[Message]):
    """A publisher of a node."""

    def __init__(self, node: Node, kind: type[Message], topic: str, profile: QoSProfile) -> None:
        self.topic = node.resolve_topic_name(topic)
        self._node = node
        self._asked: set[str] = set()
        self._publisher: Publisher[Any]
        try:
            self._publisher = node.create_publisher(
                kind, topic, profile,
                event_callbacks=PublisherEventCallbacks(incompatible_qos=self._mismatched))
        except UnsupportedEventTypeError:  # a middleware that does not tell
            self._publisher = node.create_publisher(kind, topic, profile)

    def publish(self, message: Message) -> None:
        """Publish."""
        self._publisher.publish(message)

    @property
    def problem(self) -> str:
        """What the status tells of subscribers that hear nothing; empty where all hear."""
        deaf = self._node.count_subscribers(self.topic) - self._publisher.get_subscription_count()
        if deaf <= 0 or not self._asked:
            return ''
        return (f'{self.topic}: {deaf} of its subscribers hear nothing: they ask for a quality of '
                f'service that is not offered, in {", ".join(sorted(self._asked))}')

    def close(self) -> None:
        """Publish no more."""
        self._node.destroy_publisher(self._publisher)

    def _mismatched(self, event: Any) -> None:
        self._asked.add(qos.policy_in_words(event.last_policy_kind))
