"""How near a text is to others: by vectors where there is an embedder, and always by words.

Used where the candidates are at hand: the nodes that a console looks at, the worked examples for a
question. A threshold comes with it, so that "nothing fits" can be told from "this fits best".
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
import logging

import numpy as np

from emv_ros.errors import ModelError
from emv_ros.retrieval.embedders import TextEmbedder, Vectors
from emv_ros.retrieval.terms import stems

logger = logging.getLogger(__name__)

# Of MiniLM's cosines between unrelated short sentences nine in ten lie below.
THRESHOLD = 0.3
# All words shared counts a little less than equal texts, whose cosine is 1.
WORD_WEIGHT = 0.9
CACHE_SIZE = 4096
# At most so many texts get a vector for one comparison: about two seconds of one core. What is
# beyond counts by its words.
MAX_FRESH = 400


class Similarity:
    """Scores in -1..1 of texts against one text. Safe to share between threads."""

    def __init__(self, embedder: TextEmbedder | None = None, threshold: float = THRESHOLD) -> None:
        self.embedder = embedder
        self.threshold = threshold
        # By digest: a text that the memory forgets must not live on here.
        self._cache: dict[bytes, Vectors] = {}

    def scores(self, text: str, candidates: Sequence[str],
               known: Sequence[Vectors | None] = ()) -> list[float]:
        """Return one score a candidate: its cosine, or its share of the words if that is more.

        `known` holds the vectors of candidates that have one already.
        """
        asked = stems(text)
        shares = [WORD_WEIGHT * _share(asked, candidate) for candidate in candidates]
        if self.embedder is None or not candidates or not text.strip():
            return shares
        try:
            vectors = self._vectors(self.embedder, [text, *candidates], [None, *known])
        except ModelError as error:
            logger.warning('comparing by words only: %s', error)
            return shares
        cosines = vectors[1:] @ vectors[0]
        return [max(share, float(cosine)) for share, cosine in zip(shares, cosines, strict=True)]

    def best(self, text: str, candidates: Sequence[str], k: int = 5,
             known: Sequence[Vectors | None] = ()) -> list[tuple[int, float]]:
        """Return (index, score) of at most `k` candidates at or above the threshold, best first."""
        scores = self.scores(text, candidates, known)
        fitting = [(at, score) for at, score in enumerate(scores) if score >= self.threshold]
        return sorted(fitting, key=lambda item: (-item[1], item[0]))[:k]

    def _vectors(self, embedder: TextEmbedder, texts: Sequence[str],
                 known: Sequence[Vectors | None]) -> Vectors:
        keys = [blake2b(text.encode('utf-8', 'ignore'), digest_size=16).digest() for text in texts]
        held = dict(self._cache)
        given = {key: vector for key, vector in zip(keys, known, strict=False)
                 if vector is not None}
        missing = {key: text for key, text in zip(keys, texts, strict=True)
                   if key not in held and key not in given}
        fresh = dict(list(missing.items())[:MAX_FRESH])
        if fresh:
            held.update(zip(fresh, embedder.embed(list(fresh.values())), strict=True))
            self._cache = held if len(held) <= CACHE_SIZE else {}
        nothing = np.zeros_like(held[keys[0]])
        found = [held.get(key, given.get(key)) for key in keys]
        return np.stack([nothing if vector is None or vector.shape != nothing.shape else vector
                         for vector in found])


def _share(asked: set[str], candidate: str) -> float:
    return len(asked & stems(candidate)) / len(asked) if asked else 0.0
