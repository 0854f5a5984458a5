"""What the exact functions of the console share: records of a window as shown rows, in order.

Where there are more than MAX_ROWS, the first and the last half are given, and a note says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emv_ros.agent.console.arguments import number, text_of
from emv_ros.agent.console.like_names import LikeNames
from emv_ros.agent.console.meant import MeantRows
from emv_ros.agent.console.shown import Shown
from emv_ros.agent.console.windows import Windows
from emv_ros.agent.roots import roots_of
from emv_ros.memory import queries
from emv_ros.memory.queries import Page, Window
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.search import Searcher

MAX_ROWS = 1000

Rows = list[dict[str, Any]]


class FoundRows:
    """Finds rows of one question's window and shows them."""

    def __init__(self, store: MemoryStore, searcher: Searcher, windows: Windows,
                 shown: Shown, meant: MeantRows) -> None:
        self._store = store
        self._searcher = searcher
        self._windows = windows
        self._shown = shown
        self._meant = meant
        self._names = LikeNames(searcher)

    def _runs(self, window: Window, **conditions: Any) -> Rows:
        return [self._shown.give('skill_event', event) for event in self._both_ends(
            lambda page: queries.skill_events(self._store, window, page=page, **conditions))]

    def _annotations(self, window: Window, text: Any, kind: str) -> Rows:
        return [self._shown.give('annotation', item) for item in self._both_ends(
            lambda page: queries.annotations(self._store, window, kind=kind,
                                             text=roots_of(text_of(text)), page=page))]

    def _both_ends(self, ask: Callable[[Page], list[Any]]) -> list[Any]:
        """Return all records; of too many the first and the last, so that both ends are right."""
        found = ask(Page(limit=MAX_ROWS + 1))
        if len(found) <= MAX_ROWS:
            return found
        half = MAX_ROWS // 2
        self._shown.note(f'there are more than {MAX_ROWS}: the first {half} and the last {half} '
                         'are given; narrow the time or the name to count')
        return found[:half] + ask(Page(limit=half, newest_first=True))[::-1]

    def _ordered(self, rows: Rows, limit: Any) -> Rows:
        rows.sort(key=lambda row: (self._start_of(row), row['id']))
        wanted = None if limit is None else number(limit, -MAX_ROWS, MAX_ROWS)
        if wanted:
            return rows[:wanted] if wanted > 0 else rows[wanted:]
        return rows

    def _start_of(self, row: dict[str, Any]) -> int:
        return self._shown.items[row['id']].start_ns

    def _like_skill(self, asked: str) -> str:
        whole = self._windows.whole
        return self._names.nearest(asked, queries.known_names(
            self._store, whole.robots, whole.before_ns)['skills'])
