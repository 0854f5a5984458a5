"""A whole search: a question in, units out - found, made whole, ranked, and few enough to read.

Words and vectors find texts (see `search`); each becomes the units of all records that say it
(`units`). Times in the question say where to look (`time_words`): a window holds as long as
something lies in it, and what was there at a moment comes first. What was read before is left out.
A conversation is told with its reply, a thing with the other times at which it was met and with
what is known of others of its name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
import re

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.queries import ALL, Window
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.budget import SPANS, page_of, shown_spans
from emv_ros.retrieval.company import add_company
from emv_ros.retrieval.gathering import Gathering, of_records
from emv_ros.retrieval.picture_search import picture_units
from emv_ros.retrieval.scope import Scope
from emv_ros.retrieval.search import MAX_CHARS, RANK_OFFSET, Hit, Searcher
from emv_ros.retrieval.terms import search_terms
from emv_ros.retrieval.time_words import AskedTimes, asked_times, is_timeless
from emv_ros.retrieval.units import Span, Unit, units_of
from emv_ros.retrieval.word_fit import word_scores
from emv_ros.timeline import HOUR_NS, Interval, format_span

# Texts to find beyond the units that are wanted, where some were read before.
MAX_MORE = 32
# Later pages look at so many times more texts until they are full, and at this many at most.
DEEPER, MAX_POOL = 4, 400
# How far from a moment is looked where nothing was found at it.
REACHES_NS = (0, HOUR_NS, 12 * HOUR_NS)
MAX_TOLD = 3
MAX_LISTED = 6
# Where nothing else tells episodes apart, the larger one tells more.
PER_LEVEL = 1e-6
# The best picture counts as a text that is found best and has no word of the question.
PICTURE = 0.5
_QUOTED = re.compile(r'["“]([^"“”]+)["”]')

NO_NEW = 'no new results: all that was found was read before'

Read = Collection[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Findings:
    """What a search shows, best first, and in words what there is to say of it ('': nothing).

    `total` counts the units that were found, those of other pages included; with `is_limited` the
    search ended at its bound, and a larger limit may find more.
    """

    units: list[Unit]
    note: str = ''
    times: AskedTimes | None = None
    total: int = 0
    is_limited: bool = False


class Finder:
    """Whole searches in one memory. Safe to share between threads."""

    def __init__(self, store: MemoryStore, searcher: Searcher) -> None:
        self._store = store
        self._searcher = searcher
        self._settings = searcher.settings

    def find(self, text: str, window: Window = ALL, *, now_ns: int | None = None,
             zone: tzinfo = UTC, limit: int | None = None, kinds: Sequence[str] | None = None,
             read: Read = (), spans: int = SPANS, offset: int = 0) -> Findings:
        """Return at most `limit` units (None: as set), each of at most `spans` records.

        The best `offset` units are left out: a page goes on where another of this limit ended.
        Records already `read` are left out, as (kind, id); where nothing else is found, they come
        again and the note says that there is nothing new.
        Words such as 'yesterday' are seen from `now_ns`; without it from the time of the question
        or the end of the memory, in the zone. Raises StoreError where the memory cannot be read.
        """
        text = text[:MAX_CHARS]
        most = self._settings.units if limit is None else max(limit, 0)
        times = self._times(text, window, now_ns, zone)
        narrow = _narrowed(window, times.window)
        known = set(read)
        pool = most + min(len(known), MAX_MORE)
        units, note, is_limited = self._candidates(times, narrow, pool, kinds, known)
        notes = [note] if note else []
        if narrow != window and not units:
            notes = [f'nothing was found in {_told(times.window, zone)}, so all times were '
                     'searched']
            narrow = window
            units, note, is_limited = self._candidates(times, window, pool, kinds, known)
            notes += [note] if note else []
        if times.moments and units:
            notes += _put_first(units, times.moments, zone)
        fresh = _unread(units, known)
        if units and not fresh:
            notes.insert(0, NO_NEW)
            fresh, known = units, set()
        parts = [fresh]
        while is_limited and 0 < offset > sum(map(len, parts)) - most and pool < MAX_POOL:
            pool = min(max(DEEPER * pool, DEEPER), MAX_POOL)
            units, _, is_limited = self._candidates(times, narrow, pool, kinds, known)
            if times.moments:
                _put_first(units, times.moments, zone)
            told = {unit.key for part in parts for unit in part}
            parts.append([unit for unit in _unread(units, known) if unit.key not in told])
        total, best = sum(map(len, parts)), page_of(parts, most, offset)
        with self._store.reading() as session:
            scope = Scope.of(self._store, session, narrow, kinds)
            Gathering(self._store, self._searcher, session, scope).complete(best, known)
            for unit in best:
                unit.spans = shown_spans(
                    unit.spans, lambda span: _is_asked(span, times.moments), max(spans, 1))
            add_company(session, scope, best, known)
        return Findings(best, '; '.join(notes), times, total, is_limited)

    def _times(self, text: str, window: Window, now_ns: int | None, zone: tzinfo) -> AskedTimes:
        if not self._settings.time_words:
            return AskedTimes(text)
        now = now_ns if now_ns is not None else window.before_ns
        if now is None and is_timeless(text):
            now = 0
        if now is None:
            with self._store.reading() as session:
                now = _last_ns(session, list(self._store.robot_ids(session, window.robots)))
        return asked_times(text, now, zone)

    def _candidates(self, times: AskedTimes, window: Window, pool: int,
                    kinds: Sequence[str] | None,
                    known: Read) -> tuple[list[Unit], str, bool]:
        """Return scored units, what there is to say of them, and whether the pool was too small."""
        parts = _listed(times.words)
        result = self._searcher.search(times.words, window, pool, kinds)
        found = [*result.hits, *(hit for part in parts for hit in self._searcher.search(
            part, window, max(1, pool // 2), kinds, with_pictures=False).hits)]
        with self._store.reading() as session:
            scope = Scope.of(self._store, session, window, kinds)
            gathering = Gathering(self._store, self._searcher, session, scope)
            hits = of_records(session, scope, found)
            documents = [*gathering.whole(hits, known), *gathering.at(times.moments)]
            asked = times.window
            if asked and (not found or asked.end_ns - asked.start_ns <= HOUR_NS):
                documents += gathering.inside()
            units = units_of(session, scope, self._store.robot_ids(session), documents,
                             self._settings.merge)
        _score(units, hits, (times.words, *parts) if self._settings.words else ())
        if not kinds or 'image' in kinds:
            units += picture_units(
                (hit, PICTURE * (RANK_OFFSET + 1) / (RANK_OFFSET + hit.rank))
                for hit in result.pictures)
        note = result.note if found or result.pictures or not units else ''
        return units, note, len(result.hits) >= pool


def _last_ns(session: Session, robots: Sequence[int]) -> int:
    """Return the start of the latest record of the robots."""
    row = schema.DocumentRow
    return max((session.scalar(select(func.max(row.start_ns)).where(row.robot_id == robot)) or 0
                for robot in robots), default=0)


def _listed(text: str) -> list[str]:
    """Return the quoted texts of a question that lists several: each is asked for by itself."""
    quoted_texts = dict.fromkeys(found.strip() for found in _QUOTED.findall(text))
    listed = [found for found in quoted_texts if len(search_terms(found)) > 1]
    return listed[:MAX_LISTED] if len(listed) > 1 else []


def _score(units: Sequence[Unit], hits: Sequence[Hit], asked: Sequence[str]) -> None:
    """Give units their scores: how their text was found, and how their words fit what is asked."""
    by_record: dict[tuple[str, int], Hit] = {}
    for hit in hits:
        by_record.setdefault((hit.kind, hit.ref_id), hit)
    best = max((hit.score for hit in hits), default=0.0) or 1.0
    by_group: dict[int, Hit] = {}
    for unit in units:
        for span in unit.spans:
            if found := by_record.get((unit.kind, span.ref_id)):
                by_group.setdefault(unit.group, found)
    fits = word_scores(asked, [unit.words for unit in units])
    for unit, fit in zip(units, fits, strict=True):
        told = by_group.get(unit.group)
        unit.similarity = told.similarity if told else None
        unit.score = ((told.score / best if told else 0.0) + fit) / 2 + unit.level * PER_LEVEL


def _put_first(units: Sequence[Unit], moments: Sequence[Interval], zone: tzinfo) -> list[str]:
    """Mark what was there at the moments, else what was near; return what is to say of that."""
    for reach_ns in REACHES_NS:
        wide = [Interval(span.start_ns - reach_ns, span.end_ns + reach_ns) for span in moments]
        for unit in units:
            unit.at_moment = int(any(_is_asked(span, wide) for span in unit.spans))
        if any(unit.at_moment for unit in units):
            break
    if not reach_ns:
        return []
    for unit in units:
        if unit.at_moment:  # the nearer, the more
            unit.at_moment += reach_ns - min(_apart(unit, moment) for moment in moments)
    when = ' and '.join(_told(span, zone) for span in moments[:MAX_TOLD])
    return [f'nothing was found at {when}; what was nearest comes first']


def _apart(unit: Unit, moment: Interval) -> int:
    """Return how far the nearest record of a unit is from a moment, ns."""
    return min(max(moment.start_ns - span.end_ns, span.start_ns - moment.end_ns, 0)
               for span in unit.spans)


def _told(span: Interval | None, zone: tzinfo) -> str:
    return '' if span is None else format_span(span, zone)


def _narrowed(window: Window, asked: Interval | None) -> Window:
    """Return the part of a window that lies in the time asked for; the caller's own bounds win."""
    if asked is None or window.start_ns is not None or window.end_ns is not None:
        return window
    return replace(window, start_ns=asked.start_ns, end_ns=asked.end_ns)


def _unread(units: Sequence[Unit], read: set[tuple[str, int]]) -> list[Unit]:
    """Return the units with what was not read of them."""
    if not read:
        return list(units)
    left = [replace(unit, spans=[span for span in unit.spans
                                 if (unit.kind, span.ref_id) not in read]) for unit in units]
    return [unit for unit in left if unit.spans]


def _is_asked(span: Span, moments: Sequence[Interval]) -> bool:
    return any(span.overlaps(moment.start_ns, moment.end_ns) for moment in moments)
