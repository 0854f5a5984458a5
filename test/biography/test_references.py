"""The index of looks beside a product with all: it finds what can win, however entities change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
import pytest

from emv_ros.biography.lists import Lists
from emv_ros.biography.references import References

SIZE = 32
MATCH, CONSISTENT = 0.75, 0.60


class Looks:
    """Vectors of observations, by their ids from 0, as a database would give them."""

    def __init__(self, count: int, things: int, seed: int = 3) -> None:
        chance = np.random.default_rng(seed)
        base = chance.standard_normal((things, SIZE))
        self.thing_of = chance.integers(things, size=count)
        made = base[self.thing_of] + 0.5 * chance.standard_normal((count, SIZE))
        self.vectors: NDArray[np.float32] = (
            made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
        self.read_count = 0

    def read(self, ids: Sequence[int]) -> tuple[list[int], NDArray[np.float32]]:
        self.read_count += 1
        return list(ids), self.vectors[list(ids)]


def can_win(references: dict[int, list[int]], looks: Looks, vector: NDArray[np.float32],
            ) -> list[int]:
    """Return the entities whose references are consistent and match, by their mean, falling."""
    found = []
    for entity_id, ids in references.items():
        cosines = looks.vectors[ids] @ vector
        if cosines.min() >= CONSISTENT and cosines.max() >= MATCH:
            found.append((-round(float(cosines.mean()), 4), entity_id))
    return [entity_id for _, entity_id in sorted(found)]


@pytest.mark.parametrize('max_flat', [10_000, 20])
def test_all_that_can_win_is_likely(max_flat: int) -> None:
    looks = Looks(3000, 150)
    index = References(SIZE, 4, looks.read, max_flat)
    kept: dict[int, list[int]] = {}
    winners = missed = 0
    for number, vector in enumerate(looks.vectors):
        exact = can_win(kept, looks, vector)
        likely = index.likely(vector, MATCH, CONSISTENT).tolist()
        if exact:
            winners += 1
            missed += exact[0] not in likely
        entity_id = int(looks.thing_of[number])
        index.add(entity_id, number, number, vector)
        kept[entity_id] = [*kept.get(entity_id, []), number][-4:]
        if number % 50 == 49:  # one is forgotten now and then
            index.drop(entity_id)
            del kept[entity_id]
    assert winners > 1500
    assert missed <= (0 if max_flat == 10_000 else winners // 100)
    assert len(index) == len(kept)
    for entity_id, ids in kept.items():
        assert (index.of(entity_id) == looks.vectors[ids]).all()
        assert index.last_ns(entity_id) == ids[-1]
    assert index.holders([kept[3][0]]) == {3}


def test_a_reference_takes_its_place_by_its_stamp() -> None:
    looks = Looks(5, 1)
    index = References(SIZE, 3, looks.read)
    for number, stamp_ns in ((0, 50), (1, 10), (2, 90), (3, 20), (4, 60)):
        index.add(7, number, stamp_ns, looks.vectors[number])
    assert (index.of(7) == looks.vectors[[0, 4, 2]]).all()
    assert looks.read_count == 0  # what was just added is at hand


def test_references_that_are_not_at_hand_are_read() -> None:
    looks = Looks(2, 1)
    index = References(SIZE, 3, looks.read)
    index.place(7, [0, 1], [10, 20], looks.vectors.mean(axis=0))
    assert index.likely(looks.vectors[1], MATCH, CONSISTENT).tolist() == [7]
    assert (index.of(7) == looks.vectors).all() and (index.of(7) == looks.vectors).all()
    assert looks.read_count == 1


def test_lists_hold_what_was_put_and_not_what_was_dropped() -> None:
    chance = np.random.default_rng(5)
    lists, held = Lists(8, max_flat=16), dict[int, NDArray[np.float32]]()
    for _ in range(2000):
        row = int(chance.integers(120))
        if chance.random() < 0.3:
            lists.drop(row)
            held.pop(row, None)
        else:
            held[row] = chance.standard_normal(8).astype(np.float32)
            lists.put(row, held[row])
    assert len(lists) == len(held)
    vector = chance.standard_normal(8).astype(np.float32)
    rows, products = lists.near(vector)
    assert len(set(rows.tolist())) == len(rows)
    for row, product in zip(rows.tolist(), products.tolist(), strict=True):
        assert product == pytest.approx(float(held[row] @ vector), abs=1e-5)
