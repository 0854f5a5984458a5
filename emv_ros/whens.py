"""Times as people write them: 'yesterday', '14:00', '26 June 8 pm', '2 hours ago', RFC 3339.

What words mean is a span: 'yesterday' the whole day, '14:00' the minute, 'June 2024' the month.
Words that fit several days mean the latest that has begun, since a memory holds the past: in March,
'June' is last year's. Times without an offset are local to the zone; an hour that comes twice in
autumn means both, one that is skipped in spring the hour after it. Pure: whoever calls passes "now"
in.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
import re

from emv_ros.calendars import DAY, back, clock_of, compiled, days_of
from emv_ros.errors import TimeExpressionError
from emv_ros.timeline import (
    HOUR_NS,
    MAX_NS,
    MIN_NS,
    MINUTE_NS,
    SECOND_NS,
    Interval,
    from_datetime,
    parse_zone,
    to_datetime,
)

MAX_CHARS = 120
NUMBERS = {word: number for number, word in enumerate(
    ('zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten',
     'eleven', 'twelve'))}
NUMBERS |= {'a': 1, 'an': 1, 'couple': 2}
EXACT_UNITS = {'second': SECOND_NS, 'minute': MINUTE_NS, 'hour': HOUR_NS}
FILLERS = frozenset(('at', 'on', 'in', 'of', 'the', 'from', 'between', 'during'))

_COUNT = rf'(\d{{1,6}}|{"|".join(NUMBERS)})'
_UNIT = r'(second|minute|hour|day|week|month|year)s?'
_ISO = compiled(
    r'(\d{4}-\d{2}-\d{2})(t| )(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?'
    r'\s?(z|utc|[+-]\d{2}(?::?\d{2})?)?')
_AGO = compiled(rf'{_COUNT} {_UNIT} ago')
_ROLLING = compiled(rf'(?:last|past) (?:{_COUNT} )?{_UNIT}')
_RANGE = compiled(r'(.+?)\s(?:to|until|till|-|–)\s(.+)')
_BARE_HOURS = compiled(
    r'(?:(.+) )?(\d{1,2})(?::(\d{2}))? to (\d{1,2})(?::(\d{2}))?(?: (.+))?')
_SHORT_RANGE = re.compile(r'(?<=\d)[–-](?=\d{1,2}:\d{2})')
_MONTH = ('(?:january|february|march|april|may|june|july|august|september|october|november|'
          'december)')
_REWRITES = (
    (re.compile(r'\bup to\b'), 'to'),
    # The day of the week says nothing more beside a date.
    (re.compile(r'\b(?:mon|tues|wednes|thurs|fri|satur|sun)day (?:the )?'
                rf'(?=\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}\b|{_MONTH} \d{{1,2}}\b)'), ''),
    (re.compile(r'\bhalf an hour\b'), '30 minutes'),
    (re.compile(r'\b(?:a )?couple of\b'), 'couple'),
    (re.compile(r'\b(?:a )?fortnight\b'), '2 weeks'),
    (re.compile(r'\b([ap])\.\s?m\b\.?'), r'\1m'),
    (re.compile(r'\btonight\b'), 'today night'),
    (re.compile(r'\bthis (?=morning|afternoon|evening|night)'), 'today '),
    (re.compile(r'\blast (?=evening)'), 'yesterday '),
    (re.compile(r'^since (.+)$'), r'\1 to now'))


@dataclass(frozen=True, slots=True)
class _Now:
    stamp_ns: int
    zone: tzinfo

    @property
    def local(self) -> datetime:
        """The wall clock without a zone: what calendars count with."""
        return to_datetime(self.stamp_ns, self.zone).replace(tzinfo=None, fold=0)

    @property
    def midnight(self) -> datetime:
        return datetime.combine(self.local.date(), time())


@dataclass(frozen=True, slots=True)
class _Span:
    """What words mean, and the stamp up to which 'until' them reaches."""

    interval: Interval
    until_ns: int


def parse_when(text: str | date, now_ns: int, zone: tzinfo) -> Interval:
    """Return the span that the words mean, seen from `now_ns` in the zone.

    A datetime is its own microsecond (a naive one local to the zone), a date its day. Raises
    TimeExpressionError, which names the text, where it means no time.
    """
    return _span(text, _Now(now_ns, zone)).interval


def parse_until(text: str | date, now_ns: int, zone: tzinfo) -> int:
    """Return the stamp up to which 'until `text`' reaches.

    That is the end of a day, month or other stretch, but the beginning of a minute or second: until
    14:00 does not take in what happened at 14:00:30. Raises TimeExpressionError as parse_when.
    """
    return _span(text, _Now(now_ns, zone)).until_ns


def _span(text: str | date, now: _Now) -> _Span:
    shown = repr(text)[:MAX_CHARS]
    try:
        span = _of_text(text, now) if isinstance(text, str) else _of_object(text, now)
    except (ValueError, OverflowError) as error:
        raise TimeExpressionError(f'no such time: {shown} ({error})') from error
    if span is None:
        raise TimeExpressionError(
            f'not understood as a time: {shown}; write for example 2024-06-27 13:03, yesterday, '
            '14:00, 27 June, 2 hours ago or last week')
    if span.interval.start_ns < MIN_NS or span.interval.end_ns > MAX_NS:
        raise TimeExpressionError(f'{shown} lies outside the years 1970 to 2200')
    return span


def _of_object(moment: object, now: _Now) -> _Span | None:
    if isinstance(moment, datetime):
        stamp = from_datetime(moment, now.zone)
        return _Span(Interval(stamp, stamp + 1000), stamp)
    return _of_days(moment, moment + DAY, now) if isinstance(moment, date) else None


def _of_text(text: str, now: _Now) -> _Span | None:
    said = ' '.join(re.sub(r',(?=\s|\d{4}\b)', ' ', text.lower()).strip(' .?!').split())
    if not said or len(said) > MAX_CHARS:
        return None
    if span := _of_iso(said, now):
        return span
    said = _SHORT_RANGE.sub(' to ', said) if ':' in said else said
    if 'between ' in said:
        said = said.replace(' and ', ' to ')
    for pattern, words in _REWRITES:
        said = pattern.sub(words, said)
    said = ' '.join(word for word in said.split() if word not in FILLERS)
    if span := _of_bare_hours(said, now):
        return span
    if match := _RANGE.match(said):
        return _of_range(match[1], match[2], now)
    return _of_phrase(said, now)


def _of_phrase(said: str, now: _Now) -> _Span | None:
    """Return the span of one phrase: each form is tried in turn."""
    for form in (_of_iso, _of_moment, _of_past, _of_calendar, _of_clock, _of_clock_and_day):
        if span := form(said, now):
            return span
    return None


def _of_iso(said: str, now: _Now) -> _Span | None:
    match = _ISO.match(said)
    if match is None:
        return None
    day, letter, hour, minute, second, fraction, offset = match.groups()
    if letter == ' ' and second is None and (offset or '').startswith('-'):
        return None  # '2024-06-27 10:00-11:00' is a range
    is_end = hour == '24' and not int(minute) and not int(second or 0)
    start = datetime.combine(
        date.fromisoformat(day), time(0 if is_end else int(hour), int(minute), int(second or 0)))
    start += DAY if is_end else timedelta()
    width = MINUTE_NS if second is None else SECOND_NS
    more = 0
    if fraction:
        more, width = int(fraction.ljust(9, '0')), int(10 ** (9 - len(fraction)))
    if offset is None:
        first, last = _stamp(start, now.zone), _stamp(start, now.zone, is_last=True)
    else:
        zone = UTC if offset in ('z', 'utc') else parse_zone(offset)
        first = last = from_datetime(start, zone)
    return _Span(Interval(first + more, last + more + width), last + more)


def _of_moment(said: str, now: _Now) -> _Span | None:
    """'now', 'earlier today', 'last night'."""
    if said in ('now', 'just now'):
        return _Span(Interval(now.stamp_ns, now.stamp_ns), now.stamp_ns)
    if said == 'earlier today':
        return _Span(Interval(_stamp(now.midnight, now.zone), now.stamp_ns), now.stamp_ns)
    if said == 'last night':  # the evening before and the hours after midnight
        return _of_hours(now.midnight, (timedelta(hours=-6), timedelta(hours=6)), now)
    return None


def _of_past(said: str, now: _Now) -> _Span | None:
    """'2 hours ago' (the minute then), '3 days ago' (the day), 'last 3 days' (up to now)."""
    if match := _AGO.match(said):
        count, unit = _number(match[1]), match[2]
        if unit in EXACT_UNITS:
            start = now.stamp_ns - count * EXACT_UNITS[unit]
            return _Span(Interval(start, start + min(EXACT_UNITS[unit], MINUTE_NS)), start)
        day = back(now.local, count, unit).date()
        return _of_days(day, day + DAY, now)
    match = _ROLLING.match(said)
    if match is None or (match[1] is None and match[2] in ('week', 'month', 'year')):
        return None  # 'last week' is a week of the calendar
    count, unit = _number(match[1] or '1'), match[2]
    if unit in EXACT_UNITS:
        start = now.stamp_ns - count * EXACT_UNITS[unit]
    else:
        start = _stamp(back(now.local, count, unit), now.zone)
    return _Span(Interval(start, now.stamp_ns), now.stamp_ns)


def _of_calendar(said: str, now: _Now) -> _Span | None:
    days = days_of(said, now.local.date())
    return _of_days(*days, now) if days else None


def _of_clock(said: str, now: _Now) -> _Span | None:
    """'14:00', 'morning': the latest that has begun."""
    hours = clock_of(said)
    if hours is None:
        return None
    is_ahead = now.midnight + hours[0] > now.local
    return _of_hours(now.midnight - DAY if is_ahead else now.midnight, hours, now)


def _of_clock_and_day(said: str, now: _Now) -> _Span | None:
    """'yesterday 14:00', '8 pm 26 june': a day and a part of it, in any order."""
    words = said.split()
    for middle in range(1, len(words)):
        parts = ' '.join(words[:middle]), ' '.join(words[middle:])
        for day, clock in (parts, parts[::-1]):
            hours = clock_of(clock)
            days = _of_past(day, now) or _of_calendar(day, now) if hours else None
            if hours and days:
                midnight = _local(days.interval.start_ns, now)
                if days.interval != _of_days(midnight.date(), midnight.date() + DAY, now).interval:
                    raise ValueError('a time of day needs a single day')
                return _of_hours(datetime.combine(midnight.date(), time()), hours, now)
    return None


def _of_bare_hours(said: str, now: _Now) -> _Span | None:
    """'yesterday 10 to 12', '7 to 9 today evening': hours of a day, or of a part of it."""
    match = _BARE_HOURS.match(said)
    if match is None or bool(match[1]) == bool(match[6]) or (match[3] and match[5]):
        return None  # two times of the clock are a range like any other, also over midnight
    try:
        part = _of_phrase(match[1] or match[6], now)
    except ValueError:
        return None
    first, last = (timedelta(hours=int(hour), minutes=int(minute or 0))
                   for hour, minute in (match.group(2, 3), match.group(4, 5)))
    if part is None or not HOUR_NS < part.interval.end_ns - part.interval.start_ns <= 25 * HOUR_NS:
        return None
    midnight, half = _midnight(part, now), timedelta(hours=12)
    if last <= first < half:
        last += half  # 'nine to five'
    if not first < last <= DAY:
        raise ValueError('the hours of a day run from 0 to 24')
    spans = [_of_hours(midnight, (first, last), now)]
    if last <= half:
        spans.append(_of_hours(midnight, (first + half, last + half), now))
    if last <= timedelta(hours=6):  # of a day, people mean those after noon
        spans.reverse()
    return max(spans, key=lambda span: _shared_ns(span, part))


def _shared_ns(one: _Span, other: _Span) -> int:
    return (min(one.interval.end_ns, other.interval.end_ns)
            - max(one.interval.start_ns, other.interval.start_ns))


def _of_range(first: str, last: str, now: _Now) -> _Span | None:
    """'A to B'; where one is only a clock time, it takes the other's day."""
    begin, hours = _of_phrase(first, now), clock_of(last)
    if begin is None:
        return None
    end: _Span | None
    if hours is None:
        end = _of_phrase(last, now)
        if end and (early := clock_of(first)):
            same_day = _of_hours(_midnight(end, now), early, now)
            if same_day.interval.start_ns <= end.interval.start_ns:  # else the latest before it
                begin = same_day
    else:
        midnight = _midnight(begin, now)
        is_next = midnight + hours[0] <= _local(begin.interval.start_ns, now)
        end = _of_hours(midnight + DAY if is_next else midnight, hours, now)
    if end is None:
        return None
    if end.interval.start_ns < begin.interval.start_ns:
        raise ValueError('it ends before it starts')
    return _Span(Interval(begin.interval.start_ns, end.until_ns), end.until_ns)


def _number(word: str) -> int:
    return NUMBERS[word] if word in NUMBERS else int(word)


def _of_days(first: date, last: date, now: _Now) -> _Span:
    midnight = datetime.combine(first, time())
    return _of_hours(midnight, (timedelta(), last - first), now)


def _of_hours(midnight: datetime, hours: tuple[timedelta, timedelta], now: _Now) -> _Span:
    """Return the span of a part of a naive local day; up to a minute it counts as a moment."""
    start, tick = midnight + hours[0], timedelta(microseconds=1)
    # The end is taken by its last tick, so that an hour that comes twice after it stays out.
    end_ns = _stamp(midnight + hours[1] - tick, now.zone, is_last=True) + 1000
    span = Interval(_stamp(start, now.zone), end_ns)
    is_moment = hours[1] - hours[0] <= timedelta(minutes=1)
    return _Span(span, _stamp(start, now.zone, is_last=True) if is_moment else end_ns)


def _local(stamp_ns: int, now: _Now) -> datetime:
    return to_datetime(stamp_ns, now.zone).replace(tzinfo=None, fold=0)


def _midnight(span: _Span, now: _Now) -> datetime:
    return datetime.combine(_local(span.interval.start_ns, now).date(), time())


def _stamp(local: datetime, zone: tzinfo, is_last: bool = False) -> int:
    """Return the first (or last) stamp at which clocks of the zone show the naive time."""
    stamp = from_datetime(local.replace(fold=int(is_last)), zone)
    if is_last and to_datetime(stamp, zone).replace(tzinfo=None, fold=0) != local:
        return from_datetime(local, zone)  # skipped in spring: the same time after the gap
    return stamp
