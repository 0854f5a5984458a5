"""What a summary may say: nothing that its items do not, and no success where they failed.

Only what can be told from the words is checked: names, numbers, times, failures. Inflected forms,
times to the minute or of a twelve-hour clock, days and months of the items are fine.
"""

from __future__ import annotations

from collections.abc import Sequence
import re

from emv_ros.memory.documents import words_of_name

# Words that any summary may use.
_COMMON = {
    'after', 'again', 'also', 'before', 'during', 'from', 'hand', 'have', 'human', 'into',
    'item', 'location', 'look', 'looked', 'more', 'move', 'moved', 'named', 'object', 'objects',
    'other', 'person', 'pose', 'position', 'robot', 'said', 'saying', 'some', 'succeeded',
    'that', 'then', 'there', 'they', 'this', 'times', 'user', 'what', 'where', 'which', 'while',
    'with'}
_SMALL = {
    'an', 'and', 'are', 'as', 'at', 'by', 'can', 'cannot', 'do', 'for', 'he', 'in', 'is', 'it',
    'my', 'not', 'of', 'on', 'or', 'she', 'so', 'the', 'to', 'was', 'we', 'were', 'you'}
# Marks in a line what went wrong and was not made good.
FAILURES = ('failed', 'aborted', 'canceled')
_MARKED = re.compile('|'.join(rf'\b{status.upper()}\b' for status in FAILURES))
_TOLD = re.compile(
    r"fail|abort|cancel|unsuccess|without success|unable|attempt|tried|n't\b|\bnot\b|cannot",
    re.IGNORECASE)
_FAILED = re.compile(r'\b(?:fail|abort|unsuccess|unable)\w*', re.IGNORECASE)

_NAME = re.compile(r'\b(?:[A-Z][A-Za-z]*[a-z][A-Za-z]*|[A-Z]{2,})\b')
_NUMBER = re.compile(r'\d+(?:[.:]\d+)*')
_TIME = re.compile(r'\b(\d\d):(\d\d)\b')
_SENTENCE = re.compile(r'(?:^|[.!?;:]\s+|["\'(])\s*$')
_LEADING = re.compile(r'[A-Z][a-z]+')


def speaks_of(summary: str, lines: Sequence[str]) -> bool:
    """Whether a summary has any telling word of the lines, in whatever form: a refusal has none."""
    return bool(_beginnings(summary) & _beginnings(' '.join(lines)))


def untold_failures(summary: str, lines: Sequence[str]) -> list[str]:
    """Return the lines that are marked as failed, where a summary tells of no failure."""
    return [] if _TOLD.search(summary) else [line for line in lines if _MARKED.search(line)]


def imagined_failure(summary: str, lines: Sequence[str]) -> str:
    """Return the word by which a summary tells of a failure of which no line does, or ''."""
    told = _FAILED.search(summary)
    return told.group() if told and not _TOLD.search(' '.join(lines)) else ''


def misplaced_in(summary: str, members: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Return the words of a summary that stand in the list, but in no line of its own group."""
    own, listed = _stems(' '.join(members)), _stems(' '.join(lines))
    return [word for word, stem in _words(summary) if stem in listed and stem not in own]


def invented_in(summary: str, lines: Sequence[str]) -> list[str]:
    """Return the names and numbers of a summary that stand in none of the lines.

    A capital at the start of a sentence makes no name; a small count of the items is no invention.
    """
    said = ' '.join(lines).lower()
    squashed = re.sub(r'[^a-z0-9]+', '', said)
    said_numbers = set(_NUMBER.findall(said))
    numbers = said_numbers | _clock_forms(said)
    found = [match.group() for match in _NUMBER.finditer(summary)
             if match.group() not in numbers
             and not (match.group().isdigit() and int(match.group()) <= len(lines))
             and not any(number.startswith(f'{match.group()}:') for number in said_numbers)]
    for match in _NAME.finditer(summary):
        word = match.group()
        if _SENTENCE.search(summary[:match.start()]) and _LEADING.fullmatch(word):
            continue
        if word in ('AM', 'PM') and _TIME.search(said):
            continue
        bare = re.sub(r'[^a-z0-9]+', '', word.lower())
        if bare not in squashed and bare.removesuffix('s') not in squashed:
            found.append(word)
    return list(dict.fromkeys(found))


def _clock_forms(said: str) -> set[str]:
    """Return the times of a text as other people write them: 07:05 as 7:05, 19:05 as 7:05."""
    forms: set[str] = set()
    for hour, minute in _TIME.findall(said):
        forms |= {f'{int(hour)}:{minute}', f'{int(hour) % 12 or 12}:{minute}'}
    return forms


def _beginnings(text: str) -> set[str]:
    found = re.findall(r'[^\W_]{2,}', words_of_name(text).lower())
    return {word[:4] for word in found if word not in _COMMON | _SMALL}


def _stems(text: str) -> set[str]:
    return {stem for _, stem in _words(text)}


def _words(text: str) -> list[tuple[str, str]]:
    """Return the words of a text that tell things apart, each with what its forms share."""
    found = re.findall(r'[a-z]{4,}', words_of_name(text))
    return [(word, re.sub(r'(ing|ed|es|s|e)$', '', word)) for word in dict.fromkeys(found)
            if word not in _COMMON]
