"""Names that a model writes otherwise than memory holds them: which of the known ones is meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from emv_ros.agent.roots import roots_of
from emv_ros.memory.documents import words_of_name
from emv_ros.retrieval.search import Searcher

LIKE_NAME = 0.55


class LikeNames:
    """Finds the known name that a written one means: by shared words, or by meaning."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher

    def nearest(self, asked: str, known: Sequence[str]) -> str:
        """Return the known name that is nearest to another, '' where none is near."""
        if ' ' not in asked and (alike := _sharing_words(asked, known)):
            return alike
        best = self._searcher.similarity.best(
            words_of_name(asked), [words_of_name(name) for name in known], k=1)
        return known[best[0][0]] if asked and best and best[0][1] >= LIKE_NAME else ''


def _sharing_words(name: str, known: Iterable[str]) -> str:
    """Return the one known name that shares most words with another, '' where none or several."""
    asked = set(roots_of(words_of_name(name)).split())
    shared = {other: len(asked & set(roots_of(words_of_name(other)).split())) for other in known}
    best = max(shared.values(), default=0)
    alike = [other for other, count in shared.items() if count == best]
    return alike[0] if best and len(alike) == 1 else ''
