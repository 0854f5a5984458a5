"""What is compared with: of each entity the latest looks, by one model, of persons or of things.

For a new look v the entity wins whose references r have the highest mean of v·r, which is v·m with
m the mean of the references; and where all of them reach one cosine and one of them a higher one,
v·m has a least value, too. So one vector an entity, m, finds all that can win, whatever it holds;
its references are read from the database only for the few that come first.

An entity that persons made of unlike looks has a group of references for each of these, and each
group stands here as an entity would: a look that is of one of them is of the entity.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emv_ros.biography.lists import FEW_PROBES, MAX_FLAT, PROBES, Lists

Vectors = NDArray[np.float32]  # n × dimension, rows of length 1
Ids = NDArray[np.int64]

# Of observations: their vectors, in the order of the ids; what is gone since is left out.
Reading = Callable[[Sequence[int]], tuple[list[int], Vectors]]

# References that are held in memory, bytes.
HELD_BYTES = 64 << 20
# By how much two ways to add up the same cosine may differ.
ROUNDING = 1e-4


class Likely(NamedTuple):
    """A group of references that may win: of an entity, at a mean cosine."""

    entity_id: int
    row: int
    mean: float


class References:
    """The latest looks of entities; `most` of each. One thread at a time."""

    def __init__(self, dimension: int, most: int, read: Reading,
                 max_flat: int = MAX_FLAT) -> None:
        """Hold nothing. `read` gives the vectors of observations."""
        self.dimension = dimension
        self._most = most
        self._read = read
        self._rows: dict[int, list[int]] = {}  # of an entity: a row for each group of its looks
        self._free: list[int] = []
        self._size = 0  # rows, with those that are free
        self._entity: Ids = np.zeros(0, np.int64)
        self._count: Ids = np.zeros(0, np.int64)
        self._seen: Ids = np.zeros((0, most), np.int64)  # observations, in order of time
        self._stamp: Ids = np.zeros((0, most), np.int64)
        self._latest = 0  # observation
        self._means = Lists(dimension, max_flat)
        self._held: OrderedDict[int, Vectors] = OrderedDict()

    def __len__(self) -> int:
        """The number of entities."""
        return len(self._rows)

    def __contains__(self, entity_id: int) -> bool:
        """Whether an entity has a reference here."""
        return entity_id in self._rows

    def last_ns(self, entity_id: int) -> int:
        """Return the stamp of the latest reference of an entity."""
        return max(int(self._stamp[row, self._count[row] - 1]) for row in self._rows[entity_id])

    def of(self, entity_id: int, group: int = 0) -> Vectors:
        """Return a group of references of an entity, in order of time."""
        return self.at(self._rows[entity_id][group])

    def groups(self, entity_id: int) -> list[Vectors]:
        """Return the references of an entity, each group in order of time."""
        return [self.at(row) for row in self._rows[entity_id]]

    def at(self, row: int) -> Vectors:
        """Return the references of a group that `ranked` named."""
        held = self._held.get(row)
        if held is not None:
            self._held.move_to_end(row)
            return held
        _, vectors = self._read(self._seen[row, :self._count[row]].tolist())
        self._hold(row, vectors)
        return vectors

    def prepare(self, vectors: Iterable[Vectors], match: float, consistent: float) -> None:
        """Read, all at once, what looks are likely to be compared with first."""
        self._have({item.row for vector in vectors for item in self.ranked(
            vector, match, consistent, 1, FEW_PROBES)})

    def have(self, entity_ids: Iterable[int]) -> None:
        """Read, all at once, the references of entities."""
        self._have({row for key in entity_ids for row in self._rows.get(key, ())})

    def _have(self, wanted: Iterable[int]) -> None:
        rows = [row for row in sorted(wanted) if row not in self._held]
        if not rows:
            return
        ids, found = self._read(np.concatenate(
            [self._seen[row, :self._count[row]] for row in rows]).tolist())
        place = {key: at for at, key in enumerate(ids)}
        for row in rows:
            self._hold(row, found[[place[key] for key in self._seen[
                row, :self._count[row]].tolist() if key in place]])

    def holders(self, observation_ids: Iterable[int]) -> set[int]:
        """Return the entities that have one of the observations as a reference."""
        ids = [key for key in observation_ids if key <= self._latest]  # most are new
        if not self._rows or not ids:
            return set()
        rows = np.isin(self._seen, ids).any(axis=1)
        return set(self._entity[rows & (self._count > 0)].tolist())

    def likely(self, vector: Vectors, match: float, consistent: float) -> Ids:
        """Return the entities that can win for a vector, by the mean of cosines, falling.

        Those are all whose references may all reach `consistent`, and one of them `match`.
        """
        return np.array([item.entity_id for item in self.ranked(vector, match, consistent)],
                        np.int64)

    def ranked(self, vector: Vectors, match: float, consistent: float,
               most: int | None = None, probes: int = PROBES) -> list[Likely]:
        """Return the groups of references that can win, at most so many, see `likely`."""
        if not self._rows:
            return []
        rows, cosines = self._means.near(vector, probes)
        least = consistent + max(0.0, match - consistent) / self._count[rows] - ROUNDING
        can = np.flatnonzero(cosines >= least)
        rows, cosines = rows[can], cosines[can]
        entities = self._entity[rows]
        order = np.lexsort((rows, entities, -cosines))[:most]
        return [Likely(*item) for item in zip(
            entities[order].tolist(), rows[order].tolist(), cosines[order].tolist(), strict=True)]

    def add(self, entity_id: int, observation_id: int, stamp_ns: int, vector: Vectors) -> None:
        """Take a look of an entity as a reference, unless it has `most` that are later."""
        if entity_id not in self._rows:
            self.put(entity_id, [observation_id], [stamp_ns], vector[None])
            return
        group = self._group_of(entity_id, vector)
        row = self._rows[entity_id][group]
        count = int(self._count[row])
        vectors = self.at(row)
        if len(vectors) != count:  # some went since: whoever follows the database tells us
            return
        ids = [*self._seen[row, :count].tolist(), observation_id]
        stamps = [*self._stamp[row, :count].tolist(), stamp_ns]
        order = sorted(range(count + 1), key=lambda at: (stamps[at], ids[at]))[-self._most:]
        vectors = np.concatenate((vectors, vector[None]))[order]
        self.put(entity_id, [ids[at] for at in order], [stamps[at] for at in order], vectors,
                 group)

    def put(self, entity_id: int, observation_ids: Sequence[int], stamps_ns: Sequence[int],
            vectors: Vectors, group: int = 0) -> None:
        """Set a group of references of an entity, in order of time, up to `most`."""
        self.place(entity_id, observation_ids, stamps_ns, vectors.mean(axis=0), group)
        self._hold(self._rows[entity_id][group], vectors)

    def place(self, entity_id: int, observation_ids: Sequence[int], stamps_ns: Sequence[int],
              mean: Vectors, group: int = 0) -> None:
        """Set a group of references of an entity by their mean alone."""
        rows = self._rows.setdefault(entity_id, [])
        if group == len(rows):
            rows.append(self._free.pop() if self._free else self._new_row())
        row = rows[group]
        self._held.pop(row, None)
        self._entity[row] = entity_id
        count = len(observation_ids)
        self._count[row] = count
        self._seen[row, :count], self._seen[row, count:] = observation_ids, 0
        self._stamp[row, :count], self._stamp[row, count:] = stamps_ns, 0
        self._latest = max(self._latest, *observation_ids)
        self._means.put(row, mean)

    def drop(self, entity_id: int) -> None:
        """Forget an entity."""
        for row in self._rows.pop(entity_id, ()):
            self._held.pop(row, None)
            self._count[row] = 0
            self._seen[row] = 0
            self._free.append(row)
            self._means.drop(row)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all but what can be read, for `load`."""
        return {'entity': self._entity, 'count': self._count, 'seen': self._seen,
                'stamp': self._stamp, **{f'means.{name}': array for name, array
                                         in self._means.to_arrays().items()}}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `to_arrays` gave. Raises ValueError or KeyError for what it did not."""
        self._entity, self._count = arrays['entity'].copy(), arrays['count'].copy()
        self._seen, self._stamp = arrays['seen'].copy(), arrays['stamp'].copy()
        self._size = size = len(self._entity)
        if self._count.shape != (size,) or {self._seen.shape, self._stamp.shape} != {
                (size, self._most)}:
            raise ValueError(f'references of {self._seen.shape}, not {(size, self._most)}')
        self._rows, self._free, self._held = {}, [], OrderedDict()
        for row, (entity_id, count) in enumerate(zip(
                self._entity.tolist(), self._count.tolist(), strict=True)):
            if count:
                self._rows.setdefault(entity_id, []).append(row)
            else:
                self._free.append(row)
        self._latest = int(self._seen.max(initial=0))
        self._means.load({name.partition('.')[2]: array for name, array in arrays.items()
                          if name.startswith('means.')})
        if len(self._means) != size - len(self._free):
            raise ValueError(f'{len(self._means)} means of {size - len(self._free)} groups')

    def _group_of(self, entity_id: int, vector: Vectors) -> int:
        """Return the group of an entity whose least like reference is the most like a vector."""
        if len(self._rows[entity_id]) == 1:
            return 0
        return int(np.argmax([(held @ vector).min(initial=1)
                              for held in self.groups(entity_id)]))

    def _new_row(self) -> int:
        size, self._size = self._size, self._size + 1
        if size == len(self._entity):
            more = max(64, size // 2)
            self._entity = np.pad(self._entity, (0, more))
            self._count = np.pad(self._count, (0, more))
            self._seen = np.pad(self._seen, ((0, more), (0, 0)))
            self._stamp = np.pad(self._stamp, ((0, more), (0, 0)))
        return size

    def _hold(self, row: int, vectors: Vectors) -> None:
        self._held[row] = vectors
        self._held.move_to_end(row)
        while len(self._held) * self._most * self.dimension * 4 > HELD_BYTES:
            self._held.popitem(last=False)
