"""Search by words: SQLite's full-text index, or plain comparison on other databases.

Both answer with groups of documents that say the same, best first, and both take any text whatever
as a query: what has a meaning in a query language is quoted. They hold nothing and may be shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from sqlalchemy import bindparam, case, column, func, literal_column, or_, select, table, text
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.queries import stem
from emv_ros.retrieval.scope import Scope
from emv_ros.retrieval.terms import squash

# A word that occurs everywhere may match far more rows than anyone can use.
MAX_ROWS = 20_000


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


def find_words(session: Session, terms: Sequence[str], scope: Scope, limit: int) -> list[Group]:
    """Return up to `limit` groups of documents in which a term occurs, best first."""
    if not terms:
        return []
    is_sqlite = session.get_bind().dialect.name == 'sqlite'
    query = _full_text(terms, scope) if is_sqlite else _comparison(terms, scope)
    rows = session.execute(query.execution_options(yield_per=500))
    try:
        return _grouped(rows, limit)
    finally:
        rows.close()


def _full_text(terms: Sequence[str], scope: Scope) -> Any:
    """Return the query of the full-text index, ranked by BM25 (smaller is better)."""
    row = schema.DocumentRow
    index = table('document_text', column('rowid'), column('rank'))
    # A quoted string is plain words to FTS5, whatever stands in it.
    asked = ' OR '.join('"' + term.replace('"', '""') + '"' for term in terms)
    return (
        select(row.id, row.robot_id, row.kind, row.start_ns, row.text, index.c.rank)
        .join_from(index, row, row.id == index.c.rowid)
        .where(text('document_text MATCH :asked').bindparams(bindparam('asked', asked)),
               *scope.conditions())
        .order_by(index.c.rank, row.start_ns, row.id).limit(MAX_ROWS))


def _comparison(terms: Sequence[str], scope: Scope) -> Any:
    """Return a query that counts the terms in each text, longer words for more."""
    row = schema.DocumentRow
    matches = []
    score: Any = literal_column('0')
    for term in terms:
        stemmed = stem(term)
        pattern = stemmed.replace('\\', r'\\').replace('%', r'\%').replace('_', r'\_')
        matches.append(row.text.ilike(f'%{pattern}%', escape='\\'))
        score = score - case((matches[-1], len(stemmed)), else_=0)
    rank = score.label('rank')
    return (select(row.id, row.robot_id, row.kind, row.start_ns, row.text, rank)
            .where(or_(*matches), *scope.conditions())
            .order_by(rank, func.length(row.text), row.start_ns, row.id).limit(MAX_ROWS))


def _grouped(rows: Iterable[Any], limit: int) -> list[Group]:
    """Return the first `limit` groups. Equal texts rank equally, so a group ends with its rank."""
    groups: dict[int, Group] = {}
    last_rank: float | None = None
    for document, robot_id, kind, start_ns, words, rank in rows:
        if len(groups) >= limit and rank != last_rank:
            break
        last_rank = rank
        key = group_key(robot_id, kind, words)
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
