"""A class for an answer in words, by its words: cheap, the same every time, and rough.

How much of the gold an answer says is the mean of two measures: the share of the gold's distinct
content words that stand in the answer (in another form, or as a word of like meaning by the
embedder), and the cosine of the two texts. Without an embedder only the first counts. The limits
were chosen on answers that people graded; how well it does there is what `emv eval agreement`
tells. It knows no negation within a text and no order: for totals, not for single answers.
"""

from __future__ import annotations

from collections.abc import Sequence
import re

import numpy as np

from emv_ros.evaluation.scoring.categories import Category
from emv_ros.evaluation.scoring.claimed_items import Segment, content_words, segments
from emv_ros.evaluation.scoring.declining import declines
from emv_ros.retrieval.embedders import TextEmbedder, Vectors
from emv_ros.tree.words import forms

# Words are of like meaning from this cosine on.
LIKE_WORDS = 0.6
# A part of an answer is about a part of the gold from this cosine on.
LIKE_PARTS = 0.35
# So much of the gold is said at least: for correct, and for partially correct.
SAID, SAID_IN_PART = 0.45, 0.25
SAID_BY_WORDS, SAID_IN_PART_BY_WORDS = 0.4, 0.1
# With so much of the words of a gold of several parts it is told, with less summed up.
TOLD = 0.7
_PART_END = re.compile(r'\.\s+|\.$|[,;\n]|\band\b')


class Lexical:
    """Classes answers by their words, with the vectors of an embedder where there is one."""

    def __init__(self, embedder: TextEmbedder | None) -> None:
        self._embedder = embedder
        # Of each text that was embedded: words come again and again.
        self._vectors: dict[str, Vectors] = {}

    def category_of(self, question: str, gold: str, answer: str) -> Category:
        """Return the class of an answer to a gold in words."""
        told = [segment for segment in segments(answer) if segment.words]
        parts = _parts(gold)
        asked = {form for word in content_words(question) for form in forms(word)}
        if declines(answer) or not told:
            return Category.NO_ANSWER
        if not parts:
            return Category.WRONG
        words = list(dict.fromkeys(word for part in parts for word in content_words(part)))
        recall = self._recall(words, [word for segment in told for word in segment.words])
        said, limits = recall, (SAID_BY_WORDS, SAID_IN_PART_BY_WORDS)
        if self._embedder is not None:
            one, other = self._embed([gold, answer])
            said, limits = (recall + float(one @ other)) / 2, (SAID, SAID_IN_PART)
        others = self._others(told, parts, asked)
        if said >= limits[0] and self._is_mostly_touched(parts, told):
            if others > len(told) / 3:
                return Category.CORRECT_TMI
            is_summed_up = len(parts) > 1 and recall < TOLD
            return Category.CORRECT_SUMMARIZED if is_summed_up else Category.CORRECT
        if said >= limits[1]:
            return (Category.PARTIALLY_CORRECT_TMI if others > len(told) / 2 else
                    Category.PARTIALLY_CORRECT_MISSING)
        return Category.WRONG

    def _recall(self, words: Sequence[str], among: Sequence[str]) -> float:
        """Return the share of the words that stand among others, or one of like meaning does."""
        have = {form for word in among for form in forms(word)}
        found = [bool(forms(word) & have) for word in words]
        open_words = [word for word, is_found in zip(words, found, strict=True) if not is_found]
        like = 0
        if self._embedder is not None and open_words and among:
            cosines = self._embed(open_words) @ self._embed(list(dict.fromkeys(among))).T
            like = int(np.count_nonzero(cosines.max(axis=1) >= LIKE_WORDS))
        return (sum(found) + like) / len(words)

    def _others(self, told: Sequence[Segment], parts: Sequence[str], asked: set[str]) -> int:
        """Return how many segments are about nothing of the gold and of the question."""
        have = asked | {form for part in parts for word in content_words(part)
                        for form in forms(word)}
        apart = [segment.text for segment in told
                 if not any(forms(word) & have for word in segment.words)]
        if self._embedder is None or not apart:
            return len(apart)
        cosines = self._embed(apart) @ self._embed(parts).T
        return int(np.count_nonzero(cosines.max(axis=1) < LIKE_PARTS))

    def _is_mostly_touched(self, parts: Sequence[str], told: Sequence[Segment]) -> bool:
        """Whether more than half of the gold's parts are told of: one of two is not all."""
        have = {form for segment in told for word in segment.words for form in forms(word)}
        apart = [part for part in parts
                 if not any(forms(word) & have for word in content_words(part))]
        missing = len(apart)
        if self._embedder is not None and apart:
            cosines = self._embed(apart) @ self._embed([segment.text for segment in told]).T
            missing = int(np.count_nonzero(cosines.max(axis=1) < LIKE_PARTS))
        return missing * 2 < len(parts)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        assert self._embedder is not None
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            self._vectors |= dict(zip(new, self._embedder.embed(new), strict=True))
        return np.stack([self._vectors[text] for text in texts])


def _parts(gold: str) -> list[str]:
    found = dict.fromkeys(part.strip() for part in _PART_END.split(gold))
    return [part for part in found if content_words(part)]
