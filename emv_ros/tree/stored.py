"""Events and goals as they stand in the store, read without an object for each row.

What is derived of a stretch is compared with them, outside of any write transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.dropped import is_mark
from emv_ros.tree.drafts import Draft
from emv_ros.tree.reconcile import DERIVED, values_of_draft
from emv_ros.tree.stretch import Member, chunks


@dataclass(frozen=True, slots=True)
class StoredNode:
    """A node of level 2 or 3; `values` are those of the columns in DERIVED."""

    id: int
    parent_id: int | None
    ordinal: int
    values: tuple[Any, ...]
    start_ns: int
    end_ns: int
    name: str


@dataclass(slots=True)
class Stored:
    """The top-level nodes of a stretch with all below them, and the records that they hold.

    `top_of` leads from each node to its top-level node, `holder` from a record to its node, and
    `unmade` from (name, start) to the nodes that hold no record. `sealed` lost records to
    retention, or have such a node below them.
    """

    tops: Sequence[int]
    nodes: dict[int, StoredNode] = field(default_factory=dict)
    children: dict[int, list[StoredNode]] = field(default_factory=dict)
    members: dict[int, set[Member]] = field(default_factory=dict)
    holder: dict[Member, int] = field(default_factory=dict)
    top_of: dict[int, int] = field(default_factory=dict)
    unmade: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    sealed: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, session: Session, tops: Sequence[int]) -> Stored:
        """Read top-level nodes and what is below them."""
        stored = cls(tops)
        stored._add(session, list(tops))
        row = schema.NodeMemberRow
        marked: set[int] = set()
        for part in chunks(list(stored.nodes)):
            for kind, ref_id, node_id in session.execute(
                    select(row.kind, row.ref_id, row.node_id).where(row.node_id.in_(part))):
                if is_mark(kind):
                    marked.add(node_id)
                else:
                    stored.members.setdefault(node_id, set()).add((kind, ref_id))
                    stored.holder[kind, ref_id] = node_id
        stored._seal(marked)
        for node in stored.nodes.values():
            if node.id not in stored.members:
                stored.unmade.setdefault((node.name, node.start_ns), []).append(node.id)
        return stored

    def _add(self, session: Session, tops: list[int]) -> None:
        row = schema.NodeRow
        columns = (row.id, row.parent_id, row.ordinal, *(getattr(row, name) for name in DERIVED))
        at = {name: place for place, name in enumerate(DERIVED)}
        waiting: list[int] = tops
        by: Any = row.id
        while waiting:
            below: list[int] = []
            for part in chunks(waiting):
                for node_id, parent_id, ordinal, *values in session.execute(
                        select(*columns).where(by.in_(part)).order_by(row.ordinal, row.id)):
                    node = StoredNode(node_id, parent_id, ordinal, tuple(values),
                                      values[at['start_ns']], values[at['end_ns']],
                                      values[at['name']])
                    self.nodes[node_id] = node
                    below.append(node_id)
                    if by is not row.id:
                        self.children.setdefault(parent_id, []).append(node)
                    self.top_of[node_id] = self.top_of.get(parent_id, node_id)
            waiting, by = below, row.parent_id

    def _seal(self, marked: Iterable[int]) -> None:
        for start in marked:
            node_id: int | None = start
            while node_id in self.nodes and node_id not in self.sealed:
                self.sealed.add(node_id)
                node_id = self.nodes[node_id].parent_id

    def tells(self, draft: Draft) -> bool:
        """Whether a draft is of raw records, which are members of nothing, in a sealed node."""
        return draft.is_raw and any(
            self.nodes[key].start_ns <= draft.end_ns and draft.start_ns <= self.nodes[key].end_ns
            for key in self.sealed)

    def holders(self, draft: Draft) -> Iterable[int]:
        """Yield the top-level nodes that hold records of a draft, or have the place of a part."""
        for part in draft.walk():
            keys = part.members
            held = ((self.holder[key] for key in keys if key in self.holder) if keys
                    else self.unmade.get((part.name, part.start_ns), ()))
            for node_id in held:
                yield self.top_of[node_id]

    def is_as(self, node_id: int, draft: Draft) -> bool:
        """Whether a node and all below it are what a draft says."""
        values = values_of_draft(draft)
        children = self.children.get(node_id, [])
        return (node_id not in self.sealed
                and self.nodes[node_id].values == tuple(values[name] for name in DERIVED)
                and len(children) == len(draft.children)
                and self.members.get(node_id, set()) == set(draft.members)
                and all(child.ordinal == place and self.is_as(child.id, part)
                        for place, (child, part) in enumerate(
                            zip(children, draft.children, strict=True))))

    def size(self, top_id: int) -> int:
        """Return how many nodes a top-level node is, with all below it."""
        found, waiting = 0, [top_id]
        while waiting:
            found += 1
            waiting.extend(child.id for child in self.children.get(waiting.pop(), ()))
        return found
