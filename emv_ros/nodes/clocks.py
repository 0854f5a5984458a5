"""The clocks of a node: that of ROS, and the wall's for what simulated time must not stop."""

from __future__ import annotations

from functools import cache
import os
from pathlib import Path
import time

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

from emv_ros.errors import TimeExpressionError
from emv_ros.timeline import parse_zone, zone_name

LOCAL_TIME = Path('/etc/localtime')


@cache
def wall_clock() -> Clock:
    """Return the clock for timers that go on while simulated time stands still."""
    return Clock(clock_type=ClockType.STEADY_TIME)


def is_simulated(node: Node) -> bool:
    """Return whether the node takes its time from /clock."""
    return bool(node.get_parameter('use_sim_time').value)


def system_zone() -> str:
    """Return the name of this machine's time zone, its present offset where it has no name."""
    named = [os.environ.get('TZ', '').lstrip(':')]
    if LOCAL_TIME.is_symlink():
        named.append(str(LOCAL_TIME.readlink()).rpartition('zoneinfo/')[2])
    for name in filter(None, named):
        try:
            return zone_name(parse_zone(name))
        except TimeExpressionError:
            continue
    minutes = time.localtime().tm_gmtoff // 60
    return f'UTC{"-" if minutes < 0 else "+"}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}'
