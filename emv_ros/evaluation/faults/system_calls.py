"""What a process did to files, in order, from a trace of its system calls by `strace`.

Only the calls that change files below one folder, or bring them to the disk, and what the process
wrote to its standard output in between. A call counts when it has returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
import re
import shutil

CALLS = ('openat,write,pwrite64,ftruncate,fsync,fdatasync,rename,renameat,renameat2,unlink,'
         'unlinkat,mkdir,mkdirat')
LINE = re.compile(r'^(\d+) +(.*)$')
RESUMED = re.compile(r'^<\.\.\. \w+ resumed>(.*)$')
CALL = re.compile(r'^(\w+)\((.*)\) += (-?\d+)')
STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
PATH_OF = re.compile(r'^(-?\d+|AT_FDCWD)<((?:\\x[0-9a-f]{2})*)>')
# No write of SQLite or of a picture here is longer.
MAX_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class Call:
    """One call: 'create', 'write', 'truncate', 'sync', 'rename', 'unlink', 'mkdir' or 'said'.

    `path` is relative to the folder, '' the folder itself; `other` is the new name of a rename,
    `at` where a write begins (-1: at the end) or how long a file is after 'truncate'.
    """

    kind: str
    path: str = ''
    other: str = ''
    at: int = 0
    data: bytes = b''


def tracer(log: Path) -> list[str] | None:
    """Return the words that trace the command after them into a file, None without strace."""
    strace = shutil.which('strace')
    if strace is None:
        return None
    return [strace, '-f', '-y', '-xx', '-s', str(MAX_BYTES), '-e', f'trace={CALLS}', '-e',
            'signal=none', '-o', str(log)]


def calls_of(log: Path, folder: Path) -> Iterator[Call]:
    """Yield what was done below a folder, and what was said."""
    root = str(folder.resolve())
    unfinished: dict[str, str] = {}
    with log.open(encoding='ascii', errors='replace') as lines:
        for line in lines:
            match = LINE.match(line)
            if match is None:
                continue
            process, text = match.groups()
            if text.endswith('<unfinished ...>'):
                unfinished[process] = text.removesuffix('<unfinished ...>')
                continue
            resumed = RESUMED.match(text)
            if resumed is not None:
                text = unfinished.pop(process, '') + resumed.group(1)
            call = CALL.match(text)
            if call is not None and int(call.group(3)) >= 0:
                yield from _read(call.group(1), call.group(2), int(call.group(3)), root)


def _read(name: str, arguments: str, result: int, root: str) -> Iterator[Call]:
    held = PATH_OF.match(arguments)
    path = None if held is None else _below(_text(held.group(2)), root)
    strings = [_text(found[0]) for found in STRING.findall(arguments)]
    if name in ('write', 'pwrite64'):
        data = _bytes(STRING.search(arguments))[:result]
        if arguments.startswith('1<'):
            yield Call('said', data=data)
        elif path is not None:
            at = int(arguments.rpartition(', ')[2]) if name == 'pwrite64' else -1
            yield Call('write', path, at=at, data=data)
    elif name in ('fsync', 'fdatasync') and path is not None:
        yield Call('sync', path)
    elif name == 'ftruncate' and path is not None:
        yield Call('truncate', path, at=int(arguments.rpartition(', ')[2]))
    elif name == 'openat' and 'O_CREAT' in arguments and strings:
        yield from _opened(_below(strings[0], root), arguments)
    elif name.startswith(('rename', 'unlink', 'mkdir')):
        names = [_below(text, root) for text in strings]
        kind = 'rename' if name.startswith('rename') else name.removesuffix('at')
        if names and names[0] is not None:
            yield Call(kind, names[0], (names[1] or '') if len(names) > 1 else '')


def _opened(path: str | None, arguments: str) -> Iterator[Call]:
    if path is not None:
        yield Call('create', path)
        if 'O_TRUNC' in arguments:
            yield Call('truncate', path, at=0)


def _below(path: str, root: str) -> str | None:
    if path == root:
        return ''
    return path.removeprefix(f'{root}/') if path.startswith(f'{root}/') else None


def _text(escaped: str) -> str:
    return bytes.fromhex(escaped.replace('\\x', '')).decode('utf-8', 'replace')


def _bytes(found: re.Match[str] | None) -> bytes:
    return b'' if found is None else bytes.fromhex(found.group(1).replace('\\x', ''))
