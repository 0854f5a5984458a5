"""The journal of changes names whatever came, changed or went, and is pruned."""

from __future__ import annotations

from pathlib import Path

from databases import database_url
from memory_parts import at, said
import pytest
from sqlalchemy import delete, func, insert, select, text, update

from emv_ros.memory import schema
from emv_ros.memory.changes import Mark, mark_of, since
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Node, Observation

pytestmark = pytest.mark.both_databases


def open_in(folder: Path) -> MemoryStore:
    return MemoryStore(folder, database_url(folder), 'robot')


def changes(store: MemoryStore, mark: Mark) -> set[tuple[str, int]] | None:
    with store.reading() as session:
        found = since(session, mark)
        assert found is None or found[1] == mark_of(session)
        return found and found[0]


def now(store: MemoryStore) -> Mark:
    with store.reading() as session:
        return mark_of(session)


def test_each_change_is_named(tmp_path: Path) -> None:
    with open_in(tmp_path) as store:
        mark = now(store)
        assert changes(store, mark) == set()
        store.add(said(0, 'a'))
        assert changes(store, mark) == {('utterance', 1), ('document', 1)}
        mark = now(store)
        store.add(Observation(stamp_ns=at(1), end_ns=at(2), name='cup', event='seen', text='a cup'))
        with store.writing() as session:
            robot = session.scalars(select(schema.RobotRow.id)).one()
            session.add(schema.ClipRow(robot_id=robot, camera='c', start_ns=at(0), end_ns=at(1)))
            session.add(schema.EntityRow(robot_id=robot, name='e', is_person=False, attributes={}))
        assert changes(store, mark) == {
            ('observation', 1), ('document', 2), ('clip', 1), ('entity', 1)}
        mark = now(store)
        with store.node_writer() as writer:
            writer.add(Node(robot='robot', level=2, start_ns=at(0), end_ns=at(2), summary='s'),
                       [('observation', 1), ('image', 3)])
        assert changes(store, mark) == {('node', 1), ('document', 3), ('observation', 1)}
        mark = now(store)
        with store.writing() as session:
            session.execute(update(schema.ObservationRow).values(clip_id=1))
            session.execute(update(schema.UtteranceRow).values(confidence=0.5))
        assert changes(store, mark) == {('observation', 1)}
        mark = now(store)
        with store.writing() as session:
            session.execute(insert(schema.EmbeddingRow).values(
                document_id=1, model='m', vector=b''))
        assert changes(store, mark) == {('document', 1)}


def test_what_goes_with_another_row_is_named(tmp_path: Path) -> None:
    with open_in(tmp_path) as store:
        store.add(Observation(stamp_ns=at(1), end_ns=at(2), name='cup', event='seen', text='a cup'))
        with store.node_writer() as writer:
            low = writer.add(Node(robot='robot', level=2, start_ns=at(0), end_ns=at(2),
                                  summary='s'), [('observation', 1)])
            high = writer.add(Node(robot='robot', level=3, start_ns=at(0), end_ns=at(2),
                                   summary=''), children=[low])
            writer.session.add(schema.ClipRow(
                robot_id=1, camera='c', start_ns=at(0), end_ns=at(1)))
            writer.session.flush()
            writer.session.execute(update(schema.ObservationRow).values(clip_id=1))
        mark = now(store)
        with store.writing() as session:
            session.execute(delete(schema.ClipRow))
            session.execute(delete(schema.NodeRow).where(schema.NodeRow.id == high))
        assert changes(store, mark) == {
            ('clip', 1), ('observation', 1), ('node', high), ('node', low)}
        mark = now(store)
        with store.writing() as session:
            session.execute(delete(schema.NodeRow))
        # Its text goes with it.
        assert changes(store, mark) == {('node', low), ('document', 2), ('observation', 1)}


def test_a_change_that_is_taken_back_leaves_nothing(tmp_path: Path) -> None:
    with open_in(tmp_path) as store:
        mark = now(store)
        try:
            with store.writing() as session:
                session.add(schema.RobotRow(name='r'))
                session.flush()
                session.add(schema.EntityRow(robot_id=1, name='e', is_person=False, attributes={}))
                session.flush()
                raise KeyError
        except KeyError:
            pass
        assert now(store) == mark


def test_it_is_pruned_and_says_so(tmp_path: Path) -> None:
    with open_in(tmp_path) as store:
        mark = now(store)
        with store.writing() as session:
            session.execute(text(
                "INSERT INTO change (id, kind, ref_id) VALUES (199500, 'entity', 1)"))
        middle = now(store)
        with store.writing() as session:
            session.execute(text(
                "INSERT INTO change (id, kind, ref_id) VALUES (201000, 'entity', 2)"))
        with store.reading() as session:
            assert session.scalar(select(func.min(schema.ChangeRow.id))) == 199_500
        assert changes(store, mark) is None
        assert changes(store, middle) == {('entity', 2)}


def test_another_memory_is_told_by_its_token(tmp_path: Path) -> None:
    with open_in(tmp_path / 'a') as one, open_in(tmp_path / 'b') as other:
        assert now(one).id == now(other).id
        assert changes(other, now(one)) is None
        assert changes(other, Mark()) is None
