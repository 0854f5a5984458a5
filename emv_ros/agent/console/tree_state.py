"""The part of the history tree that is shown: what a question's commands expanded.

Nothing beyond the shown part is loaded: each look at children is one query. At most MAX_EXPANDED
nodes are expanded: beyond, the one that was used longest ago is collapsed. An ancestor counts as
used after what is below it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo

from emv_ros.agent.console.rows import span_of
from emv_ros.agent.console.tree_text import MAX_CHILDREN, TreeText
from emv_ros.errors import NotFoundError
from emv_ros.records import Node
from emv_ros.timeline import Interval
from emv_ros.tree.levels import GOAL
from emv_ros.tree.view import TreeView

MAX_EXPANDED = 60


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

    def expand_window(self, node_id: int, window: Interval) -> tuple[list[Node], bool]:
        """Show what lies in a window: nodes that reach out of it are expanded, others shown.

        Returns the nodes shown in the window, in order of time, and whether there is more. An event
        or goal without a part in the window was going on all the same; a longer stretch was not.
        """
        node = self.view.node(node_id)
        found: list[Node] = []
        waiting = [node]
        while waiting and len(found) < MAX_CHILDREN:
            current = waiting.pop(0)
            parts = self.view.overlapping(current.id or 0, window)
            if not parts and current.level <= GOAL and span_of(current).overlaps(window):
                found.append(current)
            if parts:
                self.expand(current.id or 0, [part.id for part in parts if part.id is not None])
            for part in parts:
                (found if _lies_in(part, window) else waiting).append(part)
        return sorted(found, key=lambda node: (node.start_ns, -node.end_ns)), bool(waiting)

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

        What had to be collapsed for it stays collapsed. Where only the root is shown that is '': a
        root alone tells little, and leads small models away from the exact functions.
        """
        if self.view.root.id not in self._expanded:
            return ''
        text, collapsed = TreeText(self.view, self._zone, list(self._expanded), self._only,
                                   self._latest).within(count_tokens, budget)
        for node_id in collapsed:
            self._forget(node_id)
        return text

    def _forget(self, node_id: int) -> None:
        self._expanded.pop(node_id, None)
        self._only.pop(node_id, None)

    def _path(self, node_id: int) -> list[int]:
        try:
            return [node.id for node in self.view.path(node_id) if node.id is not None]
        except NotFoundError:  # made anew by a consolidation since
            return []


def _lies_in(node: Node, window: Interval) -> bool:
    span = span_of(node)
    return window.start_ns <= span.start_ns and span.end_ns <= window.end_ns
