"""`emv doctor`: is everything there and whole, and how to mend what is not."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from emv_ros.commands.context import Context
from emv_ros.commands.output import plain, size, write, write_json
from emv_ros.commands.repairing import repair
from emv_ros.errors import EmvError

if TYPE_CHECKING:
    from emv_ros.memory.checkup import Finding

LOOK_S = 3.0
LONGEST_LOOK_S = 600
MARKS = {'ok': 'ok   ', 'note': 'note ', 'wrong': 'WRONG'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('--no-topics', action='store_true',
                        help='do not look for publishers of the topics of the nodes')
    parser.add_argument('--look', type=_seconds, default=LOOK_S, metavar='SECONDS',
                        help='how long to look for them at most (default: %(default)s)')
    parser.add_argument('--repair', action='store_true',
                        help='first mend the memory, which nobody else may have open; a copy of '
                        'the database is kept, and what is lost is told')


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= LONGEST_LOOK_S:
        raise argparse.ArgumentTypeError(f'{text} is not within 0..{LONGEST_LOOK_S}')
    return seconds


def run(args: argparse.Namespace, context: Context) -> int:
    """Check everything; status 1 where something is wrong (a mere note is not)."""
    repaired = repair(context) if args.repair else None
    found: list[Finding] = []
    for finding in _findings(args, context):
        found.append(finding)
        if not context.as_json:
            _write(finding)
    if context.as_json:
        findings = [asdict(finding) for finding in found]
        write_json(findings if repaired is None else {'repair': repaired, 'findings': findings})
    return int(any(finding.state == 'wrong' for finding in found))


def _findings(args: argparse.Namespace, context: Context) -> Iterator[Finding]:
    from emv_ros.commands import doctor_index, doctor_installation, doctor_settings

    yield from doctor_installation.check_python(context)
    yield from doctor_installation.check_ros(context)
    yield from doctor_settings.check_keys(context)
    yield from doctor_settings.check_parameters(args.config)
    of_memory = list(_guarded('database', partial(_memory, context)))
    yield from of_memory
    # Opening it would make one, or bring it up to date, and fails where something is wrong.
    is_usable = any(item.name == 'schema' and item.state == 'ok' for item in of_memory) and all(
        item.state != 'wrong' for item in of_memory if item.name in ('database', 'schema'))
    for name, check in (('clock', partial(doctor_settings.check_time, is_usable=is_usable)),
                        ('vectors', partial(doctor_index.check_vectors, is_usable=is_usable)),
                        ('caches', partial(doctor_index.check_caches, is_usable=is_usable)),
                        ('privacy', doctor_settings.check_privacy), ('model', _model)):
        yield from _guarded(name, partial(check, context))
    yield from _sandbox(context)
    if not args.no_topics:
        yield from doctor_settings.check_topics(context, args.config, args.look)


def _write(finding: Finding) -> None:
    write(f'{MARKS[finding.state]}  {finding.name}: {plain(finding.detail)}')
    if finding.mend:
        write(f'         {finding.mend}')


def _memory(context: Context) -> Iterator[Finding]:
    from emv_ros.memory.checkup import Finding, check_database, check_folder
    from emv_ros.memory.pictures import PictureFolder
    from emv_ros.memory.server_checkup import check_server

    folder = context.settings.folder.absolute()
    yield from check_folder(folder)
    file = context.database_file
    if file is None:
        yield from check_server(context.settings.memory.url)
    elif not file.exists():
        yield Finding('memory', 'note', f'there is none in {folder} yet',
                      '`emv import` or `emv run` makes one')
    else:
        yield from check_database(file, PictureFolder(folder / 'pictures'))


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
    except (EmvError, ImportError, OSError) as error:
        yield Finding(name, 'wrong', str(error), 'see the message; with -v, emv tells more')
