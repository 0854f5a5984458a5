"""The vectors of the documents beside each reader; the database stays the truth.

`refresh` brings the index up to what all processes wrote and deleted, by the journal of changes.
Vectors of another model, or of another length under the same name, are ignored and counted. The
index is kept as a file beside the database, so that a long life opens quickly; a file that is
damaged, of another memory or too far behind is noticed and made anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray
import sqlalchemy as sa
from sqlalchemy import and_, bindparam, func, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.among import Numbers, among
from emv_ros.memory.cache_file import read_cache, write_cache
from emv_ros.memory.changes import Mark, mark_of
from emv_ros.memory.clearing import CACHES
from emv_ros.memory.migrate import SCHEMA_VERSION
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.arrays import MAX_RECENT, Columns
from emv_ros.retrieval.embedders import Vectors
from emv_ros.retrieval.following import Follower
from emv_ros.retrieval.lexical import Group, group_key
from emv_ros.retrieval.scope import KINDS, Rows, Scope
from emv_ros.retrieval.vectors import (
    LEARNED_FROM,
    MAX_FLAT,
    FlatVectors,
    Ids,
    ListedVectors,
    lists_for,
)

logger = logging.getLogger(__name__)

CHUNK = 2000
# Nearest vectors that a search starts from; more where many say the same.
NEAREST = 256
MAX_NEAREST = 4096


class VectorIndex(Follower):
    """The vectors of one model in one memory. One thread at a time."""

    def __init__(self, store: MemoryStore, model: str, dimension: int) -> None:
        """Hold nothing until `refresh`."""
        super().__init__('vector index')
        self._store = store
        self._model = model
        self.dimension = dimension
        name = blake2b(f'{model} {dimension}'.encode(), digest_size=8).hexdigest()
        self._file = store.folder / CACHES / f'vectors-{name}.bin'
        self._contents = f'vectors 1 of schema {SCHEMA_VERSION} by {model[:1000]}, {dimension}'
        # Of the table: rows of classes take twice as long to come.
        stored = sa.inspect(schema.EmbeddingRow).local_table.c
        self._vectors_of = select(stored.document_id, stored.vector).where(
            stored.model == model, among(stored.document_id, bindparam('ids', type_=Numbers())),
            func.length(stored.vector) == 4 * dimension)
        self._fresh: Ids = np.zeros(0, np.int64)
        self._clear()

    def _clear(self) -> None:
        self._rows = Columns(robot=np.int64, kind=np.int8, start_ns=np.int64, end_ns=np.int64,
                             group=np.int64, held=np.bool_, told=np.bool_, fresh=np.bool_)
        self.vectors: FlatVectors | ListedVectors = FlatVectors(self.dimension)
        self._sort_groups()

    def __len__(self) -> int:
        """The number of documents that have a vector here."""
        return len(self.vectors)

    @property
    def ignored(self) -> int:
        """How many vectors in the database are of another model or another length."""
        with self._store.reading() as session:
            return int(session.scalar(
                select(func.count()).select_from(schema.EmbeddingRow)) or 0) - len(self)

    def bare(self) -> Ids:
        """Return the documents that have no vector yet, newest first."""
        rows = self._rows
        lacks = rows['alive'] & rows['told'] & ~rows['held']
        return np.sort(rows['key'][lacks])[::-1]

    def lacking(self, documents: Sequence[int]) -> set[int]:
        """Return which of the documents have no vector here."""
        at = self._rows.find(documents)
        held = self._rows['held'] & self._rows['alive']
        return {document for document, where in zip(documents, at.tolist(), strict=True)
                if where < 0 or not held[where]}

    # Following the database

    def _follow(self, session: Session, changed: set[tuple[str, int]]) -> int:
        documents = sorted(ref_id for kind, ref_id in changed if kind == 'document')
        if documents:
            self._apply(session, documents)
            if self.vectors.is_outgrown:
                self._learn(session, self._held())
        return len(documents)

    def save(self) -> None:
        """Write the file beside the database."""
        if self._store.is_read_only:
            return
        arrays = {f'rows.{name}': array for name, array in self._rows.to_arrays().items()}
        write_cache(self._file, self._contents, self._mark, arrays | self.vectors.to_arrays())
        self._unsaved = 0

    def _open(self) -> None:
        kept = read_cache(self._file, self._contents)
        if kept is None:
            return
        arrays = kept[1]
        try:
            self._rows.load({name.removeprefix('rows.'): arrays.pop(name)
                             for name in list(arrays) if name.startswith('rows.')})
            self.vectors = (ListedVectors if 'lists' in arrays else FlatVectors).load(arrays)
        except (ValueError, KeyError, RuntimeError) as error:  # RuntimeError: of FAISS
            logger.warning('%s cannot be used and is made anew: %s', self._file, error)
            self._clear()
            return
        self._sort_groups()
        self._mark = kept[0]

    def _build(self, session: Session) -> None:
        self._clear()
        self._mark = Mark()
        mark = mark_of(session)
        for rows in self._read(session, None):
            self._put(rows)
        self._sort_groups()
        held = self._held()
        if len(held) > MAX_FLAT:
            self._learn(session, held)
        else:
            self._add(session, held)
        self._mark = mark
        if len(self._rows):
            self.save()

    def _apply(self, session: Session, documents: list[int]) -> None:
        at = self._rows.find(documents)
        known = at[at >= 0]
        self.vectors.remove(self._rows['key'][known[self._rows['held'][known]]])
        self._rows['held'][known] = False
        self._rows.drop(documents)
        for start in range(0, len(documents), CHUNK):
            for rows in self._read(session, documents[start:start + CHUNK]):
                self._put(rows)
        at = self._rows.find(documents)
        at = at[at >= 0]
        self._add(session, self._rows['key'][at[self._rows['held'][at]]])
        self._fresh = np.flatnonzero(self._rows['fresh'])
        if len(self._fresh) > MAX_RECENT:
            self._sort_groups()

    def _read(self, session: Session, documents: Sequence[int] | None) -> Any:
        """Yield lots of rows, of some documents or of all."""
        row, document = schema.EmbeddingRow, schema.DocumentRow
        query = (
            select(document.id, document.robot_id, document.kind, document.start_ns,
                   document.end_ns, document.text, func.length(row.vector).label('size'))
            .outerjoin(row, and_(row.document_id == document.id, row.model == self._model))
            .where(document.kind.in_(KINDS)))
        if documents is not None:
            query = query.where(document.id.in_(documents))
        yield from session.execute(query.execution_options(yield_per=CHUNK)).partitions(CHUNK)

    def _put(self, rows: Sequence[Any]) -> None:
        self._rows.put(
            [item.id for item in rows], robot=[item.robot_id for item in rows],
            kind=[KINDS.index(item.kind) for item in rows],
            start_ns=[item.start_ns for item in rows], end_ns=[item.end_ns for item in rows],
            group=[group_key(item.robot_id, item.kind, item.text) for item in rows],
            held=[item.size == 4 * self.dimension for item in rows],
            told=[bool(item.text) for item in rows], fresh=True)

    def _held(self) -> Ids:
        """Return the documents that have a vector, in order of time as they came."""
        return np.sort(self._rows['key'][self._rows['held'] & self._rows['alive']])

    def _learn(self, session: Session, held: Ids) -> None:
        """Learn lists for the vectors that there are, and fill them from the database."""
        logger.info('the vector index learns lists for %d vectors', len(held))
        wanted = lists_for(len(held)) * LEARNED_FROM
        sample = held[np.linspace(0, len(held) - 1, min(wanted, len(held))).astype(np.int64)]
        self.vectors = ListedVectors.learn(self._stored(session, sample)[1], len(held))
        self._add(session, held)

    def _add(self, session: Session, documents: Ids) -> None:
        for start in range(0, len(documents), CHUNK):
            self.vectors.add(*self._stored(session, documents[start:start + CHUNK]))

    def _stored(self, session: Session, documents: Ids) -> tuple[Ids, Vectors]:
        """Return those of the documents that have a vector in the database, and the vectors."""
        found: list[Any] = []
        for start in range(0, len(documents), CHUNK):
            found += session.execute(
                self._vectors_of, {'ids': documents[start:start + CHUNK].tolist()}).all()
        return (np.array([item[0] for item in found], np.int64),
                _matrix([item[1] for item in found], self.dimension))

    # Asking

    def search(self, vector: Vectors, scope: Scope, session: Session, limit: int,
               least: float) -> list[Group]:
        """Return up to `limit` groups at a cosine of `least` and more, nearest first."""
        rows = self._rows
        seen = rows['alive'] & rows['held'] & scope.mask(Rows(*(
            rows[name] for name in ('key', 'robot', 'kind', 'start_ns', 'end_ns'))))
        count = int(seen.sum())
        if not count:
            return []
        allowed = None if count == len(self.vectors) else rows['key'][seen]
        wanted = max(NEAREST, 2 * limit)
        while True:
            documents, cosines = self.nearest(session, vector, min(wanted, count), allowed)
            groups = rows['group'][rows.find(documents)]
            is_enough = len(np.unique(groups[cosines >= least])) >= limit
            if is_enough or wanted >= min(count, MAX_NEAREST) or cosines[-1] < least:
                break
            wanted *= 4
        found: dict[int, float] = {}
        for group, cosine in zip(groups.tolist(), cosines.tolist(), strict=True):
            if cosine >= least:
                found.setdefault(group, cosine)
        return [self._group(key, cosine, seen) for key, cosine in list(found.items())[:limit]]

    def cosines(self, session: Session, vector: Vectors, documents: Ids) -> dict[int, float]:
        """Return the cosine to a vector of each document that has a vector."""
        ids, vectors = self._stored(session, documents)
        return dict(zip(ids.tolist(), (vectors @ vector).tolist(), strict=True))

    def whole(self, group: Group, scope: Scope) -> Group:
        """Return a group with all the documents in scope that say the same."""
        at = self._within(scope, self._same(group.key))
        return self._spanned(group.key, at, group.similarity) if len(at) else group

    def members(self, key: int, scope: Scope) -> Ids:
        """Return the documents in scope that say the same, in order of time."""
        rows, at = self._rows, self._within(scope, self._same(key))
        found: Ids = rows['key'][at[np.argsort(rows['start_ns'][at], kind='stable')]]
        return found

    def _within(self, scope: Scope, at: Ids) -> Ids:
        if scope.is_open and not scope.kinds:
            return at
        return at[scope.mask(Rows(*(self._rows[name][at] for name in (
            'key', 'robot', 'kind', 'start_ns', 'end_ns'))))]

    def keys(self, documents: Ids) -> list[int]:
        """Return the keys of the groups of documents, 0 where one is not known."""
        at = self._rows.find(documents)
        return np.where(at < 0, 0, self._rows['group'][at]).tolist() if len(self._rows) else [
            0] * len(documents)

    def nearest(self, session: Session, vector: Vectors, count: int,
                allowed: Ids | None = None) -> tuple[Ids, NDArray[np.float32]]:
        """Return up to `count` documents, nearest first, and their true cosines."""
        documents, cosines = self.vectors.nearest(vector, count, allowed)
        if not self.vectors.is_exact:
            documents, vectors = self._stored(session, documents)
            cosines = vectors @ vector
            order = np.lexsort((documents, -cosines))
            documents, cosines = documents[order], cosines[order]
        return documents, cosines

    def exact_cosines(self, session: Session, vectors: Vectors, count: int) -> Vectors:
        """Return the `count` largest cosines to each vector, falling, by a product with all."""
        held = self._held()
        best = np.full((len(vectors), count), -1, np.float32)
        for start in range(0, len(held), MAX_FLAT):
            part = vectors @ self._stored(session, held[start:start + MAX_FLAT])[1].T
            best = np.sort(np.concatenate((best, part), axis=1), axis=1)[:, -count:]
        return best[:, ::-1]

    def _group(self, key: int, cosine: float, seen: NDArray[np.bool_]) -> Group:
        same = self._same(key)
        return self._spanned(key, same[seen[same]], cosine)

    def _spanned(self, key: int, at: Ids, cosine: float | None) -> Group:
        document, starts = self._rows['key'], self._rows['start_ns'][at]
        first, last = at[np.argmin(starts)], at[len(at) - 1 - np.argmax(starts[::-1])]
        start_ns = self._rows['start_ns']
        return Group(key, int(document[first]), int(start_ns[first]), int(document[last]),
                     int(start_ns[last]), len(at), cosine)

    def _sort_groups(self) -> None:
        """Order the rows by their groups; those that come later are looked through one by one."""
        self._order = np.argsort(self._rows['group'], kind='stable')
        self._sorted = self._rows['group'][self._order]
        self._rows['fresh'][:] = False
        self._fresh = np.zeros(0, np.int64)

    def _same(self, key: int) -> Ids:
        """Return the rows of a group, in order of time where they came in it."""
        rows = self._rows
        low, high = np.searchsorted(self._sorted, key), np.searchsorted(self._sorted, key, 'right')
        at = self._order[low:high]
        if len(self._fresh):
            fresh = self._fresh[rows['group'][self._fresh] == key]
            at = np.concatenate((at[~rows['fresh'][at]], fresh))
            at.sort()
        same: Ids = at[rows['alive'][at]]
        return same


def _matrix(vectors: Sequence[bytes], dimension: int) -> Vectors:
    made: Vectors = np.frombuffer(b''.join(vectors), '<f4').reshape(len(vectors), dimension)
    return made
