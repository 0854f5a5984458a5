"""What holds whatever is seen: those seen apart, or named apart, are never one entity."""

from __future__ import annotations

from itertools import combinations

from entity_parts import NOON_NS
import numpy as np
import pytest
from sqlalchemy import insert, select

from emv_ros.biography.association import Associator
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Observation
from emv_ros.settings import BiographySettings
from emv_ros.timeline import SECOND_NS

SIZE, THINGS, CLIPS, SEEN = 16, 12, 60, 4


def see_clips(store: MemoryStore, chance: np.random.Generator, base: np.ndarray,
              clips: range) -> None:
    """See things that look much alike, four in a clip, in no order; some have instances."""
    for clip in clips:
        things = chance.permutation(THINGS)[:SEEN]
        stamp_ns = NOON_NS + int(chance.integers(100_000)) * SECOND_NS
        ids = store.add_many([Observation(
            stamp_ns=stamp_ns, end_ns=stamp_ns + 5 * SECOND_NS, name='cup', robot='r1',
            instance=f'cup_{thing}' if chance.random() < 0.2 else '') for thing in things])
        looks = base[things] + 0.25 * chance.standard_normal((SEEN, SIZE))
        tables = schema.AppearanceRow.__table__, schema.SeparationRow.__table__
        pairs = [pair for pair in combinations(sorted(ids), 2) if chance.random() < 0.7]
        with store.writing() as session:
            session.execute(insert(tables[0]), [
                {'observation_id': key, 'model': 'hand', 'vector': look.astype('<f4').tobytes()}
                for key, look in zip(ids, looks, strict=True)])
            if pairs:
                session.execute(insert(tables[1]), [
                    {'first_id': first, 'second_id': second, 'shared_frames': 3 + clip % 9}
                    for first, second in pairs])


@pytest.mark.parametrize('seed', range(3))
def test_apart_is_apart_whatever_it_looks_like(memory: MemoryStore, seed: int) -> None:
    chance = np.random.default_rng(seed)
    base = np.ones(SIZE) + 0.3 * chance.standard_normal((THINGS, SIZE))
    keeper = Associator(memory, BiographySettings(references=2), 'r1', (0.7, 0.6))
    for start in range(0, CLIPS, 20):  # some come later than what was decided
        see_clips(memory, chance, base, range(start, start + 20))
        keeper.run()
    seen, apart = schema.ObservationRow, schema.SeparationRow
    with memory.reading() as session:
        entity_of = dict(session.execute(select(seen.id, seen.entity_id)).all())
        pairs = session.execute(select(apart.first_id, apart.second_id)).all()
        vouched = session.execute(
            select(seen.entity_id, seen.instance).where(seen.instance != '').distinct()).all()
        entities = session.scalars(select(schema.EntityRow.id)).all()
    assert len(entity_of) == CLIPS * SEEN and None not in entity_of.values()
    assert len(pairs) > 200
    assert not [pair for pair in pairs if entity_of[pair[0]] == entity_of[pair[1]]]
    assert len({entity_id for entity_id, _ in vouched}) == len(vouched)
    assert len({instance for _, instance in vouched}) == len(vouched)
    assert set(entities) == set(entity_of.values())
    assert len(entities) < 60  # and yet they do meet again
