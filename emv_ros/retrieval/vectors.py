"""Vectors by the number of their document: flat while they are few, in lists when they are many.

Both find the nearest among those that are allowed. Flat is exact. Lists (FAISS: inverted lists of
vectors at 8 bits a number, a quarter of the space) look only where the nearest are likely, so their
answers are candidates, whose true cosines the caller takes from the database.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from emv_ros.retrieval.embedders import Vectors

Ids = NDArray[np.int64]
Found = tuple[Ids, NDArray[np.float32]]

# A flat product over this many takes some milliseconds.
MAX_FLAT = 50_000
# The share of the lists that is visited where all vectors are allowed: questions lie far from all
# texts, so that their nearest are spread over many lists. Measured, see `emv bench search`.
VISITED = 0.5
# A list is learned from this many vectors.
LEARNED_FROM = 48
# Lists grow too long when there are this many times the vectors that they were learned for.
OUTGROWN = 5


class FlatVectors:
    """A matrix in memory."""

    is_exact = True

    def __init__(self, dimension: int) -> None:
        """Hold nothing yet."""
        self._ids = np.zeros(0, np.int64)
        self._matrix = np.zeros((0, dimension), np.float32)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def is_outgrown(self) -> bool:
        """Whether there are too many for a quick product."""
        return self._size > MAX_FLAT

    def add(self, ids: Ids, vectors: Vectors) -> None:
        """Add vectors under numbers that are not here yet."""
        size = self._size + len(ids)
        if size > len(self._ids):
            room = size + size // 8 + 64
            grown = np.zeros((room, self._matrix.shape[1]), np.float32)
            grown[:self._size] = self._matrix[:self._size]
            self._matrix, self._ids = grown, np.resize(self._ids, room)
        self._ids[self._size:size], self._matrix[self._size:size] = ids, vectors
        self._size = size

    def remove(self, ids: Ids) -> None:
        """Drop vectors; the last ones move into the holes."""
        positions = np.flatnonzero(np.isin(self._ids[:self._size], ids))
        left = self._size - len(positions)
        holes = positions[positions < left]
        movers = np.setdiff1d(np.arange(left, self._size), positions)
        for array in (self._matrix, self._ids):
            array[holes] = array[movers]
        self._size = left

    def nearest(self, vector: Vectors, count: int, allowed: Ids | None) -> Found:
        """Return up to `count` numbers, nearest first, and their cosines."""
        cosines = self._matrix[:self._size] @ vector
        at = np.arange(self._size) if allowed is None else np.flatnonzero(
            np.isin(self._ids[:self._size], allowed))
        if count < len(at):
            at = at[np.argpartition(-cosines[at], count - 1)[:count]]
        at = at[np.argsort(-cosines[at], kind='stable')]
        return self._ids[at], cosines[at]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `load` takes."""
        return {'ids': self._ids[:self._size], 'matrix': self._matrix[:self._size]}

    @classmethod
    def load(cls, arrays: dict[str, NDArray[Any]]) -> FlatVectors:
        """Return the vectors that `to_arrays` gave."""
        made = cls(arrays['matrix'].shape[1])
        made._ids, made._matrix = np.array(arrays['ids']), np.array(arrays['matrix'])
        made._size = len(made._ids)
        return made


class ListedVectors:
    """Inverted lists; their centres are learned from a sample of the vectors that they hold."""

    is_exact = False

    def __init__(self, index: Any, learned_for: int) -> None:
        """Use `learn` or `load`."""
        self._index = index
        self._learned_for = learned_for

    @classmethod
    def learn(cls, sample: Vectors, expected: int) -> ListedVectors:
        """Return empty lists for about `expected` vectors like those of the sample."""
        import faiss

        lists = lists_for(expected)
        index = faiss.IndexIVFScalarQuantizer(
            faiss.IndexFlatIP(sample.shape[1]), sample.shape[1], lists,
            faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
        index.cp.spherical = True
        index.cp.max_points_per_centroid = LEARNED_FROM
        index.cp.niter = 8
        index.train(np.ascontiguousarray(sample))
        return cls(index, expected)

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @property
    def is_outgrown(self) -> bool:
        """Whether the lists have become so long that they should be learned anew."""
        return len(self) > OUTGROWN * self._learned_for

    def add(self, ids: Ids, vectors: Vectors) -> None:
        """Add vectors under numbers that are not here yet."""
        self._index.add_with_ids(np.ascontiguousarray(vectors), np.ascontiguousarray(ids))

    def remove(self, ids: Ids) -> None:
        """Drop vectors."""
        if len(ids):
            self._index.remove_ids(np.ascontiguousarray(ids, np.int64))

    def nearest(self, vector: Vectors, count: int, allowed: Ids | None) -> Found:
        """Return up to `count` numbers and their rough cosines, nearest first.

        The fewer are allowed, the more lists are visited.
        """
        import faiss

        share = 1.0
        options = {}
        bits = None
        if allowed is not None:
            share = max(len(allowed), 1) / max(len(self), 1)
            mask = np.zeros(int(allowed.max(initial=0)) + 1, bool)
            mask[allowed] = True
            bits = np.packbits(mask, bitorder='little')
            options['sel'] = faiss.IDSelectorBitmap(bits)
        probes = min(self._index.nlist, int(self._index.nlist * VISITED / share) + 1)
        found = self._index.search(
            vector[None], count, params=faiss.SearchParametersIVF(nprobe=probes, **options))
        cosines, ids = found[0][0], found[1][0]
        return ids[ids >= 0], cosines[ids >= 0]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `load` takes."""
        import faiss

        return {'lists': faiss.serialize_index(self._index),
                'learned_for': np.array([self._learned_for])}

    @classmethod
    def load(cls, arrays: dict[str, NDArray[Any]]) -> ListedVectors:
        """Return the vectors that `to_arrays` gave."""
        import faiss

        return cls(faiss.deserialize_index(np.asarray(arrays['lists'])),
                   int(arrays['learned_for'][0]))


def lists_for(count: int) -> int:
    """Return how many lists are right for a number of vectors: about their root."""
    return int(2 ** round(np.log2(max(count, 64)) / 2))
