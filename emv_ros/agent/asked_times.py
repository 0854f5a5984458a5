"""The times that a question names, worked out: a small model copies them better.

A day that does not exist (30 February) is told as such: its month, or its number in another one,
is not what was asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta, tzinfo
import re

from emv_ros.agent.console.sessions import TAGS
from emv_ros.agent.console.windows import Clock
from emv_ros.calendars import is_clock, is_no_day
from emv_ros.errors import TimeExpressionError
from emv_ros.timeline import HOUR_NS, MINUTE_NS, SECOND_NS, Interval, local_date, to_datetime

MAX_WORDS = 9
# People round the times that they ask about, and ask for a thing before it is done.
MARGIN_NS = HOUR_NS
# A question with such words asks about another time than the one that it names.
_LEADING_OUT = re.compile(
    r'\b(?:before|after\w*|since|until|till|by|where|now|current\w*|still|place|next|follow\w*|previous\w*|'
    r'then|later|earlier|ago|again|same|seen at|last|first)\b', re.IGNORECASE)
# Words that say how a time is meant, and are no part of it.
_LOOSE = re.compile(
    r'\b(?:shortly|just|right|soon|about|around|roughly|approximately|circa|before|after|by|since|'
    r'early|late|in|on|at|the|of)\b', re.IGNORECASE)
_TELLING = re.compile(
    r'\d|\b(?:today|yesterday|tonight|ago|last|this|morning|noon|afternoon|evening|night|midnight|'
    r'week|month|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|'
    r'june|july|august|september|october|november|december)\b', re.IGNORECASE)
_LED = re.compile(r'^(?:before|after|until|till|by) ', re.IGNORECASE)
# 'the 32nd' may count anything.
_NTH_ALONE = re.compile(r'^\d+(?:st|nd|rd|th)$')


@dataclass(frozen=True, slots=True)
class AskedTime:
    """Words of a question, the span they mean, and the span as `when=` takes it.

    A day that does not exist has no span and ''. `is_session`: what begins there is meant, not the
    moment alone.
    """

    words: str
    span: Interval | None
    when: str
    is_session: bool = False


def asked_times(question: str, clock: Clock) -> list[AskedTime]:
    """Return the times that the question names, in its order, each by its longest phrase."""
    words = re.findall(r"[\w:.'+-]+", question)
    found: dict[int, AskedTime] = {}
    taken: set[int] = set()
    for length in range(min(MAX_WORDS, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            places = set(range(start, start + length))
            phrase = ' '.join(words[start:start + length])
            if places & taken or not _TELLING.search(phrase):
                continue
            span = _span(phrase, clock)
            if span is not None:
                taken |= places
                found[start] = AskedTime(phrase, span, written(span, clock.zone))
            elif _is_on_no_day(_bare(phrase).lower(), local_date(clock.now_ns, clock.zone)):
                taken |= places
                found[start] = AskedTime(phrase, None, '')
    for start, item in found.items():
        if item.span is not None and start and words[start - 1].lower() in TAGS:
            found[start] = replace(item, when=f'recording {item.when}', is_session=True)
    return [found[start] for start in sorted(found)]


def hull(times: Sequence[AskedTime]) -> Interval | None:
    """Return from the first to the last time that is named, None where none is."""
    spans = [item.span for item in times if item.span is not None]
    return Interval(min(span.start_ns for span in spans), max(span.end_ns for span in spans)
                    ) if spans else None


def evidence_window(question: str, times: Sequence[AskedTime]) -> Interval | None:
    """Return the time that evidence must lie in, from the first to the last that is named.

    None where none is named, or where the question leads out of it: what came before or after,
    where something was left. What led to something lies a little before it.
    """
    named = hull(times)
    if named is None or any(item.span is None for item in times) or _LEADING_OUT.search(question):
        return None
    return Interval(named.start_ns - MARGIN_NS, named.end_ns + MARGIN_NS)


def leading_out(question: str, asked: AskedTime) -> str:
    """Return 'before', 'after', 'until', 'till' or 'by', as the question says of a time; or ''."""
    said = r'\W+'.join(map(re.escape, _LED.sub('', asked.words).split()))
    found = re.search(rf'\b(before|after|until|till|by) (?:the )?{said}', question, re.IGNORECASE)
    return found[1].lower() if found else ''


def _is_on_no_day(said: str, today: date) -> bool:
    """Whether the words are a day that does not exist, alone or with a time of day."""
    words = said.split()
    for middle in range(len(words)):
        first, last = ' '.join(words[:middle]), ' '.join(words[middle:])
        for clock, day in ((first, last), (last, first)):
            if (not clock or is_clock(clock)) and not _NTH_ALONE.match(day) \
                    and is_no_day(day, today):
                return True
    return False


def _bare(phrase: str) -> str:
    return ' '.join(_LOOSE.sub(' ', phrase).split()).strip(".'")


def _span(phrase: str, clock: Clock) -> Interval | None:
    bare = _bare(phrase)
    if not bare or bare.isdigit() or bare.lower() in ('last', 'this', 'may'):
        return None
    for said in (phrase, bare):  # 'since Monday' and 'the week before last' need all their words
        try:
            return clock.interval_of(said)
        except TimeExpressionError:
            continue
    return None


def written(span: Interval, zone: tzinfo) -> str:
    """Return a span in words that mean it again."""
    start, end = to_datetime(span.start_ns, zone), to_datetime(span.end_ns, zone)
    length = span.end_ns - span.start_ns
    if length <= SECOND_NS:
        return f'{start:%Y-%m-%d %H:%M:%S}'
    if length <= MINUTE_NS and start.second == 0:
        return f'{start:%Y-%m-%d %H:%M}'
    is_midnights = start.strftime('%H%M') == end.strftime('%H%M') == '0000'
    if is_midnights and end.date() - start.date() == timedelta(days=1):
        return f'{start:%Y-%m-%d}'
    if is_midnights and start.day == end.day == 1 and 27 < (end - start).days < 32:
        return f'{start:%B %Y}'
    if is_midnights:
        return f'{start:%Y-%m-%d} to {end - timedelta(days=1):%Y-%m-%d}'
    clock = '%Y-%m-%d %H:%M:%S' if start.second or end.second else '%Y-%m-%d %H:%M'
    return f'{start:{clock}} to {end:{clock}}'
