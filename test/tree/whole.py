"""What is true of every tree at every moment, told by rows alone: written without the tree's code.

Slow and simple: it reads all tables and compares each row with its neighbours.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlalchemy import select

from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import TreeSettings
from emv_ros.timeline import SECOND_NS

MEMBER_KINDS = ('skill_event', 'utterance', 'scene', 'annotation', 'observation')
RAW_KINDS = ('image', 'joint_sample', 'pose')


class Tree:
    """All rows of a memory that have to do with its trees."""

    def __init__(self, store: MemoryStore) -> None:
        with store.reading() as session:
            self.rows = {row.id: row for row in session.scalars(select(schema.NodeRow))}
            self.members = [(row.kind, row.ref_id, row.node_id)
                            for row in session.scalars(select(schema.NodeMemberRow))]
            self.documents = list(session.scalars(
                select(schema.DocumentRow).where(schema.DocumentRow.kind == 'node')))
            self.states = {row.key: row.value for row in session.scalars(select(schema.StateRow))}
            self.records: dict[str, dict[int, tuple[int, int, bool]]] = {}
            for kind in (*MEMBER_KINDS, *RAW_KINDS):
                table = schema.KINDS[kind]
                self.records[kind] = {ref_id: tuple(values) for ref_id, *values in session.execute(
                    select(table.id, table.robot_id, table.stamp_ns, table.pending))}
        self.children: dict[int | None, list[Any]] = {}
        for row in self.rows.values():
            self.children.setdefault(row.parent_id, []).append(row)

    def path(self, node_id: int) -> list[Any]:
        """Return the nodes from one up to its root."""
        found = [self.rows[node_id]]
        while found[-1].parent_id is not None:
            found.append(self.rows[found[-1].parent_id])
            assert len(found) < 100, 'a circle of parents'
        return found


def check_whole(store: MemoryStore, settings: TreeSettings | None = None) -> None:
    """Fail unless the trees of a memory are whole; with settings, also finished."""
    tree = Tree(store)
    _check_roots(tree)
    for row in tree.rows.values():
        _check_children(tree, row)
    _check_records(tree)
    _check_raw(tree)
    _check_texts(tree)
    if settings is not None:
        _check_finished(tree, settings)


def _check_roots(tree: Tree) -> None:
    robots = [row.robot_id for row in tree.children.get(None, [])]
    assert len(robots) == len(set(robots)), 'two roots of one robot'
    assert set(robots) == {row.robot_id for row in tree.rows.values()}
    for node_id in tree.rows:
        assert tree.path(node_id)[-1].level >= 8, 'a root that is no period'


def _check_children(tree: Tree, row: Any) -> None:
    below = sorted(tree.children.get(row.id, []), key=lambda child: child.ordinal)
    assert below or row.level <= 3, 'a parent without children'
    assert len(below) != 1 or row.level in (3, 8), 'a group of one'
    assert [child.ordinal for child in below] == list(range(len(below)))
    starts = [child.start_ns for child in below]
    assert starts == sorted(starts)
    assert row.start_ns <= row.end_ns
    for child in below:
        assert row.start_ns <= child.start_ns <= child.end_ns <= row.end_ns
        assert row.level > child.level or row.level == child.level == 3
        assert row.robot_id == child.robot_id
    if below and row.level > 3:
        assert row.start_ns == starts[0]
        assert row.end_ns == max(child.end_ns for child in below)


def _check_records(tree: Tree) -> None:
    """Each record that does not wait belongs to one node, which has its stamp and robot."""
    held = {(kind, ref_id): node_id for kind, ref_id, node_id in tree.members}
    assert len(held) == len(tree.members)
    for kind in MEMBER_KINDS:
        for ref_id, (robot_id, stamp_ns, pending) in tree.records[kind].items():
            if pending:
                continue
            node = tree.rows[held[kind, ref_id]]
            assert node.robot_id == robot_id and node.level in (2, 3)
            assert node.start_ns <= stamp_ns <= node.end_ns
    for kind, ref_id, _ in tree.members:
        assert ref_id in tree.records[kind], 'a member that is gone'
    empty = {row.id for row in tree.rows.values() if row.level == 2} - {
        node_id for _, _, node_id in tree.members}
    assert all(tree.rows[node_id].summary.startswith('recorded ') for node_id in empty)


def _check_raw(tree: Tree) -> None:
    """A raw record lies in an event, or in the pause beside one."""
    near_ns = 2 * 60 * SECOND_NS
    tops = [row for row in tree.rows.values()
            if row.level <= 3 and tree.rows[row.parent_id].level > 3]
    for kind in RAW_KINDS:
        for robot_id, stamp_ns, pending in tree.records[kind].values():
            assert pending or any(
                row.robot_id == robot_id
                and row.start_ns - near_ns <= stamp_ns <= row.end_ns + near_ns for row in tops)


def _check_texts(tree: Tree) -> None:
    """The searchable texts are those of the nodes; what waits has only what waits above it."""
    assert Counter(row.ref_id for row in tree.documents) == Counter(
        row.id for row in tree.rows.values() if row.name or row.summary)
    for document in tree.documents:
        node = tree.rows[document.ref_id]
        assert ' '.join(node.summary.split())[:1500] in document.text
        assert (document.robot_id, document.start_ns, document.end_ns) == (
            node.robot_id, node.start_ns, node.end_ns)
    for node in tree.rows.values():
        assert node.summary
        if node.level >= 4 and node.made_by == 'calendar' and node.parent_id is not None:
            assert tree.rows[node.parent_id].made_by == 'calendar'
    for key in tree.states:
        if key.startswith('tree:head:'):
            assert tree.rows[int(key.rpartition(':')[2])].level >= 10


def _check_finished(tree: Tree, settings: TreeSettings) -> None:
    """Nothing waits, no group is too long, and only the latest branch is open."""
    assert not any(pending for rows in tree.records.values() for _, _, pending in rows.values())
    assert not any(key.startswith('tree:reopened:') for key in tree.states)
    for row in tree.rows.values():
        below = tree.children.get(row.id, [])
        if row.level == 4:
            assert len(below) <= 2 * settings.fan_out
        elif row.level <= 8 and row.level > 3:
            assert len(below) <= 3 * settings.fan_out
    edges = set()
    for root in tree.children.get(None, []):
        row = root
        while row.level >= 4:
            edges.add(row.id)
            row = max(tree.children[row.id], key=lambda child: child.ordinal)
    assert {row.id for row in tree.rows.values() if row.level >= 4 and row.is_open} == edges


def below_days(store: MemoryStore) -> list[tuple[Any, ...]]:
    """Return events and goals: span, text, members and the goal above, without ids."""
    tree = Tree(store)
    members: dict[int, list[tuple[str, int]]] = {}
    for kind, ref_id, node_id in tree.members:
        members.setdefault(node_id, []).append((kind, ref_id))
    rows = {node_id: row for node_id, row in tree.rows.items() if row.level <= 3}

    def mark(row: Any) -> tuple[Any, ...]:
        return (row.start_ns, row.end_ns, row.level, row.name, row.status, row.summary)

    return sorted((*mark(row), tuple(sorted(members.get(row.id, []))),
                   mark(rows[row.parent_id]) if row.parent_id in rows else ())
                  for row in rows.values())


def calendar(store: MemoryStore) -> list[tuple[Any, ...]]:
    """Return the days and the periods above them, each with the names on its path."""
    tree = Tree(store)
    return sorted((row.start_ns, row.end_ns, row.level, row.robot_id,
                   tuple(above.name for above in tree.path(row.id)))
                  for row in tree.rows.values() if row.level >= 8)
