"""Ranked search over everything that has a text: by words and by vectors, fused by reciprocal rank.

A search finds what was recorded a moment ago (texts without a vector are embedded first, up to a
cap) and never what was recorded after the time of the question. Texts that say the same come as one
hit that counts them. Where a part is missing - no vectors, no model, an empty memory - the search
goes on with the rest and its note says so. What was found seeds a walk on the graph of the memory
(see `ranking`), which orders the hits and brings what lies between them.
"""

from __future__ import annotations

from collections.abc import Sequence, Set as AbstractSet
from dataclasses import dataclass, field, replace
import logging
import threading
import time
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.errors import ModelError, StoreError
from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.documents import text_of
from emv_ros.memory.queries import ALL, Window, as_of
from emv_ros.memory.rows import record_of
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.embedders import TextEmbedder, Vectors, make_embedder
from emv_ros.retrieval.graph import EdgeWeights, Graph
from emv_ros.retrieval.index import embed_missing
from emv_ros.retrieval.lexical import Group, find_words
from emv_ros.retrieval.picture_search import PictureHit, PictureSearch
from emv_ros.retrieval.ranking import Ranking
from emv_ros.retrieval.scope import Scope
from emv_ros.retrieval.similarity import Similarity
from emv_ros.retrieval.terms import search_terms
from emv_ros.retrieval.vector_index import VectorIndex
from emv_ros.settings import RetrievalSettings

logger = logging.getLogger(__name__)

MAX_CHARS = 2000
# The usual constant of reciprocal rank fusion: the first ranks differ little.
RANK_OFFSET = 60
MIN_POOL = 64
# A search waits no longer than this (and one batch) for the vectors of new texts.
FRESH_TIME_S = 1.0
FRESH_BATCH = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One unit, or `repeats` units that say the same: then the first in time, and the last.

    `score` orders the hits of one search and means nothing else; `similarity` is the cosine to the
    question, None where only words were found.
    """

    kind: str
    ref_id: int
    robot: str
    start_ns: int
    end_ns: int
    text: str
    score: float
    similarity: float | None = None
    repeats: int = 1
    last_ns: int = 0
    last_ref_id: int = 0


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first, and in words what the search could not do ('' where it did everything).

    `pictures` are hits of the picture embedder, where there is one.
    """

    hits: list[Hit]
    note: str = ''
    pictures: list[PictureHit] = field(default_factory=list)


class Searcher:
    """Search in one memory. Safe to share between threads."""

    def __init__(self, store: MemoryStore, settings: RetrievalSettings,
                 embedder: TextEmbedder | None = None) -> None:
        """Without an embedder the one that the settings name is loaded at the first search."""
        self._store = store
        self._settings = settings
        self._embedder = embedder
        self._is_loaded = embedder is not None
        self._why = ''
        self._index: VectorIndex | None = None
        self._graph = Graph(store)
        self._pictures = PictureSearch(store, settings)
        self._lock = threading.Lock()
        self._similarity: Similarity | None = None

    @property
    def embedder(self) -> TextEmbedder | None:
        """The embedder, loaded when first needed; None where there is none (then by words only)."""
        with self._lock:
            if not self._is_loaded:
                try:
                    self._embedder = make_embedder(self._settings)
                    self._why = '' if self._embedder else 'text vectors are switched off'
                except ModelError as error:
                    self._why = str(error)
                    logger.warning('search goes by words only: %s', error)
                self._is_loaded = True
            return self._embedder

    @property
    def store(self) -> MemoryStore:
        """The memory that is searched."""
        return self._store

    @property
    def settings(self) -> RetrievalSettings:
        """The settings of this search."""
        return self._settings

    @property
    def similarity(self) -> Similarity:
        """The comparison of texts with this search's embedder."""
        if self._similarity is None:
            self._similarity = Similarity(self.embedder)
        return self._similarity

    def near(self, text: str, candidates: Sequence[str]) -> list[float]:
        """Return how near the text is to each candidate (see Similarity)."""
        return self.similarity.scores(text, candidates)

    def load(self) -> None:
        """Load the embedders, which else the first search does."""
        _ = self.embedder
        self._pictures.load()

    def search(self, text: str, window: Window = ALL, k: int | None = None,
               kinds: Sequence[str] | None = None, with_pictures: bool = True) -> SearchResult:
        """Return at most `k` hits (None: as the settings say), best first.

        Any text will do. `kinds` narrows to 'node', 'utterance', 'skill_event', 'annotation',
        'observation', 'image'. Raises StoreError where the memory cannot be read.
        """
        text = text[:MAX_CHARS].strip()
        if not text:
            return SearchResult([], 'nothing was asked for')
        limit = self._settings.units if k is None else max(k, 0)
        pool = max(4 * limit, MIN_POOL)
        terms = search_terms(text) if self._settings.words else []
        vector, notes = self._vector_of(text)
        pictured, untold = self._pictures.ask(text) if with_pictures else (None, [])
        notes += untold
        with self._lock:
            if vector is not None:
                notes += self._freshen(vector)
            with self._store.reading() as session:
                scope = Scope.of(self._store, session, window, kinds)
                pictures, untold = self._pictures.find(session, scope, pictured)
                notes += untold
                shown = self._pictures.groups(session, scope, pictures)
                ranked, unranked = self._ranked(session, scope, terms, vector, pool, shown)
                hits = _hits(self._store, session, scope, ranked, limit)
                notes += unranked
                if not pictures:
                    notes += self._shortcomings(
                        session, scope, terms, vector is not None, bool(hits))
        return SearchResult(hits, '; '.join(notes), pictures)

    def follow(self, session: Session) -> None:
        """Bring what is held beside the database up to what the session sees."""
        with self._lock:
            self._graph.refresh(session)
            if self._index is not None:
                self._index.refresh(session)

    def alike(self, keys: Sequence[int], scope: Scope) -> dict[int, list[int]]:
        """Return the documents with a vector that say the same, by group, in order of time."""
        with self._lock:
            if self._index is None:
                return {}
            return {key: self._index.members(key, scope).tolist() for key in keys}

    def of_entity(self, documents: Sequence[int], entity_id: int) -> list[int]:
        """Return those of some documents whose record is of an entity, as the graph knows it."""
        with self._lock:
            ids = np.array(documents, np.int64)
            found: list[int] = ids[self._graph.entities(ids) == entity_id].tolist()
            return found

    def _ranked(self, session: Session, scope: Scope, terms: Sequence[str],
                vector: Vectors | None, pool: int,
                shown: Sequence[Group] = ()) -> tuple[list[tuple[float, Group]], list[str]]:
        """Return groups with their scores, best first, and what there is to say of the ranking.

        `shown` is the ranking of what pictures show, where there is one.
        """
        graph, index = self._graph, self._index
        graph.refresh(session)
        seen = None if scope.is_open else graph.seen(scope)
        visible = None if seen is None and not scope.kinds else graph.documents(scope, seen)
        found = [find_words(session, terms, scope, pool, visible)]
        if vector is not None and index is not None:
            index.refresh(session)
            found.append(index.search(
                vector, scope, session, pool, self._settings.min_similarity))
        rankings = [*found, shown] if shown else found
        fused = fuse(rankings, self._bare(found))
        best = len(rankings) / (RANK_OFFSET + 1)
        ranked, notes = [(score / best, group) for score, group in fused], []
        if self._settings.graph:
            # Where things are not told apart, nothing leads from one time of a thing to another.
            edges = None if self._settings.merge in ('entity', 'name') else EdgeWeights(entity=0)
            ranking = Ranking(graph, session, scope, seen, edges)
            ranked = ranking.ordered(ranked, vector, index if len(found) > 1 else None,
                                     self._settings.min_similarity)
            notes = ranking.notes
        if index is not None and len(found) > 1:
            # Words may not have seen all that say the same, and a walk sees one.
            ranked = [(score, index.whole(group, scope)) for score, group in ranked[:pool // 2]]
        return ranked, notes

    def _bare(self, found: Sequence[Sequence[Group]]) -> set[int]:
        """Return the keys of groups found by words that have no vector yet."""
        if len(found) < 2 or self._index is None:
            return set()
        lacking = self._index.lacking([group.first_id for group in found[0]])
        return {group.key for group in found[0] if group.first_id in lacking}

    def _vector_of(self, text: str) -> tuple[Vectors | None, list[str]]:
        embedder = self.embedder
        if embedder is None:
            return None, [f'found by words only ({self._why})']
        try:
            return embedder.embed([text])[0], []
        except ModelError as error:
            logger.warning('search goes by words only: %s', error)
            return None, [f'found by words only ({error})']

    def _freshen(self, vector: Vectors) -> list[str]:
        """Bring the index up to date, embedding the newest texts that have no vector yet."""
        embedder = self._embedder
        assert embedder is not None
        if self._index is None or self._index.dimension != len(vector):
            self._index = VectorIndex(self._store, embedder.name, len(vector))
        with self._store.reading() as session:
            self._index.refresh(session)
        waiting = self._index.bare()[:self._settings.fresh_texts].tolist()
        if not waiting:
            return []
        try:
            end_s = time.monotonic() + FRESH_TIME_S
            embed_missing(self._store, embedder, batch=FRESH_BATCH, documents=waiting,
                          cancel=lambda: time.monotonic() > end_s)
        except (ModelError, StoreError) as error:
            logger.warning('new texts get no vectors: %s', error)
            return [f'new texts could not be given vectors ({error})']
        return []

    def _shortcomings(self, session: Session, scope: Scope, terms: Sequence[str],
                      has_vector: bool, has_hits: bool) -> list[str]:
        if not has_hits and not _holds_any(session):
            return ['the memory holds nothing to search in yet']
        notes = []
        if has_vector and self._index is not None and (bare := len(self._index.bare())):
            notes.append(f'{bare} of {bare + len(self._index)} texts have no vector yet and are '
                         'found by words only')
        if not has_vector and not terms:
            notes.append('the question holds no word to search for')
        if not has_hits and not _holds_any(session, scope):
            notes.append('nothing was recorded in what was searched')
        return notes


def fuse(found: Sequence[Sequence[Group]], bare: AbstractSet[int]) -> list[tuple[float, Group]]:
    """Return the groups of all rankings with their reciprocal-rank scores, best first.

    What has no vector yet (`bare`, keys) could not be found by one: there words count twice.
    """
    scores: dict[int, float] = {}
    groups: dict[int, Group] = {}
    for ranking in found:
        for rank, group in enumerate(ranking, 1):
            weight = 2 if group.key in bare else 1
            scores[group.key] = scores.get(group.key, 0.0) + weight / (RANK_OFFSET + rank)
            known = groups.get(group.key)
            groups[group.key] = _merged(known, group) if known else group
    order = sorted(scores, key=lambda key: (-scores[key], -(groups[key].similarity or 0.0),
                                            groups[key].first_ns, groups[key].first_id))
    return [(scores[key], groups[key]) for key in order]


def _merged(one: Group, other: Group) -> Group:
    first = min(one, other, key=lambda group: (group.first_ns, group.first_id))
    last = max(one, other, key=lambda group: (group.last_ns, group.last_id))
    cosine = other.similarity if one.similarity is None else one.similarity
    return Group(one.key, first.first_id, first.first_ns, last.last_id, last.last_ns,
                 max(one.count, other.count), cosine)


def _hits(store: MemoryStore, session: Session, scope: Scope,
          ranked: Sequence[tuple[float, Group]], limit: int) -> list[Hit]:
    """Return hits for the best groups, read through the scope: the index may be behind."""
    row, robots = schema.DocumentRow, store.robot_ids(session)
    hits: list[Hit] = []
    for start in range(0, len(ranked), MIN_POOL):
        part = ranked[start:start + MIN_POOL]
        ids = {key for _, group in part for key in (group.first_id, group.last_id)}
        rows = {item.id: item for item in session.execute(
            select(row.id, row.kind, row.ref_id, row.robot_id, row.start_ns, row.end_ns, row.text)
            .where(among(row.id, sorted(ids)), *scope.conditions(by_id=True)))}
        for score, group in part:
            first = rows.get(group.first_id) or rows.get(group.last_id)
            if first is None:
                continue  # it went, or left the window, since the index read it
            last = rows.get(group.last_id) or first
            hits.append(Hit(
                kind=first.kind, ref_id=first.ref_id, robot=robots[first.robot_id],
                start_ns=first.start_ns, end_ns=first.end_ns, text=first.text, score=score,
                similarity=group.similarity, repeats=group.count, last_ns=last.start_ns,
                last_ref_id=last.ref_id))
        if len(hits) >= limit:
            break
    hits = hits[:limit]
    if scope.window.before_ns is None:
        return hits
    return [_as_known(session, hit, scope.window.before_ns) for hit in hits]


def _as_known(session: Session, hit: Hit, before_ns: int) -> Hit:
    """Return the hit with the text and the end that were known just before `before_ns`."""
    if hit.kind != 'skill_event':
        return hit
    row: Any = session.get(schema.SkillEventRow, hit.ref_id)
    if row is None or row.last_report_ns < before_ns:
        return hit
    known = as_of(record_of('skill_event', row, hit.robot), before_ns)
    return replace(hit, text=text_of(known) or '', end_ns=known.end_ns or known.stamp_ns)


def _holds_any(session: Session, scope: Scope | None = None) -> bool:
    query = select(schema.DocumentRow.id).limit(1)
    if scope is not None:
        query = query.where(*scope.conditions())
    return session.scalar(query) is not None
