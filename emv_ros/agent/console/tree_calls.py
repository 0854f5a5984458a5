"""The functions of the console that explore the history tree; what they expand is shown."""

from __future__ import annotations

import re
from typing import Any

from emv_ros.agent.answers import EvidenceItem
from emv_ros.agent.console.arguments import number, text_of
from emv_ros.agent.console.shown import Shown
from emv_ros.agent.console.tree_state import TreeState
from emv_ros.agent.console.tree_text import MAX_CHILDREN
from emv_ros.agent.console.windows import Windows
from emv_ros.errors import EmvError, TimeExpressionError
from emv_ros.memory.rows import KIND_OF
from emv_ros.records import Node
from emv_ros.retrieval.embedders import Vectors
from emv_ros.retrieval.similarity import Similarity
from emv_ros.retrieval.stored import stored_vectors
from emv_ros.timeline import Interval

MAX_RECORDS = 1000
# Words that count from the time of the question, whatever node they are asked of.
_FROM_NOW = re.compile(
    r'\b(?:today|tonight|yesterday|tomorrow|ago|last|past|this|now|since|earlier)\b', re.IGNORECASE)
Rows = list[dict[str, Any]]


class TreeCalls:
    """Looks at nodes, shows and hides what is below them."""

    def __init__(self, state: TreeState, similarity: Similarity, windows: Windows,
                 shown: Shown) -> None:
        self._state = state
        self._similarity = similarity
        self._windows = windows
        self._shown = shown

    def root(self) -> dict[str, Any]:
        """Return the row of the root."""
        return self._shown.give('node', self._state.view.root)

    def children_of(self, shown: Any) -> Rows:
        """Return the children of a node."""
        return self._shown.nodes(self._state.view.children(self._node_id(shown)))

    def expand(self, shown: Any, which: Any) -> Rows:
        """Show the children of a node, of its i-th child, of children i to j, or a stretch."""
        node_id = self._node_id(shown)
        which = list(which) if isinstance(which, (list, tuple)) else []
        if not which:
            self._state.expand(node_id)
            return self.children_of(shown)
        if all(isinstance(item, int) and not isinstance(item, bool) for item in which):
            return self._shown.nodes(self._expand_indices(node_id, which))
        found, is_cut = self._state.expand_window(node_id, self._stretch(node_id, which))
        if not found:
            self._shown.note('nothing is recorded in that time')
        elif is_cut:
            self._shown.note(f'that time holds more than these {len(found)}: ask for less of it')
        return self._shown.nodes(found)

    def _stretch(self, node_id: int, which: list[Any]) -> Interval:
        first, last = self._interval(node_id, which[0]), self._interval(node_id, which[-1])
        end_ns = last.end_ns if len(which) == 1 else max(last.start_ns, first.end_ns)
        if last.start_ns < first.start_ns:
            raise TimeExpressionError(f'{str(which[-1])[:60]!r} lies before {str(which[0])[:60]!r}')
        return Interval(first.start_ns, max(end_ns, first.start_ns + 1))

    def _interval(self, node_id: int, value: Any) -> Interval:
        """Return the span of a time; outside the node, '10:10' means that of its last day."""
        node, clock = self._state.view.node(node_id), self._windows.clock
        span = clock.interval_of(value)
        is_outside = span.start_ns > node.end_ns or span.end_ns <= node.start_ns
        if is_outside and not (isinstance(value, str) and _FROM_NOW.search(value)):
            inside = clock.seen_from(node.end_ns).interval_of(value)
            if inside.start_ns <= node.end_ns and inside.end_ns > node.start_ns:
                return inside
        return span

    def _expand_indices(self, node_id: int, which: list[int]) -> list[Node]:
        children = self._state.view.children(node_id)
        if len(which) == 2:
            chosen = children[which[0]:which[1]]
        else:
            for index in which:
                if not -len(children) <= index < len(children):
                    raise EmvError(f'there is no child {str(index)[:20]}: this node has '
                                   f'{len(children)}')
            chosen = [children[index] for index in which]
        # Of too many to show them all, only the chosen ones are shown.
        self._state.expand(node_id, None if len(children) <= MAX_CHILDREN else [
            child.id for child in chosen if child.id is not None])
        for child in chosen[:MAX_CHILDREN]:
            self._state.expand(child.id or 0)
        return chosen

    def collapse(self, shown: Any) -> None:
        """Hide what is below a node."""
        self._state.collapse(self._node_id(shown))

    def collapse_all_but(self, shown: Any, keep: Any) -> None:
        """Collapse what is below a node except the given nodes."""
        kept = {self._node_id(item) for item in keep} if isinstance(keep, (list, tuple)) else set()
        self._state.collapse_all_but(self._node_id(shown), kept)

    def search_node(self, shown: Any, text: Any, k: Any) -> Rows:
        """Show only the children that match a text; where none does, nothing changes."""
        node_id = self._node_id(shown)
        children = self._state.view.children(node_id)
        matches = self._similarity.best(
            text_of(text), [child.summary for child in children], k=number(k, 1, 50),
            known=self._vectors(children))
        chosen = [children[index] for index, _ in sorted(matches)]
        if not chosen:
            self._shown.note('no child of this node matches')
            return []
        self._state.expand(node_id, [child.id or 0 for child in chosen])
        return self._shown.nodes(chosen)

    def _vectors(self, children: list[Node]) -> list[Vectors | None]:
        embedder = self._similarity.embedder
        if embedder is None:
            return []
        stored = stored_vectors(self._state.view.store, 'node', [
            child.id for child in children if child.id is not None], embedder.name)
        return [stored.get(child.id or 0) for child in children]

    def records(self, shown: Any) -> Rows:
        """Return the records that a node was made of."""
        found = self._state.view.records(self._node_id(shown))
        return [self._shown.give(KIND_OF[type(record)], record) for record in found[:MAX_RECORDS]]

    def days(self, when: Any, start: Any, end: Any) -> Rows:
        """Return the nodes of the days that hold records."""
        window = self._windows.narrowed(start, end, when)
        return self._shown.nodes(self._state.view.days(window.start_ns, window.end_ns))

    def covered_days(self) -> tuple[EvidenceItem, ...]:
        """Return the days of the question's window that hold records."""
        rows = self.days(None, None, None)
        return tuple(self._shown.items[row['id']] for row in rows)

    def _node_id(self, shown: Any) -> int:
        kind, ref_id = self._shown.parsed(shown)
        if kind != 'node':
            raise EmvError(f'{str(shown)[:40]!r} is no node of the tree')
        return ref_id
