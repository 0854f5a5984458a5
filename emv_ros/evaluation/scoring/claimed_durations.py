"""The duration that an answer claims, in any of the forms people write. Pure."""

from __future__ import annotations

from dataclasses import dataclass
import re

from emv_ros.evaluation.scoring.claimed_numbers import WORDS
from emv_ros.evaluation.scoring.declining import is_bound, is_denied

_SECONDS = {'s': 1, 'm': 60, 'h': 3600, 'd': 86_400}
_UNIT = r'(?P<unit>days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\b'
_PART = re.compile(
    rf'(?:(?P<half>half an?|half a)|(?P<count>\d+(?:[.,]\d+)?|(?:{"|".join(WORDS)}|an?)\b))'
    rf'(?P<more> and a half)?[\s-]*{_UNIT}(?P<later_half> and a half)?', re.IGNORECASE)
_GLUE = re.compile(r'(?:\s|,|\band\b)*')
_CLOCKED = re.compile(r'(?<![\d:])(?:(\d{1,3}):)?(\d{1,2}):(\d{2})(?:\.\d+)?(?![\d:])')
_DATE = re.compile(r'\d{4}-\d{2}-\d{2}')
_NO_LENGTH = re.compile(
    r'\s*(?:ago|later|earlier|before|after|longer|shorter|past)\b', re.IGNORECASE)
_WHOLE = re.compile(r'\b(?:total|altogether|together|in all|overall)\b', re.IGNORECASE)
# Between two durations of which neither is claimed: '3 minutes or 4 minutes', '3 min, 4 min'.
_HEDGE = re.compile(r'\W*(?:\bor\b\W*)?')
_BARE = re.compile(r'^\W*(\d+(?:\.\d+)?)\W*$')
_ASKED_UNIT = re.compile(r'\bhow many (days|hours|minutes|seconds)\b', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds, as told in units of `unit_s` seconds at the finest."""

    seconds: float
    unit_s: float


def claimed_duration(question: str, answer: str) -> Duration | None:
    """Return the duration that an answer claims: the one it calls the whole, else its first."""
    bare, unit = _BARE.match(answer), _ASKED_UNIT.search(question)
    if bare and unit:
        unit_s = _SECONDS[unit[1][0].lower()]
        return Duration(float(bare[1]) * unit_s, unit_s)
    found = list(_told(answer))
    whole = _WHOLE.search(answer)
    if whole and len(found) > 1:
        return min(found, key=lambda item: abs(item[0] - whole.start()))[1]
    if len(found) > 1 and _are_hedged(answer, found):
        return None
    return found[0][1] if found else None


def _are_hedged(text: str, found: list[tuple[int, Duration]]) -> bool:
    first = _PART.match(text, found[0][0])
    return first is not None and _HEDGE.fullmatch(text, first.end(), found[1][0]) is not None


def _told(text: str) -> list[tuple[int, Duration]]:
    found, at = [], 0
    while match := _PART.search(text, at):
        start, seconds, unit_s = match.start(), 0.0, 0.0
        part: re.Match[str] | None = match
        while part is not None:
            unit_s = _SECONDS[part['unit'][0].lower()]
            seconds += _count(part) * unit_s
            # What was told to the half or to a decimal is meant finer than its unit.
            if part['half'] or part['more'] or part['later_half'] or '.' in (part['count'] or ''):
                unit_s /= 10
            at = part.end()
            glue = _GLUE.match(text, at)
            part = _PART.match(text, glue.end() if glue else at)
            if part is not None and _SECONDS[part['unit'][0].lower()] >= unit_s:
                part = None  # '3 min, 5 min' are two
        if not _NO_LENGTH.match(text, at) and not (
                is_denied(text, start) or is_bound(text, start)):
            found.append((start, Duration(seconds, unit_s)))
    return found or _clocked(text)


def _clocked(text: str) -> list[tuple[int, Duration]]:
    """'0:03:15'; two of the kind are times of the clock, and so is one beside a date."""
    found = list(_CLOCKED.finditer(text))
    if len(found) != 1 or _DATE.search(text):
        return []
    match, = found
    return [(match.start(), Duration(
        int(match[1] or 0) * 3600 + int(match[2]) * 60 + int(match[3]), 1.0))]


def _count(part: re.Match[str]) -> float:
    said = (part['count'] or '').lower().replace(',', '.')
    if part['half']:
        count = 0.5
    elif said in ('a', 'an'):
        count = 1.0
    else:
        count = WORDS[said] if said in WORDS else float(said)
    return count + (0.5 if part['more'] or part['later_half'] else 0.0)
