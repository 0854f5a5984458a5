"""Groups what is loose in the upper tree and has its texts written (L4 and up), in a fixed order.

Works on open nodes, and with a model on those that still have a template text, from below
upwards and from the past onwards: a consolidation that is killed asks for the same texts again
when it goes on. Each change is a transaction of its own and leaves a whole tree; models are called
outside of transactions, and what they wrote is dropped where the tree changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
import threading

from emv_ros.memory.schema import NodeRow
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import TreeSettings
from emv_ros.timeline import SECOND_NS
from emv_ros.tree.grouping import Grouping
from emv_ros.tree.levels import DAY, EPISODE
from emv_ros.tree.rest import Rest
from emv_ros.tree.stacking import split, stack
from emv_ros.tree.summaries import SummaryWriter
from emv_ros.tree.upper import UpperTree
from emv_ros.tree.writing import Writing


class Tidy:
    """The grouping and writing of one robot's upper tree."""

    def __init__(self, store: MemoryStore, robot: str, zone: tzinfo, settings: TreeSettings,
                 writer: SummaryWriter, now_ns: int | None = None,
                 cancel: threading.Event | None = None,
                 before_step: Callable[[], None] = lambda: None) -> None:
        """`before_step` is called before each node, and may raise to stop the work there."""
        self.settings = settings
        self.writer = writer
        self.before_step = before_step
        self.upper = UpperTree(store, robot, zone, settings, cancel)
        rest = Rest(now_ns, zone, round(settings.goal_gap_s * SECOND_NS))
        self.grouping = Grouping(self.upper, writer, rest)
        self.writing = Writing(self.upper, writer, rest)

    @property
    def written(self) -> int:
        """How many nodes were made or changed."""
        return self.upper.written

    def run(self) -> None:
        """Tidy all that is open; then, within the budget, what still has a template text."""
        for node_id in self.upper.walk(lambda node: node.is_open):
            self._tidy(node_id)
        if self.writer.ready:
            for node_id in self.upper.walk(lambda node: node.made_by == 'calendar'):
                if not self.writer.ready:
                    break
                self._tidy(node_id)
        self._ask_again()
        if not self.upper.is_canceled:
            self._close()

    def _ask_again(self) -> None:
        """Have another model, or another prompt, try where one failed; once, within the budget."""
        model, version = self.writer.signature
        done = {'model': model, 'prompt_version': version}
        if not model or not self.writer.ready or self.upper.state('asked') == done:
            return
        for node in self._failed():
            if not self.writer.ready:
                return
            self.before_step()
            self.writing.write(node.id, again=True)
        if not self._failed():
            self.upper.set_state('asked', done)

    def _failed(self) -> list[NodeRow]:
        return [node for node in self.upper.made_by_rule()
                if self.writer.may_differ(node.model, node.prompt_version)]

    def _tidy(self, node_id: int) -> None:
        self.before_step()
        node = self.upper.node(node_id)
        if node is None:
            return
        fresh: list[int] = []
        if EPISODE < node.level <= DAY:
            self.grouping.regroup(node)
            fresh = stack(self.upper, node_id) if node.level == DAY else split(self.upper, node)
        for written_id in (*self._episodes(node_id, *fresh), *fresh, node_id):
            self.writing.write(written_id)

    def _episodes(self, *holders: int) -> list[int]:
        """Return the episodes that were made by rule and wait for a model's text."""
        if self.settings.model_groups:
            return []  # their groups come with a text
        return [child.id for holder in holders for child in self.upper.children(holder)
                if child.level == EPISODE and child.made_by == 'calendar']

    def _close(self) -> None:
        """Leave only the right edge of the tree open."""
        open_ids = list(self.upper.walk(lambda node: node.is_open))
        open_ids += [child.id for node_id in open_ids for child in self.upper.children(node_id)
                     if child.level == EPISODE and child.is_open]
        edge: list[int] = []
        closed_edge: list[int] = []
        node = self.upper.root()
        while node is not None:
            edge.append(node.id)
            if not node.is_open:
                closed_edge.append(node.id)
            children = self.upper.children(node.id)
            node = children[-1] if children and children[-1].level >= EPISODE else None
        changes = [(key, False) for key in open_ids if key not in edge]
        changes += [(key, True) for key in closed_edge]
        if not changes:
            return
        with self.upper.store.writing() as session:
            for key, is_open in changes:
                row = session.get(NodeRow, key)
                if row is not None:
                    row.is_open = is_open
