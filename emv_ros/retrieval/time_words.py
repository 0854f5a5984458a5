"""The times that a question names: found among its other words, and turned into where to look.

'yesterday after lunch' is a *window* in which the search stays; 'seen at 12:20:42' is a *moment*,
and what was there at that moment comes first while the rest of the time stays open. What is quoted
is a name and holds no time, and when a recording began ('recording 2024-02-03 12:15:17') says
nothing of when a thing was. The reading of each phrase is that of emv_ros.whens. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
import re

from emv_ros.errors import TimeExpressionError
from emv_ros.timeline import HOUR_NS, MAX_NS, MIN_NS, MINUTE_NS, SECOND_NS, Interval
from emv_ros.whens import FILLERS, parse_when

MAX_WORDS = 12
# How far from a moment told to the second, or to the minute, something still is of that moment.
NEAR_SECOND_NS = 2 * SECOND_NS
NEAR_MINUTE_NS = 10 * MINUTE_NS
SHORTLY_NS = 30 * MINUTE_NS

_MONTHS = ('january|february|march|april|may|june|july|august|september|october|november|december|'
           'jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec')
_WEEKDAYS = 'monday|tuesday|wednesday|thursday|friday|saturday|sunday'
_PARTS = 'morning|afternoon|evening|night'
# A phrase without one of these is no time, whatever else it might be read as ('may', '10', 'sun').
_TELLS = re.compile(
    rf'\b(?:\d{{1,2}}:\d{{2}}|\d{{1,2}} ?[ap]m|\d{{4}}-\d{{2}}|\d{{1,2}}\.\d{{1,2}}\.\d{{4}}|'
    rf'(?:{_MONTHS})\.? (?:of )?(?:19|20)\d\d|'
    rf'(?:{_MONTHS})\.? \d{{1,2}}|\d{{1,2}}(?:st|nd|rd|th)?\.? (?:of )?(?:{_MONTHS})|'
    rf'yesterday|today|tonight|ago|noon|midday|midnight|{_WEEKDAYS}|'
    rf'(?:first|second|third|fourth|last) week of (?:this month|last month|{_MONTHS})|'
    r'(?:last|past|this) (?:\w+ )?'
    rf'(?:seconds|minutes?|hours?|days?|weeks?|months?|years?|{_PARTS}|{_MONTHS}))\b')
# What tells a time only after such a word: 'in June', 'during 2024', 'on the 26th'.
_BARE = re.compile(rf'(?:{_MONTHS})|(?:19|20)\d\d|\d{{1,2}}(?:st|nd|rd|th)')
_DAY_OF_MONTH = re.compile(r'\d{1,2}(?:st|nd|rd|th)')
_MONTH = re.compile(rf'\b(?:{_MONTHS})\b')
_YEAR = re.compile(r'(?:19|20)\d\d')
# After 'the 3rd' anything but these is what is counted: the 3rd cup.
_AFTER_A_DAY = FILLERS | {
    'after', 'and', 'are', 'before', 'did', 'do', 'does', 'had', 'has', 'have', 'how', 'is', 'or',
    'since', 'to', 'until', 'was', 'were', 'what', 'when', 'where', 'which', 'who'}
_LEADS = ('in', 'on', 'during', 'since', 'of', 'until', 'before', 'after', 'the')
_STARTS = re.compile(
    rf'\d|between|day|half|couple|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|an?$|'
    rf'yesterday|today|tonight|noon|midday|midnight|last|past|this|{_PARTS}|{_MONTHS}|{_WEEKDAYS}|'
    r'lunch|breakfast|dinner|supper|(?:first|second|third|fourth)$')
_RECORDING = re.compile(r'(?:recording|recorded|video|file|clip|session|bag)s?')
_HEDGE = re.compile(r'\b(?:around|about|approximately|roughly|circa|shortly|just|soon|right)\b')
_MEALS = (
    (re.compile(r'\b(?:after lunch|before (?:dinner|supper))\b'), 'afternoon'),
    (re.compile(r'\b(?:after|before|at|for) breakfast\b|\bbefore lunch\b'), 'morning'),
    (re.compile(r'\bafter (?:dinner|supper)\b'), 'evening'))
_BETWEEN_HOURS = re.compile(r'between (\d{1,2}(?::\d{2})?) and (\d{1,2}(?::\d{2})?) ?([ap]m)\b')
_PART_OF_DAY = re.compile(r'(.+) (after|since|before|until) (.+)')
_RANGE = re.compile(r'\b(?:to|and|until|till)\b|[-–]\s*\d{1,2}:\d{2}| [-–] ')
_TO_A_SECOND = re.compile(r'\d{1,2}:\d{2}:\d{2}$')
_QUOTED = re.compile(r'"[^"]*"|“[^”]*”')


@dataclass(frozen=True, slots=True)
class AskedTimes:
    """What a text says of time: where to stay, what comes first, and its words without times."""

    words: str
    window: Interval | None = None
    moments: tuple[Interval, ...] = ()


@dataclass(frozen=True, slots=True)
class _Word:
    start: int
    end: int
    text: str  # lower case, without punctuation around it
    is_apart: bool  # something other than space stands before it


def asked_times(text: str, now_ns: int, zone: tzinfo) -> AskedTimes:
    """Return the times that a text names, as seen from `now_ns` in the zone."""
    hidden = _QUOTED.sub(lambda found: '"' * len(found[0]), text)
    words = list(_words(hidden))
    windows: list[Interval] = []
    moments: list[Interval] = []
    gone: list[tuple[int, int]] = []
    at = 0
    while at < len(words):
        found = _phrase_at(words, at, now_ns, zone)
        if found is None:
            at += 1
            continue
        count, said, span = found
        first, kind, interval = _placed(words, at, said, span)
        gone.append((words[first].start, words[at + count - 1].end))
        if kind == 'moment':
            moments.append(interval)
        elif kind == 'window':
            windows.append(interval)
        at += count
    if len(windows) > 1:  # each of several is a place to look at, and none is to stay in
        moments, windows = [*windows, *moments], []
    return AskedTimes(_without(text, gone), windows[0] if windows else None, tuple(moments))


def is_timeless(text: str) -> bool:
    """Whether no word of a text can begin a time, so that it reads the same at any moment."""
    words = list(_words(_QUOTED.sub('', text)))
    return not any(_STARTS.match(word.text) or _is_meal(words, at)
                   for at, word in enumerate(words))


def _words(text: str) -> Iterator[_Word]:
    last = 0
    for found in re.finditer(r'\S+', text):
        bare = found[0].strip('.,;:?!()[]{}"\'')
        if bare:
            start = found.start() + found[0].index(bare)
            yield _Word(start, start + len(bare), bare.lower(), bool(text[last:start].strip()))
            last = start + len(bare)


def _phrase_at(words: Sequence[_Word], at: int, now_ns: int,
               zone: tzinfo) -> tuple[int, str, Interval] | None:
    """Return how many words from here on mean a time, those words, and the time."""
    if not _STARTS.match(words[at].text) and not _is_meal(words, at):
        return None
    before = words[at - 1].text if at else ''
    after = {count: words[at + count].text for count in range(1, MAX_WORDS + 1)
             if at + count < len(words) and not words[at + count].is_apart}
    for count in range(min(MAX_WORDS, len(words) - at), 0, -1):
        if words[at + count - 1].text in FILLERS:
            continue
        said = ' '.join(word.text for word in words[at:at + count])
        plain = _plain(said)
        is_told = _TELLS.search(plain) or (before in _LEADS and _BARE.fullmatch(plain))
        if not is_told or _is_counted(plain, after.get(count, '')):
            continue
        try:
            if found := _part_of_day(plain, now_ns, zone):
                return count, *found
            return count, said, parse_when(plain, now_ns, zone)
        except TimeExpressionError:
            continue
    return None


def _is_counted(plain: str, after: str) -> bool:
    """Whether a phrase is no time because of the word after it: the 3rd cup, 29 February 2023."""
    if _DAY_OF_MONTH.fullmatch(plain):
        return bool(after) and after not in _AFTER_A_DAY
    return bool(_YEAR.fullmatch(after) and _MONTH.search(plain))


def _part_of_day(plain: str, now_ns: int, zone: tzinfo) -> tuple[str, Interval] | None:
    """Return the day and the part that is meant where both are told, as 'yesterday after 3 pm'."""
    told = _PART_OF_DAY.fullmatch(plain)
    if told is None:
        return None
    try:
        day = parse_when(told[1], now_ns, zone)
        clock = parse_when(f'{told[1]} {told[3]}', now_ns, zone)
    except TimeExpressionError:
        return None
    if day.end_ns - day.start_ns <= HOUR_NS or not day.overlaps(clock):
        return None
    if told[2] in ('after', 'since'):
        is_moment = clock.end_ns - clock.start_ns <= MINUTE_NS
        begun = clock.start_ns if is_moment or told[2] == 'since' else clock.end_ns
        return told[1], Interval(begun, max(begun, day.end_ns))
    return told[1], Interval(day.start_ns, clock.start_ns)


def _is_meal(words: Sequence[_Word], at: int) -> bool:
    pair = ' '.join(word.text for word in words[at:at + 2])
    return any(pattern.match(pair) for pattern, _ in _MEALS)


def _plain(said: str) -> str:
    """Return a phrase as `whens` reads it: without hedges, meals as parts of the day."""
    for pattern, part in _MEALS:
        said = pattern.sub(part, said)
    said = _BETWEEN_HOURS.sub(r'\1 \3 to \2 \3', said)
    is_hedged = _HEDGE.search(said) is not None
    said = _HEDGE.sub(' ', said)
    if is_hedged:
        said = re.sub(r'\b(?:after|before)\b', ' ', said)
    return ' '.join(said.split())


def _placed(words: Sequence[_Word], at: int, said: str,
            span: Interval) -> tuple[int, str, Interval]:
    """Return the first word that belongs to a time, what kind of place it is, and where."""
    first, leads = at, []
    while first and (words[first - 1].text in FILLERS
                     or words[first - 1].text in ('after', 'before', 'until', 'since', 'day')
                     or _HEDGE.fullmatch(words[first - 1].text)):
        first -= 1
        leads.append(words[first].text)
    if first and _RECORDING.fullmatch(words[first - 1].text) and not words[first].is_apart:
        return first - 1, 'none', span
    told = ' '.join((*reversed(leads), said))
    length = span.end_ns - span.start_ns
    if _RANGE.search(said) and length > 0:
        more = SECOND_NS if _TO_A_SECOND.search(said) else 0
        return first, 'window', Interval(span.start_ns, span.end_ns + more)
    if length <= MINUTE_NS:
        return first, *_moment(span, told)
    return first, 'window', _turned(span, told)


def _moment(span: Interval, told: str) -> tuple[str, Interval]:
    """Return the place of a time of day, told to the second or the minute."""
    is_hedged = _HEDGE.search(told) is not None
    if 'after' in told or 'since' in told:
        if is_hedged:
            return 'moment', Interval(span.start_ns, span.end_ns + SHORTLY_NS)
        return 'window', Interval(span.start_ns, MAX_NS)
    if 'before' in told or 'until' in told:
        if is_hedged:
            return 'moment', Interval(max(MIN_NS, span.start_ns - SHORTLY_NS), span.end_ns)
        return 'window', Interval(MIN_NS, span.start_ns)
    near = NEAR_SECOND_NS if span.end_ns - span.start_ns <= SECOND_NS else NEAR_MINUTE_NS
    return 'moment', Interval(max(MIN_NS, span.start_ns - near), span.end_ns + near)


def _turned(span: Interval, told: str) -> Interval:
    """Return the time after, before or beside a day or a longer stretch."""
    day = 24 * HOUR_NS
    if re.search(r'\bday after\b', told):
        return Interval(span.end_ns, span.end_ns + day)
    if re.search(r'\bday before\b', told) and 'yesterday' not in told:
        return Interval(span.start_ns - day, span.start_ns)
    if any(pattern.search(told) for pattern, _ in _MEALS):
        return span
    if re.search(r'\b(?:after|since)\b', told):
        begun = span.start_ns if 'since' in told else span.end_ns
        return Interval(begun, MAX_NS)
    if re.search(r'\b(?:before|until)\b', told) and 'day before yesterday' not in told:
        return Interval(MIN_NS, span.start_ns)
    return span


def _without(text: str, gone: Sequence[tuple[int, int]]) -> str:
    for start, end in reversed(gone):
        text = f'{text[:start]} {text[end:]}'
    return ' '.join(re.sub(r'\(\s*\)', ' ', text).split())
