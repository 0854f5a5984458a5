"""How long after its stamp a row can be read by another process: looked at from outside.

A connection of its own reads the rows that are new since its last look, so that a row counts when
its commit is done and seen; each lag is too long by up to one period, never too short.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
import sqlite3
import time
from typing import Any

import numpy as np

from emv_ros.memory.database import DATABASE_FILE

TABLES = {'image': 'image', 'joint': 'joint_sample', 'event': 'skill_event',
          'utterance': 'utterance'}


class RowLag:
    """Follows the tables of the bench's kinds; a context manager."""

    def __init__(self, folder: Path) -> None:
        self._connection = sqlite3.connect(
            f'file:{folder / DATABASE_FILE}?mode=ro', uri=True, isolation_level=None)
        self._connection.execute('PRAGMA cache_size = -500')
        self._last = {kind: self._highest(table) for kind, table in TABLES.items()}
        self.lags_ns: dict[str, list[int]] = defaultdict(list)
        self.latest_ns = 0
        self.log_bytes = 0
        self._log = folder / f'{DATABASE_FILE}-wal'

    def __enter__(self) -> RowLag:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def look(self) -> int:
        """Note the rows that are new, and return how many they are."""
        found = 0
        for kind, table in TABLES.items():
            rows = self._connection.execute(
                f'SELECT id, stamp_ns FROM {table} WHERE id > ?', (self._last[kind],)).fetchall()
            if not rows:
                continue
            seen_ns = time.time_ns()  # after the read: it was committed before
            self._last[kind] = max(row[0] for row in rows)
            self.lags_ns[kind] += [seen_ns - row[1] for row in rows]
            found += len(rows)
        if self._log.exists():
            self.log_bytes = max(self.log_bytes, self._log.stat().st_size)
        return found

    def report(self) -> dict[str, dict[str, Any]]:
        """Return by kind, and of 'all', the number of rows and their lags in seconds."""
        kinds = {**self.lags_ns, 'all': [lag for lags in self.lags_ns.values() for lag in lags]}
        return {kind: _told(np.array(lags, np.int64) / 1e9) for kind, lags in kinds.items() if lags}

    def _highest(self, table: str) -> int:
        return int(self._connection.execute(
            f'SELECT coalesce(max(id), 0) FROM {table}').fetchone()[0])


def _told(lags_s: Any) -> dict[str, Any]:
    p50, p99 = np.percentile(lags_s, (50, 99))
    return {'rows': len(lags_s), 'p50_s': round(float(p50), 3), 'p99_s': round(float(p99), 3),
            'max_s': round(float(lags_s.max()), 3)}
