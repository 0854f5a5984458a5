"""Ids out of what a model gives as evidence: ids, several in one string, or printed rows."""

from __future__ import annotations

from collections.abc import Iterable
import re

_LIST = re.compile(r'^[\s\[({\'"]*[a-z]\d+(?:[\s,;\'"]+[a-z]\d+)*[\s\])}\'"]*$', re.I)
_ROW = re.compile(r'^\s*([a-z]\d+) \d{4}-\d{2}-\d{2}\b', re.I)
_ID = re.compile(r'[a-z]\d+', re.I)
MAX_CHARS = 200


def cited_ids(given: Iterable[str]) -> list[str]:
    """Return the distinct ids in order; what holds none stays as it is, to be refused."""
    found: list[str] = []
    for text in given:
        if row := _ROW.match(text):
            found.append(row[1].lower())
        elif len(text) <= MAX_CHARS and _LIST.match(text):
            found += [item.lower() for item in _ID.findall(text)]
        else:
            found.append(text)
    return list(dict.fromkeys(found))
