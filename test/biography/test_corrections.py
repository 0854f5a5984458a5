"""What persons correct: merges, splits and names, refusals, repeats, old ids that still answer."""

from __future__ import annotations

from functools import partial

from entity_parts import NOON_NS, apart, entity, held, said, see
import pytest

from emv_ros.biography import corrections
from emv_ros.errors import CorrectionError, NotFoundError
from emv_ros.memory import schema
from emv_ros.memory.appearances import appearances
from emv_ros.memory.details import details
from emv_ros.memory.lives import lives
from emv_ros.memory.queries import observations
from emv_ros.memory.store import MemoryStore

pytestmark = pytest.mark.both_databases

merge, split, rename = (
    partial(what, author='Anna', stamp_ns=NOON_NS, reason='I saw it')
    for what in (corrections.merge, corrections.split, corrections.rename))


def documents(store: MemoryStore) -> dict[int, str]:
    with store.reading() as session:
        return {row.ref_id: row.text for row in session.query(schema.DocumentRow)
                if row.kind == 'observation'}


def test_a_merge_moves_all_to_the_first_and_the_others_still_answer(memory: MemoryStore) -> None:
    first, second, third = (entity(memory, seen=2) for _ in range(3))
    done = merge(memory, [second, third, first])
    assert (done.entities, done.is_new, len(done.verdicts)) == ((2,), True, 5)
    assert held(memory) == {2: [1, 2, 3, 4, 5, 6]}
    assert said(memory) == {(3, 4, 'same'), (4, 5, 'same'), (5, 6, 'same'), (1, 6, 'same'),
                            (1, 2, 'same')}
    for old in ('e1', 'e3', 'e2'):
        life, = lives(memory, ids=[old])[0]
        assert (life.id, len(life.observations), life.merged) == ('e2', 6, (1, 3))
        assert len(appearances(memory, old)) == 6
        shown = details(memory, 'entity', int(old[1:]))
        assert len(shown.members) == 6 and shown.values['merged_into'] == (
            None if old == 'e2' else 2)
        assert [item['verdict'] for item in shown.parts['verdicts']] == ['same'] * 5
        assert shown.parts['merged'] == [{'id': 'e1'}, {'id': 'e3'}]
    life, = lives(memory)[0]
    assert life.unresolved == ()  # what was merged is no other of the name


def test_merged_twice_over(memory: MemoryStore) -> None:
    for _ in range(3):
        entity(memory, seen=1)
    merge(memory, [2, 3])
    merge(memory, [1, 2])
    assert {old: lives(memory, ids=[old])[0][0].id for old in ('e1', 'e2', 'e3')} == dict.fromkeys(
        ('e1', 'e2', 'e3'), 'e1')


def test_the_same_merge_again_is_so_already(memory: MemoryStore) -> None:
    entity(memory, seen=1), entity(memory, seen=1)
    merge(memory, [1, 2])
    before = said(memory)
    again = merge(memory, [1, 2])
    assert not again.is_new and 'already' in again.message and said(memory) == before
    named = merge(memory, [2, 1], name='my mug')
    assert named.is_new and lives(memory)[0][0].name == 'my mug'


@pytest.mark.parametrize(('ids', 'words'), [
    ([1], 'two entities'), ([1, 1], 'each once'), ([], 'two entities'),
    ([1, 2], 'o1 and o2 were seen apart in 12 pictures'), ([1, 3], 'different, as Anna told'),
    ([1, 4], 'no observations'), ([1, 5], 'person'), ([1, 6], 'robots'), ([1, 8], 'e7')])
def test_merges_that_are_refused(memory: MemoryStore, ids: list[int], words: str) -> None:
    for _ in range(3):
        entity(memory, seen=1)
    entity(memory, seen=0)
    entity(memory, 'Bob', seen=1, is_person=True)
    entity(memory, robot='r2', seen=1)
    entity(memory, seen=1), entity(memory, seen=1)
    merge(memory, [7, 8])
    apart(memory, 1, 2)
    with memory.writing() as session:
        session.add(schema.VerdictRow(first_id=1, second_id=3, verdict='different',
                                      author='Anna', stamp_ns=NOON_NS))
    before = held(memory), said(memory)
    with pytest.raises(CorrectionError, match=words):
        merge(memory, ids)
    assert (held(memory), said(memory)) == before
    with pytest.raises(NotFoundError, match='e99'):
        merge(memory, [1, 99])


def test_who_insists_says_so_of_the_pairs_that_speak_against_it(memory: MemoryStore) -> None:
    for _ in range(2):
        entity(memory, seen=2)
    apart(memory, 2, 3)
    with memory.writing() as session:
        session.add(schema.VerdictRow(first_id=2, second_id=4, verdict='different',
                                      author='', stamp_ns=NOON_NS))
    merge(memory, [1, 2], force=True)
    assert said(memory) == {(1, 2, 'same'), (2, 3, 'same'), (3, 4, 'same'), (2, 4, 'same')}


def test_a_person_and_a_thing_by_force_but_never_two_robots(memory: MemoryStore) -> None:
    entity(memory, seen=1), entity(memory, 'Bob', seen=1, is_person=True)
    entity(memory, robot='r2', seen=1)
    assert merge(memory, [1, 2], force=True).entities == (1,)
    with pytest.raises(CorrectionError, match='robots'):
        merge(memory, [1, 3], force=True)


def test_a_split_makes_an_entity_of_its_own_that_is_another(memory: MemoryStore) -> None:
    entity(memory, seen=5)
    done = split(memory, 1, [4, 2], name='the other mug')
    assert (done.entities, done.is_new) == ((1, 2), True)
    assert held(memory) == {1: [1, 3, 5], 2: [2, 4]}
    assert said(memory) == {(1, 2, 'different'), (1, 3, 'same'), (3, 5, 'same'), (2, 4, 'same')}
    stays, goes = lives(memory)[0]
    assert (stays.name, goes.name, goes.aliases) == ('mug', 'the other mug', ('mug',))
    again = split(memory, 1, [2, 4])
    assert (again.entities, again.is_new) == ((1, 2), False)


@pytest.mark.parametrize(('ids', 'words'), [
    ([], 'a split takes'), ([1, 2], 'no other observations'), ([1, 3], 'o3 is not of e1 but of e2'),
    ([4], 'of no entity yet')])
def test_splits_that_are_refused(memory: MemoryStore, ids: list[int], words: str) -> None:
    entity(memory, seen=2), entity(memory, seen=1)
    see(memory, 0)
    with pytest.raises(CorrectionError, match=words):
        split(memory, 1, ids)
    with pytest.raises(NotFoundError, match='o99'):
        split(memory, 1, [99])
    with pytest.raises(NotFoundError, match='e9'):
        split(memory, 9, [1])
    assert said(memory) == set()


def test_what_was_merged_can_be_split_again_and_the_other_way(memory: MemoryStore) -> None:
    entity(memory, seen=2), entity(memory, seen=2)
    merge(memory, [1, 2])
    assert split(memory, 2, [3, 4]).entities == (1, 3)  # the old id means the entity it went into
    assert said(memory) == {(1, 3, 'different'), (1, 2, 'same'), (3, 4, 'same')}
    with pytest.raises(CorrectionError, match='different, as Anna told'):
        merge(memory, [1, 3])
    merge(memory, [1, 3], force=True)
    assert said(memory) == {(1, 2, 'same'), (1, 3, 'same'), (2, 3, 'same'), (3, 4, 'same')}


def test_a_name_is_found_by_and_the_old_one_still_is(memory: MemoryStore) -> None:
    entity(memory, seen=2)
    see(memory, 5, 'mug')
    done = rename(memory, 1, '  my\n mug ')
    assert done.is_new and done.namings
    assert documents(memory) == {1: 'my mug (mug)', 2: 'my mug (mug)', 3: 'mug'}
    assert not rename(memory, 1, 'my mug').is_new
    rename(memory, 1, "Anna's mug")
    assert documents(memory)[1] == "Anna's mug (mug)"
    life, = lives(memory, name="anna's mug")[0]
    assert (life.name, life.aliases) == ("Anna's mug", ('mug', 'my mug'))
    assert [item.id for item in appearances(memory, 'my mug')] == [1, 2]
    assert [life.id for life in lives(memory, name='my mug')[0]] == ['e1']
    assert [item['name'] for item in details(memory, 'entity', 1).parts['names']] == [
        'my mug', "Anna's mug"]


@pytest.mark.parametrize('name', ['', ' \n', 'a\x00b', 'x' * 201])
def test_names_that_are_none(memory: MemoryStore, name: str) -> None:
    entity(memory, seen=1)
    with pytest.raises(CorrectionError):
        rename(memory, 1, name)
    with pytest.raises(NotFoundError):
        rename(memory, 7, 'mug')


def test_names_through_merges_and_splits(memory: MemoryStore) -> None:
    for _ in range(3):
        entity(memory, seen=2)
    rename(memory, 2, 'my mug')
    merge(memory, [1, 2])  # a name that was given counts more than one that was not
    life = lives(memory, ids=['e1'])[0][0]
    assert (life.name, life.aliases) == ('my mug', ('mug',))
    assert documents(memory)[1] == 'my mug (mug)'
    rename(memory, 3, 'guest mug')
    merge(memory, [1, 3])  # of two the first
    assert lives(memory, ids=['e3'])[0][0].name == 'my mug'
    goes = split(memory, 1, [1, 2, 3, 4]).entities[1]
    assert lives(memory, ids=['e1'])[0][0].name == 'my mug'
    assert lives(memory, ids=[f'e{goes}'])[0][0].name == 'mug'
    assert documents(memory)[1] == 'mug' and documents(memory)[5] == 'my mug (mug)'
    with memory.reading() as session:  # each name stays with what it was given to
        assert {row.observation_id for row in session.query(schema.NamingRow)} == {5}


def test_what_the_whole_is_not_its_parts_are_not_either(memory: MemoryStore) -> None:
    entity(memory, seen=4)
    split(memory, 1, [3, 4])
    split(memory, 2, [4])
    assert {(first, second) for first, second, verdict in said(memory)
            if verdict == 'different'} == {(1, 3), (3, 4), (1, 4)}


def test_an_entity_that_there_is_not_has_no_observations(memory: MemoryStore) -> None:
    entity(memory, seen=1)
    see(memory, 0)  # of no entity: not what is meant by one that there is not
    found = [observations(memory, entity_id=key) for key in (1, 2, 99)]
    assert [len(items) for items in found] == [1, 0, 0]
    assert lives(memory, ids=['e99']) == ([], 0)
    with pytest.raises(NotFoundError):
        appearances(memory, 'e99')
