"""Which of the choices of a question an answer names: exactly, by number, or by holding it alone.

No guessing: an answer that fits several choices, or none, names none.
"""

from __future__ import annotations

from collections.abc import Sequence
import re

MAX_CHOICES = 20
MAX_CHOICE_CHARS = 2000
_NUMBER = re.compile(r'^\W*(?:choice|option|answer)?\W*(\d{1,2})\W*$', re.IGNORECASE)
_SPACE = re.compile(r'\s+')


def problem_of(choices: Sequence[str]) -> str:
    """Return why choices cannot be asked, or ''."""
    if not choices:
        return ''
    if not 2 <= len(choices) <= MAX_CHOICES:
        return f'there are {len(choices)} choices; 2 to {MAX_CHOICES} are allowed'
    if any(not choice.strip() for choice in choices):
        return 'a choice is empty'
    if longest := next((text for text in choices if len(text) > MAX_CHOICE_CHARS), ''):
        return (f'the choice {longest[:40]!r}… has {len(longest)} characters; at most '
                f'{MAX_CHOICE_CHARS} are allowed')
    return '' if len({_plain(choice) for choice in choices}) > 1 else 'all choices are the same'


def choice_named(text: str, choices: Sequence[str]) -> int | None:
    """Return the index of the choice that a text names, None where that is none or several.

    A bare number that is no choice itself counts from 1, as the prompt lists them. Of choices that
    read the same, which sets of questions hold now and then, the first is named.
    """
    plain, known = _plain(text), [_plain(choice) for choice in choices]
    if plain in known:
        return known.index(plain)
    if match := _NUMBER.match(text):
        place = int(match[1]) - 1
        # Where the choices are numbers themselves, a number is never a place.
        is_place = 0 <= place < len(choices) and not any(item[:1].isdigit() for item in known)
        return place if is_place else None
    held = [index for index, item in enumerate(known) if _holds(plain, item)]
    # 'olive oil' also holds 'oil': the longest counts, unless another stands beside it.
    longest = max(held, key=lambda index: len(known[index]), default=None)
    if longest is None or any(known[index] not in known[longest] for index in held):
        return None
    return longest


def _plain(text: str) -> str:
    return _SPACE.sub(' ', text).strip(' .\'"').lower()


def _holds(text: str, words: str) -> bool:
    return bool(words) and re.search(rf'(?<![\w.]){re.escape(words)}(?!\w|\.\d)', text) is not None
