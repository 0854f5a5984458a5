"""A whole search: a question in, units out - found, made whole, ranked, and few enough to read.

Words and vectors find texts (see `search`); each becomes the units of all records that say it
(`units`). Times in the question say where to look (`time_words`): a window holds as long as
something lies in it, and what was there at a moment comes first. What was read before is left out.
A conversation is told with its reply, a thing with the other times at which it was met and with
what is known of others of its name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
import re
from typing import Any

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.queries import ALL, Window
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.budget import SPANS, chosen, shown_spans
from emv_ros.retrieval.company import add_company
from emv_ros.retrieval.lexical import MAX_ROWS, group_key, quoted
from emv_ros.retrieval.scope import KINDS, Scope
from emv_ros.retrieval.search import Hit, Searcher
from emv_ros.retrieval.terms import search_terms, squash
from emv_ros.retrieval.time_words import AskedTimes, asked_times
from emv_ros.retrieval.units import WHOLE, Span, Unit, spans_of_thing, units_of
from emv_ros.retrieval.word_fit import word_scores
from emv_ros.timeline import HOUR_NS, Interval, format_span

# Records of one text that are read to find its units, and in all. Of observations a few tell which
# things there are; the units that are shown are made whole afterwards.
OF_ONE_TEXT = {'observation': 48}
MANY = 400
# Texts to find: in halves of the units that are wanted, and more where some were read before.
POOL = 3
MAX_MORE = 32
IN_ALL = 1000
OF_ONE_GROUP = 4000
EVENT = 2
OF_ONE_EVENT = 12
# Records at the moments that a question names; a window that holds no more is looked at whole.
AT_MOMENTS = 200
# Nothing but episodes lasts longer, as far as moments go.
LONGEST_NS = 6 * HOUR_NS
# How far from a moment is looked where nothing was found at it.
REACHES_NS = (0, HOUR_NS, 12 * HOUR_NS)
MAX_TOLD = 3
MAX_LISTED = 6
_QUOTED = re.compile(r'["“]([^"“”]+)["”]')

NO_NEW = 'no new results: all that was found was read before'

Read = Collection[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Findings:
    """What a search shows, best first, and in words what there is to say of it ('': nothing)."""

    units: list[Unit]
    note: str = ''
    times: AskedTimes | None = None


class Finder:
    """Whole searches in one memory. Safe to share between threads."""

    def __init__(self, store: MemoryStore, searcher: Searcher) -> None:
        self._store = store
        self._searcher = searcher
        self._settings = searcher.settings

    def find(self, text: str, window: Window = ALL, *, now_ns: int | None = None,
             zone: tzinfo = UTC, limit: int | None = None, kinds: Sequence[str] | None = None,
             read: Read = (), spans: int = SPANS) -> Findings:
        """Return at most `limit` units (None: as set), each of at most `spans` records.

        Records already `read` are left out, as (kind, id); where nothing else is found, they come
        again and the note says that there is nothing new.
        Words such as 'yesterday' are seen from `now_ns`; without it from the time of the question
        or the end of the memory, in the zone. Raises StoreError where the memory cannot be read.
        """
        most = self._settings.units if limit is None else max(limit, 0)
        times = self._times(text, window, now_ns, zone)
        narrow = _narrowed(window, times.window)
        known = set(read)
        pool = POOL * most // 2 + min(len(known), MAX_MORE)
        units, note = self._candidates(times, narrow, pool, kinds)
        notes = [note] if note else []
        if times.window is not None and not units:
            notes = [f'nothing was found in {format_span(times.window, zone)}, '
                     'so all times were searched']
            narrow = window
            units, note = self._candidates(times, window, pool, kinds)
            notes += [note] if note else []
        if times.moments and units:
            notes += _put_first(units, times.moments, zone)
        fresh = _unread(units, known)
        if units and not fresh:
            notes.insert(0, NO_NEW)
            fresh, known = units, set()
        best = chosen(fresh, most)
        with self._store.reading() as session:
            scope = Scope.of(self._store, session, narrow, kinds)
            self._complete(session, scope, best, known)
            for unit in best:
                unit.spans = shown_spans(
                    unit.spans, lambda span: _is_asked(span, times.moments), max(spans, 1))
            add_company(session, scope, best, known)
        return Findings(best, '; '.join(notes), times)

    def _times(self, text: str, window: Window, now_ns: int | None, zone: tzinfo) -> AskedTimes:
        if not self._settings.time_words:
            return AskedTimes(text)
        now = now_ns if now_ns is not None else window.before_ns
        if now is None:
            with self._store.reading() as session:
                now = _last_ns(session, list(self._store.robot_ids(session, window.robots)))
        return asked_times(text, now, zone)

    def _candidates(self, times: AskedTimes, window: Window, pool: int,
                    kinds: Sequence[str] | None) -> tuple[list[Unit], str]:
        """Return scored units, and what there is to say of how they were found."""
        parts = _listed(times.words)
        result = self._searcher.search(times.words, window, pool, kinds)
        found = [*result.hits, *(hit for part in parts for hit in self._searcher.search(
            part, window, max(1, pool // 3), kinds).hits)]
        with self._store.reading() as session:
            scope = Scope.of(self._store, session, window, kinds)
            at_moments = self._at(session, scope, times.moments)
            is_short = times.window and times.window.end_ns - times.window.start_ns <= HOUR_NS
            inside = self._inside(session, scope) if is_short or (
                times.window and not found) else []
            hits = _of_records(session, scope, found)
            documents = self._whole(session, scope, hits)
            units = units_of(session, scope, self._store.robot_ids(session),
                             [*documents, *at_moments, *inside], self._settings.merge)
        asked = (times.words, *parts) if self._settings.words else ()
        _score(units, hits, asked)
        return units, result.note if found or not units else ''

    def _at(self, session: Session, scope: Scope, moments: Sequence[Interval]) -> list[int]:
        """Return records, no episodes, that were there at the moments."""
        row = schema.DocumentRow
        found: list[int] = []
        robots = list(self._store.robot_ids(session))
        for moment in moments:
            found += session.scalars(
                select(row.id).where(
                    row.robot_id.in_(robots), row.kind != 'node',
                    row.start_ns >= moment.start_ns - LONGEST_NS, row.start_ns < moment.end_ns,
                    row.end_ns >= moment.start_ns, *scope.conditions(by_id=True))
                .order_by(row.start_ns.desc()).limit(AT_MOMENTS)).all()
        return found

    def _inside(self, session: Session, scope: Scope) -> list[int]:
        """Return the records in a window where they are few enough to look at all of them."""
        row, start_ns = schema.DocumentRow, scope.window.start_ns or 0
        found = session.scalars(select(row.id).where(
            row.robot_id.in_(list(self._store.robot_ids(session))),
            row.start_ns >= start_ns - LONGEST_NS, row.kind != 'node',
            *scope.conditions()).limit(AT_MOMENTS + 1)).all()
        return list(found) if len(found) <= AT_MOMENTS else []

    def _whole(self, session: Session, scope: Scope, hits: Sequence[Hit]) -> list[int]:
        """Return the documents of hits, and of all records that say the same, as many as fit."""
        row = schema.DocumentRow
        refs: dict[str, list[int]] = {}
        for hit in hits:
            refs.setdefault(hit.kind, []).append(hit.ref_id)
        found = {(item.kind, item.ref_id): item for kind, ids in refs.items()
                 for item in session.execute(
                     select(row.id, row.kind, row.ref_id, row.robot_id, row.text)
                     .where(row.kind == kind, row.ref_id.in_(ids)))}
        documents: dict[int, None] = {}
        for hit in hits:
            first = found.get((hit.kind, hit.ref_id))
            if first is None:
                continue
            documents.setdefault(first.id)
            if hit.repeats > 1 and len(documents) < IN_ALL:
                documents |= dict.fromkeys(self._alike(session, scope, first))
        return list(documents)

    def _alike(self, session: Session, scope: Scope, first: Any) -> list[int]:
        """Return the documents that say what the first says; of very many some, evenly spread."""
        ids = self._same(session, scope, (first.robot_id, first.kind, first.text))
        most = OF_ONE_TEXT.get(first.kind, MANY)
        if len(ids) <= most:
            return ids
        step = (len(ids) - 1) / (most - 1)
        return [ids[round(at * step)] for at in range(most)]

    def _same(self, session: Session, scope: Scope, said: tuple[int, str, str]) -> list[int]:
        """Return the documents of a robot and kind that say a text, in order of time."""
        key = group_key(*said)
        return self._searcher.alike([key], scope).get(key) or _by_phrase(session, scope, *said)

    def _complete(self, session: Session, scope: Scope, units: Sequence[Unit],
                  read: AbstractSet[tuple[str, int]]) -> None:
        """Give units of things all their records that say the same."""
        known: dict[int, list[int]] = {}
        for unit in units:
            if unit.kind != 'observation' or len(unit.key) != WHOLE:
                continue
            if unit.group not in known:
                known[unit.group] = self._same(
                    session, scope, (unit.robot_id, unit.kind, unit.text))
            if len(known[unit.group]) > OF_ONE_TEXT['observation']:
                found = spans_of_thing(session, scope, unit, known[unit.group][:OF_ONE_GROUP])
                unit.total = len(found)
                unit.spans = [span for span in found if (unit.kind, span.ref_id) not in read]


def _of_records(session: Session, scope: Scope, hits: Sequence[Hit]) -> list[Hit]:
    """Return hits with events of the tree told by the records that they were made of.

    An event says what its records say, at the same time: both would be read twice. Events of what
    has no text of its own, as scenes, stay.
    """
    kinds = [kind for kind in scope.kinds or KINDS if kind != 'node']
    ids = [hit.ref_id for hit in hits if hit.kind == 'node']
    row, member = schema.NodeRow, schema.NodeMemberRow
    events = session.scalars(select(row.id).where(
        row.id.in_(ids), row.level == EVENT)).all() if ids else []
    parts: dict[int, list[tuple[str, int]]] = {}
    for node_id, kind, ref_id in session.execute(
            select(member.node_id, member.kind, member.ref_id)
            .where(member.node_id.in_(events))) if events else ():
        if kind in kinds:
            parts.setdefault(node_id, []).append((kind, ref_id))
    found: dict[tuple[str, int], Hit] = {}
    for hit in hits:
        told = parts.get(hit.ref_id) if hit.kind == 'node' else None
        for kind, ref_id in sorted(told or [(hit.kind, hit.ref_id)])[:OF_ONE_EVENT]:
            part = hit if told is None else replace(hit, kind=kind, ref_id=ref_id, repeats=2)
            found.setdefault((kind, ref_id), part)
    return list(found.values())


def _by_phrase(session: Session, scope: Scope, robot_id: int, kind: str,
               said: str) -> list[int]:
    """Return documents of equal words where no vectors tell them, in order of time."""
    row = schema.DocumentRow
    query = select(row.id, row.text).where(row.kind == kind, row.robot_id == robot_id)
    if session.get_bind().dialect.name == 'sqlite':
        query = query.where(row.id.in_(text(
            'SELECT rowid FROM document_text WHERE document_text MATCH :said LIMIT :most'
        ).bindparams(said=quoted([said]), most=OF_ONE_GROUP)))
    found = session.execute(query.where(*scope.conditions(by_id=True))
                            .order_by(row.start_ns).limit(MAX_ROWS))
    wanted = squash(said)
    return [key for key, words in found if squash(words) == wanted]


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
        unit.score = ((told.score / best if told else 0.0) + fit) / 2


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
    when = ' and '.join(format_span(span, zone) for span in moments[:MAX_TOLD])
    return [f'nothing was found at {when}; what was nearest comes first']


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
