"""Whether stored values say some words: the same text in any case, however it is spaced.

How its letters are put together makes no difference: é may be one character or two, ４ is 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import re
from typing import Any
import unicodedata

from sqlalchemy import ColumnElement, String, cast, or_, true

# A longer pattern is refused by databases.
LONGEST = 1000
_PLAIN = re.compile(r'[A-Za-z0-9]+')
_OTHER_LETTERS = r'[^ -~]|\\u'
_WORD = re.compile(r'\w{3,}')


class Saying:
    """Finds a text as part of stored values. Raises nothing for any text but ''."""

    def __init__(self, text: str) -> None:
        self._asked = squeezed(text)
        # The database folds plain letters alone, and JSON columns may hold others escaped.
        self._hint = max(_PLAIN.findall(self._asked), key=len, default='')[:LONGEST]

    def __call__(self, *values: Any) -> bool:
        """Whether a value, or a name or a value in it, says the text."""
        return any(self._asked in squeezed(text) for value in values for text in texts_in(value))

    def may_stand_in(self, *columns: Any) -> ColumnElement[bool]:
        """Return a condition that holds of all rows that say it in one of these, and of others."""
        if not self._hint:
            return true()
        told = [cast(column, String) for column in columns]
        return or_(*(column.icontains(self._hint, autoescape=True) for column in told),
                   *(column.regexp_match(_OTHER_LETTERS) for column in told))


def folded(text: str) -> str:
    """Return a text for comparison: without case, each letter in one form."""
    if text.isascii():
        return text.casefold()
    # Folding the case may take letters apart anew; the dot of a Turkish i makes no difference.
    plain = unicodedata.normalize('NFKC', text).casefold().replace('i\u0307', 'i')
    return unicodedata.normalize('NFKC', plain.replace('\u0131', 'i'))


def squeezed(text: str) -> str:
    """Return a text as `folded` does, with single spaces."""
    return ' '.join(folded(text).split())


def texts_in(value: Any) -> Iterator[str]:
    """Yield all texts in a stored value, with the names of a mapping."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from texts_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_in(item)
    elif value is not None and not isinstance(value, bool | bytes):
        yield str(value)


def words_in(*values: Any) -> set[str]:
    """Return the words of values, `folded`; numbers of fewer than four digits are none."""
    return {word for value in values for text in texts_in(value)
            for word in _WORD.findall(folded(text))
            if len(word) > 3 or not word.isdecimal()}
