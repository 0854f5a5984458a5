"""Vectors in small lists around centroids: the nearest of many by looking through a few lists.

Vectors change and move as they do: each lies in a list whose centroid is near. With few there is
one list. One that has grown too long is parted in two, and the centroids, where they are many, lie
in such lists themselves: so what is looked through, and what a change costs, grows with the
logarithm of the number of vectors, and nothing is ever learned anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emv_ros.unit_vectors import normalised

Vectors = NDArray[np.float32]
Rows = NDArray[np.int64]
Arrays = dict[str, NDArray[Any]]

# Vectors up to which there is one list, and centroids.
MAX_FLAT, MAX_FLAT_CENTROIDS = 1024, 192
# The longest of several lists.
LONGEST = 64
# Lists that are looked through: for all that is near, or for what is likely to be the nearest; and
# lists of centroids for each of these.
PROBES, FEW_PROBES = 24, 4
OF_CENTROIDS, FEW_OF_CENTROIDS = 24, 12
# How often the halves of a list are drawn around their means.
ROUNDS = 6
SPARE = 8


class Lists:
    """Vectors by the numbers of their rows, in lists."""

    def __init__(self, dimension: int, max_flat: int = MAX_FLAT) -> None:
        """Hold nothing, in one list."""
        self._dimension = dimension
        self._max_flat = max_flat
        self._begin()

    def _begin(self) -> None:
        self._centroids: Lists | None = None  # of the lists, by their numbers; None: there is one
        self._sizes: list[int] = []
        self._rows: list[Rows] = []
        self._vectors: list[Vectors] = []
        self._free: list[int] = []  # numbers of lists that are none now
        self._place: dict[int, tuple[int, int]] = {}  # of a row: its list, and where in it
        self._new_list()

    def __len__(self) -> int:
        """The number of vectors."""
        return len(self._place)

    def near(self, vector: Vectors, probes: int = PROBES) -> tuple[Rows, Vectors]:
        """Return the rows of the lists nearest to a vector, and the products with them."""
        at = self._nearest(vector, probes)
        rows = np.concatenate([self._rows[place][:self._sizes[place]] for place in at])
        products = [self._vectors[place][:self._sizes[place]] @ vector for place in at]
        return rows, np.concatenate(products)

    def put(self, row: int, vector: Vectors) -> None:
        """Take a vector in, or in place of the one that the row had."""
        at = self._nearest(vector, 1)[0]
        self._set(row, vector, at)
        if self._sizes[at] > (self._max_flat if self._centroids is None else self._longest):
            self._part(at)

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
        if not last and self._centroids is not None:
            self._end(at)

    def to_arrays(self) -> Arrays:
        """Return all of it, for `load`."""
        there = [at for at, size in enumerate(self._sizes) if size or self._centroids is None]
        arrays: Arrays = {
            'sizes': np.array([self._sizes[at] for at in there], np.int64),
            'rows': np.concatenate([self._rows[at][:self._sizes[at]] for at in there]),
            'vectors': np.concatenate([self._vectors[at][:self._sizes[at]] for at in there])}
        if self._centroids is not None:
            of_list = {at: number for number, at in enumerate(there)}
            inner = self._centroids.to_arrays()
            inner['rows'] = np.array([of_list[at] for at in inner['rows'].tolist()], np.int64)
            arrays |= {f'centroids.{name}': array for name, array in inner.items()}
        return arrays

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `to_arrays` gave. Raises ValueError or KeyError for what it did not."""
        sizes, rows, vectors = arrays['sizes'].tolist(), arrays['rows'], arrays['vectors']
        if vectors.shape != (sum(sizes), self._dimension) or rows.shape != (sum(sizes),):
            raise ValueError(f'{rows.shape} rows, {vectors.shape} vectors in {len(sizes)} lists')
        self._begin()
        self._sizes, ends = sizes, np.cumsum([0, *sizes]).tolist()
        self._rows = [rows[start:end].astype(np.int64) for start, end in zip(
            ends[:-1], ends[1:], strict=True)]
        self._vectors = [vectors[start:end].astype(np.float32) for start, end in zip(
            ends[:-1], ends[1:], strict=True)]
        self._place = {row: (at, where) for at, held in enumerate(self._rows)
                       for where, row in enumerate(held.tolist())}
        inner = {name.partition('.')[2]: array for name, array in arrays.items()
                 if name.startswith('centroids.')}
        if inner:
            self._centroids = Lists(self._dimension, MAX_FLAT_CENTROIDS)
            self._centroids.load(inner)
        if len(self._place) != len(rows) or (
                {*range(len(sizes))} != {*(self._centroids._place if self._centroids else [0])}):
            raise ValueError('a row stands in two lists, or a list has no centroid')

    @property
    def _longest(self) -> int:
        return min(LONGEST, self._max_flat)

    def _nearest(self, vector: Vectors, count: int) -> list[int]:
        """Return the lists around the centroids nearest to a vector, in no order."""
        if self._centroids is None:
            return [0]
        numbers, products = self._centroids.near(
            vector, OF_CENTROIDS if count > FEW_PROBES else FEW_OF_CENTROIDS)
        if len(numbers) <= count:
            found: list[int] = numbers.tolist()
        elif count == 1:
            found = [int(numbers[np.argmax(products)])]
        else:
            found = numbers[np.argpartition(products, -count)[-count:]].tolist()
        return found

    def _set(self, row: int, vector: Vectors, at: int) -> None:
        place = self._place.get(row)
        if place is not None and place[0] == at:
            self._vectors[at][place[1]] = vector
            return
        self._append(row, vector, at)
        if place is not None:
            place, self._place[row] = self._place[row], place
            self.drop(row)
            self._place[row] = place

    def _append(self, row: int, vector: Vectors, at: int) -> None:
        size = self._sizes[at]
        if size == len(self._rows[at]):
            rows = np.empty(size + SPARE, np.int64)
            vectors = np.empty((size + SPARE, self._dimension), np.float32)
            rows[:size], vectors[:size] = self._rows[at], self._vectors[at]
            self._rows[at], self._vectors[at] = rows, vectors
        self._rows[at][size], self._vectors[at][size] = row, vector
        self._place[row] = at, size
        self._sizes[at] += 1

    def _new_list(self) -> int:
        at = self._free.pop() if self._free else len(self._sizes)
        if at == len(self._sizes):
            self._sizes.append(0)
            self._rows.append(np.zeros(0, np.int64))
            self._vectors.append(np.zeros((0, self._dimension), np.float32))
        return at

    def _end(self, at: int) -> None:
        """Have one list less: an empty one."""
        assert self._centroids is not None
        if len(self._centroids) == 1:
            self._begin()
            return
        self._centroids.drop(at)
        self._rows[at], self._vectors[at] = self._rows[at][:0], self._vectors[at][:0]
        self._free.append(at)

    def _part(self, at: int) -> None:
        """Make two lists of one, each around its own centroid, and more where it is long."""
        size = self._sizes[at]
        rows, vectors = self._rows[at][:size].copy(), self._vectors[at][:size].copy()
        centroids, is_second = _halves(vectors)
        if self._centroids is None:
            self._centroids = Lists(self._dimension, MAX_FLAT_CENTROIDS)
        other = self._new_list()
        self._sizes[at] = 0
        self._rows[at], self._vectors[at] = rows[:0], vectors[:0]
        for list_at, centroid, part in ((at, centroids[0], ~is_second),
                                        (other, centroids[1], is_second)):
            self._rows[list_at], self._vectors[list_at] = rows[part], vectors[part]
            self._sizes[list_at] = int(part.sum())
            for where, row in enumerate(rows[part].tolist()):
                self._place[row] = list_at, where
            self._centroids.put(list_at, centroid)
            if self._sizes[list_at] > self._longest:
                self._part(list_at)


def _halves(vectors: Vectors) -> tuple[Vectors, NDArray[np.bool_]]:
    """Return two directions around which vectors lie, and which of these belong to the second."""
    middle = vectors.mean(axis=0)
    first = vectors[np.argmin(vectors @ middle)]
    centroids = normalised(np.stack((first, vectors[np.argmin(vectors @ first)])))
    is_second = vectors @ (centroids[1] - centroids[0]) > 0
    for _ in range(ROUNDS):
        if is_second.all() or not is_second.any():  # they are all the same
            is_second = np.arange(len(vectors)) % 2 > 0
        centroids = normalised(np.stack((
            vectors[~is_second].mean(axis=0), vectors[is_second].mean(axis=0))))
        before, is_second = is_second, vectors @ (centroids[1] - centroids[0]) > 0
        if (before == is_second).all():
            break
    if is_second.all() or not is_second.any():
        is_second = np.arange(len(vectors)) % 2 > 0
    return centroids, is_second
