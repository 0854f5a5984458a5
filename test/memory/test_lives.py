"""Lives of things: entities, vouched instances, names; with others of their name."""

from __future__ import annotations

from pathlib import Path

import pytest

from emv_ros.memory import schema
from emv_ros.memory.lives import Life, lives, namesakes
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Observation
from emv_ros.settings import MemorySettings
from emv_ros.timeline import SECOND_NS

pytestmark = pytest.mark.both_databases

NOON_NS = 1_772_366_400 * SECOND_NS


def see(store: MemoryStore, start_s: int, name: str, instance: str = '',
        entity_id: int | None = None, robot: str = 'r1') -> int:
    return store.add(Observation(
        stamp_ns=NOON_NS + start_s * SECOND_NS, end_ns=NOON_NS + (start_s + 4) * SECOND_NS,
        name=name, instance=instance, entity_id=entity_id, robot=robot))


def entity(store: MemoryStore, name: str) -> int:
    with store.writing() as session:
        row = schema.EntityRow(robot_id=store.robot_id(session, 'r1'), name=name, is_person=False,
                               attributes={})
        session.add(row)
        session.flush()
        return int(row.id)


def told(found: list[Life]) -> list[tuple[str, list[int | None]]]:
    return [(life.id, [item.id for item in life.observations]) for life in found]


@pytest.fixture
def kitchen(tmp_path: Path):
    """Two mugs that are entities, cups that their source tells apart, and forks."""
    with MemoryStore.open(MemorySettings(robot='r1'), tmp_path) as store:
        first, second = entity(store, 'red mug'), entity(store, 'red mug')
        see(store, 0, 'mug', entity_id=first)       # o1
        see(store, 10, 'mug', entity_id=second)     # o2
        see(store, 20, 'cup', 'cup_1')              # o3
        see(store, 30, 'cup', 'cup_2')              # o4
        see(store, 40, 'glass', 'cup_1')            # o5: the source calls it another name
        see(store, 50, 'fork')                      # o6
        see(store, 60, 'fork')                      # o7
        see(store, 70, 'fork', robot='r2')          # o8
        see(store, 80, 'goblet', entity_id=first)   # o9
        yield store


def test_things_by_when_they_were_first_seen(kitchen: MemoryStore) -> None:
    found, total = lives(kitchen)
    assert told(found) == [('e1', [1, 9]), ('e2', [2]), ('cup_1', [3, 5]), ('cup_2', [4]),
                           ('fork', [6, 7]), ('fork', [8])]
    assert total == 6
    assert [life.name for life in found] == ['red mug', 'red mug', 'cup', 'cup', 'fork', 'fork']


def test_pages(kitchen: MemoryStore) -> None:
    found, total = lives(kitchen, limit=2, offset=1)
    assert (told(found), total) == ([('e2', [2]), ('cup_1', [3, 5])], 6)
    assert lives(kitchen, limit=2, offset=9) == ([], 6)


@pytest.mark.parametrize(('asked', 'expected'), [
    ({'ids': ['e1']}, ['e1']), ({'ids': ['cup_1', 'e2', 'e77']}, ['e2', 'cup_1']),
    ({'ids': ['e' + '9' * 40]}, []), ({'ids': ['fork']}, []),  # a name is no id
    ({'name': 'Red Mug'}, ['e1', 'e2']), ({'name': 'goblet'}, ['e1']), ({'name': 'cups'}, [
        'cup_1', 'cup_2']), ({'ids': ['e1'], 'name': 'fork'}, []), ({'name': 'zebra'}, [])])
def test_what_is_asked_for(kitchen: MemoryStore, asked: dict, expected: list[str]) -> None:
    found, total = lives(kitchen, **asked)
    assert ([life.id for life in found], total) == (expected, len(expected))


def test_windows_robots_and_the_time_of_the_question(kitchen: MemoryStore) -> None:
    def seen(**window: object) -> list[tuple[str, list[int | None]]]:
        return told(lives(kitchen, Window(**window))[0])  # type: ignore[arg-type]
    assert seen(robots=('r2',)) == [('fork', [8])]
    assert seen(start_ns=NOON_NS + 35 * SECOND_NS, end_ns=NOON_NS + 55 * SECOND_NS) == [
        ('cup_1', [5]), ('fork', [6])]
    assert seen(before_ns=NOON_NS + 10 * SECOND_NS) == [('e1', [1])]


def test_others_of_the_name_as_they_were_known(kitchen: MemoryStore) -> None:
    assert [(life.different, life.unresolved) for life in lives(kitchen, ids=['e1', 'e2'])[0]] == [
        ((), (2,)), ((), (1,))]
    with kitchen.writing() as session:
        session.add(schema.SeparationRow(first_id=1, second_id=2, shared_frames=4))
    assert [(life.different, life.unresolved) for life in lives(kitchen, ids=['e1', 'e2'])[0]] == [
        ((2,), ()), ((1,), ())]
    with kitchen.reading() as session:
        assert namesakes(session, [1], NOON_NS + 5 * SECOND_NS) == {1: []}
        assert namesakes(session, [1], most=0) == {1: []}


def test_a_verdict_tells_two_apart(kitchen: MemoryStore) -> None:
    with kitchen.writing() as session:
        session.add(schema.VerdictRow(first_id=2, second_id=9, verdict='different', author='Anna',
                                      stamp_ns=NOON_NS + 500 * SECOND_NS))
    with kitchen.reading() as session:
        assert namesakes(session, [1, 2]) == {1: [(2, 'told apart')], 2: [(1, 'told apart')]}
        assert namesakes(session, [1], NOON_NS + 400 * SECOND_NS) == {1: [(2, '')]}


def test_what_was_merged_after_the_question_is_not_known(kitchen: MemoryStore) -> None:
    with kitchen.writing() as session:
        gone = schema.EntityRow(robot_id=1, name='mug', is_person=False, attributes={},
                                merged_into=1)
        session.add_all([gone, schema.VerdictRow(
            first_id=1, second_id=9, verdict='same', author='Anna',
            stamp_ns=NOON_NS + 500 * SECOND_NS)])
        session.flush()
        key = gone.id

    def merged(before_s: int | None) -> tuple[int, ...]:
        before_ns = None if before_s is None else NOON_NS + before_s * SECOND_NS
        return lives(kitchen, Window(before_ns=before_ns), ids=['e1'])[0][0].merged

    assert [merged(before_s) for before_s in (None, 501, 500, 400)] == [(key,), (key,), (), ()]


def test_an_end_after_the_question_is_not_known(memory: MemoryStore) -> None:
    see(memory, 0, 'cup', 'a')
    life, = lives(memory, Window(before_ns=NOON_NS + SECOND_NS))[0]
    assert [item.end_ns for item in life.observations] == [NOON_NS + SECOND_NS]


def test_names_and_words_that_came_after_the_question_are_not_known(kitchen: MemoryStore) -> None:
    key = kitchen.add(Observation(
        stamp_ns=NOON_NS, end_ns=NOON_NS + 90 * SECOND_NS, name='mug', entity_id=1, robot='r1',
        event='It was put into the sink.', made_by='rule'))
    with kitchen.writing() as session:
        row = session.get_one(schema.EntityRow, 1)
        row.name = "Anna's mug"
        row.attributes = {'named_by': 'Ben', 'aliases': ['pot', 'red mug', 'mug']}
        for name, stamp_s in (('pot', 20), ("Anna's mug", 50)):
            session.add(schema.NamingRow(observation_id=1, name=name, author='Ben',
                                         stamp_ns=NOON_NS + stamp_s * SECOND_NS))

    def life(second: int | None) -> Life:
        before_ns = None if second is None else NOON_NS + second * SECOND_NS
        return lives(kitchen, Window(before_ns=before_ns), ids=['e1'])[0][0]

    assert [(life(second).name, set(life(second).aliases)) for second in (10, 30, 60, None)] == [
        ('mug', set()), ('pot', {'mug'}), ("Anna's mug", {'pot', 'mug'}),
        ("Anna's mug", {'pot', 'red mug', 'mug'})]
    assert [next(item.event for item in life(second).observations if item.id == key)
            for second in (30, None)] == ['', 'It was put into the sink.']
