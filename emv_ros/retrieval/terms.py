"""The words of a search: split from names and sentences, without those that say nothing.

Questions come as people ask them ('Did you ever load the dishwasher?') and as programs write names
('ReceiveObjectFromHuman'); both become the same words. Nothing here knows a query language.
"""

from __future__ import annotations

import re

from emv_ros.memory.documents import words_of_name
from emv_ros.memory.names import stem

MAX_TERMS = 32
_WORDS = re.compile(r'[^\W_]+')
_SQUASH = re.compile(r'[\W_]+')

# Words of questions and of grammar, English and German.
STOP_WORDS = frozenset(_WORDS.findall(
    'a about after again all also am an and any are as at be because been before being but by '
    'can could did do does doing done ever for from had has have having he her him his how i if '
    'in into is it its just last many me more most much my no nor not now of off on once only '
    'or other our out over own please same she should so some such tell than that the their '
    'them then there these they this those through time times to too under up us very was we '
    'were what when where which while who whom whose why will with would you your yours aber '
    'alle als auch auf aus bei bin bis bist da das dass dein dem den der des die dich dir du '
    'ein eine einem einen einer er es für hab habe haben hast hat hatte ich ihr im ist ja kann '
    'mal man mein mich mir mit nach nicht noch nur oder schon sein sich sie sind und uns vom '
    'von vor wann war waren warum welche wem wen wer wie wir wo zu zum zur'
))


def search_terms(text: str) -> list[str]:
    """Return the distinct words that a text is searched by, in order, at most MAX_TERMS of them.

    A CamelCase name gives itself and its parts. Lone surrogates and NUL bytes are dropped.
    """
    clean = text.encode('utf-8', 'ignore').decode('utf-8').replace('\0', ' ')
    found: dict[str, None] = {}
    for word in _WORDS.findall(clean):
        parts = words_of_name(word).split()
        for term in (word.lower(), *(parts if len(parts) > 1 else ())):
            if term not in STOP_WORDS and (len(term) > 1 or not term.isascii() or term.isdigit()):
                found.setdefault(term)
    return list(found)[:MAX_TERMS]


def stems(text: str) -> set[str]:
    """Return the stems of the words that a text is searched by; of names only their parts."""
    words = _WORDS.findall(words_of_name(text))
    return {stem(word) for word in words if word.lower() not in STOP_WORDS}


def squash(text: str) -> str:
    """Return the text without case, punctuation and breaks: equal for texts that say the same."""
    return _SQUASH.sub(' ', text.casefold()).strip()
