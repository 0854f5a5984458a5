"""Stamps, intervals, time zones and calendar days.

A stamp is an integer of nanoseconds since the Unix epoch, UTC. Nothing here reads the wall clock:
whoever needs "now" passes it in. Times shown to a person or a model are local to the robot's zone
and carry the date.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
import os
from pathlib import Path
import re
from time import localtime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from emv_ros.errors import TimeExpressionError

SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * SECOND_NS
HOUR_NS = 60 * MINUTE_NS
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Between them lie the years 1970 to 2199: outside, a clock was wrong, and date arithmetic can
# overflow.
MIN_NS = 0
MAX_NS = 7_258_118_400 * SECOND_NS

_OFFSET = re.compile(r'^(?:UTC|GMT)?([+-])(\d{1,2})(?::?([0-5]\d))?$', re.IGNORECASE)
_RFC3339 = re.compile(
    r'^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:[.,](\d{1,9})\d*)?'
    r'\s*([Zz]|[+-]\d{2}:?\d{2})$', re.ASCII)
LOCAL_ZONE_FILE = Path('/etc/localtime')


@dataclass(frozen=True, slots=True)
class Interval:
    """A half-open span [start_ns, end_ns); where both are equal, the instant start_ns."""

    start_ns: int
    end_ns: int

    def __post_init__(self) -> None:
        if self.end_ns < self.start_ns:
            raise TimeExpressionError(
                f'a span ends before it starts: {self.start_ns} to {self.end_ns}')

    @property
    def last_ns(self) -> int:
        """The last nanosecond that belongs to the span."""
        return max(self.start_ns, self.end_ns - 1)

    def overlaps(self, other: Interval) -> bool:
        """Whether the two share at least one nanosecond."""
        return self.start_ns <= other.last_ns and other.start_ns <= self.last_ns

    def contains(self, stamp_ns: int) -> bool:
        """Whether the stamp lies inside."""
        return self.start_ns <= stamp_ns <= self.last_ns


def parse_zone(name: str) -> tzinfo:
    """Return the zone of an IANA name ('Europe/Berlin') or an offset ('UTC+02:00', '+13:00')."""
    if name.upper() in ('', 'UTC', 'Z'):
        return UTC
    match = _OFFSET.match(name.strip())
    if match:
        sign, hours, minutes = match.groups()
        delta = timedelta(hours=int(hours), minutes=int(minutes or 0))
        if delta >= timedelta(hours=24):
            raise TimeExpressionError(f'no time zone has the offset {name!r}')
        return timezone(-delta if sign == '-' else delta)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise TimeExpressionError(f'unknown time zone {name!r}') from error


def system_zone() -> str:
    """Return the name of this computer's zone, its present offset where it has none."""
    named = os.environ.get('TZ', '').removeprefix(':')
    _, _, linked = str(LOCAL_ZONE_FILE.resolve()).partition('/zoneinfo/')
    for name in (named, linked.removeprefix('posix/')):
        try:
            if name and not _OFFSET.match(name):  # there 'UTC+3' is west of Greenwich
                return 'UTC' if name == 'Etc/UTC' else zone_name(parse_zone(name))
        except TimeExpressionError:
            continue  # a rule or a file of its own, without a name that others know
    return zone_name(timezone(timedelta(seconds=localtime().tm_gmtoff)))


def zone_name(zone: tzinfo) -> str:
    """Return a name that parse_zone reads back."""
    if isinstance(zone, ZoneInfo) and zone.key:
        return zone.key
    offset = zone.utcoffset(None)
    if offset is None:
        raise TimeExpressionError(f'the zone {zone!r} has no fixed offset and no name')
    minutes = round(offset.total_seconds() / 60)
    if not minutes:
        return 'UTC'
    return f'UTC{"-" if minutes < 0 else "+"}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}'


def from_datetime(moment: datetime, zone: tzinfo = UTC) -> int:
    """Return the stamp of a datetime, exact to the microsecond.

    A naive one is local to the zone: the first of two where the clocks go back.
    """
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    try:
        delta = moment.astimezone(UTC) - EPOCH
    except OverflowError as error:
        raise TimeExpressionError(f'{moment} is outside the calendar in UTC') from error
    return (delta.days * 86_400 + delta.seconds) * SECOND_NS + delta.microseconds * 1000


def to_datetime(stamp_ns: int, zone: tzinfo = UTC) -> datetime:
    """Return the aware datetime of a stamp in the zone, cut to microseconds."""
    seconds, nanoseconds = divmod(stamp_ns, SECOND_NS)
    try:
        moment = EPOCH + timedelta(seconds=seconds, microseconds=nanoseconds // 1000)
        return moment.astimezone(zone)
    except OverflowError as error:
        raise TimeExpressionError(f'the stamp {stamp_ns} is outside the calendar') from error


def parse_stamp(text: str) -> tuple[int, tzinfo]:
    """Return the stamp, exact to the nanosecond, and the offset of an RFC 3339 time.

    Raises TimeExpressionError where the text is no such time or names no offset.
    """
    match = _RFC3339.match(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise TimeExpressionError(f'no RFC 3339 time with an offset: {text!r}')
    day, clock, fraction, offset = match.groups()
    zone = UTC if offset in 'Zz' else parse_zone(offset)
    try:
        moment = datetime.fromisoformat(f'{day}T{clock}').replace(tzinfo=zone)
        return from_datetime(moment) + int((fraction or '0').ljust(9, '0')), zone
    except (ValueError, OverflowError) as error:
        raise TimeExpressionError(f'no such time: {text!r} ({error})') from error


def format_stamp(stamp_ns: int, zone: tzinfo = UTC) -> str:
    """Return 'YYYY-MM-DD HH:MM:SS' local to the zone."""
    return to_datetime(stamp_ns, zone).strftime('%Y-%m-%d %H:%M:%S')


def format_rfc3339(stamp_ns: int, zone: tzinfo = UTC) -> str:
    """Return an RFC 3339 time with the zone's offset and nine decimals.

    parse_stamp reads it back, to the nanosecond.
    """
    moment = to_datetime(stamp_ns, zone)
    offset = moment.strftime('%z')
    if offset[5:].strip('0'):  # an old zone whose offset has seconds, which the format has not
        return format_rfc3339(stamp_ns)
    # Not %Y, which leaves out zeros.
    return (f'{moment.year:04d}{moment:-%m-%dT%H:%M:%S}.{stamp_ns % SECOND_NS:09d}'
            f'{offset[:3]}:{offset[3:5]}')


def format_span(span: Interval, zone: tzinfo = UTC) -> str:
    """Return 'YYYY-MM-DD HH:MM:SS to HH:MM:SS', the second date only where it differs."""
    start, end = to_datetime(span.start_ns, zone), to_datetime(span.end_ns, zone)
    text = f'{start:%Y-%m-%d %H:%M:%S}'
    if end.replace(microsecond=0) == start.replace(microsecond=0):
        return text
    if end.date() == start.date():
        return f'{text} to {end:%H:%M:%S}'
    return f'{text} to {end:%Y-%m-%d %H:%M:%S}'


def format_duration(duration_ns: int) -> str:
    """Return a duration in words: '1 h 02 min 03 s', '4 min 05 s', '12.3 s'."""
    seconds = max(0, duration_ns) / SECOND_NS
    if round(seconds, 1) < 60:
        return f'{seconds:.1f} s'
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f'{minutes} min {rest:02d} s'
    hours, minutes = divmod(minutes, 60)
    return f'{hours} h {minutes:02d} min {rest:02d} s'


def local_date(stamp_ns: int, zone: tzinfo) -> date:
    """Return the calendar day of the stamp in the zone."""
    return to_datetime(stamp_ns, zone).date()


def day_span(day: date, zone: tzinfo, days: int = 1) -> Interval:
    """Return the span of calendar days in the zone: 23 or 25 hours where the clocks change."""
    try:
        first = datetime.combine(day, time(), zone)
        last = datetime.combine(day + timedelta(days=days), time(), zone)
    except OverflowError as error:
        raise TimeExpressionError(f'{days} days from {day} leave the calendar') from error
    return Interval(from_datetime(first), from_datetime(last))


def days_between(span: Interval, zone: tzinfo) -> Iterator[date]:
    """Yield each calendar day that the span touches in the zone."""
    day, last = local_date(span.start_ns, zone), local_date(span.last_ns, zone)
    while day <= last:
        yield day
        day += timedelta(days=1)
