"""Poses from tf. tf2_ros comes with a ROS distribution only: without it, the status says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.time import Time

from emv_ros.ingest.poses import pose
from emv_ros.ingest.stamps import stamp_from_header
from emv_ros.nodes.clocks import is_simulated, wall_clock
from emv_ros.nodes.faults import guarded
from emv_ros.nodes.lifecycle import MemoryNode
from emv_ros.records import Pose

MIN_PERIOD_S = 0.1


class TfPoses:
    """Asks tf for the latest pose of `child` in `frame`, once a period."""

    def __init__(self, node: MemoryNode, frame: str, child: str, period_s: float,
                 take: Callable[[Pose], None]) -> None:
        self.problem = ''
        self.faults = node.faults
        self._node, self._frame, self._child, self._take = node, frame, child, take
        self._latest_ns = 0
        self._timer = None
        try:
            from tf2_ros import Buffer, TransformListener
        except ImportError as error:
            self.problem = f'no poses from tf: tf2_ros is not installed ({error})'
            return
        self._buffer = Buffer(node=node)
        self._listener = TransformListener(self._buffer, node)
        self._timer = node.create_timer(
            max(period_s, MIN_PERIOD_S), self.ask, clock=wall_clock())

    @guarded
    def ask(self) -> None:
        """Take the latest transform where it is new."""
        from tf2_ros import TransformException

        try:
            found = self._buffer.lookup_transform(self._frame, self._child, Time())
        except TransformException as error:
            self.problem = f'tf has no {self._child} in {self._frame}: {error}'
            return
        self.problem = ''
        record = self._pose(found)
        if record.stamp_ns != self._latest_ns:
            self._latest_ns = record.stamp_ns
            self._take(record)

    def _pose(self, found: Any) -> Pose:
        receipt_ns = self._node.get_clock().now().nanoseconds
        stamp_ns, is_receipt = stamp_from_header(found, receipt_ns, not is_simulated(self._node))
        place, turn = found.transform.translation, found.transform.rotation
        return pose(stamp_ns, found.header.frame_id, (place.x, place.y, place.z),
                    (turn.x, turn.y, turn.z, turn.w), stamp_is_receipt=is_receipt)

    def close(self) -> None:
        """Ask no more."""
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._listener.unregister()
