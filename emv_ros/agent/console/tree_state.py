"""The part of the history tree that is shown: what is expanded, its text under a budget.

Nothing beyond the shown part is loaded: each look at children is one query. Where the text outgrows
its budget, the node that was expanded longest ago is collapsed first.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo

from emv_ros.agent.console.rows import node_row, span_of
from emv_ros.errors import NotFoundError
from emv_ros.records import Node
from emv_ros.timeline import Interval
from emv_ros.tree.view import TreeView

MAX_CHILDREN = 40
MAX_EXPANDED = 60
SHOWN_CHARS = 160


class TreeState:
    """What is expanded in a view of the tree."""

    def __init__(self, view: TreeView, zone: tzinfo) -> None:
        self.view = view
        self._zone = zone
        self._expanded: dict[int, None] = {}  # in order of use, the oldest first
        self._only: dict[int, list[int]] = {}  # children shown of a node that was searched
        self._latest: list[int] = []  # the way to the node that was expanded last

    def expand(self, node_id: int, shown: list[int] | None = None) -> None:
        """Show the children of a node, or only some of them, and the way to the node."""
        path = self._path(node_id)
        self._open(node_id, shown)
        # An ancestor counts as used after what is below it, so that it is collapsed after it.
        for parent, child in reversed(list(zip(path, path[1:], strict=False))):
            if parent not in self._expanded:
                self._open(parent, [child])
            else:
                self._open(parent, [*self._only[parent], child] if parent in self._only else None)
        self._latest = path
        while len(self._expanded) > MAX_EXPANDED:
            self._forget(next(iter(self._expanded)))

    def _open(self, node_id: int, shown: list[int] | None) -> None:
        self._expanded.pop(node_id, None)
        self._expanded[node_id] = None
        if shown is None:
            self._only.pop(node_id, None)
        else:
            self._only[node_id] = list(dict.fromkeys(shown))

    def expand_window(self, node_id: int, window: Interval) -> list[Node]:
        """Show what lies in a window: nodes that reach out of it are expanded, others shown.

        Returns the nodes shown in the window, in order of time.
        """
        found: list[Node] = []
        waiting = [node_id]
        while waiting and len(found) < MAX_CHILDREN:
            current = waiting.pop(0)
            overlapping = self.view.overlapping(current, window)
            if overlapping:
                self.expand(current, [child.id for child in overlapping if child.id is not None])
            for child in overlapping:
                span = span_of(child)
                is_inside = (window.start_ns <= span.start_ns and span.end_ns <= window.end_ns)
                if child.id is None or is_inside or not self.view.overlapping(child.id, window):
                    found.append(child)
                else:
                    waiting.append(child.id)
        return sorted(found, key=lambda node: (node.start_ns, -node.end_ns))

    def collapse(self, node_id: int) -> None:
        """Hide the children of a node and what is expanded below it."""
        for below in [key for key in self._expanded if node_id in self._path(key)]:
            self._forget(below)

    def collapse_all_but(self, node_id: int, keep: set[int]) -> None:
        """Collapse the expanded nodes below a node, except those on the way to `keep` and in it."""
        kept = set(keep).union(*(self._path(key) for key in keep)) if keep else set()
        for below in list(self._expanded):
            if below not in kept and below != node_id and node_id in self._path(below):
                self._forget(below)

    def render(self, count_tokens: Callable[[str], int], budget: int) -> str:
        """Return the shown tree as indented lines within the budget of tokens.

        Where only the root is shown that is '': a root alone tells little, and leads small models
        away from the exact functions.
        """
        if self.view.root.id not in self._expanded:
            return ''
        text, is_cut = self._text(), False
        for node_id in [key for key in self._expanded if key not in self._latest]:
            if count_tokens(text) <= budget:
                break
            self._forget(node_id)
            is_cut, text = True, self._text()
        lines = text.splitlines()
        while len(lines) > 1 and count_tokens('\n'.join(lines)) > budget:
            is_cut, lines = True, lines[:max(1, len(lines) * 3 // 4)]
        text = '\n'.join(lines)
        return f'{text}\n(the rest is collapsed to save room)' if is_cut else text

    def _forget(self, node_id: int) -> None:
        self._expanded.pop(node_id, None)
        self._only.pop(node_id, None)

    def _path(self, node_id: int) -> list[int]:
        try:
            return [node.id for node in self.view.path(node_id) if node.id is not None]
        except NotFoundError:  # made anew by a consolidation since
            return []

    def _text(self) -> str:
        lines: list[str] = []
        self._append(self.view.root, 0, lines)
        return '\n'.join(lines)

    def _append(self, node: Node, depth: int, lines: list[str]) -> None:
        key = node.id or 0
        sign = '-' if key in self._expanded else '+'
        lines.append(f'{"  " * depth}{sign} {node_row(node, self._zone)["line"][:SHOWN_CHARS]}')
        if key not in self._expanded:
            return
        try:
            children = self.view.children(key)
        except NotFoundError:  # made anew by a consolidation since
            self._forget(key)
            return
        wanted = self._only.get(key)
        shown = [child for child in children if wanted is None or child.id in wanted]
        for child in shown[:MAX_CHILDREN]:
            self._append(child, depth + 1, lines)
        if len(shown) < len(children) or len(shown) > MAX_CHILDREN:
            hidden = len(children) - min(len(shown), MAX_CHILDREN)
            lines.append(f'{"  " * (depth + 1)}… {hidden} more')
