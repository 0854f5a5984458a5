"""Counts the rows that a piece of work inserts, changes and deletes, those of indices included."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, event


class RowChanges:
    """The rows that this process changed in SQLite databases while `counting`, by commit."""

    def __init__(self) -> None:
        self.rows = 0
        self.commits = 0
        self._before: dict[int, int] = {}

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count what is committed in the block."""
        event.listen(Engine, 'begin', self._begun)
        event.listen(Engine, 'commit', self._committed)
        try:
            yield
        finally:
            event.remove(Engine, 'begin', self._begun)
            event.remove(Engine, 'commit', self._committed)
            self._before.clear()

    def _begun(self, connection: Connection) -> None:
        self._before[id(_driver(connection))] = _changes(connection)

    def _committed(self, connection: Connection) -> None:
        before = self._before.pop(id(_driver(connection)), None)
        if before is not None and (rows := _changes(connection) - before):
            self.rows += rows
            self.commits += 1


def _driver(connection: Connection) -> Any:
    return connection.connection.dbapi_connection


def _changes(connection: Connection) -> int:
    return int(getattr(_driver(connection), 'total_changes', 0))
