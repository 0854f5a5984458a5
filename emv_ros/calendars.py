"""Days of the calendar and parts of a day, in words: 'last week', '26 June', '8 pm', 'evening'.

It counts in naive dates and knows no zone, no stamp and no clock: emv_ros.whens turns what comes
out into spans. Where words fit several days, the latest that has begun on `today` is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
import re

DAY = timedelta(days=1)
MONTHS = ('january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september',
          'october', 'november', 'december')
WEEKDAYS = ('monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday')
NAMED_DAYS = {'today': 0, 'yesterday': -1, 'day before yesterday': -2, 'tomorrow': 1}
# Hours of the local day; a night ends on the next.
PARTS = {'morning': (5, 12), 'afternoon': (12, 18), 'evening': (18, 24), 'night': (21, 30)}
CLOCK_WORDS = {'noon': '12:00', 'midday': '12:00', 'midnight': '0:00'}

_MONTH = '(' + '|'.join(rf'{name[:3]}(?:{name[3:]})?' for name in MONTHS) + r'|sept)\.?'
_WEEKDAY = '(' + '|'.join(rf'{name[:3]}(?:{name[3:]})?' for name in WEEKDAYS) + r'|tues|thurs?)\.?'
_NTH = r'(\d{1,2})(?:st|nd|rd|th)?\.?'
_YEAR = r'(\d{4})'

Days = tuple[date, date]


def compiled(pattern: str) -> re.Pattern[str]:
    """Return the pattern for a whole phrase, with ASCII digits only."""
    return re.compile(rf'^(?:{pattern})$', re.ASCII)


_CLOCK = compiled(r'(\d{1,2}):(\d{2})(?::(\d{2}))?\s?(am|pm)?|(\d{1,2})\s?(am|pm)')


def clock_of(said: str) -> tuple[timedelta, timedelta] | None:
    """Return the part of a day that the words name, from its midnight; None where they name none.

    Raises ValueError for an hour that does not exist.
    """
    if said in PARTS:
        first, last = PARTS[said]
        return timedelta(hours=first), timedelta(hours=last)
    match = _CLOCK.match(CLOCK_WORDS.get(said, said))
    if match is None:
        return None
    hour, minute, second = int(match[1] or match[5]), int(match[2] or 0), int(match[3] or 0)
    half = match[4] or match[6]
    if half and 1 <= hour <= 12:
        hour = hour % 12 + (12 if half == 'pm' else 0)
    elif half:
        hour = 99
    if minute > 59 or second > 59 or hour > 24 or (hour == 24 and (minute or second)):
        raise ValueError('the hours of a day end at 24:00')
    start = timedelta(hours=hour, minutes=minute, seconds=second)
    return start, start + timedelta(seconds=60 if match[3] is None else 1)


def is_clock(said: str) -> bool:
    """Whether the words name a time or a part of a day."""
    try:
        return clock_of(said) is not None
    except ValueError:
        return False


def days_of(said: str, today: date) -> Days | None:
    """Return the days [first, last) that the words name; None where they name none.

    Raises ValueError for a day that does not exist.
    """
    if said in NAMED_DAYS:
        return _one(today + NAMED_DAYS[said] * DAY)
    for pattern, find in _FORMS:
        if match := pattern.match(said):
            return find(match, today)
    return None


def is_no_day(said: str, today: date) -> bool:
    """Whether the words name a day that no calendar has: '30 february'."""
    try:
        days_of(said, today)
    except ValueError:
        return True
    return False


def back(moment: datetime, count: int, unit: str) -> datetime:
    """Return the naive time `count` days, weeks, months or years before.

    Where the month has no such day, its last one: two months before 30 April is 28 or 29 February.
    """
    if unit in ('day', 'week'):
        return moment - count * (7 if unit == 'week' else 1) * DAY
    months = moment.year * 12 + moment.month - 1 - count * (12 if unit == 'year' else 1)
    first, after = _month_from(date(months // 12, months % 12 + 1, 1))
    return moment.replace(
        year=first.year, month=first.month, day=min(moment.day, (after - first).days))


def _one(day: date) -> Days:
    return day, day + DAY


def _month_from(first: date) -> Days:
    return first, (first + 31 * DAY).replace(day=1)


def _month_number(name: str) -> int:
    return 1 + next(i for i, month in enumerate(MONTHS) if month[:3] == name[:3])


def _stretch(match: re.Match[str], today: date) -> Days:
    """Return the days of 'this week', 'last month'."""
    is_last, unit = match[1] == 'last', match[2]
    if unit == 'week':
        first = today - (today.weekday() + 7 * is_last) * DAY
        return first, first + 7 * DAY
    if unit == 'month':
        first = today.replace(day=1)
        return _month_from((first - DAY).replace(day=1) if is_last else first)
    return date(today.year - is_last, 1, 1), date(today.year + 1 - is_last, 1, 1)


def _before_last(match: re.Match[str], today: date) -> Days:
    """Return the days of 'the week before last'."""
    first, _ = _last(match[1], today)
    return _last(match[1], first)


def _last(unit: str, today: date) -> Days:
    return days_of(f'last {unit}', today) or _one(today)


def _weekend(match: re.Match[str], today: date) -> Days:
    """Return Saturday and Sunday: of this week, the last that is over, or that has begun."""
    saturday = today + (5 - today.weekday()) * DAY
    if match[1] != 'this' and (saturday > today or match[1] == 'last'):
        saturday -= 7 * DAY
    return saturday, saturday + 2 * DAY


def _edge_day(match: re.Match[str], today: date) -> Days | None:
    """Return the day of 'the last day of February', 'the first day of last month'."""
    said = match[2] if match[2] not in ('week', 'month', 'year') else f'this {match[2]}'
    days = days_of(said, today)
    if days is None or days[1] - days[0] == DAY:
        return None
    return _one(days[0] if match[1] == 'first' else days[1] - DAY)


def _piece(match: re.Match[str], today: date) -> Days | None:
    """Return the days of 'the first week of June' (the 1st to the 7th), 'the last week of May'."""
    days = days_of(match[2] if match[2] != 'month' else 'this month', today)
    if days is None or not 28 * DAY <= days[1] - days[0] <= 31 * DAY:
        return None
    if match[1] == 'last':
        return days[1] - 7 * DAY, days[1]
    first = days[0] + 7 * ('first', 'second', 'third', 'fourth').index(match[1]) * DAY
    return first, first + 7 * DAY


def _nth_of(match: re.Match[str], today: date) -> Days:
    """Return the day of 'the 31st of last month'."""
    first, after = days_of(f'{match[2]} month', today) or _one(today)
    day = first + (int(match[1]) - 1) * DAY
    if not first <= day < after:
        raise ValueError('there is no such day')
    return _one(day)


def _weekday(match: re.Match[str], today: date) -> Days:
    wanted = next(i for i, name in enumerate(WEEKDAYS) if name[:3] == match[2][:3])
    ago = (today.weekday() - wanted) % 7
    if match[1] and not ago:  # 'last Monday', said on a Monday
        ago = 7
    return _one(today - ago * DAY)


def _month(match: re.Match[str], today: date) -> Days:
    number = _month_number(match[2])
    if match[3]:
        return _month_from(date(int(match[3]), number, 1))
    first = date(today.year, number, 1)
    if first > today or (match[1] and number == today.month):
        first = first.replace(year=first.year - 1)
    return _month_from(first)


def _day_of_month(day: str, month: str, year: str | None, today: date) -> Days:
    number = _month_number(month)
    if year:
        return _one(date(int(year), number, int(day)))
    # 29 February may lie eight years back.
    return _latest(((today.year - ago, number, int(day)) for ago in range(9)), today)


def _nth(match: re.Match[str], today: date) -> Days:
    months = [divmod(today.year * 12 + today.month - 1 - ago, 12) for ago in range(3)]
    return _latest(((year, month + 1, int(match[1])) for year, month in months), today)


def _latest(candidates: Iterator[tuple[int, int, int]], today: date) -> Days:
    """Return the first of the days (year, month, day) that exists and has begun."""
    for year, month, day in candidates:
        try:
            found = date(year, month, day)
        except ValueError:
            continue
        if found <= today:
            return _one(found)
    raise ValueError('there is no such day')


def _day(year: str, month: str, day: str) -> Days:
    return _one(date(int(year), int(month), int(day)))


_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], Days | None]], ...] = (
    (compiled(r'(\d{4})[-/](\d{1,2})[-/](\d{1,2})'), lambda m, _: _day(m[1], m[2], m[3])),
    (compiled(r'(\d{1,2})\.(\d{1,2})\.(\d{4})'), lambda m, _: _day(m[3], m[2], m[1])),
    (compiled(r'(\d{4})-(\d{2})'), lambda m, _: _month_from(date(int(m[1]), int(m[2]), 1))),
    (compiled(_YEAR), lambda m, _: (date(int(m[1]), 1, 1), date(int(m[1]) + 1, 1, 1))),
    (compiled(r'(this|last) (week|month|year)'), _stretch),
    (compiled(r'(week|month|year) before last'), _before_last),
    (compiled(r'(?:(this|last) )?weekend'), _weekend),
    (compiled(r'(first|last) day (.+)'), _edge_day),
    (compiled(r'(first|second|third|fourth|last) week (.+)'), _piece),
    (compiled(rf'{_NTH} (this|last) month'), _nth_of),
    (compiled(rf'(last )?{_WEEKDAY}'), _weekday),
    (compiled(rf'(last )?{_MONTH}(?: {_YEAR})?'), _month),
    (compiled(rf'{_NTH} {_MONTH}(?: {_YEAR})?'), lambda m, d: _day_of_month(m[1], m[2], m[3], d)),
    (compiled(rf'{_MONTH} {_NTH}(?: {_YEAR})?'), lambda m, d: _day_of_month(m[2], m[1], m[3], d)),
    (compiled(r'(\d{1,2})(?:st|nd|rd|th)'), _nth),
)
