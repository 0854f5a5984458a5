"""Rows as growing NumPy columns, found by a whole number that names each.

Rows keep their position for life: one that goes is marked, so that positions may be linked to; it
is used again if its key comes back. Nothing here knows what the rows mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Positions = NDArray[np.int64]

# Keys found by a dictionary before the sorted keys are made anew.
MAX_RECENT = 20_000


class Columns:
    """Named columns over one set of rows; `key` and `alive` are always among them."""

    def __init__(self, **columns: DTypeLike) -> None:
        """Have no rows yet; a column's type may have a shape, as in `(np.int32, 3)`."""
        self.size = 0
        self._arrays: dict[str, NDArray[Any]] = {
            name: np.zeros(0, kind)
            for name, kind in {'key': np.int64, 'alive': np.bool_, **columns}.items()}
        self._index()

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return the column of a name, a view that may be written."""
        return self._arrays[name][:self.size]

    def find(self, keys: Any) -> Positions:
        """Return the position of each key, dead or alive; -1 where there never was one."""
        keys = np.asarray(keys, np.int64)
        if len(self._sorted):
            at = np.minimum(np.searchsorted(self._sorted, keys), len(self._sorted) - 1)
            found = np.where(self._sorted[at] == keys, self._order[at], -1)
        else:
            found = np.full(len(keys), -1, np.int64)
        if self._recent:
            for where in np.flatnonzero(found < 0).tolist():
                found[where] = self._recent.get(int(keys[where]), -1)
        return found

    def put(self, keys: Any, **values: Any) -> Positions:
        """Set whole rows by their distinct keys, new ones behind the others; return positions."""
        keys = np.asarray(keys, np.int64)
        at = self.find(keys)
        new = np.flatnonzero(at < 0)
        at[new] = np.arange(self.size, self.size + len(new))
        self._grow(self.size + len(new))
        self['key'][at], self['alive'][at] = keys, True
        for name, value in values.items():
            self._arrays[name][at] = value
        if len(self._recent) + len(new) > MAX_RECENT:
            self._index()
        else:
            self._recent.update(zip(keys[new].tolist(), at[new].tolist(), strict=True))
        return at

    def drop(self, keys: Any) -> None:
        """Mark the rows of keys as gone."""
        at = self.find(keys)
        self['alive'][at[at >= 0]] = False

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all columns, to be kept elsewhere."""
        return {name: self[name] for name in self._arrays}

    def load(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take a copy of kept columns. Raises ValueError where they are not these."""
        if {name: (array.dtype, array.shape[1:]) for name, array in arrays.items()} != {
                name: (array.dtype, array.shape[1:]) for name, array in self._arrays.items()}:
            raise ValueError(f'other columns are kept: {sorted(arrays)}')
        self._arrays = {name: np.array(array) for name, array in arrays.items()}
        self.size = len(arrays['key'])
        self._index()

    def _index(self) -> None:
        keys = self['key']
        self._order = np.argsort(keys, kind='stable')
        self._sorted = keys[self._order]
        self._recent: dict[int, int] = {}

    def _grow(self, size: int) -> None:
        """Make room for `size` rows; room grows by an eighth, so that appending stays cheap."""
        if size > len(self._arrays['key']):
            room = size + size // 8 + 64
            for name, array in self._arrays.items():
                new = np.zeros((room, *array.shape[1:]), array.dtype)
                new[:self.size] = array[:self.size]
                self._arrays[name] = new
        self.size = size
