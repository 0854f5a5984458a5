"""What kind of word an English word is, and whether it is another form of a word that was said.

A dictionary (lemminflect's, some 100,000 words) tells the readings of a form and its base forms.
Words that it does not know have no kind, and only their own stems. Not here: what a word means;
the few pairs of words that are taken for one are different names of the same thing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
import re

from emv_ros.memory.documents import words_of_name

NOUN, VERB, ADJECTIVE = 'NOUN', 'VERB', 'ADJ'
_WORD = re.compile(r'[^\W\d_]+')
_SAME = (
    {'fridge', 'refrigerator'}, {'picture', 'image', 'photo', 'photograph'}, {'tv', 'television'},
    {'phone', 'telephone'}, {'faucet', 'tap'}, {'bike', 'bicycle'}, {'grey', 'gray'},
    {'sofa', 'couch'}, {'trash', 'garbage', 'rubbish'}, {'stove', 'hob'},
    {'speech', 'speak', 'say'},
    {'sight', 'see'}, {'choice', 'choose'}, {'thought', 'think'}, {'sale', 'sell'})
_DERIVED = re.compile(
    r'(?:ations?|itions?|ions?|ments?|ances?|ences?|ings?|ers?|ors?|ness|ly|ally|ed|es|s|e|y|al)$')
# What the deed is called that a verb names: 'preparation', 'arrangement', 'assistance'.
_DEED = re.compile(r'^(\w{3,}?)(?:at|it|t|s)?(?:ion|ment|ance|ence)s?$')
_NO_DEEDS = {'equipment', 'equipments', 'station', 'stations'}
SHORTEST_STEM = 4


@lru_cache(maxsize=20_000)
def readings(word: str) -> dict[str, tuple[str, ...]]:
    """Return the base forms of a lower-case word by kind ('NOUN', 'VERB', ...), {} if unknown."""
    from lemminflect import getAllLemmas

    found: dict[str, tuple[str, ...]] = getAllLemmas(word)
    return found


@lru_cache(maxsize=20_000)
def forms(word: str) -> frozenset[str]:
    """Return what a lower-case word has in common with its other forms: bases and stems."""
    bases = {word, *(base.lower() for bases in readings(word).values() for base in bases)}
    for same in _SAME:
        if bases & same:
            bases |= same
    return frozenset(bases | {_stem(base) for base in bases})


def is_deed(word: str) -> bool:
    """Whether a noun only names what a verb says, as 'preparation' does."""
    match = _DEED.match(word)
    return match is not None and word not in _NO_DEEDS and any(
        VERB in readings(match.group(1) + end) for end in ('', 'e', 't', 'te', 'ate', 'd', 'de'))


def words_in(text: str) -> list[str]:
    """Return the words of a text in lower case, names in camel case and snake case split."""
    return _WORD.findall(words_of_name(text))


class Vocabulary:
    """The words of some texts, in all their forms."""

    def __init__(self, texts: Iterable[str]) -> None:
        words = [word for text in texts for word in words_in(text)]
        self._words = set(words)
        self._forms = {form for word in self._words for form in forms(word)}
        # Spelled as one or as two words: 'soymilk' for 'soy-milk', 'crumbs' of 'breadcrumbs'.
        self._pairs = {first + second for first, second in zip(words, words[1:], strict=False)}
        self._long = '|'.join(word for word in self._words if len(word) >= 2 * SHORTEST_STEM)

    def has(self, word: str) -> bool:
        """Whether the word, or another form of it, was said."""
        word = word.lower()
        if forms(word) & self._forms:
            return True
        bases = {word, *readings(word).get(NOUN, ())}
        if bases & self._pairs:
            return True
        return any(len(base) >= SHORTEST_STEM and re.search(
            rf'(?:^|\|){base}|{base}(?:\||$)', self._long) is not None for base in bases)


def _stem(word: str) -> str:
    stem = _DERIVED.sub('', word)
    if len(stem) < SHORTEST_STEM:
        return word
    return stem[:-1] if stem[-1] == stem[-2] else stem
