"""The rows of a table in a damaged SQLite file: all that can be read, and the gaps between them.

A page that cannot be read hides a range of row numbers. Behind it the walk seeks the next number
that can be reached, and looks at numbers in between for rows that stand between two such pages. A
page that holds other rows than belong there is passed over alike: numbers rise in a whole table. It
reads; it mends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
import sqlite3
from typing import Any

from emv_ros.memory.database import UNREADABLE

# The numbers of a gap that are looked at for rows between two damaged pages, at most.
MAX_PROBES = 2000
LAST_ROWID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Gap:
    """Row numbers `first` to `last` in which nothing can be read."""

    first: int
    last: int


@dataclass
class RowWalk:
    """The rows of `table` in order of their numbers; `gaps` holds what was passed over.

    `limit` is the highest number that a row can have. Rows are tuples of (number, *columns).
    """

    connection: sqlite3.Connection
    table: str
    limit: int = LAST_ROWID
    gaps: list[Gap] = field(default_factory=list)
    _is_done: bool = False

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Yield each row that can be read, once."""
        at = self._lowest()
        while True:
            for row in self._run(at):
                at = row[0] + 1
                yield row
            if self._is_done:
                return
            found = self._behind(at)
            yield from self._islands(at, self.limit if found is None else found - 1)
            if found is None:
                return
            at = found

    def _lowest(self) -> int:
        """Return a number below which there is no row: ids begin at 1, unless one was given."""
        try:
            row = self.connection.execute(f'SELECT min(rowid) FROM {self.table}').fetchone()
        except UNREADABLE:
            return 1
        return 1 if row[0] is None else min(1, int(row[0]))

    def _run(self, first: int, last: int = LAST_ROWID) -> Iterator[tuple[Any, ...]]:
        """Yield rows until the first that cannot be read, or stands where it does not belong.

        `_is_done` tells whether all were.
        """
        self._is_done, before = False, first - 1
        try:
            cursor = self.connection.execute(
                f'SELECT rowid, * FROM {self.table} NOT INDEXED WHERE rowid >= ? AND rowid <= ? '
                'ORDER BY rowid', (first, last))
            while (row := cursor.fetchone()) is not None:
                if not before < row[0] <= last:
                    return
                before = row[0]
                yield row
        except UNREADABLE:
            return
        self._is_done = True

    def _reach(self, number: int) -> int | None:
        """Return the first row from a number on. Raises DatabaseError where it cannot be read."""
        row = self.connection.execute(
            f'SELECT rowid, * FROM {self.table} NOT INDEXED WHERE rowid >= ? '
            'ORDER BY rowid LIMIT 1', (number,)).fetchone()
        if row is not None and row[0] < number:
            raise sqlite3.DatabaseError(f'row {row[0]} stands behind {number}')
        return None if row is None else int(row[0])

    def _can_reach(self, number: int) -> bool:
        try:
            self._reach(number)
        except UNREADABLE:
            return False
        return True

    def _behind(self, start: int) -> int | None:
        """Return the first row that can be read behind a gap that begins at `start`, or None."""
        if start > self.limit:
            return None
        step, bad = 1, start
        while start + step <= self.limit and not self._can_reach(start + step):
            bad, step = start + step, step * 2
        good = start + step
        if good > self.limit:
            if not self._can_reach(self.limit):
                return None
            good = self.limit
        while good - bad > 1:
            middle = (bad + good) // 2
            if self._can_reach(middle):
                good = middle
            else:
                bad = middle
        return self._reach(good)

    def _islands(self, first: int, last: int) -> Iterator[tuple[Any, ...]]:
        """Yield rows within a gap, and note what of it is left."""
        stride = max(1, (last - first + 1) // MAX_PROBES)
        begun, at = first, first
        while at <= last:
            rows = []
            try:
                reached = self._reach(at)
            except UNREADABLE:
                reached = None
            if reached is not None and reached <= last:
                rows = list(self._run(reached, last))
            if not rows:
                at += stride
                continue
            if rows[0][0] > begun:
                self.gaps.append(Gap(begun, rows[0][0] - 1))
            yield from rows
            at = begun = rows[-1][0] + 1
        if begun <= last:
            self.gaps.append(Gap(begun, last))
