"""A part of the tree at once, level by level: a few queries however many nodes there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from emv_ros.records import Node
from emv_ros.tree.view import VIRTUAL_ROOT_ID, TreeView


@dataclass(slots=True)
class Branch:
    """A node with those below it.

    `more` counts children left out because there are too many, `below` those left out because they
    lie too deep.
    """

    node: Node
    children: list[Branch] = field(default_factory=list)
    more: int = 0
    below: int = 0

    @property
    def key(self) -> int:
        """The id of the node, of the virtual root too."""
        return self.node.id or VIRTUAL_ROOT_ID


def grow(view: TreeView, tops: Sequence[Node], *, level: int | None = None,
         depth: int | None = None, most: int | None = None) -> list[Branch]:
    """Return the tops with what is below them.

    Nothing below `level` is read, nothing more than `depth` steps down, and of each node its first
    `most` children.
    """
    branches = [Branch(node) for node in tops]
    _fill(view, branches, level, depth, most)
    return branches


def way_to(view: TreeView, node_id: int, most: int | None = None) -> Branch:
    """Return the root with the way to a node, and all that is below that node.

    Beside the way nothing is shown: `more` counts it. Raises NotFoundError where there is no such
    node.
    """
    steps = [Branch(node) for node in view.path(node_id)]
    counts = view.child_counts([step.key for step in steps])
    for parent, child in zip(steps, steps[1:], strict=False):
        parent.children = [child]
        parent.more = counts.get(parent.key, 1) - 1
    _fill(view, steps[-1:], None, None, most)
    return steps[0]


def _fill(view: TreeView, frontier: list[Branch], level: int | None, depth: int | None,
          most: int | None) -> None:
    step = 0
    while frontier:
        keys = [branch.key for branch in frontier]
        counts = view.child_counts(keys)
        is_bottom = depth is not None and step >= depth
        fitting = {} if is_bottom else view.child_counts(keys, level)
        found = {} if is_bottom else view.first_children(list(fitting), level, most)
        for branch in frontier:
            branch.children = [Branch(node) for node in found.get(branch.key, ())]
            branch.more = fitting.get(branch.key, 0) - len(branch.children)
            branch.below = counts.get(branch.key, 0) - fitting.get(branch.key, 0)
        frontier = [child for branch in frontier for child in branch.children]
        step += 1
