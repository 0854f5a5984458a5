"""What an answer denies, and whether it declines to answer. English. Pure."""

from __future__ import annotations

import re

# Where what was denied before is denied no longer.
_CLAUSE_END = re.compile(
    r'[.;!?:](?=\s|$)|[,\n]|\b(?:but|however|though|although|instead(?! of)|rather(?! than))\b',
    re.IGNORECASE)
_DENIAL = re.compile(
    r"\bnot\b(?! (?:only|until|just)\b)|n't\b|\b(?:never|nor|neither|without|no|cannot|except|"
    r'besides|excluding|rather than|instead of|apart from|other than)\b', re.IGNORECASE)
_BOUND_BEFORE = re.compile(
    r'\b(?:(?:more|less|fewer|greater|longer|shorter|earlier|later) than|over|under|at least|'
    r'at most|up to)\s+(?:the\s+)?$', re.IGNORECASE)
_SENTENCE_END = re.compile(r'(?<=[.!?;])\s+|\n+')
_TOLD = (r'(?:record\w*|mention\w*|memor\w+|information|evidence|data|found|know|known|available|'
         r'stored|logged|noted|observed|seen|see|entry|entries|trace|indication|answer\w*|results?|'
         r'remember|recall|find|tell|say|determine\w*|specified|stated|clear|sure|certain)')
_REFUSALS = tuple(re.compile(pattern, re.IGNORECASE) for pattern in (
    r'\bnot[ _]recorded\b',
    rf'\b(?:no|nothing|none|without(?: any)?|neither)\b[^.;!?]{{0,80}}\b{_TOLD}\b',
    rf"(?:\bnot|n't|\bnever|\bcannot)\b[^.;!?,]{{0,60}}\b{_TOLD}\b",
    r'\b(?:unknown|unclear|unrecorded|unable to)\b',
    r"\bmemory (?:does not|doesn't|has no|holds no|tells no)",
    r'^\W*(?:error\b|exception\b|traceback\b|n/?a\W*$)'))
_EVENT_DENIALS = re.compile(
    r"^(?:(?:i|you|we|they|the robot|it|he|she) (?:did not|didn't|do not|don't|have not|haven't|"
    r"had not|hadn't|has not|hasn't|was not|wasn't|were not|weren't|never)\b|"
    r'(?:there|it) (?:was|were|is|are|has been|have been) (?:no|nothing|none|never|not)\b|'
    r'nothing\b|never\b|nobody\b|no one\b|none\b|no (?!,)\w+)', re.IGNORECASE)
_PLAIN_NO = re.compile(r'^no\s*(?:[,.;:!–-]\s*|$)', re.IGNORECASE)
_OF_MEMORY = re.compile(r'\b(?:memor\w+|records?|recorded|recordings?|logs?)\b', re.IGNORECASE)
_TURN = re.compile(r'\b(?:but|however|although|though|instead(?! of)|yet)\b', re.IGNORECASE)


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text that hold a letter or a digit."""
    return [part.strip() for part in _SENTENCE_END.split(text) if re.search(r'\w', part)]


def is_denied(text: str, at: int) -> bool:
    """Whether the clause that leads up to the place `at` denies what stands there."""
    start = 0
    for end in _CLAUSE_END.finditer(text, 0, at):
        start = end.end()
    return _DENIAL.search(text, start, at) is not None


def is_bound(text: str, at: int) -> bool:
    """Whether what stands at the place `at` is only a bound: 'more than 3', 'at most 3'."""
    return _BOUND_BEFORE.search(text, 0, at) is not None


def denial_in(text: str) -> re.Match[str] | None:
    """Return the first word of denial in a clause."""
    return _DENIAL.search(text)


def refuses(text: str) -> bool:
    """Whether the first sentence says that this is not recorded, not known or not found."""
    return any(pattern.search(_first(text)) for pattern in _REFUSALS)


def denies_event(text: str) -> bool:
    """Whether the first sentence says that there was no such thing ('I never …', 'No task …')."""
    first = _first(text)
    return _EVENT_DENIALS.search(_PLAIN_NO.sub('', first)) is not None


def declines(text: str) -> bool:
    """Whether an answer tells nothing of what was asked."""
    return not re.search(r'\w', text) or refuses(text) or denies_event(text)


def says_not_recorded(text: str) -> bool:
    """Whether the first sentence says that nothing is recorded, and claims nothing all the same.

    A plain 'no' is a claim; 'no such thing was seen' and 'I never did' are none.
    """
    first = _first(text)
    if not first or not (refuses(first) or (
            denies_event(first) and not _PLAIN_NO.match(first))):
        return False
    turn = _TURN.search(first)
    return turn is None or turn.start() == 0 or declines(first[turn.end():].strip(' ,'))


def claims_nothing(text: str) -> bool:
    """Whether all sentences say that nothing is recorded, or tell of memory itself."""
    return says_not_recorded(text) and all(
        declines(part) or _OF_MEMORY.search(part) for part in sentences(text)[1:])


def _first(text: str) -> str:
    found = sentences(text)
    return found[0] if found else ''
