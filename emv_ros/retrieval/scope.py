"""Which documents a search may see: robots, kinds, a window and the time of the question.

The same rule stands here twice: as SQL over the table of documents, and as a mask over the arrays
of the graph and of the vector index. What search returns is read through the SQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, or_
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore

KINDS = ('node', 'utterance', 'skill_event', 'annotation', 'observation')


@dataclass
class Rows:
    """What arrays know of each document, all of shape (n,)."""

    document: NDArray[np.int64]
    robot: NDArray[np.int64]
    kind: NDArray[np.int8]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]


@dataclass(frozen=True)
class Scope:
    """A window and kinds, with the ids of the robots in this memory (None: all)."""

    window: Window
    kinds: tuple[str, ...] = ()
    robot_ids: frozenset[int] | None = None

    @classmethod
    def of(cls, store: MemoryStore, session: Session, window: Window,
           kinds: Sequence[str] | None = None) -> Scope:
        """Return the scope of a window in this memory; unknown robots match nothing."""
        ids = frozenset(store.robot_ids(session, window.robots)) if window.robots else None
        return cls(window, tuple(kinds or ()), ids)

    @property
    def is_open(self) -> bool:
        """Whether everything is seen, whatever its kind."""
        window = self.window
        return self.robot_ids is None and (
            window.start_ns is None and window.end_ns is None and window.before_ns is None)

    def known_end(self, end_ns: int) -> int:
        """Return the end of a record as known at the question: what went on has no later one."""
        before_ns = self.window.before_ns
        return end_ns if before_ns is None else min(end_ns, before_ns)

    def conditions(self, by_id: bool = False) -> list[ColumnElement[bool]]:
        """Return the rule as SQL over the table of documents.

        With `by_id`, for a query that names documents by their ids, in a form for which no index
        serves: else SQLite would rather go through all documents of a kind.
        """
        if self.is_open and not self.kinds:
            return []
        window = self.window
        kind, robot, start, end = _columns(by_id)
        found: list[ColumnElement[bool]] = []
        if self.robot_ids is not None:
            found.append(robot.in_(self.robot_ids))
        if self.kinds:
            found.append(kind.in_(self.kinds))
        if window.start_ns is not None:
            found.append(or_(end > window.start_ns, start >= window.start_ns))
        if window.end_ns is not None:
            found.append(start < window.end_ns)
        if window.before_ns is not None:
            found.append(start < window.before_ns)
            found.append(or_(kind != 'node', end < window.before_ns))
        return found

    def mask(self, rows: Rows) -> NDArray[np.bool_]:
        """Return the rule over arrays."""
        window = self.window
        seen = np.ones(len(rows.document), bool)
        if self.robot_ids is not None:
            seen &= np.isin(rows.robot, list(self.robot_ids))
        if self.kinds:
            seen &= np.isin(rows.kind, [KINDS.index(kind) for kind in self.kinds if kind in KINDS])
        if window.start_ns is not None:
            seen &= (rows.end_ns > window.start_ns) | (rows.start_ns >= window.start_ns)
        if window.end_ns is not None:
            seen &= rows.start_ns < window.end_ns
        if window.before_ns is not None:
            seen &= rows.start_ns < window.before_ns
            is_node = rows.kind == KINDS.index('node')
            seen &= ~is_node | (rows.end_ns < window.before_ns)
        return seen


def _columns(by_id: bool) -> tuple[Any, Any, Any, Any]:
    row = schema.DocumentRow
    if by_id:
        return row.kind.concat(''), row.robot_id + 0, row.start_ns + 0, row.end_ns + 0
    return row.kind, row.robot_id, row.start_ns, row.end_ns
