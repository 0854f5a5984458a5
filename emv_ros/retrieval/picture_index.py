"""The vectors of pictures beside each reader: flat, in memory, following the database.

`refresh` takes over what all processes wrote and deleted, by the journal of changes. Vectors of
another model, or of another length under the same name, are left out. Robots, window and the time
of the question narrow the search itself.
"""

from __future__ import annotations

from collections.abc import Sequence
import logging

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.changes import Mark, mark_of, since
from emv_ros.retrieval.arrays import Columns
from emv_ros.retrieval.embedders import Vectors
from emv_ros.retrieval.picture_vectors import colour_pictures
from emv_ros.retrieval.scope import Scope
from emv_ros.retrieval.vectors import FlatVectors, Ids

logger = logging.getLogger(__name__)

CHUNK = 900


class PictureIndex:
    """The vectors of one model in one memory. One thread at a time."""

    def __init__(self, model: str, dimension: int) -> None:
        """Hold nothing until `refresh`."""
        self.model = model
        self.dimension = dimension
        self._mark = Mark()
        self._clear()

    def _clear(self) -> None:
        self._rows = Columns(robot=np.int64, stamp_ns=np.int64)
        self._vectors = FlatVectors(self.dimension)

    def __len__(self) -> int:
        return len(self._vectors)

    def bare(self, session: Session) -> int:
        """Return how many pictures have no vector here."""
        return max(0, int(session.scalar(select(func.count()).select_from(schema.ImageRow).where(
            *colour_pictures())) or 0) - len(self))

    def refresh(self, session: Session) -> None:
        """Take over what changed in the database; where that is not known, all of it."""
        found = since(session, self._mark) if self._mark.id else None
        if found is None:
            self._mark, mark = Mark(), mark_of(session)
            self._clear()
            self._add(session, None)
            self._mark = mark
            return
        changed, mark = found
        pictures = sorted(ref_id for kind, ref_id in changed if kind == 'picture')
        if pictures:
            self._vectors.remove(np.array(pictures, np.int64))
            self._rows.drop(pictures)
            for start in range(0, len(pictures), CHUNK):
                self._add(session, pictures[start:start + CHUNK])
        self._mark = mark  # only now: what failed half way is done again

    def nearest(self, vector: Vectors, scope: Scope, limit: int,
                least: float) -> list[tuple[int, float]]:
        """Return up to `limit` (image id, cosine) at `least` and more, nearest first."""
        seen = self._seen(scope)
        count = int(seen.sum())
        if not count:
            return []
        allowed: Ids | None = None if count == len(self) else self._rows['key'][seen]
        ids, cosines = self._vectors.nearest(vector, limit, allowed)
        return [(key, cosine) for key, cosine in zip(ids.tolist(), cosines.tolist(), strict=True)
                if cosine >= least]

    def _seen(self, scope: Scope) -> NDArray[np.bool_]:
        """Return the mask of the pictures in scope, whatever kinds it names."""
        window, stamps = scope.window, self._rows['stamp_ns']
        seen = self._rows['alive'].copy()
        if scope.robot_ids is not None:
            seen &= np.isin(self._rows['robot'], list(scope.robot_ids))
        if window.start_ns is not None:
            seen &= stamps >= window.start_ns
        for end_ns in (window.end_ns, window.before_ns):
            if end_ns is not None:
                seen &= stamps < end_ns
        return seen

    def _add(self, session: Session, pictures: Sequence[int] | None) -> None:
        """Read vectors, of some pictures or of all, in lots: there may be a gigabyte."""
        row, image = schema.PictureEmbeddingRow, schema.ImageRow
        query = (
            select(image.id, image.robot_id, image.stamp_ns, row.vector)
            .join(image, image.id == row.image_id)
            .where(row.model == self.model, func.length(row.vector) == 4 * self.dimension))
        if pictures is not None:
            query = query.where(row.image_id.in_(pictures))
        found = session.execute(query.execution_options(yield_per=CHUNK))
        for rows in found.partitions(CHUNK):
            ids = np.array([item.id for item in rows], np.int64)
            self._rows.put(ids, robot=[item.robot_id for item in rows],
                           stamp_ns=[item.stamp_ns for item in rows])
            self._vectors.add(ids, np.frombuffer(
                b''.join(item.vector for item in rows), '<f4').reshape(len(rows), self.dimension))
