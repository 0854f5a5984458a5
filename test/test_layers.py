"""The layers: what imports what, that the core needs no ROS, and where a wall clock is read."""

import ast
from collections.abc import Iterator
from pathlib import Path
import subprocess
import sys

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / 'emv_ros'

# What stands at the bottom of everything; each may import those before it.
BASE = ('errors', 'records', 'timeline', 'settings', 'calendars', 'whens',
        'json_replies', 'quoting', 'token_estimate', 'carried', 'reply_like', 'unit_vectors')
MIDDLE = ('ingest', 'perception', 'tree', 'biography', 'retrieval')
# What an area may import beside the base and itself.
ARROWS: dict[str, tuple[str, ...]] = {
    'memory': (), **dict.fromkeys(MIDDLE, ('memory',)), 'demo': ('memory', *MIDDLE),
    'agent': ('memory', *MIDDLE)}
# At the top; they may import one another, and whatever lies below.
TOP = ('nodes', 'commands', 'cli', 'web', 'evaluation')
ROS = ('rclpy', 'msg', 'srv', 'action')
# What takes long to import is imported by what needs it, when it does.
HEAVY = ('cv2', 'faiss', 'lemminflect', 'litellm', 'matplotlib', 'onnxruntime', 'pydantic_monty',
         'rclpy', 'rosbags', 'scipy', 'tokenizers', 'torch', 'ultralytics', 'xllamacpp')

WALL_CLOCKS = {'time.time', 'time.time_ns', 'datetime.now', 'datetime.utcnow', 'datetime.today',
               'date.today', 'datetime.datetime.now', 'datetime.date.today'}
# Where it is right: none of these stamps says when something happened to the robot.
CLOCK_READERS = {
    'agent/agent.py': 'when a question was asked, for the log of questions',
    'agent/models/client.py': 'when a model was called, for the account of calls',
    'agent/repairing.py': 'when a repair began: files of pictures that came since then stay',
    'commands/context.py': "the person's now, for words like 'yesterday'",
    'evaluation/row_lag.py': 'when a row could be read, to measure how long that took',
    'memory/pictures.py': 'how long ago a picture file was written, before it is removed',
    'tree/budget.py': 'which calls of a model lie in the last hour, as the account of calls has it',
    'tree/journal.py': 'when a reply was paid for, so that none is kept for long',
    'tree/lease.py': 'when a lease of another process runs out',
    'tree/run_log.py': 'when a consolidation began, for the log of consolidations'}


def area_of(file: Path) -> str:
    return file.relative_to(PACKAGE).with_suffix('').parts[0]


def files() -> Iterator[Path]:
    return (file for file in sorted(PACKAGE.rglob('*.py')) if area_of(file) != '__init__')


def imported(file: Path) -> set[str]:
    """Return the areas of emv_ros that a file imports, anywhere in it, and 'rclpy'."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f'{file}: relative import'
            names = ([f'emv_ros.{alias.name}' for alias in node.names]
                     if node.module == 'emv_ros' else [node.module or ''])
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            top, _, rest = name.partition('.')
            if top == 'rclpy' or (top == 'emv_ros' and rest and rest != '__version__'):
                found.add(top if top == 'rclpy' else rest.split('.')[0])
    return found


def test_arrows_point_one_way() -> None:
    wrong = []
    for file in files():
        area = area_of(file)
        if area in TOP:
            allowed = {*BASE, *ARROWS, *TOP, *ROS}
        elif area in BASE:
            allowed = {*BASE[:BASE.index(area)]}
        else:
            assert area in ARROWS, f'{area} has no place in the layers'
            allowed = {*BASE, *ARROWS[area], area}
        wrong += [f'{file.relative_to(ROOT)} imports {name}' for name in imported(file) - allowed]
    assert wrong == []


def test_ros_is_imported_by_the_nodes_and_by_commands_that_run_them() -> None:
    users = {file.relative_to(PACKAGE).as_posix() for file in files()
             if area_of(file) != 'nodes' and imported(file) & set(ROS)}
    assert {user.partition('/')[0] for user in users} <= {'commands'}


# Imports each module as if it were the first, where ROS and our messages cannot be imported. What
# the others rest on, which imports none of them, is imported anew for itself alone: the tables take
# most of the time.
GROUND = ','.join(f'emv_ros.{name}' for name in (*BASE, 'memory.schema'))
IMPORT = """
import importlib, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        parts = name.split('.')
        if parts[0] in ('rclpy', 'ament_index_python', 'launch', 'rosidl_runtime_py') or (
                parts[0] == 'emv_ros' and parts[1:2] and parts[1] in ('msg', 'srv', 'action')):
            raise ModuleNotFoundError(f'{name} is not to be had here', name=name)

sys.meta_path.insert(0, Absent())
def ours():
    return {name: module for name, module in sys.modules.items() if name.split('.')[0] == 'emv_ros'}

for name in sys.argv[2].split(','):
    importlib.import_module(name)
kept = {name: module for name, module in ours().items() if not hasattr(module, '__path__')}
for name in sys.argv[3:]:
    for known in ours():
        del sys.modules[known]
    if name not in kept:
        sys.modules.update(kept)
    importlib.import_module(name)
heavy = [name for name in sys.argv[1].split(',') if name in sys.modules]
if heavy:
    sys.exit(f'imported before it was needed: {heavy}')
"""


def is_core(file: Path) -> bool:
    return area_of(file) != 'nodes' and 'migrations' not in file.parts


@pytest.mark.parametrize('areas', [(*BASE, 'memory', 'tree', 'retrieval'), ()])
def test_each_core_module_imports_by_itself_without_ros(areas: tuple[str, ...]) -> None:
    rest = [area for area in (*ARROWS, *BASE, *TOP)
            if area not in (*BASE, 'memory', 'tree', 'retrieval')]
    modules = ['.'.join(file.relative_to(ROOT).with_suffix('').parts).removesuffix('.__init__')
               for file in files() if is_core(file) and area_of(file) in (areas or rest)]
    assert modules
    ran = subprocess.run(
        [sys.executable, '-c', IMPORT, ','.join(HEAVY), GROUND, *modules], cwd=ROOT,
        capture_output=True, text=True, check=False, timeout=120)
    assert not ran.returncode, ran.stderr


def called(node: ast.Call) -> str:
    return ast.unparse(node.func)


def test_no_stamp_comes_from_a_wall_clock() -> None:
    readers = {file.relative_to(PACKAGE).as_posix() for file in files() if is_core(file)
               and any(isinstance(node, ast.Call) and called(node) in WALL_CLOCKS
                       for node in ast.walk(ast.parse(file.read_text())))}
    assert readers == set(CLOCK_READERS)


def test_no_module_is_called_after_what_it_is_not() -> None:
    names = {file.stem for file in files()}
    assert not names & {'utils', 'util', 'helpers', 'helper', 'manager', 'common', 'misc'}
