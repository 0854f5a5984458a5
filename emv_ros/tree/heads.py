"""What a model wrote of the part of a period that is over, while the rest of it goes on.

A head is kept beside the node, with what its children said then: it is true as long as they say
the same, word for word. The node's own text begins with it and quotes the later children.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import delete
from sqlalchemy.orm import Session

from emv_ros.memory.node_heads import digests, key_of, value_of
from emv_ros.memory.schema import NodeRow, StateRow


@dataclass(frozen=True, slots=True)
class Head:
    """A text of the first `count` children; empty where the model failed at it."""

    text: str
    count: int


def head_of(session: Session, node_id: int, children: Sequence[NodeRow]) -> Head | None:
    """Return the head of a node if it is still true of its children; forget it where it is not."""
    row = session.get(StateRow, key_of(node_id))
    if row is None:
        return None
    told: list[str] = row.value['told']
    if told != _told(children[:len(told)]):
        session.delete(row)
        return None
    return Head(row.value['text'], len(told))


def keep_head(session: Session, node_id: int, children: Sequence[NodeRow], text: str) -> None:
    """Keep a text of some first children."""
    session.merge(StateRow(key=key_of(node_id), value=value_of(
        text, ((child.id, child.summary) for child in children))))


def drop_head(session: Session, node_id: int) -> None:
    """Forget the head of a node."""
    session.execute(delete(StateRow).where(StateRow.key == key_of(node_id)))


def _told(children: Sequence[NodeRow]) -> list[str]:
    return digests((child.id, child.summary) for child in children)
