"""The time arguments of the console's functions, as models write them, made into windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, time, tzinfo
import re
from typing import Any

from emv_ros.agent.console import sessions
from emv_ros.errors import TimeExpressionError
from emv_ros.memory.queries import Window
from emv_ros.timeline import Interval
from emv_ros.whens import parse_until, parse_when

_MONTH = re.compile(r'\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b', re.I)
_NUMBER = re.compile(r'\d+')
# 'The day after May 3' is another day than May 3.
_RELATIVE = re.compile(r'\b(?:day|week|month|hour|minute)s? (?:before|after|later|earlier)\b|'
                       r'\b(?:next|following|previous|since|until|now|last)\b', re.IGNORECASE)
_YEAR = re.compile(r'\b(19|20)\d{2}\b')


@dataclass(frozen=True, slots=True)
class Clock:
    """The time of a question in the robot's zone, and the last moment that memory knows."""

    now_ns: int
    zone: tzinfo
    last_ns: int

    def interval_of(self, value: Any) -> Interval:
        """Return the span that a datetime (an instant), a date, a time of day or words mean.

        A naive datetime is local to the zone. A month without a year that would lie after all that
        is recorded means the latest one that memory can know. Raises TimeExpressionError for
        anything else.
        """
        moment = _time(value)
        span = parse_when(moment, self.now_ns, self.zone)
        if span.start_ns > self.last_ns and self._names_no_year(moment):
            return parse_when(moment, self.last_ns, self.zone)
        return span

    def until(self, value: Any) -> int:
        """Return the stamp up to which "until `value`" reaches; of a double hour, the second."""
        moment = _time(value)
        if isinstance(moment, datetime) and moment.tzinfo is None:
            moment = moment.replace(fold=1)
        stamp = parse_until(moment, self.now_ns, self.zone)
        if stamp > self.last_ns and self._names_no_year(value):
            return parse_until(moment, self.last_ns, self.zone)
        return stamp

    def seen_from(self, stamp_ns: int) -> Clock:
        """Return the clock as it stood at a stamp: '10:10' then means the latest before it."""
        return replace(self, now_ns=stamp_ns)

    @staticmethod
    def _names_no_year(value: Any) -> bool:
        return isinstance(value, str) and bool(_MONTH.search(value)) and not _YEAR.search(value)


@dataclass(frozen=True, slots=True)
class Windows:
    """Makes windows of the question's own one. `note` tells the model what was left out.

    Where the question names no time, words for one are left out: small models copy them from an
    example.
    """

    whole: Window
    clock: Clock
    names_a_time: bool
    note: Callable[[str], None]
    session: Callable[[int], Interval]
    question: str = ''
    asked: Interval | None = None  # from the first to the last time that the question names

    def narrowed(self, start: Any, end: Any, when: Any) -> Window:
        """Return what `when`, or `start` and `end`, leave of the question's window."""
        if not self.names_a_time and any(_is_words(item) for item in (start, end, when)):
            self.note('the question names no time, so the time was left out')
            start, end, when = (None if _is_words(item) else item for item in (start, end, when))
        if isinstance(when, str) and self._is_copied(when):
            assert self.asked is not None
            self.note(f'the question does not ask about {when[:40]!r}: its own time was taken')
            return self.within(self.asked.start_ns, self.asked.end_ns)
        if isinstance(when, str) and (named := sessions.WORDS.match(when)):
            moment = self.clock.interval_of(when[named.end():])
            span = self.session(moment.start_ns)
            return self.within(span.start_ns, span.end_ns)
        return narrowed(self.whole, start, end, when, self.clock)

    def _is_copied(self, when: str) -> bool:
        """Whether words of time lie beside all that is asked and hold numbers of other lines.

        Small models copy the bounds of memory, or an example's day.
        """
        if self.asked is None or _RELATIVE.search(self.question) or all(
                number in self.question for number in _NUMBER.findall(when)):
            return False
        bare = sessions.WORDS.match(when)
        try:
            span = self.clock.interval_of(when[bare.end():] if bare else when)
        except TimeExpressionError:
            return False
        return span.end_ns <= self.asked.start_ns or span.start_ns >= self.asked.end_ns

    def within(self, start_ns: int, end_ns: int) -> Window:
        """Return the part of the question's window between two stamps."""
        known = self.whole
        return replace(
            known, start_ns=start_ns if known.start_ns is None else max(start_ns, known.start_ns),
            end_ns=end_ns if known.end_ns is None else min(end_ns, known.end_ns))


def narrowed(window: Window, start: Any, end: Any, when: Any, clock: Clock) -> Window:
    """Return the part of the window that `when`, or `start` and `end`, leave."""
    starts, ends = [], []
    if isinstance(when, (list, tuple)) and len(when) == 2:
        start, end, when = when[0], when[1], None
    if when is not None:
        span = clock.interval_of(when)
        starts.append(span.start_ns)
        ends.append(max(span.end_ns, span.start_ns + 1))
    if start is not None:
        starts.append(clock.interval_of(start).start_ns)
    if end is not None:
        ends.append(clock.until(end))
    if starts and ends and min(ends) < max(starts):
        raise TimeExpressionError(f'{_shown(end or when)} lies before {_shown(start or when)}')
    starts += [] if window.start_ns is None else [window.start_ns]
    ends += [] if window.end_ns is None else [window.end_ns]
    return replace(window, start_ns=max(starts, default=None), end_ns=min(ends, default=None))


def _is_words(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(isinstance(item, str) for item in value)
    return isinstance(value, str)


def _shown(value: Any) -> str:
    return repr(str(value)[:60])


def _time(value: Any) -> str | date:
    """Return what the words of a time, or a datetime, date or time of day, are read as."""
    if isinstance(value, (str, date)):
        return value
    if isinstance(value, time) and value.tzinfo is None:
        return f'{value:%H:%M:%S}' if value.second else f'{value:%H:%M}'
    raise TimeExpressionError(f'no time: {_shown(value)}; give a datetime, a date, a time or words')
