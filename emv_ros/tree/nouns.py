"""The things that a sentence names: which of its words stand there as nouns.

Told from the readings of each word and from its neighbours, without grammar: a word that can only
be a noun is one; a word that may also be a verb or an adjective is one where an article, a number
or a preposition leads to it. In doubt it is none. Words that every summary may use (`task`,
`attempt`, `object`) are not named, nor pronouns, which `persons` looks after.
"""

from __future__ import annotations

from collections.abc import Iterator
import re

from emv_ros.tree.little_words import ARTICLES, COLOURS, FUNCTION, GENERAL, PREPOSITIONS
from emv_ros.tree.words import ADJECTIVE, NOUN, VERB, is_deed, readings

# Behind these `to` leads to a place, not to a verb.
_GOING = frozenset({
    'come', 'deliver', 'drive', 'get', 'go', 'move', 'navigate', 'return', 'travel', 'walk'})
_TOKEN = re.compile(r"[^\W\d_]+(?:'[a-z]+)?|\d+|[.,;:!?()]")
_QUOTED = re.compile(r'"[^"]*"|“[^”]*”')


def nouns_in(text: str) -> list[str]:
    """Return the words of a text that stand there as nouns or colours, as written, each once."""
    plain = _QUOTED.sub(' " ', text).replace('-', ' ').replace('/', ' ').replace('_', ' ')
    tokens = _TOKEN.findall(plain)
    return list(dict.fromkeys(_nouns(tokens)))


def _nouns(tokens: list[str]) -> Iterator[str]:
    leads = False  # whether what stands before makes a noun of a word that may be one
    was_noun = has_infinitive = is_listed = False
    before = ''
    for place, token in enumerate(tokens):
        word = token.lower().removesuffix("'s")
        after = tokens[place + 1].lower() if place + 1 < len(tokens) else '.'
        if not word.isalpha() or word in FUNCTION:
            has_infinitive = _has_infinitive(word, has_infinitive)
            is_listed = word in (',', 'and', 'or') and (was_noun or before == ',')
            leads = _leads(word, before, after) or (is_listed and not has_infinitive)
            was_noun = False
        else:
            leads = leads and not (is_listed and _is_verb(word, after))
            is_listed = False
            begins = before in ('', '.', ';', ':')
            is_noun = _is_noun(word, after, leads or _is_past(before), was_noun, begins)
            if (is_noun and not _is_general(word)) or (leads and word in COLOURS):
                yield token.removesuffix("'s")
            leads = leads and (is_noun or ADJECTIVE in readings(word)
                               or not set(readings(word)) & {VERB, 'AUX'})
            was_noun = is_noun
        before = word


def _leads(word: str, before: str, after: str) -> bool:
    """Whether a noun, and no verb, follows on a little word, a number or a mark."""
    if word == 'to':
        return VERB not in readings(after) or not _GOING.isdisjoint(readings(before).get(VERB, ()))
    return word in ARTICLES or word in PREPOSITIONS or word.isdigit()


def _has_infinitive(word: str, before: bool) -> bool:
    """Whether the sentence has come to verbs in their base form, which look like nouns."""
    if word in ('to', 'could', 'can', 'would', 'will'):
        return True
    return before and word not in ('.', ';', ':', '!', '?')


def _is_past(word: str) -> bool:
    """Whether a word can only be a verb in the past: what follows on it is no verb."""
    kinds = readings(word)
    return set(kinds) <= {VERB, ADJECTIVE} and VERB in kinds and word not in kinds[VERB] \
        and not word.endswith(('s', 'ing'))


def _is_verb(word: str, after: str) -> bool:
    """Whether a word in a list, of things or of deeds, is a verb in the past, or has an object."""
    verbs = readings(word).get(VERB, (word,))
    return set(verbs) != {word} and (
        not word.endswith('s') or after in ARTICLES or after in ('it', 'them'))


def _is_noun(word: str, after: str, leads: bool, was_noun: bool, begins: bool) -> bool:
    """Whether a word stands as a noun, given what is before and after it."""
    kinds = readings(word)
    if set(kinds) == {NOUN}:
        return True
    if not kinds:  # unknown to the dictionary: a rare thing, or a misspelt one
        return leads and len(word) > 2
    if NOUN not in kinds or (VERB in kinds and word.endswith(('ed', 'ing'))):
        return False
    if begins and not leads:
        # 'Milk was poured', but not 'Place the milk': a verb or an auxiliary follows.
        return 'AUX' in readings(after) or _is_past(after)
    if not leads or (ADJECTIVE in kinds and NOUN in readings(after)):
        return False  # the latter only says what the noun that follows is like
    # 'the robot places the cup', 'the robot saw it': after a noun comes a verb.
    return not (was_noun and VERB in kinds and set(kinds[VERB]) != {word})


def _is_general(word: str) -> bool:
    bases = {word, *(base.lower() for base in readings(word).get(NOUN, ()))}
    return bool(bases & GENERAL) or is_deed(word)


def is_known_word(word: str) -> bool:
    """Whether the dictionary, or the list of little words, has a word; few first names are in."""
    return bool(readings(word.lower())) or word.lower() in FUNCTION | GENERAL


def is_called(word: str, rest: str) -> bool:
    """Whether a word that can only be a verb begins a sentence as a name: 'Peter took the book'."""
    after = _TOKEN.match(rest.lstrip())
    kinds = readings(word.lower())
    return after is not None and set(kinds) == {VERB} and word.lower() in kinds[VERB] \
        and _is_past(after.group().lower())
