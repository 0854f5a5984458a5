"""Publishes a recording over real topics, in compressed time, and ends when all is received.

    python -m emv_ros.nodes.replay --ros-args -p recording:=FOLDER -p duration_s:=60.0

Bytes go out as they were recorded, reliably. It first waits for a subscriber of each topic, and at
the end until every subscriber has confirmed every message; then it writes what it did to stdout, as
one line of JSON. Messages without a stamp are dated by who receives them: for their sake the time
of the recording goes out on /clock, for nodes with use_sim_time.
"""

from __future__ import annotations

from collections.abc import Sequence
import json
from pathlib import Path
import sys
import time
from typing import Any

import rclpy
from rclpy._rclpy_pybind11 import RCLError
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from emv_ros.demo.replay import RECORDING, Recording, read_recording
from emv_ros.errors import EmvError, SettingsError
from emv_ros.ingest.bag_salvage import RawMessage
from emv_ros.nodes.parameters import declare
from emv_ros.nodes.replay_topics import POLL_S, ReplayTopics
from emv_ros.timeline import SECOND_NS

# The clock stands still for so long before and after a message without a stamp, so that it is
# received while its time is on /clock.
STILL_S = 0.1


class Replay(Node):
    """Reads the recording when it is made; it needs no executor."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('replay', **kwargs)
        named: str = declare(
            self, 'recording', '', '.mcap, .db3 or folder to publish; empty: the demonstration')
        self.duration_s: float = declare(
            self, 'duration_s', 60.0, 'time that the whole replay takes, s')
        wait_s: float = declare(
            self, 'wait_s', 30.0, 'longest wait for subscribers, and for their confirmation, s')
        has_clock: bool = declare(
            self, 'publish_clock', True, 'whether the time of the recording goes out on /clock')
        if self.duration_s < 0 or wait_s < 0:
            raise SettingsError(
                f'duration_s and wait_s must not be negative: {self.duration_s}, {wait_s}')
        path = Path(named).expanduser() if named else RECORDING
        self.recording: Recording = read_recording(path)
        self.topics = ReplayTopics(self, self.recording, wait_s)
        has_clock = has_clock and '/clock' not in self.recording.types
        self._time = self.create_publisher(Clock, '/clock', 10) if has_clock else None

    def publish(self) -> bool:
        """Publish all messages when they are due; return False where a signal came first."""
        begin_s = time.monotonic()
        due_s = self.recording.due_s(self.duration_s)
        has_clock = self._time is not None
        for message, offset_s in zip(self.recording.messages, due_s, strict=True):
            while rclpy.ok() and (left_s := begin_s + offset_s - time.monotonic()) > 0:
                time.sleep(min(left_s, POLL_S))
            if not rclpy.ok():
                return False
            still_s = 0.0 if self.topics.has_stamp(message.topic.name) or not has_clock else STILL_S
            self._publish_time(message)
            time.sleep(still_s)
            self.topics.send(message)
            time.sleep(still_s)
            begin_s += 2 * still_s  # the others keep their distances
        return True

    def _publish_time(self, message: RawMessage) -> None:
        if self._time is not None:
            now = Clock()
            now.clock.sec, now.clock.nanosec = divmod(message.log_ns, SECOND_NS)
            self._time.publish(now)


def replay(node: Replay) -> int:
    """Replay all, write the account of it to stdout, and return the exit status.

    It is 1 where nobody listens, or where not all was confirmed.
    """
    log = node.get_logger()
    alone = node.topics.wait_for_subscribers()
    subscribers = node.topics.subscribers()
    if not any(subscribers.values()):
        log.error(f'nobody listens to any of {", ".join(alone)}: nothing is replayed')
        return 1
    if alone:
        log.warning(f'nobody listens to {", ".join(alone)}')
    log.info(f'replaying {len(node.recording.messages)} messages in {node.duration_s:.0f} s')
    begin_s = time.monotonic()
    is_whole = node.publish()
    took_s = time.monotonic() - begin_s
    confirmed = node.topics.confirmed() if is_whole else {}
    published = node.topics.published
    account = {
        'recording': str(node.recording.path), 'messages': sum(published.values()),
        'duration_s': round(took_s, 2), 'is_whole': is_whole, 'published': published,
        'subscribers': subscribers, 'confirmed': confirmed}
    sys.stdout.write(json.dumps(account) + '\n')
    sys.stdout.flush()
    late = [topic for topic, is_done in confirmed.items() if not is_done]
    if late:
        log.error(f'not all messages were confirmed on {", ".join(late)}')
    return int(bool(late))


def main(args: Sequence[str] | None = None) -> int:
    """Run until the end of the recording or a signal, and return the exit status.

    It is 2 where a parameter is wrong.
    """
    rclpy.init(args=None if args is None else list(args))
    try:
        node = Replay()
        try:
            return replay(node)
        finally:
            node.destroy_node()
    except (ParameterException, SettingsError) as error:
        rclpy.logging.get_logger('replay').fatal(str(error))
        return 2
    except EmvError as error:
        rclpy.logging.get_logger('replay').fatal(str(error))
        return 1
    except KeyboardInterrupt:
        return 0
    except RCLError:
        if rclpy.ok():
            raise
        return 0  # a signal closed the middleware in the middle of a message
    finally:
        rclpy.try_shutdown()


if __name__ == '__main__':
    sys.exit(main())
