"""The clocks of a node: that of ROS, and the wall's for what simulated time must not stop."""

from __future__ import annotations

from functools import cache

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node


@cache
def wall_clock() -> Clock:
    """Return the clock for timers that go on while simulated time stands still."""
    return Clock(clock_type=ClockType.STEADY_TIME)


def is_simulated(node: Node) -> bool:
    """Return whether the node takes its time from /clock."""
    return bool(node.get_parameter('use_sim_time').value)
