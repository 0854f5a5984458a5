"""Everything associated anew: what persons said holds, ids stay, what was forgotten stays away."""

from __future__ import annotations

from functools import partial
from pathlib import Path
import shutil
import tempfile
import threading

from entity_parts import NOON_NS, apart, held, look, said
from hypothesis import Phase, given, settings as hypothesis_settings, strategies as st
import pytest
from sqlalchemy import select

from emv_ros.agent.forgetting import forget
from emv_ros.biography import corrections
from emv_ros.biography.association import associate
from emv_ros.biography.rebuild import rebuild
from emv_ros.errors import EmvError
from emv_ros.memory import schema
from emv_ros.memory.database import sqlite_url
from emv_ros.memory.lives import lives
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import BiographySettings

pytestmark = pytest.mark.both_databases

merge, split, rename = (
    partial(what, author='Anna', stamp_ns=NOON_NS)
    for what in (corrections.merge, corrections.split, corrections.rename))
LOOKS = BiographySettings()
STRICT = (0.75, 0.6)


def names(store: MemoryStore) -> dict[str, str]:
    return {life.id: life.name for life in lives(store)[0]}


@pytest.fixture
def seen(memory: MemoryStore) -> MemoryStore:
    """Three things that look different, seen three times each: o1 o4 o7 are e1, and so on."""
    for place in range(9):
        look(memory, 60 * place, place % 3)
    associate(memory, LOOKS, 'r1', STRICT)
    assert held(memory) == {1: [1, 4, 7], 2: [2, 5, 8], 3: [3, 6, 9]}
    return memory


def test_what_is_right_stays_as_it_is(seen: MemoryStore) -> None:
    rename(seen, 2, 'my mug')
    before = held(seen), said(seen), lives(seen)
    done = rebuild(seen, LOOKS, 'r1', STRICT)
    assert (done.observations, done.kept, done.new, done.gone) == (9, 3, 0, 0)
    assert (held(seen), said(seen), lives(seen)) == before
    with seen.reading() as session:
        assert session.query(schema.EntityRow).count() == 3


def test_merges_splits_and_names_hold(seen: MemoryStore) -> None:
    apart(seen, 4, 5)
    merge(seen, [2, 1], force=True, name='the mug')
    assert split(seen, 3, [6]).entities == (3, 4)
    rename(seen, 4, 'another')
    before = held(seen), said(seen), lives(seen)
    assert before[0] == {2: [1, 2, 4, 5, 7, 8], 3: [3, 9], 4: [6]}
    for _ in range(2):
        rebuild(seen, LOOKS, 'r1', STRICT)
        assert (held(seen), said(seen), lives(seen)) == before
    assert lives(seen, ids=['e1'])[0][0].id == 'e2'


def test_the_greatest_part_keeps_the_id_and_the_rest_gets_a_new_one(memory: MemoryStore) -> None:
    for place, off in enumerate((0, 0.7, 0, 0.7, 0)):
        look(memory, 60 * place, 1, off)
    associate(memory, LOOKS, 'r1', (0.7, 0.7))
    assert held(memory) == {1: [1, 2, 3, 4, 5]}
    done = rebuild(memory, LOOKS, 'r1', (0.9, 0.9))
    assert (done.kept, done.new) == (1, 1)
    (one, first), (two, second) = held(memory).items()
    assert (one, first, second) == (1, [1, 3, 5], [2, 4]) and two > 1
    done = rebuild(memory, LOOKS, 'r1', (0.7, 0.7))
    assert held(memory) == {1: [1, 2, 3, 4, 5]} and done.gone == 1
    assert lives(memory, ids=[f'e{two}'])[0][0].id == 'e1'  # an id that is left over answers


def test_what_was_forgotten_does_not_come_back(seen: MemoryStore) -> None:
    with seen.writing() as session:
        for key in (2, 5, 8, 4):
            session.delete(session.get(schema.ObservationRow, key))
    rebuild(seen, LOOKS, 'r1', STRICT)
    assert held(seen) == {1: [1, 7], 3: [3, 6, 9]}


def test_a_rebuild_that_was_ended_goes_on(seen: MemoryStore) -> None:
    rename(seen, 3, 'my mug')
    before = held(seen)
    cancel = threading.Event()
    cancel.set()
    assert rebuild(seen, LOOKS, 'r1', STRICT, cancel).canceled
    assert held(seen) == {None: list(range(1, 10))}
    look(seen, 600, 2)  # and life goes on
    associate(seen, LOOKS, 'r1', STRICT)
    assert rebuild(seen, LOOKS, 'r1', STRICT).kept == 3
    assert held(seen) == {**before, 3: [3, 6, 9, 10]} and names(seen)['e3'] == 'my mug'


def test_what_is_forgotten_while_a_rebuild_goes_on_leaves_no_name(seen: MemoryStore) -> None:
    for key, name in ((1, 'zanzibar'), (2, 'old pot'), (3, 'my mug')):
        rename(seen, key, name)
    cancel = threading.Event()
    cancel.set()
    assert rebuild(seen, LOOKS, 'r1', STRICT, cancel).canceled
    gone = [('observation', key) for key in (1, 4, 7)], [('entity', 2)], [('observation', 3)]
    for references in gone:
        forget(seen, references, author='Anna', reason='asked to', stamp_ns=NOON_NS)
    with seen.reading() as session:
        assert session.scalars(select(schema.EntityRow.name)).all() == ['my mug']
    rebuild(seen, LOOKS, 'r1', STRICT)
    assert held(seen) == {3: [6, 9]} and names(seen) == {'e3': 'my mug'}


def test_what_nothing_tells_of_any_more_stays_where_it_was(seen: MemoryStore) -> None:
    with seen.writing() as session:
        session.query(schema.AppearanceRow).delete()
    before = held(seen)
    assert rebuild(seen, LOOKS, 'r1', STRICT).kept == 3
    assert held(seen) == before


def test_what_was_seen_apart_from_one_is_apart_from_all_that_persons_said_is_the_same(
        memory: MemoryStore) -> None:
    first, other, last = (look(memory, 0, 0, 0.9), look(memory, 60, 0), look(memory, 61, 5))
    apart(memory, other, last)
    associate(memory, LOOKS, 'r1', STRICT)
    merge(memory, [1, 3])
    assert held(memory) == {1: [first, last], 2: [other]}
    rebuild(memory, LOOKS, 'r1', (0.3, 0.3))  # now the first and the other look the same
    assert held(memory) == {1: [first, last], 2: [other]}


def test_nobody_and_nothing(memory: MemoryStore) -> None:
    assert rebuild(memory, LOOKS, 'r1').observations == 0
    assert rebuild(memory, LOOKS, 'nobody').observations == 0


STEP = st.tuples(st.sampled_from(('merge', 'split', 'rename')), st.integers(0, 20),
                 st.integers(0, 20), st.booleans())


def do(store: MemoryStore, step: tuple[str, int, int, bool]) -> None:
    """Do one correction; one that makes no sense is refused, and changes nothing."""
    what, first, second, flag = step
    groups = held(store)
    entities = sorted(key for key in groups if key is not None)
    one, two = entities[first % len(entities)], entities[second % len(entities)]
    try:
        if what == 'merge':
            merge(store, [one, two], force=flag)
        elif what == 'split':
            split(store, one, groups[one][second % 3::2])
        else:
            rename(store, one, f'thing {first} {second}')
    except EmvError:
        pass


def components(store: MemoryStore) -> tuple[set[frozenset[int]], set[tuple[int, int]]]:
    """Return what persons said is one, and the pairs that they said are different."""
    of: dict[int, frozenset[int]] = {}
    different = set()
    for first, second, verdict in said(store):
        if verdict == 'different':
            different.add((first, second))
            continue
        whole = of.get(first, frozenset((first,))) | of.get(second, frozenset((second,)))
        of.update(dict.fromkeys(whole, whole))
    return set(of.values()), different


@pytest.fixture(scope='module')
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an empty memory, to be copied: quicker than to make one."""
    folder = tmp_path_factory.mktemp('empty') / 'memory'
    MemoryStore(folder, sqlite_url(folder), 'r1').close()
    return folder


@pytest.mark.sqlite_only  # many memories, each a copy of one file
@given(st.lists(st.integers(0, 2), min_size=3, max_size=7), st.lists(STEP, max_size=6))
@hypothesis_settings(max_examples=15, deadline=None,
                     phases=(Phase.explicit, Phase.reuse, Phase.generate))
def test_whatever_persons_said_holds(empty: Path, things: list[int], steps: list[tuple]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = shutil.copytree(empty, Path(place) / 'memory')
        with MemoryStore(folder, sqlite_url(folder), 'r1') as store:
            hold(store, things, steps)


def hold(store: MemoryStore, things: list[int], steps: list[tuple]) -> None:
    for place, thing in enumerate(things):
        look(store, 60 * place, thing)
    associate(store, LOOKS, 'r1', STRICT)
    for step in steps:
        do(store, step)
    groups, verdicts, told = held(store), said(store), names(store)
    rebuild(store, LOOKS, 'r1', STRICT)
    assert said(store) == verdicts
    entity_of = {key: entity for entity, keys in held(store).items() for key in keys}
    ties, different = components(store)
    for whole in ties:
        assert len({entity_of[key] for key in whole}) == 1
    for first, second in different:
        assert entity_of[first] != entity_of[second]
    # What looks agree with, or what was tied as a whole, is just as it was.
    assert sorted(map(sorted, held(store).values())) == sorted(
        map(sorted, groups.values()))
    assert names(store) == told
    before = held(store)
    rebuild(store, LOOKS, 'r1', STRICT)
    assert held(store) == before
