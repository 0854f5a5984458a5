"""What waits of a camera takes a bounded room, and what newer pictures replace there is no loss."""

from __future__ import annotations

from collections.abc import Iterator
import logging
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

import rclpy
from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from sensor_msgs.msg import Image
from stand_in import qos, wait_until

from emv_ros.ingest.cdr import stamp_in
from emv_ros.nodes.camera_ingest import CameraIngest
from emv_ros.nodes.faults import Faults
from emv_ros.nodes.inputs import TopicInput
from emv_ros.nodes.qos import PICTURE_DEPTH, THINNED_PICTURE_DEPTH
from emv_ros.timeline import SECOND_NS

pytestmark = pytest.mark.ros
PICTURE_BYTES = 4_000_000
SENT = 24
STATUS = Path('/proc/self/status')


@pytest.fixture
def context() -> Iterator[Context]:
    """A context of rclpy for one test."""
    made = Context()
    rclpy.init(context=made)
    yield made
    rclpy.shutdown(context=made)


def own_bytes() -> int:
    """Return the resident memory that this process shares with no file and no other process."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith('RssAnon'))
    return int(line.split()[1]) * 1024


def depth_of(context: Context, period_s: float, is_simulated: bool = False) -> tuple[int, int]:
    """Return how many pictures may wait at a camera, and within which time it keeps one."""
    node = CameraIngest(context=context, parameter_overrides=[
        Parameter('ingest.keyframe_period_s', value=period_s),
        Parameter('use_sim_time', value=is_simulated)])
    try:
        return node.depth, node.spare_ns
    finally:
        node.destroy_node()


def test_few_wait_where_most_are_left_out(context: Context) -> None:
    assert depth_of(context, 1.0) == (THINNED_PICTURE_DEPTH, SECOND_NS)
    assert depth_of(context, 0.0) == (PICTURE_DEPTH, 0)
    assert depth_of(context, 1.0, is_simulated=True) == (PICTURE_DEPTH, 0)


def flood(context: Context, spare_ns: int) -> tuple[list[int], TopicInput, int]:
    """Send pictures to one who does not listen, then let it listen.

    Return the numbers of those that it heard, its input, and by how much the process grew.
    """
    node = rclpy.create_node('viewer', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    heard: list[int] = []
    source = TopicInput(
        node, Faults(logging.getLogger('test')), 'wide/image_raw',
        {'sensor_msgs/msg/Image': Image}, lambda raw, _: heard.append(stamp_in(raw)[0]),
        depth=THINNED_PICTURE_DEPTH, is_stream=True, is_raw=True, spare_ns=spare_ns)
    camera = node.create_publisher(Image, 'wide/image_raw', qos(depth=1))
    wait_until(lambda: source.look() or source.state().is_subscribed, 'a subscription')
    wait_until(camera.get_subscription_count, 'a match')
    picture = Image(height=1, width=PICTURE_BYTES, step=PICTURE_BYTES, encoding='mono8')
    picture.data.frombytes(bytes(PICTURE_BYTES))

    def send(number: int) -> None:
        picture.header.stamp.sec = number
        camera.publish(picture)
        assert camera.wait_for_all_acked(Duration(seconds=10))

    def listen(number: int) -> None:
        wait_until(lambda: executor.spin_once(timeout_sec=0.05) or heard[-1:] == [number],
                   f'picture {number}')

    send(0)
    listen(0)
    before = own_bytes()
    for number in range(1, SENT + 1):
        send(number)
    grown = own_bytes() - before
    listen(SENT)
    source.close()
    node.destroy_node()
    return heard, source, grown


def test_the_latest_wait_and_take_the_room_of_so_many(context: Context) -> None:
    heard, source, grown = flood(context, spare_ns=3600 * SECOND_NS)
    waiting = list(range(SENT - THINNED_PICTURE_DEPTH + 1, SENT + 1))
    assert heard == [0, *waiting]
    # One more is being received while so many wait; another one is the publisher's.
    assert grown < (THINNED_PICTURE_DEPTH + 3) * PICTURE_BYTES
    assert (source.counts.thinned, source.counts.lost) == (SENT - THINNED_PICTURE_DEPTH, 0)
    assert not source.state().message


def test_what_is_missed_for_longer_than_a_period_is_lost(context: Context) -> None:
    _, source, _ = flood(context, spare_ns=1)
    assert (source.counts.thinned, source.counts.lost) == (0, SENT - THINNED_PICTURE_DEPTH)
    assert 'got lost' in source.state().message
