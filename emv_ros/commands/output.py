"""What goes to the terminal: results to stdout, everything about the work to stderr.

Recorded text may hold escape sequences; in tables and lines it is shown without them. JSON carries
it unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import json
import shutil
import sys
import time
from typing import Any

REDRAW_S = 0.1


def write(text: str = '') -> None:
    """Write a line of the result."""
    sys.stdout.write(f'{text}\n')


def write_json(value: Any) -> None:
    """Write the result for a program: JSON, UTF-8, indented."""
    write(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def tell(text: str) -> None:
    """Write a line about the work to stderr."""
    sys.stderr.write(f'{text}\n')


def plain(text: Any) -> str:
    """Return recorded text on one line, without control characters."""
    from emv_ros.quoting import plain_line

    return plain_line(str(text))


def write_table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows in columns; on a terminal the last column is cut to its width."""
    from emv_ros.tree.cells import cells, clipped, padded

    table = [[plain(cell) for cell in row] for row in rows]
    widths = [max(map(cells, column)) for column in zip(headings, *table, strict=True)]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for row in (headings, *table):
        line = '  '.join(map(padded, row, widths)).rstrip()
        write(line if room is None else clipped(line, room))


def write_fields(fields: Mapping[str, Any], indent: str = '') -> None:
    """Write names and values, one a line; nested values below their name."""
    width = max((len(name) for name in fields), default=0)
    for name, value in fields.items():
        if isinstance(value, Mapping) and value:
            write(f'{indent}{name}:')
            write_fields(value, f'{indent}  ')
        elif isinstance(value, str) and '\n' in value:
            write(f'{indent}{name}:')
            for line in value.splitlines():
                write(f'{indent}  {plain(line) if not line[:1].isspace() else _kept(line)}')
        else:
            write(f'{indent}{name.ljust(width)}  {plain(value)}'.rstrip())


def _kept(line: str) -> str:
    """Return a line of code with its indentation."""
    stripped = line.lstrip()
    return line[:len(line) - len(stripped)].expandtabs() + plain(stripped)


def amount(number: float) -> str:
    """Return a whole number with its thousands marked."""
    return f'{number:,.0f}'


def size(count: float) -> str:
    """Return a number of bytes in words: '1.1 GB'."""
    for unit in ('bytes', 'kB', 'MB'):
        if count < 1000:
            return f'{count:.0f} {unit}' if unit == 'bytes' else f'{count:.1f} {unit}'
        count /= 1000
    return f'{count:.1f} GB'


class Progress:
    """One line on stderr, drawn anew while work goes on; silent where that is no terminal."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._is_shown = sys.stderr.isatty()
        self._drawn = 0.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            self._draw('')

    def update(self, text: str) -> None:
        """Show a text after the label."""
        now = time.monotonic()
        if self._is_shown and now - self._drawn >= REDRAW_S:
            self._drawn = now
            self._draw(f'{self._label}: {text}')

    def count(self, done: int, total: int) -> None:
        """Show how much is done; a total of 0 is unknown."""
        share = f' of {amount(total)} ({done / total:.0%})' if total else ''
        self.update(f'{amount(done)}{share}')

    def _draw(self, line: str) -> None:
        room = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f'\r\x1b[K{line[:room]}')
        sys.stderr.flush()
