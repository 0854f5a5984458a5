"""`emv run`: all nodes of the memory in this process, until a signal comes."""

from __future__ import annotations

import argparse
from dataclasses import replace
from importlib import import_module
import json
from typing import Any

from emv_ros.commands.context import Context
from emv_ros.errors import EmvError
from emv_ros.settings import Settings, walk


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('ros_args', nargs=argparse.REMAINDER, metavar='-- ROS_ARGS',
                        help='arguments for ROS, as --ros-args -r image:=camera/image_raw')


def run(args: argparse.Namespace, context: Context) -> int:
    """Start the nodes with the settings as their parameters, and wait for their end."""
    check_ros()
    from rclpy._rclpy_pybind11 import RCLError

    from emv_ros.nodes.memory import main

    settings = context.settings
    folder = str(settings.folder.absolute())
    settings = replace(settings, memory=replace(settings.memory, folder=folder))
    further = [word for word in args.ros_args if word != '--']
    try:
        return int(main([*ros_arguments(settings, args.config), *further]))
    except RCLError as error:  # an argument that ROS cannot read, or a broken middleware
        raise EmvError(f'ROS 2: {error}') from error


def check_ros() -> None:
    """Raise EmvError where ROS 2 or our interfaces cannot be imported."""
    try:
        for module in ('rclpy', 'emv_ros.msg', 'emv_ros.srv', 'emv_ros.action'):
            import_module(module)
    except (ImportError, OSError) as error:
        raise EmvError(
            f'the nodes need ROS 2 and the built interfaces ({error}): install the package with '
            'pip, or build it with colcon and source install/setup.bash') from error


def ros_arguments(settings: Settings, config: Any) -> list[str]:
    """Return arguments for ROS by which the nodes get these settings, and their own of a file."""
    return [*_file(config), *parameters(settings)]


def _file(config: Any) -> list[str]:
    """Return ROS arguments for a parameter file: what it says of single nodes counts too."""
    return ['--ros-args', '--params-file', str(config), '--'] if config else []


def parameters(settings: Settings) -> list[str]:
    """Return ROS arguments that set each parameter which differs from its default."""
    words: list[str] = []
    for name, item in walk():
        value = _value(settings, name)
        if value != item.default:
            # JSON is YAML, which ROS reads parameters as: a quoted '1' stays a text.
            words += ['-p', f'{name}:={json.dumps(value)}']
    return ['--ros-args', *words, '--'] if words else []


def _value(settings: Settings, name: str) -> Any:
    area, _, key = name.partition('.')
    return getattr(getattr(settings, area), key)
