"""Writes freshly derived events and goals over the ones that were there.

A node that stands for the same run, words, scene or goal as before keeps its id, so that an
answer that cites it stays true; one that has not changed is not written at all. Nothing above
level 3 is touched here but `parent_id`.

A node that lost records to retention is sealed, with all above it: what is left does not tell what
it told. It keeps its words and its place; records that come late join it as members, or are nodes
of their own beside it or below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import and_, delete, insert, or_, select

from emv_ros.memory import schema
from emv_ros.memory.documents import text_of
from emv_ros.memory.dropped import PREFIX, is_mark
from emv_ros.memory.node_writer import NodeWriter
from emv_ros.memory.rows import record_of, row_of
from emv_ros.records import Node
from emv_ros.timeline import Interval
from emv_ros.tree.drafts import Draft
from emv_ros.tree.levels import EVENT
from emv_ros.tree.reopening import BLANK
from emv_ros.tree.stretch import chunks
from emv_ros.tree.unread import storable

# The columns of a node that are derived from its records, and those that texts above it speak of.
DERIVED = ('level', 'start_ns', 'end_ns', 'summary', 'name', 'status', 'is_open')
TOLD = ('level', 'summary', 'name', 'status')

Key = tuple[Any, ...]


@dataclass(slots=True)
class Reconciled:
    """What changed: the top-level rows in order, what is new or changed, what lost a child.

    `retold` are those of the changed of which a text above may have spoken; `left` are the spans
    of nodes elsewhere that a record was taken from, since its time was corrected.
    """

    top: list[schema.NodeRow] = field(default_factory=list)
    changed: set[int] = field(default_factory=set)
    retold: set[int] = field(default_factory=set)
    moved: set[int] = field(default_factory=set)
    bereft: set[int] = field(default_factory=set)
    left: list[Interval] = field(default_factory=list)
    events: int = 0
    goals: int = 0


class Reconciler:
    """One pass of drafts over the nodes of a stretch, in the writer's transaction."""

    def __init__(self, writer: NodeWriter, robot: str, existing: Sequence[schema.NodeRow]) -> None:
        """Load the subtrees of the existing top-level nodes and their members."""
        self.writer = writer
        self.session = writer.session
        self.robot = robot
        self.robot_id = writer.store.robot_id(writer.session, robot)
        self.nodes = {node.id: node for node in existing}
        waiting = list(self.nodes)
        while waiting:
            below = [node for part in chunks(waiting) for node in self.session.scalars(
                select(schema.NodeRow).where(schema.NodeRow.parent_id.in_(part)))]
            self.nodes.update((node.id, node) for node in below)
            waiting = [node.id for node in below]
        self.members: dict[int, set[tuple[str, int]]] = {}
        row = schema.NodeMemberRow
        marked: set[int] = set()
        for part in chunks(list(self.nodes)):
            for kind, ref_id, node_id in self.session.execute(
                    select(row.kind, row.ref_id, row.node_id).where(row.node_id.in_(part))):
                if is_mark(kind):
                    marked.add(node_id)
                else:
                    self.members.setdefault(node_id, set()).add((kind, ref_id))
        self.sealed = self._with_those_above(marked)
        self._keys: dict[Key, int] = {}
        for node_id, node in self.nodes.items():
            for key in self._keys_of(node, self.members.get(node_id, set())):
                self._keys.setdefault(key, node_id)

    def _with_those_above(self, node_ids: Iterable[int]) -> set[int]:
        found: set[int] = set()
        for start in node_ids:
            node_id: int | None = start
            while node_id in self.nodes and node_id not in found:
                found.add(node_id)
                node_id = self.nodes[node_id].parent_id
        return found

    def apply(self, drafts: Sequence[Draft]) -> Reconciled:
        """Make the stored nodes what the drafts say; what is sealed stays."""
        done = Reconciled()
        everyone = [part for draft in drafts for part in draft.walk()]
        rows = self._claim(everyone, done)
        self._set_parents(drafts, rows, done)
        kept = {row.id for row in rows.values()} | self.sealed
        gone = [node for node_id, node in self.nodes.items() if node_id not in kept]
        done.bereft |= {node.parent_id for node in gone if node.parent_id is not None}
        self._rewrite_members(everyone, rows, done)
        self._remove([node.id for node in gone])
        done.bereft -= set(self.nodes)  # those of them that are still there are derived above
        for draft in everyone:
            if rows[id(draft)].id in done.changed:
                done.goals += draft.level > EVENT
                done.events += draft.level == EVENT
        self._put_documents([row for row in rows.values() if row.id in done.changed])
        done.top = [rows[id(draft)] for draft in drafts]
        return done

    def _keys_of(self, node: schema.NodeRow, members: Iterable[tuple[str, int]]) -> Iterable[Key]:
        """Return what a node is known by: run, annotation, any record, or name and start."""
        kinds = {'skill_event': 0, 'annotation': 1}
        ordered = sorted(members, key=lambda member: (kinds.get(member[0], 2), member))
        if ordered and ordered[0][0] in kinds:
            return [ordered[0]]
        return ordered or [(node.name, node.start_ns)]

    def _claim(self, drafts: Sequence[Draft], done: Reconciled) -> dict[int, schema.NodeRow]:
        rows: dict[int, schema.NodeRow] = {}
        claimed: set[int] = set()
        for draft in drafts:
            node_id = next((found for key in draft.members[:1] or [(draft.name, draft.start_ns)]
                            if (found := self._keys.get(key)) is not None), None)
            if node_id is not None and node_id not in claimed:
                claimed.add(node_id)
                rows[id(draft)] = self.nodes[node_id]
                self._refresh(self.nodes[node_id], draft, done)
            else:
                rows[id(draft)] = self._new(draft)
        self.session.flush()
        fresh = {row.id for row in rows.values() if row.id not in self.nodes}
        done.changed |= fresh
        done.retold |= fresh
        return rows

    def _new(self, draft: Draft) -> schema.NodeRow:
        row: schema.NodeRow = row_of(Node(
            robot=self.robot, **values_of_draft(draft)), self.robot_id)
        self.session.add(row)
        return row

    def _refresh(self, row: schema.NodeRow, draft: Draft, done: Reconciled) -> None:
        if row.id in self.sealed and row.summary != BLANK:
            return
        values = values_of_draft(draft)
        if row.id in self.sealed:  # words were taken back; it still holds what is sealed
            values |= {name: getattr(row, name) for name in ('level', 'start_ns', 'end_ns')}
        differing = {name for name in DERIVED if getattr(row, name) != values[name]}
        if not differing:
            return
        done.changed.add(row.id)
        if 'start_ns' in differing:
            done.moved.add(row.id)
        if differing & {'start_ns', *TOLD}:
            done.retold.add(row.id)
            row.prompt_version = ''  # it may belong to another group now
        for name in differing:
            setattr(row, name, values[name])

    def _set_parents(self, drafts: Sequence[Draft], rows: dict[int, schema.NodeRow],
                     done: Reconciled) -> None:
        for draft in drafts:
            row = rows[id(draft)]
            if row.parent_id in self.nodes and row.id not in self.sealed:
                row.parent_id = None  # it was part of a goal
            for part in draft.walk():
                parent = rows[id(part)]
                for ordinal, child in enumerate(part.children):
                    below = rows[id(child)]
                    if below.id in self.sealed:
                        continue
                    if below.parent_id not in self.nodes and below.parent_id is not None:
                        done.bereft.add(below.parent_id)  # it was top-level
                    if (below.parent_id, below.ordinal) != (parent.id, ordinal):
                        below.parent_id, below.ordinal = parent.id, ordinal
        self.session.flush()

    def _rewrite_members(self, drafts: Sequence[Draft], rows: dict[int, schema.NodeRow],
                         done: Reconciled) -> None:
        row = schema.NodeMemberRow
        wanted = {rows[id(draft)].id: set(draft.members) for draft in drafts}
        stale = [node_id for node_id, members in self.members.items()
                 if wanted.get(node_id, set()) != members]
        for part in chunks(stale):
            self.session.execute(delete(row).where(
                row.node_id.in_(part), ~row.kind.startswith(PREFIX, autoescape=True)))
        fresh = [(kind, ref_id, node_id) for node_id, members in wanted.items()
                 if members and (node_id in stale or node_id not in self.members)
                 for kind, ref_id in sorted(members)]
        for start in range(0, len(fresh), 250):
            part_of = fresh[start:start + 250]
            # A record whose stamp was corrected may still belong to a node far away.
            ids: dict[str, list[int]] = {}
            for kind, ref_id, _ in part_of:
                ids.setdefault(kind, []).append(ref_id)
            # Kind by kind: SQLite reads the whole table for a list of pairs.
            taken = or_(*(and_(row.kind == kind, row.ref_id.in_(found))
                          for kind, found in ids.items()))
            node = schema.NodeRow
            done.left += [Interval(first_ns, last_ns) for first_ns, last_ns in self.session.execute(
                select(node.start_ns, node.end_ns).distinct()
                .join(row, row.node_id == node.id).where(taken))]
            self.session.execute(delete(row).where(taken))
            self.session.execute(insert(row), [
                {'kind': kind, 'ref_id': ref_id, 'node_id': node_id}
                for kind, ref_id, node_id in part_of])

    def _put_documents(self, rows: Sequence[schema.NodeRow]) -> None:
        """Renew the searchable texts; those of new nodes at once."""
        fresh = []
        for row in rows:
            if row.id in self.nodes:
                self.writer.store.put_document(self.session, 'node', row)
            else:
                fresh.append({
                    'kind': 'node', 'ref_id': row.id, 'robot_id': row.robot_id,
                    'start_ns': row.start_ns, 'end_ns': row.end_ns,
                    'text': text_of(record_of('node', row, ''))})
        if fresh:
            self.session.execute(insert(schema.DocumentRow), fresh)

    def _remove(self, node_ids: Sequence[int]) -> None:
        document, node = schema.DocumentRow, schema.NodeRow
        for part in chunks(node_ids):
            self.session.execute(delete(document).where(
                document.kind == 'node', document.ref_id.in_(part)))
            self.session.execute(delete(node).where(node.id.in_(part)))


def values_of_draft(draft: Draft) -> dict[str, Any]:
    """Return what a draft says of its node, with texts that a database can hold."""
    values = {name: getattr(draft, name) for name in DERIVED}
    for name in ('summary', 'name', 'status'):
        values[name] = storable(values[name])
    return values
