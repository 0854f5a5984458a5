"""Many vectors, in lists: as good as the product with all, within any scope, and never stale."""

from __future__ import annotations

import numpy as np
import pytest
from small_memories import NOON_NS, say
from sqlalchemy import delete, select

from emv_ros.memory import schema
from emv_ros.memory.queries import ALL, Window
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval import vector_index, vectors
from emv_ros.retrieval.embedders import Vectors
from emv_ros.retrieval.scope import Scope
from emv_ros.retrieval.vector_index import VectorIndex
from emv_ros.retrieval.vectors import FlatVectors, ListedVectors
from emv_ros.timeline import SECOND_NS
from emv_ros.unit_vectors import normalised

SIZE = 32


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, 'MAX_FLAT', 200)
    monkeypatch.setattr(vector_index, 'MAX_FLAT', 200)


def fill(store: MemoryStore, count: int, seed: int = 0, start_s: int = 0) -> None:
    """Add texts with vectors around forty directions; every fifth text says the same as another."""
    chance = np.random.default_rng(seed)
    said = say(store, *(f'text {at - at % 5 // 4 * 4} of {seed}' for at in range(count)),
               start_s=start_s)
    centres = np.random.default_rng(9).standard_normal((40, SIZE))
    made = normalised((centres[chance.integers(40, size=count)]
                       + 0.5 * chance.standard_normal((count, SIZE))).astype(np.float32))
    with store.writing() as session:
        ids = session.scalars(select(schema.DocumentRow.id).where(
            schema.DocumentRow.ref_id.in_(said)).order_by(schema.DocumentRow.id)).all()
        session.add_all(schema.EmbeddingRow(
            document_id=key, model='made up', vector=made[at - at % 5 // 4 * 4].tobytes())
            for at, key in enumerate(ids))


def opened(store: MemoryStore) -> VectorIndex:
    index = VectorIndex(store, 'made up', SIZE)
    with store.reading() as session:
        index.refresh(session)
    return index


def asked(count: int = 20) -> Vectors:
    return normalised(np.random.default_rng(5).standard_normal((count, SIZE)).astype(np.float32))


def assert_as_good(store: MemoryStore, index: VectorIndex) -> None:
    """Check the ten nearest against the product with all vectors in the database."""
    with store.reading() as session:
        index.refresh(session)
        stored = session.execute(select(schema.EmbeddingRow.document_id,
                                        schema.EmbeddingRow.vector)).all()
        matrix = np.array([np.frombuffer(item.vector, '<f4') for item in stored])
        assert len(index) == len(stored)
        shares = []
        for vector in asked():
            documents, cosines = index.nearest(session, vector, 50)
            exact = np.sort(matrix @ vector)[::-1][:10]
            true = dict(zip((item.document_id for item in stored), matrix @ vector, strict=True))
            np.testing.assert_allclose(
                cosines, [true[document] for document in documents.tolist()], atol=1e-5)
            shares.append((cosines[:10] >= exact[-1] - 1e-6).mean())
    assert np.mean(shares) >= 0.9


def test_they_grow_shrink_and_stay_as_good(store: MemoryStore) -> None:
    fill(store, 150)
    index = opened(store)
    assert isinstance(index.vectors, FlatVectors)
    assert_as_good(store, index)
    fill(store, 600, seed=1, start_s=1000)
    assert_as_good(store, index)
    assert isinstance(index.vectors, ListedVectors)
    with store.writing() as session:
        session.execute(delete(schema.DocumentRow).where(schema.DocumentRow.id % 3 == 0))
    assert_as_good(store, index)
    fill(store, 5000, seed=2, start_s=2000)
    assert_as_good(store, index)  # learned anew: more than OUTGROWN times as many
    assert index.vectors.is_outgrown is False


def test_the_file_is_used_and_followed(store: MemoryStore,
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store, 600)
    opened(store)
    with store.writing() as session:
        session.execute(delete(schema.DocumentRow).where(schema.DocumentRow.id < 50))

    def never(*_: object) -> None:
        raise AssertionError('the file was not used')

    monkeypatch.setattr(VectorIndex, '_learn', never)
    index = opened(store)
    assert isinstance(index.vectors, ListedVectors)
    assert_as_good(store, index)


@pytest.mark.parametrize('damage', [
    lambda data: data[:-100], lambda data: b'', lambda data: data[:20_000] + bytes(64)
    + data[20_064:]])
def test_a_damaged_file_is_made_anew(store: MemoryStore, damage: object,
                                     caplog: pytest.LogCaptureFixture) -> None:
    fill(store, 600)
    file = opened(store)._file
    file.write_bytes(damage(file.read_bytes()))  # type: ignore[operator]
    assert_as_good(store, opened(store))
    assert 'made anew' in caplog.text


def test_another_model_has_another_file(store: MemoryStore) -> None:
    fill(store, 600)
    mine = opened(store)
    for other in (VectorIndex(store, 'other', SIZE), VectorIndex(store, 'made up', SIZE + 1)):
        assert other._file != mine._file
        other._file.write_bytes(mine._file.read_bytes())
        with store.reading() as session:
            other.refresh(session)
        assert (len(other), other.ignored, len(other.bare())) == (0, 600, 600)


@pytest.mark.parametrize('seconds', [(100, 110), (0, 300), (590, 700), (700, 800)])
def test_what_a_scope_hides_is_not_looked_at(store: MemoryStore, seconds: tuple[int, int]) -> None:
    fill(store, 600)
    index = opened(store)
    start, end = (NOON_NS + at * SECOND_NS for at in seconds)
    scope = Scope(Window(start_ns=start, end_ns=end))
    with store.reading() as session:
        inside = {key for key, _ in session.execute(
            select(schema.DocumentRow.id, schema.DocumentRow.text).where(*scope.conditions()))}
        texts = len(set(session.scalars(
            select(schema.DocumentRow.text).where(*scope.conditions()))))
        for vector in asked(5):
            found = index.search(vector, scope, session, 10, -1.0)
            assert len(found) == min(10, texts)
            assert {group.first_id for group in found} <= inside
            assert {group.last_id for group in found} <= inside


def test_groups_count_all_that_say_the_same(store: MemoryStore) -> None:
    fill(store, 600)
    index = opened(store)
    with store.reading() as session:
        group, = index.search(asked(1)[0], Scope(ALL), session, 1, -1.0)
        text = session.get_one(schema.DocumentRow, group.first_id).text
        same = session.scalars(select(schema.DocumentRow.id).where(
            schema.DocumentRow.text == text).order_by(schema.DocumentRow.start_ns)).all()
        assert (group.first_id, group.last_id, group.count) == (same[0], same[-1], len(same))
        later = Window(start_ns=NOON_NS + 300 * SECOND_NS)
        assert all(index.whole(found, Scope(later)).first_ns >= NOON_NS + 300 * SECOND_NS
                   for found in index.search(asked(1)[0], Scope(later), session, 9, -1.0))
