"""The file of references beside the database: used where it is good, and never a place to hide."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from entity_parts import NOON_NS, held, look
import numpy as np
import pytest
from sqlalchemy import event

from emv_ros.agent.forgetting import forget
from emv_ros.biography import corrections, known
from emv_ros.biography.association import Associator
from emv_ros.biography.known import Known
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import BiographySettings

THRESHOLDS = 0.75, 0.60


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few entities be worth a file, that is written after each run that changed any."""
    monkeypatch.setattr(known, 'SAVED_FROM', 0)
    monkeypatch.setattr(known, 'SAVED_SHARE', 1000)


def keeper(store: MemoryStore) -> Associator:
    return Associator(store, BiographySettings(references=3), 'r1', THRESHOLDS)


def file_of(store: MemoryStore) -> Path:
    return store.folder / 'cache' / 'looks-1.bin'


def seen_often(store: MemoryStore, things: int = 8) -> list[int]:
    ids = [look(store, 60 * at, at % things, 0.1 * (at % 3)) for at in range(4 * things)]
    keeper(store).run()
    return ids


def opened(store: MemoryStore, file: bool = True) -> tuple[Known, list[str]]:
    """Return the references as a new process has them, with or without the file, and its queries.
    """
    found, asked = Known(1, 3, store.folder if file else None), list[str]()
    with store.reading() as session:
        event.listen(session.connection(), 'before_cursor_execute',
                     lambda *given: asked.append(given[2]))
        found.follow(session)
    return found, asked


def means(found: Known) -> dict[tuple[Any, ...], np.ndarray]:
    """Return the mean of the references of each entity, with the number of these."""
    made = {}
    for key, references in found._references.items():
        arrays = references.to_arrays()
        for row, mean in zip(arrays['means.rows'], arrays['means.vectors'], strict=True):
            made[(*key, int(arrays['entity'][row]), int(arrays['count'][row]),
                  *arrays['seen'][row].tolist())] = mean
    return made


def equal(one: Known, other: Known) -> bool:
    first, second = means(one), means(other)
    return first.keys() == second.keys() and all(
        np.allclose(first[key], second[key], atol=1e-6) for key in first)


def test_whoever_opens_it_reads_no_looks_and_has_the_same(memory: MemoryStore) -> None:
    seen_often(memory)
    assert file_of(memory).is_file()
    quick, asked = opened(memory)
    slow, asked_of_all = opened(memory, file=False)
    assert equal(quick, slow) and len(means(quick)) == 8
    assert not [query for query in asked if 'appearance' in query]
    assert [query for query in asked_of_all if 'appearance' in query]


def test_what_changed_since_is_read(memory: MemoryStore) -> None:
    ids = seen_often(memory)
    before = file_of(memory).read_bytes()
    corrections.split(memory, 1, ids[16:17], author='Anna', stamp_ns=NOON_NS)
    corrections.merge(memory, [2, 3], author='Anna', stamp_ns=NOON_NS)
    assert file_of(memory).read_bytes() == before
    quick, asked = opened(memory)
    assert equal(quick, opened(memory, file=False)[0])
    assert [query for query in asked if 'appearance' in query]


@pytest.mark.parametrize('harm', ['flipped', 'cut', 'empty', 'other', 'references'])
def test_a_file_that_is_not_good_is_made_anew(
        memory: MemoryStore, tmp_path: Path, harm: str, caplog: pytest.LogCaptureFixture) -> None:
    seen_often(memory)
    file = file_of(memory)
    data = bytearray(file.read_bytes())
    if harm == 'flipped':
        data[-5] ^= 64
    if harm == 'other':  # of a memory that went the same way
        with MemoryStore(tmp_path / 'other', f'sqlite:///{tmp_path / "other.db"}', 'r1') as other:
            seen_often(other, 9)
            data = bytearray(file_of(other).read_bytes())
    size = {'cut': len(data) - 9, 'empty': 0}.get(harm, len(data))
    file.write_bytes(data[:size])
    with caplog.at_level(logging.WARNING):
        if harm == 'references':  # of another setting
            found = Known(1, 2, memory.folder)
            with memory.reading() as session:
                found.follow(session)
            assert {key[4] for key in means(found)} == {2}
            return
        assert equal(opened(memory)[0], opened(memory, file=False)[0])
    assert harm == 'other' or 'made anew' in caplog.text
    ids = [look(memory, 6000, 0)]
    keeper(memory).run()
    assert held(memory)[1][-1:] == ids
    assert equal(opened(memory)[0], opened(memory, file=False)[0])


def test_forgetting_leaves_no_look_in_it(memory: MemoryStore) -> None:
    seen_often(memory)
    running = keeper(memory)
    secret = look(memory, 5000, 12, 0.43)
    running.run()
    vector = np.zeros(32, np.float32)
    vector[12], vector[19] = np.sqrt(1 - 0.43 ** 2), 0.43
    assert vector.tobytes() in file_of(memory).read_bytes()
    left = file_of(memory).with_name('.looks-1.bin.999')  # of a process that was killed
    left.write_bytes(vector.tobytes())
    forget(memory, [('observation', secret)], author='Anna', reason='', stamp_ns=NOON_NS)
    assert not file_of(memory).exists() and not left.exists()
    look(memory, 5100, 0)
    running.run()  # which held it, and writes what it holds now
    data = file_of(memory).read_bytes()
    assert vector.tobytes() not in data and vector[[12]].tobytes() + vector[13:].tobytes(
        ) not in data
    assert equal(opened(memory)[0], opened(memory, file=False)[0])


def test_a_folder_that_cannot_be_written_stops_nothing(memory: MemoryStore) -> None:
    (memory.folder / 'cache').write_text('in the way')
    seen_often(memory)
    assert len(held(memory)) == 8


def test_the_file_is_written_for_a_share_of_what_there_is(
        memory: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, 'SAVED_SHARE', 2)
    running = keeper(memory)
    for at in range(8):
        look(memory, at, at)
    running.run()
    times = []
    for at in range(9):
        look(memory, 60 + at, at % 8, 0.1)
        running.run()
        times.append(file_of(memory).stat().st_mtime_ns)
    assert 1 < len(set(times)) <= 5


def test_what_joined_meanwhile_is_added_without_reading_its_entity(memory: MemoryStore) -> None:
    seen_often(memory)
    kept = file_of(memory).read_bytes()
    for at in range(12):  # one that comes late, one that is new, and one that is told to be another
        look(memory, 30 if at == 3 else 5000 + at, at % 4, 0.05 * at)
    look(memory, 6000, 11)
    other = look(memory, 6001, 2)
    keeper(memory).run()
    corrections.split(memory, 3, [other], author='Anna', stamp_ns=NOON_NS)
    keeper(memory).run()
    file_of(memory).write_bytes(kept)
    quick, _ = opened(memory)
    assert equal(quick, opened(memory, file=False)[0])
