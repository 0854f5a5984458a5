"""A view of the tree that ends at a level: nothing above it is shown, and no text of it."""

from __future__ import annotations

from datetime import tzinfo
from typing import Any

from sqlalchemy import ColumnElement

from emv_ros.memory.queries import Window
from emv_ros.memory.schema import NodeRow
from emv_ros.memory.store import MemoryStore
from emv_ros.tree.view import TreeView


class LowTree(TreeView):
    """A window on the nodes up to `top_level`; below a root that only lists them."""

    def __init__(self, store: MemoryStore, window: Window, zone: tzinfo, top_level: int) -> None:
        super().__init__(store, window, zone)
        self._top_level = top_level

    def _is_shown(self, row: NodeRow) -> bool:
        return row.level <= self._top_level and super()._is_shown(row)

    def _may_hold(self, row: NodeRow) -> bool:
        if row.level <= self._top_level:
            return super()._may_hold(row)
        before_ns = self.window.before_ns
        return self._is_in_window(row) and (before_ns is None or row.start_ns < before_ns)

    def _shown_ones(self, level: int | None = None) -> list[Any]:
        conditions: list[ColumnElement[bool]] = super()._shown_ones(level)
        return [*conditions, NodeRow.level <= self._top_level]
