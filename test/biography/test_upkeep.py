"""What a consolidation does for biographies: words, entities and names, before the tree."""

from __future__ import annotations

import threading

from entity_parts import held, look, see, written
import pytest
from sqlalchemy import select

from emv_ros.biography.holding import NOTE
from emv_ros.biography.upkeep import Upkeep, keep
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import Settings

pytestmark = pytest.mark.both_databases

SETTINGS = Settings()


def rows(store: MemoryStore) -> list[schema.ObservationRow]:
    with store.reading() as session:
        return list(session.scalars(select(schema.ObservationRow).order_by(
            schema.ObservationRow.id)))


def entity_names(store: MemoryStore) -> list[str]:
    with store.reading() as session:
        return list(session.scalars(select(schema.EntityRow.name).order_by(schema.EntityRow.id)))


def test_what_the_detector_saw_gets_words_and_an_entity(memory: MemoryStore) -> None:
    look(memory, 0, 0, made_by='detector')
    look(memory, 60, 0, made_by='detector')
    report = keep(memory, SETTINGS, 'r1')
    assert report.lines()[-1] == '2 observations joined 1 entity, 1 new'
    assert report.described.by_rule == 2
    assert [row.made_by for row in rows(memory)] == ['rule', 'rule']
    assert held(memory) == {1: [1, 2]}


def test_nothing_new_nothing_told(memory: MemoryStore) -> None:
    look(memory, 0, 0, made_by='detector')
    upkeep = Upkeep(memory, SETTINGS)
    upkeep.keep('r1')
    before = written(memory)
    assert upkeep.keep('r1').lines() == []
    assert written(memory) == before  # not so much as a transaction was written


def test_a_person_named_by_clothing_names_the_entity(memory: MemoryStore) -> None:
    """Anna is told once, in red; whoever else is in red that day is she."""
    red = {'is_person': True, 'attributes': {'colour': 'red', 'clothing': 'red'}}
    look(memory, 0, 0, name='Anna', made_by='source', **red)
    for at in range(2):
        look(memory, 60 + 60 * at, 5, name='person', made_by='rule', **red)
    report = keep(memory, SETTINGS, 'r1')
    named = {row.name for row in rows(memory)}
    assert report.named.named == 2 and named == {'Anna'}
    assert entity_names(memory) == ['Anna', 'Anna']


def test_canceled_it_leaves_the_rest_to_the_next(memory: MemoryStore) -> None:
    look(memory, 0, 0)
    cancel = threading.Event()
    cancel.set()
    assert keep(memory, SETTINGS, 'r1', cancel=cancel).associated.canceled
    assert keep(memory, SETTINGS, 'r1').associated.new == 1


def test_a_rebuild_that_was_killed_is_ended(memory: MemoryStore) -> None:
    """It had noted entity 5 of the first, and was killed before it was associated anew."""
    with memory.writing() as session:
        robot_id = memory.robot_id(session, 'r1')
        session.add(schema.EntityRow(id=5, robot_id=robot_id, name='mug', is_person=False,
                                     attributes={}))
        session.add(schema.StateRow(key=f'{NOTE}{robot_id}', value={'entities': {'5': [1]}}))
    look(memory, 0, 0)
    keep(memory, SETTINGS, 'r1')
    assert held(memory) == {5: [1]}
    assert memory.state(f'{NOTE}{robot_id}') is None


def test_of_a_robot_that_is_unknown_nothing_is_kept(memory: MemoryStore) -> None:
    see(memory, 0)
    assert keep(memory, SETTINGS, 'nobody').lines() == []
