"""Search by words in the full-text index of SQLite or of PostgreSQL.

It answers with groups of documents that say the same, best first, and takes any text whatever as a
query: what has a meaning in a query language is quoted. It holds nothing and may be shared.
Where words match more rows than can be ranked in time, `common_words` picks those worth ranking.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import bindparam, column, select, table, text
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.retrieval.scope import Scope
from emv_ros.retrieval.terms import squash
from emv_ros.retrieval.word_index import quoted

# Rows that BM25 ranks: at 3 microseconds each this is what a search can wait for.
MAX_RANKED = 2000


@dataclass(slots=True)
class Group:
    """Documents of one robot and kind that say the same: the first in time, the last, how many."""

    key: int
    first_id: int
    first_ns: int
    last_id: int
    last_ns: int
    count: int = 1
    similarity: float | None = None


def group_key(robot_id: int, kind: str, words: str) -> int:
    """Return the key of documents that say the same, a signed 64-bit number."""
    data = f'{robot_id}\0{kind}\0{squash(words)}'.encode('utf-8', 'ignore')
    return int.from_bytes(blake2b(data, digest_size=8).digest(), 'big', signed=True)


def find_words(session: Session, terms: Sequence[str], scope: Scope, limit: int,
               visible: NDArray[np.int64] | None = None,
               max_ranked: int = MAX_RANKED) -> list[Group]:
    """Return up to `limit` groups of documents in which a term occurs, best first.

    The time is bounded whatever the words: of up to `max_ranked` rows the order is that of BM25 (on
    PostgreSQL nearly), and beyond it nearly, see `common_words`; then a group may not count all
    that say the same. `visible` are the ids of the documents that the scope lets see, rising, where
    they are known (None: not, or all); it makes narrow windows exact.
    """
    if not terms:
        return []
    from emv_ros.retrieval.common_words import WordRows, best_rows

    if scope.window.before_ns is not None and visible is not None:
        # SQLite's BM25 counts words over all rows: what came later would have a say in the order.
        return best_rows(WordRows(session, terms, visible, is_strict=True), scope, limit)
    found = WordRows(session, terms, visible)
    is_few = found.all_documents <= max_ranked or visible is None and found.total <= max_ranked
    if is_few and session.get_bind().dialect.name == 'sqlite':
        return _from(session, _full_text(terms, scope), limit)
    return best_rows(found, scope, limit, reads_all=is_few)


def _from(session: Session, query: Any, limit: int) -> list[Group]:
    rows = session.execute(query.execution_options(yield_per=500))
    try:
        return grouped(rows, limit)
    finally:
        rows.close()


def _full_text(terms: Sequence[str], scope: Scope) -> Any:
    """Return the query of the full-text index, ranked by BM25 (smaller is better)."""
    row = schema.DocumentRow
    index = table('document_text', column('rowid'), column('rank'))
    return (
        select(row.id, row.robot_id, row.kind, row.start_ns, row.text, index.c.rank)
        .join_from(index, row, row.id == index.c.rowid)
        .where(text('document_text MATCH :asked').bindparams(bindparam('asked', quoted(terms))),
               *scope.conditions(by_id=True))
        .order_by(index.c.rank, row.start_ns, row.id))


def grouped(rows: Iterable[Any], limit: int) -> list[Group]:
    """Return the first `limit` groups. Equal texts rank equally, so a group ends with its rank."""
    groups: dict[int, Group] = {}
    last_rank: float | None = None
    keys: dict[tuple[int, str, str], int] = {}  # most say the same as others
    for document, robot_id, kind, start_ns, words, rank in rows:
        if len(groups) >= limit and rank != last_rank:
            break
        last_rank = rank
        said = robot_id, kind, words
        key = keys[said] if said in keys else keys.setdefault(said, group_key(*said))
        if key not in groups:
            groups[key] = Group(key, document, start_ns, document, start_ns)
            continue
        group = groups[key]
        group.count += 1
        if start_ns < group.first_ns:
            group.first_id, group.first_ns = document, start_ns
        if start_ns >= group.last_ns:
            group.last_id, group.last_ns = document, start_ns
    return list(groups.values())[:limit]
