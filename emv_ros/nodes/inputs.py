"""One topic that a node listens to: its type and quality of service are those of its publishers.

Nothing is subscribed before a publisher is there, since only publishers tell the type. A
subscription whose profile no longer fits is replaced; the old one stays until the next look, so
that nothing falls between them, and a message that both hear counts once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
import time
from typing import Any

from rclpy._rclpy_pybind11 import RCLError
from rclpy.event_handler import SubscriptionEventCallbacks, UnsupportedEventTypeError
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from emv_ros.nodes import qos
from emv_ros.nodes.faults import Faults
from emv_ros.nodes.likely_topics import nearest
from emv_ros.nodes.topic_state import TopicCounts, TopicState

REMEMBERED = 2 * qos.EVENT_DEPTH  # messages by which a repeat is noticed: of two full queues
STALE_S = 10.0
TOGETHER = 64  # messages of one topic that are taken before others have their turn

Receive = Callable[[Any, 'TopicInput'], None]


class TopicInput:
    """A topic of a node. `types` maps the names of accepted types to their classes.

    `receive(message, input)` must not raise; it counts in `counts`.
    """

    def __init__(self, node: Node, faults: Faults, topic: str, types: Mapping[str, type],
                 receive: Receive, depth: int = qos.EVENT_DEPTH, is_optional: bool = False,
                 is_stream: bool = False, is_raw: bool = False, spare_ns: int = 0) -> None:
        """Take note; `look` subscribes. Optional ones may be absent, a stream is never silent.

        Raw messages are received as their bytes. Of a stream of which one message in `spare_ns` is
        kept, those missed between two that lie closer together count as thinned: where one of them
        was due, the next stands in its place.
        """
        self.topic = node.resolve_topic_name(topic)
        self.types = types
        self.type = ''
        self.is_optional = is_optional
        self.is_stream = is_stream
        self.counts = TopicCounts()
        self._node = node
        self._faults = faults
        self._receive = receive
        self._depth = depth
        self._is_raw = is_raw
        self._spare_ns = spare_ns
        self._profile: QoSProfile | None = None
        self._subscription: Subscription[Any] | None = None
        self._retiring: Subscription[Any] | None = None
        self._publishers = 0
        self._foreign: list[str] = []
        self._mismatches: set[str] = set()  # policies, since the subscription was made
        self._seen: OrderedDict[tuple[int, int], None] = OrderedDict()
        # By publisher the highest number, and when that message was sent.
        self._heard: OrderedDict[bytes, tuple[int, int]] = OrderedDict()
        self._told_lost = self._missed = 0

    def look(self) -> None:
        """Look at the publishers, and subscribe as they need; cheap where nothing changed."""
        self._retire()
        offers = self._node.get_publishers_info_by_topic(self.topic)
        self._publishers = len(offers)
        self._foreign = sorted({offer.topic_type for offer in offers} - set(self.types))
        if not offers:
            self._mismatches.clear()
        usable = [offer for offer in offers if offer.topic_type in self.types]
        if not usable:
            return
        offered = {offer.topic_type for offer in usable}
        # Where publishers disagree, all inputs of a process must choose alike: the middleware lets
        # no process read one topic in two types.
        kind = next(name for name in self.types if name in offered)
        self._foreign += sorted({offer.topic_type for offer in usable} - {kind})
        profile = qos.following(
            [offer.qos_profile for offer in usable if offer.topic_type == kind], self._depth)
        if self._profile is None or kind != self.type or not qos.is_same(profile, self._profile):
            self._subscribe(kind, profile)

    def close(self) -> None:
        """Hear nothing more."""
        self._retire()
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = self._profile = None

    def state(self, taken: Collection[str] = ()) -> TopicState:
        """Return how the topic is doing now; a topic of `taken` is not what is meant by it."""
        now_s = time.monotonic()
        return TopicState(
            topic=self.topic, type=self.type, publishers=self._publishers,
            is_subscribed=self._subscription is not None,
            is_reliable=qos.is_reliable(self._profile),
            expected=tuple(self.types), foreign=tuple(self._foreign), stale_s=STALE_S,
            is_optional=self.is_optional, is_stream=self.is_stream,
            counts=self.counts, now_s=now_s, rate_hz=self.counts.rate_hz(now_s),
            mismatch=', '.join(sorted(self._mismatches)),
            meant='' if self._publishers else nearest(
                self._node, self.topic, self.types, taken))

    def _subscribe(self, kind: str, profile: QoSProfile) -> None:
        self._mismatches.clear()
        self._retiring, self._subscription, self._profile = self._subscription, None, None
        if kind != self.type:
            self._retire()
        try:
            self._subscription = self._make(self.types[kind], profile)
        except RCLError as error:  # tried again at the next look
            self._foreign.append(f'{kind} ({error})')
            return
        self.type, self._profile = kind, profile
        self._node.get_logger().info(f'{self.topic}: {kind}, {qos.in_words(profile)}')

    def _make(self, message_class: type, profile: QoSProfile) -> Subscription[Any]:
        try:
            return self._node.create_subscription(
                message_class, self.topic, self._take, profile, raw=self._is_raw,
                event_callbacks=SubscriptionEventCallbacks(
                    message_lost=self._lost, incompatible_qos=self._mismatched))
        except UnsupportedEventTypeError:  # a middleware that does not tell losses
            return self._node.create_subscription(
                message_class, self.topic, self._take, profile, raw=self._is_raw)

    def _retire(self) -> None:
        if self._retiring is not None:
            self._node.destroy_subscription(self._retiring)
            self._retiring = None

    def _take(self, message: Any, info: Any) -> None:
        """Take a message, and those that wait behind it: that is cheaper than a round for each."""
        try:
            self._take_one(message, info)
            for _ in range(TOGETHER):
                taken = self._next()
                if taken is None:
                    return
                self._take_one(*taken)
        except Exception as error:  # the border of this callback
            self._faults.add(self.topic, error)

    def _next(self) -> Any:
        """Return the next message that waits, with its info; None where none does."""
        subscription = self._subscription
        if subscription is None:
            return None
        with subscription.handle:
            return subscription.handle.take_message(subscription.msg_type, subscription.raw)

    def _take_one(self, message: Any, info: Any) -> None:
        if not self._is_new(info):
            return
        self._count_missed(info)
        self.counts.received += 1
        self.counts.received_s = time.monotonic()
        self._receive(message, self)

    def _is_new(self, info: Any) -> bool:
        """Return False for what the subscription before this one heard too."""
        key = (info['source_timestamp'], info.get('publication_sequence_number') or 0)
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        return True

    def _count_missed(self, info: Any) -> None:
        """Count what lies between this message of a publisher and the latest before it.

        The middleware tells nothing of messages that a full queue of ours made room with.
        """
        number = info.get('publication_sequence_number') or 0
        publisher = (info.get('publisher_gid') or {}).get('data', b'')
        if not number or not publisher:
            return
        sent_ns = info['source_timestamp']
        latest, before_ns = self._heard.pop(publisher, (0, 0))
        self._heard[publisher] = max((number, sent_ns), (latest, before_ns))
        if len(self._heard) > REMEMBERED:
            self._heard.popitem(last=False)
        # While a subscription is replaced, each of the two is somewhere else in what it hears.
        if latest and number > latest + 1 and self._retiring is None:
            missed = number - latest - 1
            if sent_ns - before_ns < self._spare_ns:
                self.counts.thinned += missed
                return
            self._missed += missed
            self.counts.lost = max(self._told_lost, self._missed)

    def _mismatched(self, event: Any) -> None:
        policy = qos.policy_in_words(event.last_policy_kind)
        if policy not in self._mismatches:
            self._node.get_logger().warning(
                f'{self.topic}: a publisher does not fit, in {policy}')
        self._mismatches.add(policy)

    def _lost(self, event: Any) -> None:
        self._told_lost += event.total_count_change
        self.counts.lost = max(self._told_lost, self._missed)
