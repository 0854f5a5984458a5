"""Writes of tree nodes within one transaction; their searchable texts follow them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.adding import CHUNK, renew_documents
from emv_ros.memory.rows import row_of
from emv_ros.records import Node

if TYPE_CHECKING:
    from emv_ros.memory.store import MemoryStore


class NodeWriter:
    """A writer of nodes in a write session; `MemoryStore.node_writer` makes one."""

    def __init__(self, store: MemoryStore, session: Session) -> None:
        """Write through the session; whoever opened it commits."""
        self.store = store
        self.session = session

    def add(self, node: Node, members: Iterable[tuple[str, int]] = (),
            children: Iterable[int] = ()) -> int:
        """Add a node over members (kind, id) or over child nodes, and return its id.

        Members that belonged to another node move here.
        """
        row = row_of(node, self.store.robot_id(self.session, node.robot))
        self.session.add(row)
        self.session.flush()
        for kind, ref_id in members:
            self.session.merge(schema.NodeMemberRow(kind=kind, ref_id=ref_id, node_id=row.id))
        for ordinal, child_id in enumerate(children):
            child = self.session.get_one(schema.NodeRow, child_id)
            child.parent_id, child.ordinal = row.id, ordinal
        renew_documents(self.session, 'node', [row])
        return int(row.id)

    def update(self, node_id: int, **values: Any) -> None:
        """Change columns of a node."""
        row = self.session.get_one(schema.NodeRow, node_id)
        for name, value in values.items():
            setattr(row, name, value)
        self.session.flush()
        renew_documents(self.session, 'node', [row])

    def remove(self, node_ids: Iterable[int]) -> None:
        """Remove nodes with their documents; children lose their parent, members become free."""
        document, node = schema.DocumentRow, schema.NodeRow
        for part in _chunks(node_ids):
            self.session.execute(delete(document).where(
                document.kind == 'node', document.ref_id.in_(part)))
            self.session.execute(delete(node).where(node.id.in_(part)))
        self.session.expire_all()

    def settle(self, kind: str, ref_ids: Iterable[int]) -> None:
        """Mark records as consolidated."""
        table = schema.KINDS[kind]
        for part in _chunks(ref_ids):
            self.session.execute(update(table).where(table.id.in_(part)).values(pending=False))


def _chunks(ids: Iterable[int]) -> Iterator[list[int]]:
    every = list(ids)
    return (every[start:start + CHUNK] for start in range(0, len(every), CHUNK))
