"""The shown part of the history tree as indented lines, within a budget of tokens.

What is given up where the lines are too many, in this order, and of each no more than is needed:
what is expanded, the nodes that were used longest ago first; the nodes beside the way to the one
that was expanded last; the ends of lines; the last of its children. What stays is that node and
the way to it, at last their ids alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo

from emv_ros.agent.console.rows import node_row
from emv_ros.errors import NotFoundError
from emv_ros.records import Node
from emv_ros.tree.view import TreeView

MAX_CHILDREN = 40
LINE_CHARS = (160, 80, 48)
# Before lines are made shorter still, so many children are shown.
FEW_CHILDREN = 8
LEFT_OUT = '(the rest is collapsed to save room)'


class TreeText:
    """Lines of what is expanded in a view. Each node is read once, in one query.

    `expanded` comes in order of use, the oldest first; `only` names the children that are shown
    of a node; `latest` is the way from the root to the node that was expanded last.
    """

    def __init__(self, view: TreeView, zone: tzinfo, expanded: Sequence[int],
                 only: Mapping[int, Sequence[int]], latest: Sequence[int]) -> None:
        self._root = view.root
        self._view = view
        self._zone = zone
        self._uses = {key: use for use, key in enumerate(expanded)}
        self._only = only
        self._latest = [key for key in latest if key in self._uses]
        self._known: dict[int, list[Node]] = {}

    def within(self, count_tokens: Callable[[str], int], budget: int) -> tuple[str, list[int]]:
        """Return the lines in at most `budget` tokens, and the nodes collapsed for it.

        '' where not even the ids of the way to the last expanded node have room.
        """
        whole = self._lines()
        if count_tokens(whole) <= budget:
            return whole, []

        def fits(text: str) -> bool:
            return count_tokens(text) <= budget

        old = [key for key in self._uses if key not in self._latest]
        few = _least(len(old), lambda number: fits(self._cut(collapsed=old[:number])))
        if few is not None:
            return self._cut(collapsed=old[:few]), old[:few]
        for chars in LINE_CHARS:
            gone = _least(MAX_CHILDREN, lambda number, chars=chars: fits(  # type: ignore[misc]
                self._cut(old, chars, MAX_CHILDREN - number)))
            if gone is not None and (chars == LINE_CHARS[-1]
                                     or MAX_CHILDREN - gone >= min(FEW_CHILDREN, self._last())):
                return self._cut(old, chars, MAX_CHILDREN - gone), old
        ids = '\n'.join(f'{"  " * step}- n{key}' for step, key in enumerate(self._latest))
        return (ids if fits(ids) else ''), old

    def _last(self) -> int:
        """Return how many children of the node that was expanded last are to be shown."""
        return len(self._wanted(self._latest[-1])) if self._latest else 0

    def _cut(self, collapsed: Sequence[int], chars: int = LINE_CHARS[0],
             most: int | None = None) -> str:
        """Return the lines without what is below `collapsed`, and the line that says so.

        With `most`, nothing stands beside the way to the node that was expanded last, and so many
        of its children are shown.
        """
        return f'{self._lines(set(collapsed), chars, most)}\n{LEFT_OUT}'

    def _lines(self, collapsed: set[int] | None = None, chars: int = LINE_CHARS[0],
               most: int | None = None) -> str:
        lines: list[str] = []
        self._append(self._root, 0, lines, collapsed or set(), chars, most)
        return '\n'.join(lines)

    def _append(self, node: Node, step: int, lines: list[str], collapsed: set[int], chars: int,
                most: int | None) -> None:
        key = node.id or 0
        is_open = key in self._uses and key not in collapsed
        line = node_row(node, self._zone)['line'][:chars]
        lines.append(f'{"  " * step}{"-" if is_open else "+"} {line}')
        if not is_open:
            return
        shown = self._shown(key, most)
        for child in shown:
            self._append(child, step + 1, lines, collapsed, chars, most)
        if hidden := len(self._children(key)) - len(shown):
            lines.append(f'{"  " * (step + 1)}… {hidden} more')

    def _shown(self, key: int, most: int | None) -> list[Node]:
        """Return the children to show, in order: first those that are expanded themselves."""
        wanted = self._wanted(key)
        if most is not None and key in self._latest[:-1]:
            return [child for child in wanted if child.id in self._latest]
        most = MAX_CHILDREN if most is None else most
        if len(wanted) <= most:
            return wanted
        by_use = sorted(wanted, key=lambda child: -self._uses.get(child.id or 0, -1))
        chosen = {child.id for child in by_use[:most]}
        return [child for child in wanted if child.id in chosen]

    def _wanted(self, key: int) -> list[Node]:
        only = self._only.get(key)
        if only is None:
            return self._children(key)
        return [child for child in self._children(key) if child.id in only]

    def _children(self, key: int) -> list[Node]:
        if key not in self._known:
            try:
                self._known[key] = self._view.children(key)
            except NotFoundError:  # made anew by a consolidation since
                self._known[key] = []
        return self._known[key]


def _least(most: int, is_enough: Callable[[int], bool]) -> int | None:
    """Return the least number of 1..most that is enough, None where none is."""
    if most < 1 or not is_enough(most):
        return None
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return low
