"""The full-text index of a memory as search by words asks it: SQLite's FTS5, or PostgreSQL's.

Both take words of letters and digits without case, accents and endings (Porter's stems), and any
text whatever as a term. Ranking is not their business: see `common_words`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.memory import schema

# Texts by which the length of all is told, where the database keeps no account of it.
SAMPLE = 256


class WordIndex(Protocol):
    """The documents (by id) that hold words. `documents` and `words` are how many, about."""

    documents: int
    words: float

    def rows(self, terms: Sequence[str], low: int, high: int) -> list[tuple[int]]:
        """Return the documents from `low` to `high` that hold all the terms."""
        ...

    def count(self, term: str, low: int, high: int) -> int:
        """Return how many documents from `low` to `high` hold a term."""
        ...


def word_index(session: Session) -> WordIndex:
    """Return the index of the session's database."""
    return (SqliteWords if session.get_bind().dialect.name == 'sqlite' else ServerWords)(session)


def quoted(terms: Iterable[str], between: str = 'OR') -> str:
    """Return terms as a query of SQLite's index, where a quoted string is plain words."""
    return f' {between} '.join('"' + term.replace('"', '""') + '"' for term in terms)


class SqliteWords:
    """SQLite's index."""

    def __init__(self, session: Session) -> None:
        """Read how many documents it holds and how many words a document has.

        It keeps both as two varints in the first row of its own data.
        """
        # Bare: for many small queries SQLAlchemy would take longer than SQLite.
        self._cursor: Any = session.connection().connection.cursor()
        block = self._cursor.execute(
            'SELECT block FROM document_text_data WHERE id = 1').fetchone()
        numbers, value = [], 0
        for byte in bytes(block[0]) if block else b'':
            value = value << 7 | byte & 127
            if byte < 128:
                numbers.append(value)
                value = 0
        self.documents, words = (*numbers, 0, 0)[:2]
        self.words = max(1.0, words / max(1, self.documents))

    def rows(self, terms: Sequence[str], low: int, high: int) -> list[tuple[int]]:
        """Return the documents from `low` to `high` that hold all the terms."""
        found: list[tuple[int]] = self._cursor.execute(
            'SELECT rowid FROM document_text WHERE document_text MATCH ? '
            'AND rowid BETWEEN ? AND ?', (quoted(terms, 'AND'), low, high)).fetchall()
        return found

    def count(self, term: str, low: int, high: int) -> int:
        """Return how many documents from `low` to `high` hold a term."""
        return int(self._cursor.execute(
            'SELECT count(*) FROM document_text WHERE document_text MATCH ? '
            'AND rowid BETWEEN ? AND ?', (quoted([term]), low, high)).fetchone()[0])


class ServerWords:
    """PostgreSQL's index."""

    _TERM = "phraseto_tsquery('emv_words', emv_plain(%s))"

    def __init__(self, session: Session) -> None:
        """Tell the number of documents by their ids, and their length by the latest."""
        self._cursor: Any = session.connection().connection.cursor()
        row = schema.DocumentRow
        latest = session.execute(
            select(row.id, row.text).order_by(row.id.desc()).limit(SAMPLE)).all()
        self.documents = latest[0].id if latest else 0
        self.words = max(1.0, sum(len(text.split()) for _, text in latest) / max(1, len(latest)))

    def rows(self, terms: Sequence[str], low: int, high: int) -> list[tuple[int]]:
        """Return the documents from `low` to `high` that hold all the terms."""
        found: list[tuple[int]] = self._cursor.execute(
            f'SELECT id FROM document WHERE words @@ ({" && ".join([self._TERM] * len(terms))}) '
            'AND id BETWEEN %s AND %s', (*terms, low, high)).fetchall()
        return found

    def count(self, term: str, low: int, high: int) -> int:
        """Return how many documents from `low` to `high` hold a term."""
        return int(self._cursor.execute(
            f'SELECT count(*) FROM document WHERE words @@ {self._TERM} AND id BETWEEN %s AND %s',
            (term, low, high)).fetchone()[0])
