"""What is compared with: of each entity the latest looks, by one model, of persons or of things.

For a new look v the entity wins whose references r have the highest mean of v·r, which is v·m with
m the mean of the references; and where all of them reach one cosine and one of them a higher one,
v·m has a least value, too. So one vector an entity, m, finds all that can win, whatever it holds;
its references are read from the database only for the few that come first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from emv_ros.biography.lists import MAX_FLAT, Lists

Vectors = NDArray[np.float32]  # n × dimension, rows of length 1
Ids = NDArray[np.int64]

# Of observations: their vectors, in the order of the ids; what is gone since is left out.
Reading = Callable[[Sequence[int]], tuple[list[int], Vectors]]

# References that are held in memory, bytes.
HELD_BYTES = 64 << 20
# By how much two ways to add up the same cosine may differ.
ROUNDING = 1e-4


class References:
    """The latest looks of entities; `most` of each. One thread at a time."""

    def __init__(self, dimension: int, most: int, read: Reading,
                 max_flat: int = MAX_FLAT) -> None:
        """Hold nothing. `read` gives the vectors of observations."""
        self.dimension = dimension
        self._most = most
        self._read = read
        self._row: dict[int, int] = {}
        self._free: list[int] = []
        self._entity: Ids = np.zeros(0, np.int64)
        self._count: Ids = np.zeros(0, np.int64)
        self._seen: Ids = np.zeros((0, most), np.int64)  # observations, in order of time
        self._stamp: Ids = np.zeros((0, most), np.int64)
        self._means = Lists(dimension, max_flat)
        self._held: OrderedDict[int, Vectors] = OrderedDict()

    def __len__(self) -> int:
        """The number of entities."""
        return len(self._row)

    def __contains__(self, entity_id: int) -> bool:
        """Whether an entity has a reference here."""
        return entity_id in self._row

    def last_ns(self, entity_id: int) -> int:
        """Return the stamp of the latest reference of an entity."""
        row = self._row[entity_id]
        return int(self._stamp[row, self._count[row] - 1])

    def of(self, entity_id: int) -> Vectors:
        """Return the references of an entity, in order of time."""
        held = self._held.get(entity_id)
        if held is not None:
            self._held.move_to_end(entity_id)
            return held
        row = self._row[entity_id]
        _, vectors = self._read(self._seen[row, :self._count[row]].tolist())
        self._hold(entity_id, vectors)
        return vectors

    def holders(self, observation_ids: Iterable[int]) -> set[int]:
        """Return the entities that have one of the observations as a reference."""
        if not self._row:
            return set()
        rows = np.isin(self._seen, list(observation_ids)).any(axis=1)
        return set(self._entity[rows & (self._count > 0)].tolist())

    def likely(self, vector: Vectors, match: float, consistent: float) -> Ids:
        """Return the entities that can win for a vector, by the mean of cosines, falling.

        Those are all whose references may all reach `consistent`, and one of them `match`.
        """
        if not self._row:
            return np.zeros(0, np.int64)
        rows, cosines = self._means.near(vector)
        least = consistent + max(0.0, match - consistent) / self._count[rows] - ROUNDING
        can = np.flatnonzero(cosines >= least)
        entities = self._entity[rows[can]]
        found: Ids = entities[np.lexsort((entities, -cosines[can]))]
        return found

    def add(self, entity_id: int, observation_id: int, stamp_ns: int, vector: Vectors) -> None:
        """Take a look of an entity as a reference, unless it has `most` that are later."""
        if entity_id not in self._row:
            self.put(entity_id, [observation_id], [stamp_ns], vector[None])
            return
        row = self._row[entity_id]
        count = int(self._count[row])
        vectors = self.of(entity_id)
        if len(vectors) != count:  # some went since: whoever follows the database tells us
            return
        ids = [*self._seen[row, :count].tolist(), observation_id]
        stamps = [*self._stamp[row, :count].tolist(), stamp_ns]
        order = sorted(range(count + 1), key=lambda at: (stamps[at], ids[at]))[-self._most:]
        vectors = np.concatenate((vectors, vector[None]))[order]
        self.put(entity_id, [ids[at] for at in order], [stamps[at] for at in order], vectors)

    def put(self, entity_id: int, observation_ids: Sequence[int], stamps_ns: Sequence[int],
            vectors: Vectors) -> None:
        """Set the references of an entity, in order of time, up to `most`."""
        self.place(entity_id, observation_ids, stamps_ns, vectors.mean(axis=0))
        self._hold(entity_id, vectors)

    def place(self, entity_id: int, observation_ids: Sequence[int], stamps_ns: Sequence[int],
              mean: Vectors) -> None:
        """Set the references of an entity by their mean alone."""
        self._held.pop(entity_id, None)
        row = self._row.get(entity_id)
        if row is None:
            row = self._row[entity_id] = self._free.pop() if self._free else self._new_row()
            self._entity[row] = entity_id
        count = len(observation_ids)
        self._count[row] = count
        self._seen[row, :count], self._seen[row, count:] = observation_ids, 0
        self._stamp[row, :count] = stamps_ns
        self._means.put(row, mean)

    def drop(self, entity_id: int) -> None:
        """Forget an entity."""
        self._held.pop(entity_id, None)
        row = self._row.pop(entity_id, None)
        if row is None:
            return
        self._count[row] = 0
        self._seen[row] = 0
        self._free.append(row)
        self._means.drop(row)

    def _new_row(self) -> int:
        size = len(self._row) + len(self._free)
        if size == len(self._entity):
            more = max(64, size // 2)
            self._entity = np.pad(self._entity, (0, more))
            self._count = np.pad(self._count, (0, more))
            self._seen = np.pad(self._seen, ((0, more), (0, 0)))
            self._stamp = np.pad(self._stamp, ((0, more), (0, 0)))
        return size

    def _hold(self, entity_id: int, vectors: Vectors) -> None:
        self._held[entity_id] = vectors
        self._held.move_to_end(entity_id)
        while len(self._held) * self._most * self.dimension * 4 > HELD_BYTES:
            self._held.popitem(last=False)
