"""How much of an SQLite file each connection keeps in memory.

Searches gain from a large cache. A process that only appends gains nothing, and would grow until
the cache of each of its connections is full.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, event


def limit_cache(engine: Engine, kilobytes: int) -> None:
    """Let no connection keep more than so many kilobytes; other databases stay as they are."""
    if engine.dialect.name != 'sqlite':
        return

    @event.listens_for(engine, 'connect')
    def limit(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute(f'PRAGMA cache_size = -{kilobytes}')
        cursor.close()

    engine.dispose()  # those that are open already are not limited
