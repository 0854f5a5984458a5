"""Publishes what a robot at full rate would, for the bench of ingest, as cheaply as can be.

    python -m emv_ros.nodes.load_publisher --ros-args -p joint_hz:=500.0 -p account:=FILE

Pictures and joint states are serialised once; of each message only the stamp and what changes is
written anew. Each message is stamped as it goes out. It waits for `subscribers` on each topic, and
at the end until all is confirmed; the account is an .npz with the stamps of each kind by number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import heapq
import struct
import sys
import time
from typing import Any

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import KeyValue
import numpy as np
import rclpy
from rclpy._rclpy_pybind11 import RCLError
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Image, JointState

from emv_ros.evaluation import load
from emv_ros.msg import SkillEvent, Utterance
from emv_ros.nodes.parameters import declare
from emv_ros.timeline import SECOND_NS

TOPICS = {'image': ('camera/image_raw', Image, 5), 'joint': ('joint_states', JointState, 200),
          'event': ('skill_events', SkillEvent, 1000), 'utterance': ('speech', Utterance, 1000)}
STAMP_AT, STAMP = 4, struct.Struct('<iI')  # behind the four bytes that name the encoding
POLL_S = 0.05
FULL_WAIT_S = 0.002


class LoadPublisher(Node):
    """The publishers of the kinds whose rate is not 0."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('load_publisher', **kwargs)
        self.load = load.Load(**{
            name: declare(self, name, 0.0, words) for name, words in (
                ('seconds', 'how long to publish, s'), ('camera_hz', 'pictures a second'),
                ('joint_hz', 'joint states a second'), ('events_hz', 'skill events a second'),
                ('utterances_hz', 'utterances a second'))})
        self.account: str = declare(self, 'account', '', '.npz with what was published')
        self.wanted: int = declare(self, 'subscribers', 1, 'subscribers that each topic waits for')
        self.wait_s: float = declare(self, 'wait_s', 60.0, 'longest wait for them, s')
        self.full_waits = 0
        self.counts = {kind: count for kind, count in self.load.counts().items() if count}
        self.stamps = {kind: np.zeros(count, np.int64) for kind, count in self.counts.items()}
        self._senders: dict[str, Publisher] = {
            kind: self.create_publisher(TOPICS[kind][1], TOPICS[kind][0], QoSProfile(
                depth=TOPICS[kind][2], history=HistoryPolicy.KEEP_LAST,
                reliability=ReliabilityPolicy.RELIABLE)) for kind in self.counts}
        make: dict[str, Callable[[], Callable[[int, int], Any]]] = {
            'image': _pictures, 'joint': lambda: _joints(self.load.joint_hz),
            'event': lambda: _event, 'utterance': lambda: _utterance}
        self._make = {kind: make[kind]() for kind in self.counts}

    def wait_for_subscribers(self) -> bool:
        """Return whether each topic found its subscribers in time."""
        ends = time.monotonic() + self.wait_s
        while rclpy.ok() and time.monotonic() < ends:
            if all(item.get_subscription_count() >= self.wanted
                   for item in self._senders.values()):
                return True
            time.sleep(POLL_S)
        return False

    def publish(self) -> None:
        """Publish all when it is due; what is late goes out at once, and none is left out."""
        begin = time.monotonic()
        due = [(begin, kind, 0) for kind in self.counts]
        heapq.heapify(due)
        while due and rclpy.ok():
            at, kind, number = due[0]
            left = at - time.monotonic()
            if left > 0:
                time.sleep(left)
            self._send(kind, number)
            number += 1
            if number < self.counts[kind]:
                heapq.heapreplace(due, (
                    begin + number * self.load.seconds / self.counts[kind], kind, number))
            else:
                heapq.heappop(due)

    def confirmed(self) -> bool:
        """Wait until all subscribers have confirmed all; return whether they did."""
        limit = Duration(seconds=self.wait_s)
        return all(item.wait_for_all_acked(limit) for item in self._senders.values())

    def _send(self, kind: str, number: int) -> None:
        while True:
            stamp_ns = time.time_ns()
            try:
                self._senders[kind].publish(self._make[kind](number, stamp_ns))
                break
            except RCLError:  # the middleware has no room: the subscribers are behind
                self.full_waits += 1
                time.sleep(FULL_WAIT_S)
        self.stamps[kind][number] = stamp_ns


def _pictures() -> Callable[[int, int], bytes]:
    message = Image(height=load.HEIGHT, width=load.WIDTH, encoding='bgr8', step=load.WIDTH * 3)
    message.header.frame_id = 'camera'
    message.data.frombytes(load.picture().tobytes())
    template = bytearray(serialize_message(message))
    pixels_at = len(template) - load.HEIGHT * load.WIDTH * 3

    def make(number: int, stamp_ns: int) -> bytes:
        STAMP.pack_into(template, STAMP_AT, *divmod(stamp_ns, SECOND_NS))
        mark = load.mark(number)
        template[pixels_at:pixels_at + len(mark)] = mark
        return bytes(template)
    return make


def _joints(rate_hz: float) -> Callable[[int, int], bytes]:
    marks = np.arange(1.0, load.JOINTS + 1) * 1e6  # to find the positions again
    message = JointState(name=list(load.JOINT_NAMES), position=marks.tolist(),
                         velocity=[0.0] * load.JOINTS, effort=[0.0] * load.JOINTS)
    template = bytearray(serialize_message(message))
    at = bytes(template).index(marks.tobytes())

    def make(number: int, stamp_ns: int) -> bytes:
        STAMP.pack_into(template, STAMP_AT, *divmod(stamp_ns, SECOND_NS))
        template[at:at + marks.nbytes] = load.positions(number / rate_hz).tobytes()
        return bytes(template)
    return make


def _event(number: int, stamp_ns: int) -> SkillEvent:
    skill, thing, place, goal = load.event_words(number)
    message = SkillEvent(
        skill=skill, status=SkillEvent.STATUS_SUCCEEDED, goal_stack=[goal],
        parameters=[KeyValue(key='object', value=thing), KeyValue(key='place', value=place)],
        id=load.event_id(number))
    message.header.stamp = _time(stamp_ns)
    return message


def _utterance(number: int, stamp_ns: int) -> Utterance:
    message = Utterance(speaker='user', text=load.utterance_text(number), confidence=0.9)
    message.header.stamp = _time(stamp_ns)
    return message


def _time(stamp_ns: int) -> Time:
    sec, nanosec = divmod(stamp_ns, SECOND_NS)
    return Time(sec=sec, nanosec=nanosec)


def main(args: Sequence[str] | None = None) -> int:
    """Publish all; the status is 1 where nobody listens, or not all was confirmed."""
    rclpy.init(args=None if args is None else list(args))
    node = LoadPublisher()
    try:
        if not node.wait_for_subscribers():
            node.get_logger().error('the subscribers did not come')
            return 1
        node.publish()
        is_confirmed = node.confirmed()
        np.savez(node.account, is_confirmed=is_confirmed, full_waits=node.full_waits, **node.stamps)
        return int(not is_confirmed)
    except (KeyboardInterrupt, RCLError):
        return 1
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == '__main__':
    sys.exit(main())
