"""Days looked at again when what was seen is odd: clocks that jumped, looks that are none."""

from __future__ import annotations

from entity_parts import NOON_NS, held, see
import numpy as np
import pytest
from sqlalchemy import delete

from emv_ros.biography import neighbourhood
from emv_ros.biography.association import Associator
from emv_ros.biography.corrections import rename
from emv_ros.biography.reconsidering import MARK, Reconsidering, ReconsiderReport
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import BiographySettings

DAY_S = 86_400
SETTINGS = BiographySettings(match_similarity=0.97, consistent_similarity=0.83,
                             group_similarity=0.95)


def again(store: MemoryStore, robot: str = 'r1', finish: bool = False) -> ReconsiderReport:
    associator = Associator(store, SETTINGS, robot)
    associator.run()
    return Reconsidering(store, SETTINGS, robot, associator).run(finish=finish)


def turned(store: MemoryStore, start_s: float, degrees: float, robot: str = 'r1',
           vector: np.ndarray | None = None) -> int:
    key = see(store, start_s, robot=robot)
    if vector is None:
        vector = np.zeros(8, '<f4')
        vector[:2] = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    with store.writing() as session:
        session.add(schema.AppearanceRow(
            observation_id=key, model='hand', vector=vector.astype('<f4').tobytes()))
    return key


def test_a_clock_that_jumped_ahead_does_not_end_the_looking_again(memory: MemoryStore) -> None:
    turned(memory, 0, 180)
    turned(memory, 20_000 * DAY_S, 270)  # once, and then the clock was set right
    again(memory)
    for day in (1, 2):
        for at, degrees in enumerate((0, 20, 5)):
            turned(memory, day * DAY_S + 100 * at, degrees + 90 * (day - 1))
    turned(memory, 3 * DAY_S, 225)
    assert again(memory).changed == 2
    mark = memory.state(f'{MARK}1')
    assert mark is not None and mark['id'] == 9  # what the days brought is not read again
    assert sorted(map(len, held(memory).values())) == [1, 1, 1, 3, 3]


def test_two_names_stay_two_where_what_they_were_given_to_is_gone(memory: MemoryStore) -> None:
    for at, degrees in enumerate((0, 20, 0.5, 20.5)):
        turned(memory, 100 * at, degrees)
    Associator(memory, SETTINGS, 'r1').run()
    first, second = held(memory)
    assert first is not None and second is not None
    for entity_id, name in ((first, 'her mug'), (second, 'my mug')):
        rename(memory, entity_id, name, author='ann', stamp_ns=NOON_NS)
    with memory.writing() as session:  # as forgetting leaves it
        session.execute(delete(schema.NamingRow))
    again(memory, finish=True)
    assert list(held(memory).values()) == [[1, 3], [2, 4]]
    with memory.reading() as session:
        assert [session.get_one(schema.EntityRow, key).name for key in (first, second)] == [
            'her mug', 'my mug']


def test_looks_that_are_none_and_a_day_with_one_thing(memory: MemoryStore) -> None:
    assert again(memory, finish=True).neighbourhoods == 0  # nothing was seen at all
    turned(memory, 0, 0)
    for at, vector in enumerate((np.full(8, np.nan), np.zeros(8), np.full(8, np.inf),
                                 np.ones(3), np.zeros(0))):
        turned(memory, 100 + at, 0, vector=vector)
    report = again(memory, finish=True)
    assert (report.changed, report.left) == (0, 0)
    assert held(memory)[1] == [1]


def test_two_robots_are_looked_at_each_by_itself(memory: MemoryStore) -> None:
    for robot in ('r1', 'r2'):
        for at, degrees in enumerate((0, 20, 5)):
            turned(memory, 100 * at, degrees, robot=robot)
    assert again(memory, 'r1', finish=True).merged == 1
    assert held(memory)[None] == [4, 5, 6]
    assert again(memory, 'r2', finish=True).merged == 1
    assert sorted(held(memory).values()) == [[1, 2, 3], [4, 5, 6]]


def test_a_neighbourhood_of_many_units_is_left_and_counted(
        memory: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has no looks costs, too: the units of a neighbourhood are compared with one another."""
    for at, degrees in enumerate((0, 20, 5)):
        turned(memory, 100 * at, degrees)
    Associator(memory, SETTINGS, 'r1').run()
    for at in range(4):
        see(memory, 1000 + 100 * at, entity_id=1)
    monkeypatch.setattr(neighbourhood, 'MOST_UNITS', 6)
    report = again(memory, finish=True)
    assert (report.left, report.changed) == (1, 0)
    turned(memory, 5000, 3)
    monkeypatch.setattr(neighbourhood, 'MOST_UNITS', 8)
    assert again(memory, finish=True).changed == 1
