"""The upper tree of one robot as tidying reads and changes it: each in a transaction of its own.

No transaction outlives a call, so that none is open while a model is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import tzinfo
import threading
from typing import Any

from sqlalchemy import select

from emv_ros.memory.schema import NodeRow
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import TreeSettings
from emv_ros.tree.levels import DAY, EPISODE
from emv_ros.tree.skeleton import Skeleton
from emv_ros.tree.summaries import Written


class UpperTree:
    """Reads of, and changes to, the nodes of level 4 and up. `written` counts those changed."""

    def __init__(self, store: MemoryStore, robot: str, zone: tzinfo, settings: TreeSettings,
                 cancel: threading.Event | None = None) -> None:
        self.store = store
        self.robot = robot
        self.zone = zone
        self.settings = settings
        self.cancel = cancel
        self.written = 0

    @property
    def is_canceled(self) -> bool:
        """Whether the work is to end."""
        return self.cancel is not None and self.cancel.is_set()

    def node(self, node_id: int) -> NodeRow | None:
        """Return a node as it is now, or None where it is gone."""
        with self.store.reading() as session:
            return session.get(NodeRow, node_id)

    def children(self, node_id: int) -> list[NodeRow]:
        """Return the children of a node in order of time."""
        with self.store.reading() as session:
            return list(session.scalars(select(NodeRow).where(NodeRow.parent_id == node_id)
                                        .order_by(NodeRow.start_ns, NodeRow.end_ns, NodeRow.id)))

    def root(self) -> NodeRow | None:
        """Return the root, or None where there is no tree."""
        with self.store.reading() as session:
            robot_ids = self.store.robot_ids(session, [self.robot])
            return session.scalar(select(NodeRow).where(
                NodeRow.robot_id.in_(robot_ids), NodeRow.parent_id.is_(None),
                NodeRow.level >= DAY))

    def made_by_rule(self) -> list[NodeRow]:
        """Return the nodes that a model failed at, from below upwards, in order of time.

        Looks through the whole life: only for what happens seldom.
        """
        with self.store.reading() as session:
            robot_ids = self.store.robot_ids(session, [self.robot])
            return list(session.scalars(
                select(NodeRow).where(NodeRow.robot_id.in_(robot_ids), NodeRow.level >= EPISODE,
                                      NodeRow.made_by == 'rule', NodeRow.model != '')
                .order_by(NodeRow.level, NodeRow.start_ns, NodeRow.id)))

    def state(self, name: str) -> dict[str, Any] | None:
        """Return a small value that is kept for this robot's tree, or None."""
        return self.store.state(f'tree:{name}:{self.robot}')

    def set_state(self, name: str, value: dict[str, Any]) -> None:
        """Keep a small value for this robot's tree."""
        self.store.set_state(f'tree:{name}:{self.robot}', value)

    def walk(self, wanted: Callable[[NodeRow], bool]) -> Iterator[int]:
        """Yield the nodes above episodes that are wanted, below wanted ones, children first.

        The order is that of time, so that work which was broken off is taken up the same way.
        """
        root = self.root()
        if root is not None and wanted(root):
            yield from self._below(root, wanted)

    def _below(self, node: NodeRow, wanted: Callable[[NodeRow], bool]) -> Iterator[int]:
        for child in self.children(node.id):
            if child.level > EPISODE and wanted(child):  # an episode is its holder's business
                yield from self._below(child, wanted)
        if not self.is_canceled:
            yield node.id

    @contextmanager
    def changing(self) -> Iterator[Skeleton]:
        """Yield the upper tree in a write transaction."""
        with self.store.node_writer() as writer:
            skeleton = Skeleton(writer, self.robot, self.zone, self.settings)
            yield skeleton
        self.written += skeleton.written


def sign(skeleton: Skeleton, node_id: int, made_by: str, written: Written | None,
         summary: str = '') -> None:
    """Note who made a node, at what cost; a model's summary replaces the template.

    An episode is closed by that. What lies above stays open until all is tidied: a walk finds
    open nodes below open ones alone.
    """
    values: dict[str, object] = {'made_by': made_by}
    if skeleton.session.get_one(NodeRow, node_id).level == EPISODE:
        values['is_open'] = False
    if written is not None:
        share = max(1, len(written.groups))
        values |= {'model': written.model, 'prompt_version': written.prompt_version,
                   'prompt_tokens': written.prompt_tokens // share,
                   'completion_tokens': written.completion_tokens // share,
                   'cost': written.cost / share}
        if made_by == 'model' and summary:
            values |= {'summary': summary}
    skeleton.writer.update(node_id, **values)


def told(children: Sequence[NodeRow]) -> list[tuple[int, str]]:
    """Return what a text about nodes rests on: if it changes meanwhile, the text is dropped."""
    return [(child.id, child.summary) for child in children]
