"""The vectors of the documents, as one matrix beside each reader; the database stays the truth.

`refresh` brings the matrix up to what all processes wrote and deleted. Vectors of another model, or
of another length under the same name, are ignored and counted. A flat product is exact and takes
milliseconds for the memory of a robot, so there is no approximate index to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BigInteger, and_, case, delete, func, literal_column, or_, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.embedders import TextEmbedder, Vectors
from emv_ros.retrieval.lexical import Group, group_key
from emv_ros.retrieval.scope import KINDS, Rows, Scope

CHUNK = 2000
BATCH = 64


@dataclass(frozen=True)
class _State:
    """What tells whether the vectors in the database changed since they were read."""

    count: int
    sum_ids: int
    last: int
    other: int
    newest: tuple[int, bytes] | None


class VectorIndex:
    """The vectors of one model in one memory. One thread at a time."""

    def __init__(self, store: MemoryStore, model: str, dimension: int) -> None:
        self._store = store
        self._model = model
        self.dimension = dimension
        self._state = _State(0, 0, 0, 0, None)
        self._size = 0
        self._matrix: Vectors = np.zeros((0, dimension), np.float32)
        self._rows = Rows.empty()
        self._groups: NDArray[np.int64] = np.zeros(0, np.int64)
        self._stamps: NDArray[np.int64] = np.zeros(0, np.int64)
        self.ignored = 0

    def __len__(self) -> int:
        return self._size

    def refresh(self, session: Session) -> None:
        """Read what other processes and threads have written or deleted since the last time."""
        state = self._read_state(session)
        if state == self._state:
            return
        firm = self._firm(session)
        self._remove(np.flatnonzero(self._stamps[:self._size] > firm))
        added = _added(session, self._model, firm)
        held = self._rows.document
        self._remove(np.flatnonzero(np.isin(held[:self._size], added)))
        if (state.count, state.sum_ids) != (
                self._size + len(added), int(held[:self._size].sum()) + sum(added)):
            added = self._compare_all(session)
        self._load(session, added)
        self._state = state
        self.ignored = state.other + state.count - self._size

    def search(self, vector: Vectors, scope: Scope, session: Session, limit: int,
               least: float) -> list[Group]:
        """Return up to `limit` groups at a cosine of `least` and more, nearest first."""
        rows = self._rows[:self._size]
        seen = np.flatnonzero(scope.mask(rows, scope.straddling(session)))
        if not len(seen):
            return []
        cosines = self._matrix[:self._size] @ vector
        seen = seen[cosines[seen] >= least]
        found: dict[int, float] = {}
        for position in _nearest(cosines, seen, limit, self._groups):
            found.setdefault(int(self._groups[position]), float(cosines[position]))
        chosen = list(found.items())[:limit]
        return [self._group(key, cosine, seen) for key, cosine in chosen]

    def lacking(self, documents: Sequence[int]) -> set[int]:
        """Return which of the documents have no vector here."""
        held = self._rows.document[:self._size]
        return set(np.setdiff1d(np.array(documents, np.int64), held).tolist())

    def _group(self, key: int, cosine: float, seen: NDArray[np.intp]) -> Group:
        same = seen[self._groups[seen] == key]
        starts = self._rows.start_ns[same]
        first, last = same[np.argmin(starts)], same[len(same) - 1 - np.argmax(starts[::-1])]
        document, start_ns = self._rows.document, self._rows.start_ns
        return Group(key, int(document[first]), int(start_ns[first]), int(document[last]),
                     int(start_ns[last]), len(same), cosine)

    def _read_state(self, session: Session) -> _State:
        row, stamp = schema.EmbeddingRow, _stamp(session)
        mine = row.model == self._model
        count, sum_ids, last, rows = session.execute(select(
            func.coalesce(func.sum(case((mine, 1), else_=0)), 0),
            func.coalesce(func.sum(case((mine, row.document_id), else_=0)), 0),
            func.coalesce(func.max(case((mine, stamp))), 0), func.count())).one()
        newest = session.execute(select(row.document_id, row.vector).where(
            mine, stamp == int(last)).order_by(row.document_id.desc()).limit(1)).first()
        return _State(int(count), int(sum_ids), int(last), int(rows) - int(count),
                      (newest.document_id, newest.vector) if newest else None)

    def _firm(self, session: Session) -> int:
        """Return the highest stamp whose row stands as it was read, 0 where there is none.

        SQLite gives the stamps of deleted last rows out again, so rows above it may be others by
        now. Below it none can be: its row was there all the time.
        """
        row, stamp = schema.EmbeddingRow, _stamp(session)
        order = np.argsort(-self._stamps[:self._size], kind='stable')
        start, size = 0, BATCH
        while start < len(order):
            chunk = order[start:start + size]
            stored = {item.document_id: item.vector for item in session.execute(
                select(row.document_id, row.vector).where(
                    row.model == self._model, stamp.in_(self._stamps[chunk].tolist())))}
            for at in chunk:
                document = int(self._rows.document[at])
                if stored.get(document) == self._matrix[at].astype('<f4').tobytes():
                    return int(self._stamps[at])
            start, size = start + size, min(size * 4, CHUNK)
        return 0

    def _compare_all(self, session: Session) -> list[int]:
        """Remove what is gone from the database; return the documents that are to be read."""
        row, size = schema.EmbeddingRow, self._size
        pairs = session.execute(
            select(row.document_id, _stamp(session)).where(row.model == self._model))
        stored = np.array([tuple(pair) for pair in pairs], np.int64).reshape(-1, 2)
        both = np.stack((self._rows.document[:size], self._stamps[:size]), axis=1)
        self._remove(np.flatnonzero(~np.isin(_joined(both), _joined(stored))))
        wanted: list[int] = np.setdiff1d(
            stored[:, 0], self._rows.document[:self._size]).tolist()
        return wanted

    def _remove(self, positions: NDArray[np.intp]) -> None:
        """Drop rows; the last ones move into the holes."""
        if not len(positions):
            return
        left = self._size - len(positions)
        holes = positions[positions < left]
        movers = np.setdiff1d(np.arange(left, self._size), positions)
        for array in (self._matrix, self._groups, self._stamps, *self._rows):
            array[holes] = array[movers]
        self._size = left

    def _load(self, session: Session, documents: list[int]) -> None:
        row, document, stamp = schema.EmbeddingRow, schema.DocumentRow, _stamp(session)
        self._reserve(self._size + len(documents))
        for start in range(0, len(documents), CHUNK):
            chunk = session.execute(
                select(document.id, document.robot_id, document.kind, document.start_ns,
                       document.end_ns, stamp, document.text, row.vector)
                .join(row, row.document_id == document.id)
                .where(row.model == self._model, document.kind.in_(KINDS),
                       document.id.in_(documents[start:start + CHUNK]))).all()
            for item in chunk:
                if len(item.vector) == 4 * self.dimension:
                    self._append(*item)

    def _append(self, document: int, robot: int, kind: str, start_ns: int, end_ns: int, stamp: int,
                words: str, vector: bytes) -> None:
        at, rows = self._size, self._rows
        self._matrix[at] = np.frombuffer(vector, '<f4')
        rows.document[at], rows.robot[at], rows.kind[at] = document, robot, KINDS.index(kind)
        rows.start_ns[at], rows.end_ns[at] = start_ns, end_ns
        self._groups[at], self._stamps[at] = group_key(robot, kind, words), stamp
        self._size += 1

    def _reserve(self, size: int) -> None:
        """Make room for `size` rows; room grows by an eighth, so that appending stays cheap."""
        if size <= len(self._matrix):
            return
        room = size + size // 8

        def grown(array: Any) -> Any:
            new = np.zeros((room, *array.shape[1:]), array.dtype)
            new[:self._size] = array[:self._size]
            return new

        self._matrix, self._groups = grown(self._matrix), grown(self._groups)
        self._stamps = grown(self._stamps)
        self._rows = Rows(*(grown(array) for array in self._rows))


def embed_missing(store: MemoryStore, embedder: TextEmbedder, limit: int | None = None,
                  cancel: Callable[[], bool] | None = None, newest_first: bool = False,
                  batch: int = BATCH) -> int:
    """Embed documents that have no vector of this model, and return how many got one.

    Committed in batches; `cancel` is asked before each. A text that changed or went meanwhile is
    left for the next time. Raises ModelError from the embedder and StoreError from the store;
    earlier batches stay.
    """
    done = 0
    tried: set[int] = set()
    while limit is None or done < limit:
        if cancel is not None and cancel():
            break
        size = batch if limit is None else min(batch, limit - done)
        with store.reading() as session:
            waiting = _missing(session, embedder, size, newest_first)
        waiting = {key: words for key, words in waiting.items() if key not in tried}
        if not waiting:
            break
        tried.update(waiting)
        texts = list(dict.fromkeys(waiting.values()))
        vectors = dict(zip(texts, embedder.embed(texts), strict=True))
        done += _keep(store, embedder.name, waiting, vectors)
    return done


def count_missing(session: Session, embedder: TextEmbedder) -> int:
    """Return how many documents have no vector of this model."""
    row = schema.DocumentRow
    return int(session.scalar(
        select(func.count()).select_from(row).outerjoin(*_vector_of(embedder))
        .where(*_lacks(embedder))) or 0)


def _missing(session: Session, embedder: TextEmbedder, limit: int,
             newest_first: bool) -> dict[int, str]:
    row = schema.DocumentRow
    rows = session.execute(
        select(row.id, row.text).outerjoin(*_vector_of(embedder)).where(*_lacks(embedder))
        .order_by(row.id.desc() if newest_first else row.id).limit(limit))
    return {row.id: row.text for row in rows}


def _vector_of(embedder: TextEmbedder) -> tuple[Any, Any]:
    row = schema.EmbeddingRow
    return row, and_(row.document_id == schema.DocumentRow.id, row.model == embedder.name)


def _lacks(embedder: TextEmbedder) -> tuple[Any, ...]:
    row = schema.EmbeddingRow
    return (or_(row.document_id.is_(None), func.length(row.vector) != 4 * embedder.dimension),
            schema.DocumentRow.text != '')


def _keep(store: MemoryStore, model: str, waiting: dict[int, str],
          vectors: dict[str, Vectors]) -> int:
    row = schema.DocumentRow
    with store.writing() as session:
        now = session.execute(select(row.id, row.text).where(row.id.in_(waiting)))
        kept = [key for key, words in now if waiting[key] == words]
        session.execute(delete(schema.EmbeddingRow).where(
            schema.EmbeddingRow.model == model, schema.EmbeddingRow.document_id.in_(kept)))
        session.add_all(schema.EmbeddingRow(
            document_id=key, model=model, vector=vectors[waiting[key]].astype('<f4').tobytes())
            for key in kept)
    return len(kept)


def _stamp(session: Session) -> Any:
    """Return a column that grows with each row that is written."""
    is_sqlite = session.get_bind().dialect.name == 'sqlite'
    name = 'embedding.rowid' if is_sqlite else 'embedding.xmin::text::bigint'
    return literal_column(name, BigInteger())


def _added(session: Session, model: str, last: int) -> list[int]:
    row = schema.EmbeddingRow
    return list(session.scalars(select(row.document_id).where(
        row.model == model, _stamp(session) > last)))


def _joined(pairs: NDArray[np.int64]) -> NDArray[np.void]:
    """Return (n, 2) numbers as n values that can be looked up."""
    joined: NDArray[np.void] = np.ascontiguousarray(pairs).view('V16').ravel()
    return joined


def _nearest(cosines: NDArray[np.float32], seen: NDArray[np.intp], limit: int,
             groups: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return positions by falling cosine that hold at least `limit` groups, or all of them."""
    wanted = limit * 4
    while wanted < len(seen):
        top = seen[np.argpartition(-cosines[seen], wanted)[:wanted]]
        if len(np.unique(groups[top])) >= limit:
            return top[np.argsort(-cosines[top], kind='stable')]
        wanted *= 4
    return seen[np.argsort(-cosines[seen], kind='stable')]
