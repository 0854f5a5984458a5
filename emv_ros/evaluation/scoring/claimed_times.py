"""The times that an answer claims: read as the agent reads those of questions. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import tzinfo
import itertools
import re

from emv_ros.agent.asked_times import asked_times
from emv_ros.agent.console.windows import Clock
from emv_ros.evaluation.scoring.declining import is_bound, is_denied
from emv_ros.timeline import HOUR_NS, Interval, from_datetime, local_date, to_datetime

_DAY_WORDS = re.compile(
    r'\d{4}-\d{2}|\d\.\d|\d(?:st|nd|rd|th)\b|\b(?:today|tonight|yesterday|ago|last|this|week|month|'
    r'year|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*day|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|'
    r'dec)[a-z]*)\b', re.IGNORECASE)
# No time reads on across these: after 'at 7:18, Jan 6 …' another time begins.
_PIECE_END = re.compile(r'[;\n]|(?<=[.!?])\s|:\d{2}(?:\s?[ap]\.?m\b\.?)?,', re.IGNORECASE)
_OR = re.compile(r'\W*or\b\W*(?:(?:on|at|in|around|maybe|perhaps)\b\W*)*', re.IGNORECASE)
# Longer than any part of a day, shorter than the shortest day.
_PART_OF_A_DAY_NS = 20 * HOUR_NS


@dataclass(frozen=True, slots=True)
class ClaimedTime:
    """A time in a text: where its words stand, the span they mean, and which parts they name.

    A time of the clock whose day nothing names has `has_day` False, and a span on some day.
    `is_hedged`: it is one of two that 'or' joins.
    """

    start: int
    end: int
    span: Interval
    has_day: bool
    has_clock: bool
    is_denied: bool = False
    is_hedged: bool = False


def claimed_times(text: str, now_ns: int, zone: tzinfo) -> list[ClaimedTime]:
    """Return the times of a text in its order, as seen from `now_ns` in the zone.

    A time of the clock takes the day that is named nearest before it, else the first after it; the
    day is then no claim of its own.
    """
    clock = Clock(now_ns=now_ns, zone=zone, last_ns=now_ns)
    found: list[ClaimedTime] = []
    start = 0
    for stop in (*(end.end() for end in _PIECE_END.finditer(text)), len(text)):
        found += _in_piece(text, start, stop, clock)
        start = stop
    return _with_days(_hedged(found, text), zone)


def _in_piece(text: str, at: int, stop: int, clock: Clock) -> Iterator[ClaimedTime]:
    for asked in asked_times(text[at:stop], clock):
        words = r"[^\w:.'+-]+".join(re.escape(word) for word in asked.words.split(' '))
        match = re.compile(words).search(text, at, stop)
        if asked.span is None or match is None:
            continue
        at = match.end()
        is_part = asked.span.end_ns - asked.span.start_ns < _PART_OF_A_DAY_NS
        has_day = not is_part or _DAY_WORDS.search(asked.words) is not None
        yield ClaimedTime(match.start(), match.end(), asked.span, has_day, is_part,
                          is_denied(text, match.start()) or is_bound(text, match.start()))


def _hedged(times: list[ClaimedTime], text: str) -> list[ClaimedTime]:
    joined = [_OR.fullmatch(text, one.end, other.start) is not None
              for one, other in itertools.pairwise(times)]
    return [replace(time, is_hedged=any(joined[max(0, at - 1):at + 1]))
            for at, time in enumerate(times)]


def on_day_of(time: ClaimedTime, day: Interval, zone: tzinfo) -> ClaimedTime:
    """Return a time of the clock on the day at which a span begins."""
    shift = local_date(day.start_ns, zone) - local_date(time.span.start_ns, zone)

    def moved(stamp_ns: int) -> int:
        local = to_datetime(stamp_ns, zone).replace(tzinfo=None, fold=0)
        return from_datetime(local + shift, zone)
    start_ns = moved(time.span.start_ns)
    span = Interval(start_ns, max(start_ns, moved(time.span.end_ns)))
    return replace(time, span=span, has_day=True)


def without_times(text: str, times: list[ClaimedTime]) -> str:
    """Return the text with its times blanked out, every other place kept."""
    for time in times:
        text = text[:time.start] + ' ' * (time.end - time.start) + text[time.end:]
    return text


def _with_days(times: list[ClaimedTime], zone: tzinfo) -> list[ClaimedTime]:
    days = [time for time in times if time.has_day]
    used: set[ClaimedTime] = set()
    found = []
    for time in times:
        if not time.has_day and days:
            before = [day for day in days if day.start < time.start]
            day = before[-1] if before else days[0]
            used |= set() if day.has_clock else {day}
            time = on_day_of(time, day.span, zone)
        found.append(time)
    return [time for time in found if time not in used]
