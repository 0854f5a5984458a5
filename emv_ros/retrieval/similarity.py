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


class Similarity:
    """Scores in -1..1 of texts against one text. Safe to share between threads."""

    def __init__(self, embedder: TextEmbedder | None = None, threshold: float = THRESHOLD) -> None:
        self.embedder = embedder
        self.threshold = threshold
        # By digest: a text that the memory forgets must not live on here.
        self._cache: dict[bytes, Vectors] = {}

    def scores(self, text: str, candidates: Sequence[str]) -> list[float]:
        """Return one score a candidate: its cosine, or its share of the words if that is more."""
        asked = stems(text)
        shares = [WORD_WEIGHT * _share(asked, candidate) for candidate in candidates]
        if self.embedder is None or not candidates or not text.strip():
            return shares
        try:
            vectors = self._vectors(self.embedder, [text, *candidates])
        except ModelError as error:
            logger.warning('comparing by words only: %s', error)
            return shares
        cosines = vectors[1:] @ vectors[0]
        return [max(share, float(cosine)) for share, cosine in zip(shares, cosines, strict=True)]

    def best(self, text: str, candidates: Sequence[str], k: int = 5) -> list[tuple[int, float]]:
        """Return (index, score) of at most `k` candidates at or above the threshold, best first."""
        scores = self.scores(text, candidates)
        fitting = [(at, score) for at, score in enumerate(scores) if score >= self.threshold]
        return sorted(fitting, key=lambda item: (-item[1], item[0]))[:k]

    def _vectors(self, embedder: TextEmbedder, texts: Sequence[str]) -> Vectors:
        keys = [blake2b(text.encode('utf-8', 'ignore'), digest_size=16).digest() for text in texts]
        known = dict(self._cache)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            known.update(zip(missing, embedder.embed(list(missing.values())), strict=True))
            self._cache = known if len(known) <= CACHE_SIZE else {}
        return np.stack([known[key] for key in keys])


def _share(asked: set[str], candidate: str) -> float:
    return len(asked & stems(candidate)) / len(asked) if asked else 0.0
