"""What `emv import` does with an export, and how one that was cut off is taken back."""

from __future__ import annotations

from pathlib import Path
import time
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context
from emv_ros.commands.importing import told_already
from emv_ros.commands.output import Progress, amount, plain, size, tell, write, write_json

if TYPE_CHECKING:
    from emv_ros.memory.restoring import RestoreReport
    from emv_ros.memory.store import MemoryStore

SHOWN = 10


def import_export(path: Path, file: Path, context: Context, store: MemoryStore) -> dict[str, Any]:
    """Bring an export into the memory and tell of it; its file of lines is `file`.

    Raises ImportFileError where it is refused.
    """
    from emv_ros.memory.export_reader import check_export
    from emv_ros.memory.imports import fingerprint
    from emv_ros.memory.restoring import restore
    from emv_ros.tree.lease import holding

    began = time.monotonic()
    with Progress(f'{path.name}: checking') as progress:
        def told(done: int, total: int) -> None:
            progress.update(f'{size(done)} of {size(total)}')

        # The lines name their pictures by what these hold.
        sha256 = fingerprint(file, told)
        checked = check_export(file, told)
    with Progress(f'{path.name}: importing') as progress, holding(store, is_import=True) as lease:
        done = restore(store, checked, sha256, context.now_ns(), context.robot, lease.renew,
                       lambda read, total: progress.update(f'{size(read)} of {size(total)}'))
    if isinstance(done, dict):
        return told_already(path, done, store, context, is_final=True)
    if not context.as_json:
        _write(path, done, time.monotonic() - began)
    return {'path': str(path), 'export': True, 'robots': done.robots, 'lines': dict(done.lines),
            'went_on': done.went_on, 'pictures_lost': done.lost_count,
            'refusals': done.lost[:SHOWN], 'seconds': round(time.monotonic() - began, 3)}


def _write(path: Path, done: RestoreReport, seconds: float) -> None:
    kinds = ', '.join(f'{amount(count)} {kind}' for kind, count in done.lines.items())
    write(f'{path}: an export of {", ".join(map(plain, done.robots)) or "no robot"}, '
          f'{amount(done.lines.total())} lines ({kinds}) in {seconds:.1f} s')
    if done.went_on:
        write('  its import had been cut off, and went on from there')
    if done.lost_count:
        write(f'  {amount(done.lost_count)} pictures are not in it:')
    for told in done.lost[:SHOWN]:
        write(f'    {plain(told)}')


def undo(context: Context) -> int:
    """Take back all imports of exports that were cut off; status 1 where there is none."""
    from emv_ros.memory.imports import cut_off
    from emv_ros.memory.taking_back import take_back
    from emv_ros.tree.lease import holding

    results = []
    with context.open() as store, holding(store, is_import=True):
        with store.reading() as session:
            notes = cut_off(session)
        for (robot, sha256), note in notes.items():
            results.append({'path': note['path'], 'rows': take_back(store, robot, sha256)})
    if context.as_json:
        write_json(results)
    for result in () if context.as_json else results:
        write(f'{plain(result["path"])}: {amount(result["rows"])} rows were taken back')
    if not results:
        tell('emv import: no import of an export was cut off')
    return int(not results)
