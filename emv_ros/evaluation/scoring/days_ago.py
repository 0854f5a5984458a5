"""How many days ago an answer says that something was. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
import re

from emv_ros.evaluation.scoring.claimed_numbers import WORDS
from emv_ros.evaluation.scoring.claimed_times import ClaimedTime, without_times
from emv_ros.evaluation.scoring.declining import is_bound, is_denied
from emv_ros.timeline import local_date

_COUNT = rf'(?P<count>\d{{1,4}}|an?|{"|".join(WORDS)})'
_AGO = re.compile(
    rf'\b{_COUNT} (?P<unit>days?|weeks?) (?:ago|earlier|back|before (?:today|now))\b',
    re.IGNORECASE)
_DAYS = re.compile(rf'\b{_COUNT} (?P<unit>days?|weeks?)\b', re.IGNORECASE)
_NAMED = (('the day before yesterday', 2), ('yesterday', 1), ('today', 0), ('tonight', 0),
          ('this morning', 0), ('this afternoon', 0), ('this evening', 0))
_HEDGE_BEFORE = re.compile(rf'\b{_COUNT} ?(?:or|to|-|–|,) ?$', re.IGNORECASE)
_TODAY_IS = re.compile(r'\btoday is\b[^.;,]*', re.IGNORECASE)
_BARE = re.compile(rf'^\W*{_COUNT}\W*$', re.IGNORECASE)


def claimed_days_ago(answer: str, times: Sequence[ClaimedTime], now_ns: int,
                     zone: tzinfo) -> int | None:
    """Return the days that an answer claims, None where it claims none or several.

    '3 days ago' counts before 'yesterday', that before a date, a date before a bare number.
    """
    said = _TODAY_IS.sub(lambda found: ' ' * len(found[0]), answer)
    for found in (_counted(said, _AGO), _named(said), _dated(said, times, now_ns, zone),
                  _counted(without_times(said, list(times)), _DAYS), _counted(said, _BARE)):
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def _counted(text: str, pattern: re.Pattern[str]) -> set[int]:
    found = set()
    for match in pattern.finditer(text):
        if is_denied(text, match.start()) or is_bound(text, match.start()):
            continue
        is_weeks = match.groupdict().get('unit', '').lower().startswith('week')
        hedged = _HEDGE_BEFORE.search(text, 0, match.start())  # '2 or 3 days' are two numbers
        for told in (match, hedged) if hedged else (match,):
            found.add(_number(told['count']) * (7 if is_weeks else 1))
    return found


def _number(word: str) -> int:
    word = word.lower()
    return 1 if word in ('a', 'an') else int(WORDS.get(word, word))


def _named(text: str) -> set[int]:
    found, left = set(), text.lower()
    for words, days in _NAMED:
        for match in re.finditer(rf'\b{words}\b', left):
            if not is_denied(left, match.start()):
                found.add(days)
        left = re.sub(rf'\b{words}\b', lambda match: ' ' * len(match[0]), left)
    return found


def _dated(text: str, times: Sequence[ClaimedTime], now_ns: int, zone: tzinfo) -> set[int]:
    today = local_date(now_ns, zone)
    return {(today - local_date(time.span.start_ns, zone)).days for time in times
            if time.has_day and not time.is_denied and text[time.start:time.end].strip()}
