"""ROS parameters from the settings: one declaration a field, with its description and range.

They are read once, when the node is made: a memory does not move while it is written. A node
declares the areas of the settings that it uses, and its own parameters beside them.
"""

from __future__ import annotations

from collections.abc import Iterable
import sys
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node

from emv_ros.settings import Settings, walk, with_values

MAX_INTEGER = 2**63 - 1


def declare_settings(node: Node, areas: Iterable[str]) -> Settings:
    """Declare the settings of the areas ('memory', 'ingest', ...) and return what was given.

    Raises SettingsError for a value that the settings refuse, and rclpy's ParameterException for
    one of another type or out of its range.
    """
    wanted = set(areas)
    values = {}
    for name, item in walk():
        if name.partition('.')[0] in wanted:
            values[name] = node.declare_parameter(
                name, item.default, _described(item.default, item.metadata)).value
    return with_values(Settings(), values)


def declare(node: Node, name: str, default: Any, description: str) -> Any:
    """Declare one read-only parameter of the node's own and return its value.

    Of a list of names the empty ones are left out: a parameter file cannot hold an empty list.
    """
    value = node.declare_parameter(
        name, default, ParameterDescriptor(description=description, read_only=True)).value
    if isinstance(default, list):
        return [item for item in value or () if item]
    return value


def _described(default: Any, metadata: Any) -> ParameterDescriptor:
    described = ParameterDescriptor(description=metadata['description'], read_only=True)
    low, high = metadata['low'], metadata['high']
    if metadata['choices']:
        described.additional_constraints = 'one of ' + ', '.join(metadata['choices'])
    if low is None and high is None or isinstance(default, bool):
        return described
    if isinstance(default, float):
        described.floating_point_range = [FloatingPointRange(
            from_value=float(-sys.float_info.max if low is None else low),
            to_value=float(sys.float_info.max if high is None else high))]
    elif isinstance(default, int):
        described.integer_range = [IntegerRange(
            from_value=int(-MAX_INTEGER if low is None else low),
            to_value=int(MAX_INTEGER if high is None else high), step=0)]
    return described
