"""Entities looked at again when a day is over: what moves, what never does, and what is bounded."""

from __future__ import annotations

from itertools import combinations
import multiprocessing
import os
from pathlib import Path
import signal
from typing import Any

from databases import database_url
from entity_parts import NOON_NS, apart, held, said, see
from hypothesis import given, settings as drawn, strategies
import numpy as np
import pytest
from sqlalchemy import Engine, event, select

from emv_ros.biography import neighbourhood, reconsidering
from emv_ros.biography.association import Associator
from emv_ros.biography.corrections import merge, rename, split
from emv_ros.biography.rebuild import rebuild
from emv_ros.biography.reconsidering import MARK, Reconsidering, ReconsiderReport
from emv_ros.biography.upkeep import keep
from emv_ros.memory import schema
from emv_ros.memory.entities import standing
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import BiographySettings, Settings

pytestmark = pytest.mark.both_databases

DAY_S = 86_400
# Strict at once, so that one thing becomes two entities; generous when the day is over.
SETTINGS = BiographySettings(match_similarity=0.97, consistent_similarity=0.83,
                             group_similarity=0.95)
WHO = {'author': 'ann', 'stamp_ns': NOON_NS}


def again(store: MemoryStore, settings: BiographySettings = SETTINGS,
          finish: bool = True) -> ReconsiderReport:
    associator = Associator(store, settings, 'r1')
    associator.run()
    return Reconsidering(store, settings, 'r1', associator).run(finish=finish)


def turned(store: MemoryStore, start_s: float, degrees: float, **fields: Any) -> int:
    """See something whose looks lie at an angle in one plane."""
    key = see(store, start_s, fields.pop('name', 'mug'), **fields)
    vector = np.zeros(8, '<f4')
    vector[:2] = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    with store.writing() as session:
        session.add(schema.AppearanceRow(observation_id=key, model='hand',
                                         vector=vector.tobytes()))
    return key


def stands(store: MemoryStore, entity_id: int) -> int:
    with store.reading() as session:
        return standing(session, [entity_id])[entity_id]


def test_two_halves_of_one_thing_become_one_and_the_older_id_stays(memory: MemoryStore) -> None:
    for at, degrees in enumerate((0, 20, 5)):  # the third joins one; between them nothing is far
        turned(memory, 100 * at, degrees)
    Associator(memory, SETTINGS, 'r1').run()
    assert len(held(memory)) == 2
    report = again(memory)
    assert held(memory) == {1: [1, 2, 3]} and stands(memory, 2) == 1
    assert (report.merged, report.made, report.changed) == (1, 0, 1)
    assert 'went into others' in report.words()
    assert again(memory).words() == ''


def test_a_day_must_be_over(memory: MemoryStore) -> None:
    for at, degrees in enumerate((0, 20, 5)):
        turned(memory, 100 * at, degrees)
    assert again(memory, finish=False).neighbourhoods == 0 and len(held(memory)) == 2
    turned(memory, DAY_S, 90)
    report = again(memory, finish=False)
    assert report.changed == 1 and held(memory)[1] == [1, 2, 3]
    # The observation of the day that goes on is looked at when that is over.
    turned(memory, 2 * DAY_S, 180)
    assert again(memory, finish=False).neighbourhoods == 1


def test_a_wrong_one_leaves_for_a_thing_that_was_seen_later(memory: MemoryStore) -> None:
    loose = BiographySettings(match_similarity=0.9, consistent_similarity=0.8,
                              group_similarity=0.97)
    for at, degrees in enumerate((0, 24, 25, 26, 1, 2)):
        turned(memory, 100 * at, degrees)
    apart(memory, 1, 3)
    Associator(memory, loose, 'r1').run()
    assert held(memory)[1][:2] == [1, 2]  # the second had nothing else to be
    report = again(memory, loose)
    assert held(memory) == {1: [1, 5, 6], 2: [2, 3, 4]} and report.observations == 1


def test_never_and_other_notions_of_identity_change_nothing(memory: MemoryStore) -> None:
    for at, degrees in enumerate((0, 20, 5)):
        turned(memory, 100 * at, degrees)
    for settings in (BiographySettings(match_similarity=0.97, group_similarity=0.9,
                                       reconsider='never'),
                     BiographySettings(match_similarity=0.97)):  # the model said nothing of it
        assert again(memory, settings).changed == 0
        assert len(held(memory)) == 2


def test_what_persons_said_stays_true(memory: MemoryStore) -> None:
    for at in range(4):
        turned(memory, 100 * at, 0)
    for at in range(2):
        turned(memory, 1000 + 100 * at, 80)
    Associator(memory, SETTINGS, 'r1').run()
    assert held(memory) == {1: [1, 2, 3, 4], 2: [5, 6]}
    split(memory, 1, [3, 4], **WHO)  # they look alike and are two
    merge(memory, [2, 1], **WHO)  # they look unlike and are one
    before, told = held(memory), said(memory)
    assert again(memory).changed == 0 and (held(memory), said(memory)) == (before, told)


def test_a_name_goes_with_its_observation_and_two_names_are_two_things(
        memory: MemoryStore) -> None:
    for at, degrees in enumerate((0, 20, 5, 1)):
        turned(memory, 100 * at, degrees)
    Associator(memory, SETTINGS, 'r1').run()
    first, second = held(memory)
    assert first is not None and second is not None
    rename(memory, second, 'my mug', **WHO)
    again(memory)
    assert list(held(memory)) == [first]
    with memory.reading() as session:
        assert session.get_one(schema.EntityRow, first).name == 'my mug'
        texts = session.scalars(select(schema.DocumentRow.text).where(
            schema.DocumentRow.kind == 'observation')).all()
    assert len(texts) == 4 and all('my mug' in text for text in texts)


def test_two_names_by_persons_are_two_things(memory: MemoryStore) -> None:
    for at, degrees in enumerate((0, 20, 5, 1)):
        turned(memory, 100 * at, degrees)
    Associator(memory, SETTINGS, 'r1').run()
    first, second = held(memory)
    assert first is not None and second is not None
    rename(memory, first, 'her mug', **WHO)
    rename(memory, second, 'my mug', **WHO)
    again(memory)
    assert len(held(memory)) == 2
    with memory.reading() as session:
        assert [session.get_one(schema.EntityRow, key).name for key in (first, second)] == [
            'her mug', 'my mug']


def test_the_next_observation_finds_what_changed(memory: MemoryStore) -> None:
    associator = Associator(memory, SETTINGS, 'r1')
    for at, degrees in enumerate((0, 20, 5)):
        turned(memory, 100 * at, degrees)
    associator.run()
    Reconsidering(memory, SETTINGS, 'r1', associator).run(finish=True)
    turned(memory, 1000, 12)
    report = associator.run()
    assert report.new == 0 and held(memory) == {1: [1, 2, 3, 4]}


def test_too_large_is_left_and_counted(
        memory: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for at, degrees in enumerate((0, 20, 5)):
        turned(memory, 100 * at, degrees)
    monkeypatch.setattr(neighbourhood, 'MOST_LOOKS', 2)
    report = again(memory)
    assert (report.left, report.changed) == (1, 0) and 'too large' in report.words()


def test_a_long_life_is_one_unit_of_which_few_are_read(
        memory: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settled part of a long entity stays one; what came since may leave it."""
    monkeypatch.setattr(neighbourhood, 'SPREAD', 4)
    for at in range(30):
        turned(memory, 100 * at, 0.1 * at)
    again(memory)
    fresh = [turned(memory, 5000 + 100 * at, 1) for at in range(3)]
    read: list[int] = []
    plain = neighbourhood.looks_by
    monkeypatch.setattr(neighbourhood, 'looks_by', lambda session, model, ids: (
        read.extend(ids), plain(session, model, ids))[1])
    assert again(memory).neighbourhoods == 1
    assert len(read) == 4 + 3 and set(fresh) < set(read)
    assert list(held(memory)) == [1]


def test_with_nothing_new_it_is_two_queries(memory: MemoryStore) -> None:
    for at in range(3):
        turned(memory, 100 * at, 10 * at)
    associator = Associator(memory, SETTINGS, 'r1')
    associator.run()
    keeper = Reconsidering(memory, SETTINGS, 'r1', associator)
    keeper.run()
    asked: list[str] = []
    watch = lambda *given: asked.append(given[2])  # noqa: E731
    event.listen(Engine, 'before_cursor_execute', watch)
    try:
        keeper.run()
    finally:
        event.remove(Engine, 'before_cursor_execute', watch)
    rows = [statement for statement in asked if 'FROM observation' in statement]
    assert len(rows) <= 2 and len(asked) <= 8


def test_a_rebuild_lets_all_days_be_looked_at_again(memory: MemoryStore) -> None:
    for at, degrees in enumerate((0, 20, 5)):
        turned(memory, 100 * at, degrees)
    again(memory)
    rebuild(memory, SETTINGS, 'r1')
    assert len(held(memory)) == 2
    again(memory)
    assert held(memory) == {1: [1, 2, 3]}


def test_a_consolidation_does_it_and_says_so(memory: MemoryStore) -> None:
    for at, degrees in enumerate((0, 20, 5)):
        turned(memory, 100 * at, degrees)
    settings = Settings(biography=SETTINGS)
    assert keep(memory, settings, 'r1').reconsidered.neighbourhoods == 0
    turned(memory, DAY_S, 90)
    report = keep(memory, settings, 'r1')
    assert report.reconsidered.changed == 1
    assert any('looked at again' in line for line in report.lines())


def _killed(folder: Path, url: str) -> None:
    """Reconsider, and die when the second neighbourhood is about to be written."""
    plain, done = reconsidering.regroup, []

    def dying(*told: Any) -> Any:
        if done:
            os.kill(os.getpid(), signal.SIGKILL)
        done.append(1)
        return plain(*told)

    reconsidering.regroup = dying
    with MemoryStore(folder, url, 'r1', busy_timeout_s=5.0) as store:
        Reconsidering(store, SETTINGS, 'r1', Associator(store, SETTINGS, 'r1')).run(finish=True)


def test_killed_between_neighbourhoods_the_next_run_ends_it(
        memory: MemoryStore, tmp_path: Path) -> None:
    for at, degrees in enumerate((0, 20, 5, 90, 110, 95, 180, 200, 185)):
        turned(memory, 100 * at, degrees)
    Associator(memory, SETTINGS, 'r1').run()
    assert len(held(memory)) == 6
    child = multiprocessing.get_context('spawn').Process(
        target=_killed, args=(memory.folder, database_url(memory.folder)))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    assert len(held(memory)) == 5 and memory.state(f'{MARK}1') is None
    report = again(memory)
    assert report.changed == 2
    assert list(held(memory).values()) == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]


@pytest.mark.sqlite_only  # many memories; the others do the same on a server
@drawn(max_examples=12, deadline=None)
@given(seed=strategies.integers(0, 10_000))
def test_apart_is_apart_and_nothing_is_lost(seed: int, tmp_path_factory: Any) -> None:
    chance = np.random.default_rng(seed)
    folder = tmp_path_factory.mktemp('life') / 'memory'
    with MemoryStore(folder, database_url(folder), 'r1', busy_timeout_s=5.0) as store:
        pairs, instances = [], {}
        for day in range(2):
            for clip in range(5):
                start_s = day * DAY_S + 1000 * clip
                ids = [turned(store, start_s, float(chance.normal(12 * thing, 6)),
                              instance=f'cup_{thing}' if chance.random() < 0.2 else '')
                       for thing in chance.permutation(5)[:3].tolist()]
                with store.reading() as session:
                    row = schema.ObservationRow
                    instances |= dict(session.execute(select(row.id, row.instance).where(
                        row.id.in_(ids), row.instance != '')).all())
                for first, second in combinations(ids, 2):
                    if chance.random() < 0.7:
                        apart(store, first, second)
                        pairs.append((first, second))
            again(store)
        found = held(store)
        assert None not in found and sum(map(len, found.values())) == 30
        entity_of = {key: entity_id for entity_id, keys in found.items() for key in keys}
        assert not [pair for pair in pairs if entity_of[pair[0]] == entity_of[pair[1]]]
        for first, second in combinations(instances, 2):
            assert (instances[first] == instances[second]
                    or entity_of[first] != entity_of[second])
        with store.reading() as session:
            ids = list(session.scalars(select(schema.EntityRow.id)))
            assert set(standing(session, ids).values()) == set(found)


def test_boxes_without_looks_stay_where_most_of_their_entity_is(memory: MemoryStore) -> None:
    blind = see(memory, 50, instance='m1')
    for at, degrees in enumerate((0, 20, 5)):
        turned(memory, 100 + 100 * at, degrees, instance='m1' if at == 0 else '')
    again(memory)
    assert held(memory) == {1: [blind, 2, 3, 4]}
