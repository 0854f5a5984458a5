"""How well the words of texts fit what is asked, by BM25 among these texts alone.

The full-text index ranks all texts of a memory; this compares the few that were found, with words
that the index does not hold: the goals behind a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
import math

from emv_ros.memory.names import stem
from emv_ros.retrieval.terms import search_terms

K1, B = 1.2, 0.75


def word_scores(asked: Sequence[str], texts: Sequence[str]) -> list[float]:
    """Return how well each text fits one of the questions, 1 for the best of any, 0 for no word."""
    known: dict[str, Counter[str]] = {}  # many units say the same
    for text in texts:
        if text not in known:
            known[text] = Counter(stem(term) for term in search_terms(text))
    held = [known[text] for text in texts]
    lengths = [sum(words.values()) for words in held]
    mean = sum(lengths) / max(1, len(lengths)) or 1.0
    long = [K1 * (1 - B + B * length / mean) for length in lengths]
    best = [0.0] * len(texts)
    for question in asked:
        scores = [0.0] * len(texts)
        for term in {stem(term) for term in search_terms(question)}:
            having = [at for at, words in enumerate(held) if term in words]
            weight = math.log(1 + (len(texts) - len(having) + 0.5) / (len(having) + 0.5))
            for at in having:
                times = held[at][term]
                scores[at] += weight * times * (K1 + 1) / (times + long[at])
        top = max(scores, default=0.0) or 1.0
        best = [max(before, score / top) for before, score in zip(best, scores, strict=True)]
    return best
