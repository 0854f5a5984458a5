"""Texts compared whatever their case, alike in both databases.

SQLite's own `lower` knows the letters of English alone: 'über' would not be found in 'Über'. A
function of ours takes longer, and is asked only for what has other letters.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from sqlalchemy import ColumnElement, String
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

NAME = 'emv_lower'


class _Lower(FunctionElement[str]):
    """A text in lower case."""

    type = String()
    inherit_cache = True
    name = NAME


@compiles(_Lower, 'sqlite')
def _in_sqlite(element: _Lower, compiler: Any, **kwargs: Any) -> str:
    return f'{NAME}({compiler.process(element.clauses, **kwargs)})'


@compiles(_Lower)
def _elsewhere(element: _Lower, compiler: Any, **kwargs: Any) -> str:
    return f'lower({compiler.process(element.clauses, **kwargs)})'


def add_lower(connection: sqlite3.Connection) -> None:
    """Make the function known to a connection."""
    connection.create_function(NAME, 1, _lower, deterministic=True)


def holds(column: Any, words: str) -> ColumnElement[bool]:
    """Return the condition that a text holds words, whatever the case of either."""
    if words.isascii():
        return column.icontains(words, autoescape=True)  # type: ignore[no-any-return]
    return _Lower(column).contains(words.lower(), autoescape=True)


def equals(column: Any, words: str) -> ColumnElement[bool]:
    """Return the condition that a text is these words, whatever the case of either."""
    return _Lower(column) == words.lower()


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value
