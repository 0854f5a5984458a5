"""What persons made one of unlike things is met again by each of its looks."""

from __future__ import annotations

from entity_parts import NOON_NS, apart, held, look
import numpy as np
import pytest

from emv_ros.biography import corrections, verdicts
from emv_ros.biography.association import Associator
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import BiographySettings

pytestmark = pytest.mark.both_databases

TOLD = {'author': 'Anna', 'stamp_ns': NOON_NS}


def keeper(store: MemoryStore, references: int = 10) -> Associator:
    return Associator(store, BiographySettings(references=references), 'r1', (0.75, 0.60))


def merged(store: MemoryStore) -> tuple[Associator, list[int]]:
    """Return who associated two things of unlike looks, then told to be one."""
    ids = [look(store, 60 * at, 5 * (at % 2), 0.1 * (at % 3)) for at in range(6)]
    running = keeper(store)
    running.run()
    assert list(held(store).values()) == [ids[::2], ids[1::2]]
    corrections.merge(store, [1, 2], **TOLD)  # type: ignore[arg-type]
    return running, ids


@pytest.mark.parametrize('is_new', [False, True])
def test_each_of_its_looks_joins_it_and_starts_no_third(memory: MemoryStore, is_new: bool) -> None:
    running, ids = merged(memory)
    for at, direction in enumerate((0, 5, 5, 0)):
        ids.append(look(memory, 1000 + 60 * at, direction, 0.2))
        (keeper(memory) if is_new else running).run()
    assert held(memory) == {1: ids}


def test_one_look_seen_often_does_not_drive_out_the_other(memory: MemoryStore) -> None:
    running, ids = merged(memory)
    ids += [look(memory, 1000 + at, 0, 0.1) for at in range(30)]
    running.run()
    ids.append(look(memory, 2000, 5))
    running.run()
    ids.append(look(memory, 2060, 5, 0.1))
    keeper(memory).run()
    assert held(memory) == {1: ids}


def test_what_is_like_none_of_its_looks_is_another(memory: MemoryStore) -> None:
    """At 45° from both looks, cos 0.71: consistent with each, and no match."""
    running, ids = merged(memory)
    other = look(memory, 1000, 9)
    between = look(memory, 1060, 0)
    vector = np.zeros(32, '<f4')
    vector[[0, 5]] = np.sqrt(0.5)
    with memory.writing() as session:
        session.merge(schema.AppearanceRow(
            observation_id=between, model='hand', vector=vector.tobytes()))
    running.run()
    assert held(memory) == {1: ids, 3: [other], 4: [between]}


def test_what_was_seen_apart_from_one_of_them_joins_by_no_look(memory: MemoryStore) -> None:
    running, ids = merged(memory)
    beside = look(memory, 1000, 5)
    apart(memory, ids[0], beside)  # which looked otherwise
    running.run()
    assert held(memory) == {1: ids, 3: [beside]}


def test_what_is_told_to_be_the_same_brings_its_look(memory: MemoryStore) -> None:
    ids = [look(memory, 0, 0)]
    running = keeper(memory)
    running.run()
    ids.append(look(memory, 60, 5))
    with memory.writing() as session:
        verdicts.tie(session, ids, verdicts.Told(author='Anna', stamp_ns=NOON_NS))
    running.run()
    ids += [look(memory, 120, 5), look(memory, 180, 0)]
    running.run()
    assert held(memory) == {1: ids}
