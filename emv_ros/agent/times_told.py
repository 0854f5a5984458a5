"""Whether the times that an answer tells are borne out: each must stand in what was shown.

Durations count as borne out where they are those of the evidence: of one piece, of all together,
or from the start of one to another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import combinations
import re

from emv_ros.agent.answers import EvidenceItem
from emv_ros.timeline import SECOND_NS

_DATE = re.compile(r'\b\d{4}-\d{2}-\d{2}\b')
_CLOCK = re.compile(r'(?<![\d:])(\d{1,2}):(\d{2})(?::(\d{2}))?(?![\d:])(?:\s?([ap])\.?m\b)?', re.I)
_MONTHS = ('January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September',
           'October', 'November', 'December')
_DAY = re.compile(  # 'June 26th', '26th of June'; 'may' is mostly no month
    rf'\b(?P<month>{"|".join(_MONTHS)})\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)|'
    rf'\b(?P<day_before>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month_after>'
    rf'{"|".join(_MONTHS)})\b')
# Of more pieces the pairs would be too many.
MAX_PAIRED = 40


def unknown_times(text: str, evidence: Sequence[EvidenceItem], told: Iterable[str]) -> str:
    """Return the first date or clock time of the text that nothing bears out, or ''."""
    known = ' '.join((*told, *(item.text for item in evidence)))
    dates, clocks = set(_DATE.findall(known)), {_clock(match) for match in _CLOCK.finditer(known)}
    for date in _DATE.findall(text):
        if date not in dates:
            return str(date)
    days = {date[5:] for date in dates} | {_day(match) for match in _DAY.finditer(known)}
    for match in _DAY.finditer(text):
        if _day(match) not in days:
            return str(match[0])
    durations: set[str] | None = None
    for match in _CLOCK.finditer(text):
        clock = _clock(match)
        if any(stamp.startswith(clock) for stamp in clocks):
            continue
        durations = _durations(evidence) if durations is None else durations
        if match[0] not in durations:
            return str(match[0])
    return ''


def without_stamps_of(code: str, output: str) -> str:
    """Return the output without the dates and times in its command: printing proves none."""
    for pattern in (_DATE, _CLOCK, _DAY):
        for stamp in {match[0] for match in pattern.finditer(code)}:
            output = output.replace(stamp, '')
    return output


def _day(match: re.Match[str]) -> str:
    """Return '06-26'; which year is meant stays open."""
    month = match['month'] or match['month_after']
    day = match['day'] or match['day_before']
    return f'{_MONTHS.index(month) + 1:02d}-{int(day):02d}'


def _clock(match: re.Match[str]) -> str:
    """Return '13:03' or '13:03:18', of twelve or 24 hours, with two digits."""
    hour, minute, second, half = match.groups()
    hours = int(hour)
    if half and hours <= 12:
        hours = hours % 12 + (12 if half.lower() == 'p' else 0)
    return ':'.join(part for part in (f'{hours:02d}', minute, second) if part)


def _durations(evidence: Sequence[EvidenceItem]) -> set[str]:
    """Return the durations that the evidence bears out, as '0:03:15' and '0:03'."""
    lengths = [round((item.end_ns - item.start_ns) / SECOND_NS, 3) for item in evidence]
    seconds = {round(length) for length in (*lengths, sum(lengths))}
    for one, other in combinations(evidence[:MAX_PAIRED], 2):
        seconds |= {round(abs(one_ns - other_ns) / SECOND_NS)
                    for one_ns in (one.start_ns, one.end_ns)
                    for other_ns in (other.start_ns, other.end_ns)}
    shown = {str(timedelta(seconds=length)).rpartition(' ')[2] for length in seconds}
    return shown | {f'0{duration}' for duration in shown if duration[1] == ':'}
