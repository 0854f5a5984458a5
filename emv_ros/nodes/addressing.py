"""Whether words that were heard are a question to the robot's memory, and which."""

from __future__ import annotations

from collections.abc import Sequence
import re

# What questions about the past begin with, in English; with wake words any language will do.
QUESTION_WORDS = frozenset((
    'who', 'whom', 'whose', 'what', 'when', 'where', 'why', 'which', 'how', 'did', 'do', 'does',
    'was', 'were', 'is', 'are', 'has', 'have', 'had'))

# Recognisers give no commas: 'hey robot did you' asks, too.
_GREETING = re.compile(
    r'^\W*(?:(?:hey|hi|ok|okay|hello|please|so|and|well|robot|now|tell me)\W+)*', re.IGNORECASE)
_EDGE = ' \t\n,.;:!?-–—'


def question_in(text: str, wake_words: Sequence[str] = ()) -> str | None:
    """Return the question that the text asks of the robot, without the wake word; else None.

    With wake words, one of them must stand at the beginning or the end. Without, the text must end
    in a question mark or begin as questions do.
    """
    text = text.strip()
    if wake_words:
        return _after_wake_word(text, wake_words)
    rest = _GREETING.sub('', text, count=1)
    first = re.match(r"[\w']+", rest)
    if text.endswith('?') and first or first and first[0].casefold() in QUESTION_WORDS:
        return text
    return None


def _after_wake_word(text: str, wake_words: Sequence[str]) -> str | None:
    for word in sorted(wake_words, key=len, reverse=True):
        name = r'\s+'.join(map(re.escape, word.split()))
        for pattern in (rf'^\W*(?:(?:hey|hi|ok|okay|hello)\W+)?{name}\b', rf'\b{name}\W*$'):
            rest, count = re.subn(pattern, '', text, count=1, flags=re.IGNORECASE)
            if count:
                question = rest.strip(_EDGE)
                return question + ('?' if text.endswith('?') else '') if question else None
    return None
