"""The order of what was found: how much a walk from all of it stays there, times how near it is.

Hits by words and by vectors seed a walk on the graph of the memory. It stays long at what several
hits lead to - the event that they are parts of, the thing that they all show - so that this comes
up although no word of the question stands in it, provided its own text is near the question. With
no vectors nothing new comes up, and nearness is the place in the fused ranking.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlalchemy.orm import Session

from emv_ros.retrieval.embedders import Vectors
from emv_ros.retrieval.graph import EdgeWeights, Graph, Seen, Vertices
from emv_ros.retrieval.lexical import Group
from emv_ros.retrieval.scope import KINDS, Scope
from emv_ros.retrieval.vector_index import VectorIndex
from emv_ros.retrieval.walk import Ranks, personalized_pagerank

# Hits that a walk starts from, and vertices of its best that may come up besides.
SEEDS = 64
BROUGHT = 200

Scored = list[tuple[float, Group]]


class Ranking:
    """The ranking of one search. `ranks` is where its walk stayed, after `ordered`."""

    def __init__(self, graph: Graph, session: Session, scope: Scope, seen: Seen | None,
                 edges: EdgeWeights | None = None) -> None:
        """Rank by a graph that is up to date in the session; `seen` masks it, None: all of it."""
        self._graph = graph
        self._session = session
        self._scope = scope
        self._seen = seen
        self._edges = edges
        self.ranks: Ranks | None = None
        self.notes: list[str] = []

    def ordered(self, fused: Scored, vector: Vectors | None, index: VectorIndex | None,
                least: float) -> Scored:
        """Return groups by score, best first: those found, and those that the walk brings.

        `fused` are groups with their share, 0..1, of the best place; what is brought has a cosine
        of `least` and more.
        """
        if not fused:
            return []
        vertices = self._vertices([group for _, group in fused])
        weights = np.array([share for share, _ in fused], np.float32)
        count = min(SEEDS, len(fused))
        self.ranks = personalized_pagerank(
            self._graph, vertices[:count, 0], weights[:count], self._seen, edges=self._edges)
        if not self.ranks.units.any() and not self.ranks.hubs.any():
            self.notes.append('ranked by nearness alone: the graph knows none of what was found')
            return [(share, group) for share, group in fused]
        places = self._places(vertices)
        if vector is None or index is None:
            scored = [(place * share, group)
                      for place, (share, group) in zip(places, fused, strict=True)]
        else:
            brought = self._brought({group.key for _, group in fused}, index)
            self._judge([group for _, group in fused] + [group for _, group in brought], vector,
                        index)
            scored = [(place * max(share, group.similarity or 0.0), group)
                      for place, (share, group) in zip(places, fused, strict=True)]
            scored += [(place * group.similarity, group) for place, group in brought
                       if group.similarity is not None and group.similarity >= least]
        # As good as found: what was found first.
        return sorted(scored, key=lambda item: -item[0])

    def _vertices(self, groups: Sequence[Group]) -> Vertices:
        """Return the vertices of each group's first and last document, shape (groups, 2)."""
        return np.stack([self._graph.of_documents([group.first_id for group in groups]),
                         self._graph.of_documents([group.last_id for group in groups])], axis=1)

    def _places(self, vertices: Vertices) -> list[float]:
        """Return the share of the walk of each pair of vertices, the larger one's."""
        assert self.ranks is not None
        shares = self.ranks.of(np.maximum(vertices, 0).reshape(-1)).reshape(vertices.shape)
        best: list[float] = np.where(vertices >= 0, shares, 0).max(axis=1).tolist()
        return best

    def _judge(self, groups: Sequence[Group], vector: Vectors, index: VectorIndex) -> None:
        """Give the groups that were not found by vectors their cosine, where they have one."""
        bare = [group for group in groups if group.similarity is None]
        cosines = index.cosines(self._session, vector, np.array(
            [group.first_id for group in bare], np.int64))
        for group in bare:
            group.similarity = cosines.get(group.first_id)

    def _brought(self, known: set[int], index: VectorIndex) -> Scored:
        """Return what no search found and the walk comes to, with its share of the walk."""
        assert self.ranks is not None
        best = self.ranks.best(BROUGHT)
        documents = self._graph.column('document', best)
        kinds = [KINDS.index(kind) for kind in self._scope.kinds or KINDS if kind in KINDS]
        is_told = (documents > 0) & np.isin(self._graph.column('kind', best), kinds)
        found: dict[int, tuple[float, Group]] = {}
        for key, document, start_ns, share in zip(
                index.keys(documents[is_told]), documents[is_told].tolist(),
                self._graph.column('start_ns', best[is_told]).tolist(),
                self.ranks.of(best[is_told]).tolist(), strict=True):
            if key and key not in known:
                found.setdefault(key, (share, Group(key, document, start_ns, document, start_ns)))
        return list(found.values())
