"""Full-text search for words that match more rows than can be ranked: which rows are worth it.

BM25 in SQLite costs microseconds for each row that matches and for each row of each word, so that a
question with the words "red" and "kitchen" takes a fifth of a second in a long life. Reading the
numbers of the rows is ten times cheaper, and those that hold several words cheaper still. So:

- rows of the *rare* words are all read, as many words as a budget of rows allows;
- of the *common* ones only rows that hold them together are, from all words down to two; where
  that is nothing, rows of the least common one;
- these candidates are scored by BM25 with each word counted once, and the best are read and scored
  by how often the words stand in them and how long they are.

Against BM25 over all rows this misses a text only if it has no rare word and not the least common
of the others, and words that a text repeats count only where they stand as they are asked.
Rows that are too many even for their numbers are looked for in stretches spread over the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.names import stem
from emv_ros.retrieval.lexical import Group, grouped
from emv_ros.retrieval.scope import Scope
from emv_ros.retrieval.word_index import word_index

# The parameters of BM25, as SQLite has them.
K1, B = 1.2, 0.75
# Rows whose numbers are read for the rare words, and that a search for common words may pass.
MAX_RARE = 8000
MAX_PASSED = 12_000
MAX_COMMON = 4
STRETCHES = 8
# Share of the rows in which a word is counted first: what is found often there is common.
SAMPLE = 64
OFTEN = 100
# Texts that are read, a lot at a time, until there are groups enough.
LOT = 256
MAX_READ = 2048

_WORDS = re.compile(r'[^\W_]+')

Ids = NDArray[np.int64]


class WordRows:
    """How many rows hold each term, least first, in the part of the memory that can be seen."""

    def __init__(self, session: Session, terms: Sequence[str], visible: Ids | None,
                 is_strict: bool = False) -> None:
        """Count; very common terms are estimated from a sample.

        With `is_strict` nothing is taken from rows that are not visible, be it a count.
        """
        self.session = session
        self._index = word_index(session)
        self.visible = visible
        self.all_documents, self.average = self._index.documents, self._index.words
        self.low, self.high = 1, 1
        if visible is not None and len(visible):
            self.low, self.high = int(visible[0]), int(visible[-1])
        elif visible is None:
            self.high = max(1, session.scalar(
                select(schema.DocumentRow.id).order_by(schema.DocumentRow.id.desc()).limit(1)) or 1)
        self.documents = max(1, min(self.all_documents, self.high - self.low + 1))
        counts = {term: self._count(term) for term in terms}
        if is_strict and visible is not None:
            self.documents, self.average = max(1, len(visible)), _average_of(session, visible)
            counts = {term: self._visible(term, count) for term, count in counts.items()}
        self.counts = dict(sorted(
            ((term, count) for term, count in counts.items() if count), key=lambda item: item[1]))

    @property
    def total(self) -> int:
        """The rows of all terms together, those that hold several counted several times."""
        return sum(self.counts.values())

    def weight(self, term: str) -> float:
        """Return how much a term tells, as BM25 has it."""
        count = min(self.counts[term], self.documents)  # it may be an estimate
        return max(math.log((self.documents - count + 0.5) / (count + 0.5)), 1e-6)

    def rows(self, terms: Sequence[str], passed: int) -> Ids:
        """Return the rows that hold all the terms, where about `passed` rows hold the first."""
        found: list[tuple[int]] = []
        for low, high in self._stretches(passed):
            found += self._index.rows(terms, low, high)
        rows = np.fromiter(chain.from_iterable(found), np.int64, len(found))
        if self.visible is None or not len(self.visible):
            return rows if self.visible is None else rows[:0]
        at = np.minimum(np.searchsorted(self.visible, rows), len(self.visible) - 1)
        seen: Ids = rows[self.visible[at] == rows]
        return seen

    def _visible(self, term: str, count: int) -> int:
        """Return how many visible rows hold a term, where about `count` rows do in all."""
        return round(len(self.rows([term], count)) * max(1.0, count / MAX_PASSED))

    def _stretches(self, passed: int) -> list[tuple[int, int]]:
        """Return ranges of rows, spread evenly, in which no more than MAX_PASSED are passed."""
        if passed <= MAX_PASSED:
            return [(self.low, self.high)]
        step = (self.high - self.low + 1) / STRETCHES
        width = step * MAX_PASSED / passed
        return [(int(self.low + at * step), int(self.low + at * step + width))
                for at in range(STRETCHES)]

    def _count(self, term: str) -> int:
        step = (self.high - self.low + 1) / STRETCHES
        width = int(step / SAMPLE)
        if width > OFTEN:
            found = sum(self._between(term, int(self.low + at * step), width)
                        for at in range(STRETCHES))
            if found >= OFTEN:
                return int(found * step / width)
        return self._between(term, self.low, self.high - self.low + 1)

    def _between(self, term: str, low: int, width: int) -> int:
        return self._index.count(term, low, low + width - 1)


def best_rows(found: WordRows, scope: Scope, limit: int, reads_all: bool = False) -> list[Group]:
    """Return up to `limit` groups of documents, best first; `reads_all` those of few rows."""
    terms = list(found.counts)
    weights = np.array([found.weight(term) for term in terms])
    told = weights.tolist()
    columns: dict[str, int] = {}
    for at, term in enumerate(terms):
        columns.setdefault(stem(term), at)
    known: dict[str, int] = {}  # the words of many texts are few
    ids, held = _candidates(found, weights)
    read: list[tuple[Any, ...]] = []
    ranks: dict[tuple[str, bytes], float] = {}  # most texts say the same as others
    texts: set[str] = set()

    def rank(text: str, held: NDArray[np.bool_]) -> float:
        words = _WORDS.findall(text.lower())
        counted = [known[word] if word in known else known.setdefault(
            word, columns.get(stem(word), -1)) for word in words]
        long = K1 * (1 - B + B * len(words) / found.average)
        score = 0.0
        for at, weight in enumerate(told):
            if times := counted.count(at) or int(held[at]):
                score += weight * times * (K1 + 1) / (times + long)
        return -score

    for start in range(0, min(len(ids), MAX_READ), LOT):
        holds = dict(zip(ids[start:start + LOT].tolist(), held[start:start + LOT], strict=True))
        for row in _documents(found.session, list(holds), scope):
            said = row.text, holds[row.id].tobytes()
            if said not in ranks:
                ranks[said] = rank(row.text, holds[row.id])
            read.append((*row, ranks[said]))
            texts.add(row.text)
        if len(texts) >= limit and not reads_all:
            break
    read.sort(key=lambda row: (row[5], row[3], row[0]))
    return grouped(read, limit)


def _candidates(found: WordRows,
                weights: NDArray[np.float64]) -> tuple[Ids, NDArray[np.bool_]]:
    """Return rows worth reading, best first, and which terms each holds, as (rows, terms).

    Of equally good ones those come first that lie far apart.
    """
    terms = list(found.counts)
    rare = int(np.searchsorted(np.cumsum(list(found.counts.values())), MAX_RARE, side='right'))
    common = range(rare, min(rare + MAX_COMMON, len(terms)))
    parts: list[tuple[list[int], Ids]] = []
    for first in range(rare):
        for numbers in ([first], *([first, other] for other in common)):
            parts.append((numbers, found.rows(
                [terms[at] for at in numbers], found.counts[terms[first]])))
    count, together = len(common), 0
    # A row of fewer words comes after those of more.
    while count > (1 if any(len(rows) for _, rows in parts) else 0) and together < LOT:
        numbers = list(common[:count])
        rows = found.rows([terms[at] for at in numbers], found.counts[terms[numbers[0]]])
        parts.append((numbers, rows))
        together, count = together + len(rows), count - 1
    ids = np.unique(np.concatenate([rows for _, rows in parts] or [np.zeros(0, np.int64)]))
    held = np.zeros((len(ids), len(terms)), bool)
    for numbers, rows in parts:
        held[np.searchsorted(ids, rows)[:, None], numbers] = True
    order = np.lexsort((ids * 2_654_435_761 % 2 ** 32, -(held @ weights)))
    return ids[order], held[order]


def _documents(session: Session, ids: Sequence[int], scope: Scope) -> Any:
    row = schema.DocumentRow
    return session.execute(
        select(row.id, row.robot_id, row.kind, row.start_ns, row.text)
        .where(among(row.id, ids), *scope.conditions(by_id=True)))


def _average_of(session: Session, visible: Ids) -> float:
    """Return how many words a document has, in the mean of some that are spread over `visible`."""
    if not len(visible):
        return 1.0
    some = visible[np.linspace(0, len(visible) - 1, min(LOT, len(visible))).astype(np.int64)]
    texts = session.scalars(select(schema.DocumentRow.text).where(
        among(schema.DocumentRow.id, some.tolist()))).all()
    return max(1.0, sum(len(_WORDS.findall(text)) for text in texts) / max(1, len(texts)))

