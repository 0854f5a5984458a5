"""Names as people and programs write them: what is meant by one, among those that are known."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
import re
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.memory.documents import words_of_name

_BREAKS = re.compile(r'[\W_]+')
_WORDS = re.compile(r'\w+')
# Plurals that no ending tells.
_PLURALS = {
    'children': 'child', 'feet': 'foot', 'halves': 'half', 'knives': 'knife', 'leaves': 'leaf',
    'loaves': 'loaf', 'men': 'man', 'mice': 'mouse', 'people': 'person', 'shelves': 'shelf',
    'teeth': 'tooth', 'wolves': 'wolf', 'women': 'woman'}
# How words end, British and American: 'programme', 'colour', 'centre', 'organise', 'grey'.
_SPELLINGS = (('ogramme', 'ogram'), ('our', 'or'), ('tre', 'ter'), ('ise', 'ize'),
              ('logue', 'log'), ('tyre', 'tire'), ('grey', 'gray'))
_OES = ('canoes', 'does', 'goes', 'shoes', 'toes')  # whose singular ends in 'oe'


def squash(name: str) -> str:
    """Return a name without case, breaks and punctuation."""
    return _BREAKS.sub('', name.casefold())


def match_names(asked: str, known: Iterable[str]) -> list[str]:
    """Return the known names that a person or a model means by `asked`.

    Equal but for case and breaks; else those that hold all its words, singular or plural; else
    none.
    """
    known = list(known)
    key = squash(asked)
    if not key:
        return []
    if exact := [name for name in known if squash(name) == key]:
        return exact
    words = _singulars(asked)
    if not words:
        return []
    return [name for name in known
            if words <= _singulars(name)]


def _singulars(name: str) -> set[str]:
    return {_PLURALS.get(word) or stem(word) for word in _WORDS.findall(words_of_name(name))}


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Return a word without the plural's ending."""
    word = word.lower()
    if len(word) > 4 and word.endswith('ies'):
        return word[:-3] + 'y'
    if len(word) > 4 and word.endswith(('ches', 'shes', 'sses', 'xes')) or (
            word.endswith('oes') and word not in _OES):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith('s') and not word.endswith('ss') else word


def spellings(word: str) -> list[str]:
    """Return a word, lower case, as it is spelt, and as others spell it, British or American."""
    word = word.lower()
    bare = word.removesuffix('s')
    for pair in _SPELLINGS:
        for one, other in (pair, pair[::-1]):
            if bare.endswith(one) and (len(bare) > len(one) + 1 or bare == one):
                return [word, bare.removesuffix(one) + other + word[len(bare):]]
    return [word]


def names_like(session: Session, column: Any, asked: str) -> list[str]:
    """Return the names in a column that are meant by `asked`, see match_names."""
    return match_names(asked, session.scalars(select(column).distinct()))
