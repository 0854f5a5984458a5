"""`emv doctor --repair`: mend a memory, and tell what was mended and what is lost."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from emv_ros.commands.context import Context
from emv_ros.commands.output import plain, write
from emv_ros.errors import StoreError


def repair(context: Context) -> dict[str, Any]:
    """Mend the memory, say what was done unless JSON is wanted, and return it for that.

    Raises StoreError where there is none, it is on a server, or it cannot be mended.
    """
    from emv_ros.agent.repairing import repair_memory

    file = context.database_file
    if file is None:
        raise StoreError('a database on a server is mended by that server; what belongs to it '
                         'here is checked by `emv doctor`')
    folder = context.settings.folder.absolute()
    if not file.exists():
        raise StoreError(f'there is no memory in {folder} to mend')
    done = repair_memory(folder, context.settings)
    if not context.as_json:
        if done.copy is not None:
            write(f'copy   {done.copy}')
        for word, lines in (('mended', done.mended), ('LOST  ', done.lost), ('note  ', done.notes)):
            for line in lines:
                write(f'{word} {plain(line)}')
        if not done.mended and not done.lost:
            write('nothing had to be mended')
        write()
    return asdict(done)
