"""Vectors in lists around centroids: the nearest of many by looking through a few lists.

Vectors change and move as they do: each lies in the list of its nearest centroid. With few there
is one list. Centroids are learned anew when there are twice as many vectors as they were learned
for, so that each vector pays a constant for it in the end; what is looked through grows with the
square root of their number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Rows = NDArray[np.int64]

# Vectors up to which there is one list.
MAX_FLAT = 1024
# Lists that are looked through.
PROBES = 16
# Vectors that a centroid is learned from, at most, and how often it is moved.
LEARNED_FROM = 24
ROUNDS = 6
BLOCK = 4096
SPARE = 8


class Lists:
    """Vectors by the numbers of their rows, in lists."""

    def __init__(self, dimension: int, max_flat: int = MAX_FLAT) -> None:
        """Hold nothing, in one list."""
        self._dimension = dimension
        self._max_flat = max_flat
        self._begin(np.zeros((1, dimension), np.float32))

    def _begin(self, centroids: Vectors) -> None:
        self._centroids = centroids
        count = len(centroids)
        self._sizes = [0] * count
        self._rows: list[Rows] = [np.zeros(0, np.int64) for _ in range(count)]
        self._vectors: list[Vectors] = [
            np.zeros((0, self._dimension), np.float32) for _ in range(count)]
        self._place: dict[int, tuple[int, int]] = {}  # of a row: its list, and where in it
        self._learned_for = self._max_flat // 2 if count == 1 else 0

    def __len__(self) -> int:
        """The number of vectors."""
        return len(self._place)

    def near(self, vector: Vectors) -> tuple[Rows, Vectors]:
        """Return the rows of the lists nearest to a vector, and the products with them."""
        if len(self._centroids) == 1:
            at = [0]
        else:
            probes = min(PROBES, len(self._centroids))
            at = np.argpartition(self._centroids @ vector, -probes)[-probes:].tolist()
        rows = np.concatenate([self._rows[place][:self._sizes[place]] for place in at])
        products = [self._vectors[place][:self._sizes[place]] @ vector for place in at]
        return rows, np.concatenate(products)

    def put(self, row: int, vector: Vectors) -> None:
        """Take a vector in, or in place of the one that the row had."""
        self._set(row, vector, self._nearest_to(vector))
        if len(self) > 2 * self._learned_for:
            self._learn()

    def drop(self, row: int) -> None:
        """Take the vector of a row out."""
        place = self._place.pop(row, None)
        if place is None:
            return
        at, where = place
        self._sizes[at] -= 1
        last = self._sizes[at]
        if where != last:
            moved = int(self._rows[at][last])
            self._rows[at][where] = moved
            self._vectors[at][where] = self._vectors[at][last]
            self._place[moved] = at, where

    def _nearest_to(self, vector: Vectors) -> int:
        return int(np.argmax(self._centroids @ vector)) if len(self._centroids) > 1 else 0

    def _set(self, row: int, vector: Vectors, at: int) -> None:
        place = self._place.get(row)
        if place is not None and place[0] == at:
            self._vectors[at][place[1]] = vector
            return
        self.drop(row)
        size = self._sizes[at]
        if size == len(self._rows[at]):
            more = SPARE + size // 2
            self._rows[at] = np.pad(self._rows[at], (0, more))
            self._vectors[at] = np.pad(self._vectors[at], ((0, more), (0, 0)))
        self._rows[at][size], self._vectors[at][size] = row, vector
        self._place[row] = at, size
        self._sizes[at] += 1

    def _learn(self) -> None:
        """Learn as many centroids as fit the number of vectors, and sort these into lists."""
        old = list(zip(self._rows, self._vectors, self._sizes, strict=True))
        count, total = 4 * int(np.sqrt(len(self))), len(self)
        step = max(1, total // (count * LEARNED_FROM))
        sample = np.concatenate([vectors[:size] for _, vectors, size in old])[::step]
        self._begin(_centroids(sample, count))
        self._learned_for = total
        for rows, vectors, size in old:
            for start in range(0, size, BLOCK):
                part = vectors[start:min(size, start + BLOCK)]
                for row, vector, at in zip(
                        rows[start:start + BLOCK].tolist(), part,
                        _nearest(part, self._centroids).tolist(), strict=False):
                    self._set(row, vector, at)


def _centroids(vectors: Vectors, count: int) -> Vectors:
    """Return directions around which the vectors lie, by k-means on the sphere."""
    chance = np.random.default_rng(1)
    centroids = vectors[chance.choice(len(vectors), count, replace=False)].copy()
    for _ in range(ROUNDS):
        _to_length_1(centroids)
        nearest = np.concatenate([_nearest(vectors[start:start + BLOCK], centroids)
                                  for start in range(0, len(vectors), BLOCK)])
        order = np.argsort(nearest, kind='stable')
        used, starts = np.unique(nearest[order], return_index=True)
        centroids[used] = np.add.reduceat(vectors[order], starts, axis=0)
        empty = np.setdiff1d(np.arange(count), used)
        centroids[empty] = vectors[chance.choice(len(vectors), len(empty))]
    _to_length_1(centroids)
    return centroids


def _to_length_1(vectors: Vectors) -> None:
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def _nearest(vectors: Vectors, centroids: Vectors) -> Rows:
    nearest: Rows = np.argmax(vectors @ centroids.T, axis=1)
    return nearest
