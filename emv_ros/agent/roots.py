"""Words of a question as names and labels have them: 'watered the plants' -> 'water plant'.

A root is the beginning that a word's forms share ('making' -> 'mak'): good for finding, and no
dictionary entry.
"""

from __future__ import annotations

import re

from emv_ros.memory.names import stem
from emv_ros.retrieval.terms import STOP_WORDS

IRREGULAR = {form: verb for verb, forms in {
    'bring': 'brought', 'break': 'broke broken', 'build': 'built', 'buy': 'bought',
    'catch': 'caught',
    'choose': 'chose chosen', 'cut': 'cutting', 'drink': 'drank drunk', 'drive': 'drove driven',
    'eat': 'ate eaten', 'fall': 'fell fallen', 'feed': 'fed', 'feel': 'felt', 'find': 'found',
    'fly': 'flew flown', 'forget': 'forgot forgotten', 'give': 'gave given', 'grow': 'grew grown',
    'hang': 'hung', 'hear': 'heard', 'hide': 'hid hidden', 'hold': 'held', 'keep': 'kept',
    'lay': 'laid', 'leave': 'left', 'lend': 'lent', 'lie': 'lain lying', 'lose': 'lost',
    'meet': 'met', 'pay': 'paid', 'ride': 'rode ridden', 'ring': 'rang rung', 'sell': 'sold',
    'send': 'sent', 'shake': 'shook shaken', 'shut': 'shutting', 'sing': 'sang sung',
    'sit': 'sat sitting', 'sleep': 'slept', 'speak': 'spoke spoken', 'spend': 'spent',
    'stand': 'stood', 'steal': 'stole stolen', 'sweep': 'swept', 'swim': 'swam swum',
    'teach': 'taught', 'tear': 'tore torn', 'throw': 'threw thrown', 'wake': 'woke woken',
    'wear': 'wore worn', 'write': 'wrote written'}.items() for form in forms.split()}
_WORD = re.compile(r'\w+')
_DOUBLE = re.compile(r'([bdfglmnprt])\1$')
_VOWEL = re.compile(r'[aeiouy]')
SHORTEST = 3


def root_of(word: str) -> str:
    """Return the root of an English word, lower case: without plural, -ed and -ing."""
    word = stem(word.lower())
    word = IRREGULAR.get(word, word)
    if word.endswith('ied') and len(word) > SHORTEST + 1:
        return word[:-3] + 'y'
    for ending in ('ing', 'ed'):
        stump = word[:-len(ending)]
        # Not 'string' or 'speed': what is left must be a word's beginning.
        if (word.endswith(ending) and len(stump) >= SHORTEST and _VOWEL.search(stump)
                and not word.endswith('eed')):
            return _DOUBLE.sub(r'\1', stump)
    return word


def roots_of(text: str) -> str:
    """Return the roots of the telling words of a text; of all, where it has none that tell."""
    words = _WORD.findall(text)
    telling = [word for word in words if word.lower() not in STOP_WORDS]
    return ' '.join(root_of(word) for word in telling or words)
