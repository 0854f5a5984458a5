"""Records in a transaction: all or none, their robot, session, ids and searchable texts."""

from dataclasses import replace
from pathlib import Path

from databases import database_url, is_postgresql, rows
from memory_parts import at, joints, picture, report, said
import pytest
from sqlalchemy import delete, func, select

from emv_ros.errors import NotFoundError, RecordError, StoreValueError
from emv_ros.memory import queries, schema
from emv_ros.memory.store import MemoryStore
from emv_ros.records import (
    Annotation,
    Node,
    Observation,
    Pose,
    Scene,
    SceneObject,
    SceneRelation,
)

pytestmark = pytest.mark.both_databases


def documents(memory: MemoryStore) -> list[str]:
    with memory.reading() as session:
        return list(session.scalars(select(schema.DocumentRow.text).order_by(
            schema.DocumentRow.id)))


def vectors(memory: MemoryStore) -> int:
    with memory.reading() as session:
        return session.scalar(select(func.count()).select_from(schema.EmbeddingRow)) or 0


def test_ids_come_in_the_order_of_the_records(memory: MemoryStore) -> None:
    ids = memory.add_many([
        said(2, 'b'), joints(1, 0.5), said(1, 'a'), report(0, 'running'), report(1, 'succeeded'),
        joints(2, 0.6)])
    assert ids == [1, 1, 2, 1, 1, 2]
    assert [memory.get('utterance', ref_id).text for ref_id in (1, 2)] == ['b', 'a']


def test_everything_comes_back_as_it_went_in(memory: MemoryStore) -> None:
    session_id = memory.begin_session(start_ns=at(0))
    records = [
        Scene(stamp_ns=at(1), objects=(
            SceneObject(name='cup', instance='cup_1', bbox=(1, 2, 3, 4), position=(0.1, 0.2, 0.3),
                        frame='map', confidence=0.9, state='full'),
            SceneObject(name='table')), relations=(SceneRelation(
                subject='cup_1', predicate='on', object='table'),), camera='head'),
        Pose(stamp_ns=at(1), frame='map', position=(1.0, 2.0, 3.0),
             orientation=(0.0, 0.0, 0.0, 1.0)),
        Pose(stamp_ns=at(2), frame='map', position=(1.0, 2.0, 3.0)),
        joints(3, 0.5, None), said(4, 'ünïcödé 杯子 🤖', confidence=0.5, extra={'a': [1, None]}),
        Annotation(stamp_ns=at(5), end_ns=at(6), kind='goal', text='Cook'),
        Observation(stamp_ns=at(5), end_ns=at(6), name='cup', attributes={'colour': 'red'}),
        replace(picture(7), sha256='00' * 32, frame='head_optical')]
    kinds = ('scene', 'pose', 'pose', 'joint_sample', 'utterance', 'annotation', 'observation',
             'image')
    for record, kind, ref_id in zip(records, kinds, memory.add_many(records), strict=True):
        whole = replace(record, id=ref_id, robot='robot', session_id=session_id)
        found = queries.scenes(memory)[0] if kind == 'scene' else memory.get(kind, ref_id)
        assert found == whole


@pytest.mark.parametrize(('record', 'reason'), [
    (said(0, 'no time', end_ns=at(-1)), 'before its start'),
    (replace(said(0, ''), stamp_ns=-1), 'outside the years 1970 to 2200'),
    (replace(said(0, ''), stamp_ns=2**63), 'outside the years'),
    (replace(said(0, ''), stamp_ns=1.5e18), 'no integer'),
    (replace(said(0, ''), stamp_ns=None), 'no integer'),
    (said(0, '\ud83e half a character'), 'surrogates'),
    (said(0, 'x', extra={'bytes': b'x'}), 'not JSON serializable'),
    (said(0, 'x', confidence=object()), 'object'),
    (joints(0, object()), 'JSON'),
    (said(0, 'x', session_id=99), '(?i)foreign key'),
    (Node(robot='robot', level=2, start_ns=0, end_ns=0, summary=''), 'no record'),
])
def test_one_bad_record_stores_none_and_says_why(
        memory: MemoryStore, record: object, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        memory.add_many([said(0, 'good'), record])  # type: ignore[list-item]
    assert memory.counts()['utterance'] == 0
    assert memory.robots() == []
    memory.add(said(0, 'good'))
    assert [item.text for item in queries.utterances(memory)] == ['good']


def test_an_error_does_not_show_what_was_said(memory: MemoryStore) -> None:
    with pytest.raises(StoreValueError) as caught:
        memory.add(said(0, 'the code of the safe is 1234', session_id=99))
    assert '1234' not in str(caught.value)


class TestRobotsAndSessions:

    def test_records_without_a_session_share_one(self, memory: MemoryStore) -> None:
        memory.add(said(0, 'a'))
        memory.add(said(1, 'b'))
        assert memory.counts()['session'] == 1

    def test_a_robot_of_a_failed_transaction_is_forgotten(self, memory: MemoryStore) -> None:
        with pytest.raises(RecordError):
            memory.add_many([said(0, 'a', robot='new'), said(1, 'b', robot='new'),
                             said(2, '\ud83e', robot='new')])
        memory.add(said(0, 'c', robot='other'))
        memory.add(said(0, 'd', robot='new'))
        assert [(item.robot, item.text) for item in queries.utterances(memory)] == [
            ('other', 'c'), ('new', 'd')]
        assert [queries.utterances(memory)[1].session_id] == [
            row['id'] for row in rows(memory.folder, 'SELECT max(id) AS id FROM session')]

    def test_a_session_of_a_failed_transaction_is_forgotten(self, memory: MemoryStore) -> None:
        first = memory.begin_session()
        with pytest.raises(RuntimeError), memory.writing() as session:
            memory.robot_id(session, 'robot')
            memory._place(session, said(0, 'x', robot='new'))
            raise RuntimeError
        memory.add(said(1, 'a'))
        memory.add(said(1, 'a', robot='new'))
        found = queries.utterances(memory)
        assert found[0].session_id == first
        assert [item.robot for item in found] == ['robot', 'new']

    def test_what_another_process_wiped_is_begun_again(self, memory: MemoryStore) -> None:
        memory.add(said(0, 'a'))
        with memory.writing() as session:
            for table in (schema.DocumentRow, schema.UtteranceRow, schema.SessionRow,
                          schema.RobotRow):
                session.execute(delete(table))
        memory.add(said(1, 'b'))
        found, = queries.utterances(memory)
        assert (found.id, found.session_id, found.text) == (2, 2, 'b')

    def test_zone_of_the_latest_session(self, memory: MemoryStore) -> None:
        assert memory.zone_of() == 'UTC'
        memory.begin_session('a', zone='Europe/Berlin')
        memory.begin_session('b', zone='Pacific/Auckland')
        assert memory.zone_of() == 'Pacific/Auckland'
        assert memory.zone_of(['a']) == 'Europe/Berlin'
        assert memory.zone_of(['nobody']) == 'UTC'

    def test_a_zone_that_does_not_exist(self, memory: MemoryStore) -> None:
        with pytest.raises(RecordError, match='Mars/Olympus'):
            memory.begin_session(zone='Mars/Olympus')


class TestTexts:

    def test_what_is_a_unit_has_one(self, memory: MemoryStore) -> None:
        memory.add_many([said(0, 'bring  the\ncup'), joints(0, 1.0), said(1, ''),
                         Annotation(stamp_ns=at(0), end_ns=at(1), kind='goal', text='Cook')])
        assert documents(memory) == ['user: bring the cup', 'user:', 'Cook']

    def test_a_text_that_changes_loses_its_vector_and_one_that_does_not_keeps_it(
            self, memory: MemoryStore) -> None:
        memory.add(report(0, 'running'))
        with memory.writing() as session:
            session.add(schema.EmbeddingRow(document_id=1, model='m', vector=b'1234'))
        memory.add(report(1, 'running'))
        assert (documents(memory), vectors(memory)) == (['Grasp (grasp) running'], 1)
        memory.add(report(2, 'succeeded'))
        assert (documents(memory), vectors(memory)) == (['Grasp (grasp) succeeded'], 0)

    def test_the_index_follows(self, memory: MemoryStore) -> None:
        memory.add_many([report(0, 'running'), said(0, 'hello')])
        memory.add(report(2, 'succeeded'))
        for word, count in (('running', 0), ('succeeded', 1), ('hello', 1)):
            found, = rows(memory.folder, 'SELECT count(*) AS n FROM document WHERE ' + (
                f"words @@ to_tsquery('emv_words', '{word}')" if is_postgresql() else
                f"id IN (SELECT rowid FROM document_text WHERE document_text MATCH '{word}')"))
            assert found['n'] == count


def test_no_id_is_used_again(tmp_path: Path) -> None:
    node = Node(robot='robot', level=2, start_ns=at(0), end_ns=at(1), summary='x')
    for _ in range(2):  # also after the memory was opened anew
        with MemoryStore(tmp_path, database_url(tmp_path), 'robot') as memory:
            with memory.node_writer() as writer:
                ids = [writer.add(node) for _ in range(7)]
            with memory.node_writer() as writer:
                writer.remove([ids[-1]])
                later = writer.add(node)
                assert later == ids[-1] + 1
                writer.remove([*ids, later])  # all of them
            with pytest.raises(NotFoundError, match=f'node {ids[-1]}'):
                memory.get('node', ids[-1])
    assert later == 16


def test_kinds_that_have_no_records(memory: MemoryStore) -> None:
    with pytest.raises(NotFoundError):
        memory.get('clip', 1)
