"""A whole search: a question in, units out - found, made whole, ranked, and few enough to read.

Words and vectors find texts (see `search`); each becomes the units of all records that say it
(`units`). Times in the question say where to look (`time_words`): a window holds as long as
something lies in it, and what was there at a moment comes first. What was read before is left out.
A conversation is told with its reply, a thing with the other times at which it was met and with
what is known of others of its name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
import math
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.queries import ALL, Window, stem
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.budget import chosen, shown_spans
from emv_ros.retrieval.company import add_company
from emv_ros.retrieval.lexical import MAX_ROWS, quoted
from emv_ros.retrieval.scope import KINDS, Scope
from emv_ros.retrieval.search import Hit, Searcher
from emv_ros.retrieval.terms import search_terms, stems
from emv_ros.retrieval.time_words import AskedTimes, asked_times
from emv_ros.retrieval.units import Span, Unit, units_of
from emv_ros.settings import RetrievalSettings
from emv_ros.timeline import HOUR_NS, Interval, format_span

# Records that are read to make units whole: of one text, and in all.
OF_ONE_TEXT = 400
IN_ALL = 1500
# Records at the moments that a question names; a window that holds no more is looked at whole.
AT_MOMENTS = 200
# Nothing but episodes lasts longer, as far as moments go.
LONGEST_NS = 6 * HOUR_NS
K1, B = 1.2, 0.75

Read = Collection[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Findings:
    """What a search shows, best first, and in words what there is to say of it ('': nothing)."""

    units: list[Unit]
    note: str = ''
    times: AskedTimes | None = None


class Finder:
    """Whole searches in one memory. Safe to share between threads."""

    def __init__(self, store: MemoryStore, searcher: Searcher,
                 settings: RetrievalSettings) -> None:
        self._store = store
        self._searcher = searcher
        self._settings = settings

    def find(self, text: str, window: Window = ALL, *, now_ns: int | None = None,
             zone: tzinfo = UTC, limit: int | None = None, kinds: Sequence[str] | None = None,
             read: Read = ()) -> Findings:
        """Return at most `limit` units (None: as the settings say) without records already `read`.

        Words such as 'yesterday' are seen from `now_ns`; without it from the time of the question
        or the end of the memory, in the zone. Raises StoreError where the memory cannot be read.
        """
        most = self._settings.units if limit is None else max(limit, 0)
        times = self._times(text, window, now_ns, zone)
        narrow = _narrowed(window, times.window)
        units, note = self._candidates(times, narrow, most, kinds)
        notes = [note] if note else []
        if times.window is not None and not units:
            notes = [f'nothing was found in {format_span(times.window, zone)}, '
                     'so all times were searched']
            narrow = window
            units, note = self._candidates(times, window, most, kinds)
            notes += [note] if note else []
        known = set(read)
        fresh = _unread(units, known)
        if units and not fresh:
            notes.insert(0, 'no new results: all that was found was read before')
        best = chosen(fresh, most)
        for unit in best:
            unit.spans = shown_spans(unit.spans, lambda span: _is_asked(span, times))
        with self._store.reading() as session:
            add_company(session, Scope.of(self._store, session, narrow), best, known)
        return Findings(best, '; '.join(notes), times)

    def _times(self, text: str, window: Window, now_ns: int | None, zone: tzinfo) -> AskedTimes:
        if not self._settings.time_words:
            return AskedTimes(text)
        now = now_ns if now_ns is not None else window.before_ns
        if now is None:
            with self._store.reading() as session:
                now = session.scalar(select(func.max(schema.DocumentRow.start_ns))) or 0
        return asked_times(text, now, zone)

    def _candidates(self, times: AskedTimes, window: Window, most: int,
                    kinds: Sequence[str] | None) -> tuple[list[Unit], str]:
        """Return scored units, and what there is to say of how they were found."""
        result = self._searcher.search(times.words, window, 2 * most, kinds)
        with self._store.reading() as session:
            scope = Scope.of(self._store, session, window, kinds)
            at_moments = self._at(session, scope, times.moments)
            inside = self._inside(session, scope) if times.window else []
            documents = self._whole(session, scope, result.hits)
            units = units_of(session, scope, self._store.robot_ids(session),
                             [*documents, *at_moments, *inside], self._settings.merge)
        _score(units, result.hits, times)
        return units, result.note if result.hits or not units else ''

    def _at(self, session: Session, scope: Scope, moments: Sequence[Interval]) -> list[int]:
        """Return records, no episodes, that were there at the moments."""
        row, found = schema.DocumentRow, []
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
        row = schema.DocumentRow
        found = session.scalars(select(row.id).where(
            row.kind != 'node', *scope.conditions()).limit(AT_MOMENTS + 1)).all()
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
        from emv_ros.retrieval.lexical import group_key

        key = group_key(first.robot_id, first.kind, first.text)
        ids = self._searcher.alike([key], scope).get(key) or _by_phrase(session, scope, first)
        if len(ids) <= OF_ONE_TEXT:
            return ids
        step = (len(ids) - 1) / (OF_ONE_TEXT - 1)
        return [ids[round(at * step)] for at in range(OF_ONE_TEXT)]


def _by_phrase(session: Session, scope: Scope, first: Any) -> list[int]:
    """Return documents of equal words where no vectors tell them, in order of time."""
    row = schema.DocumentRow
    query = select(row.id).where(row.kind == first.kind, row.robot_id == first.robot_id)
    if session.get_bind().dialect.name == 'sqlite':
        from sqlalchemy import text as sql

        matching = session.execute(
            sql('SELECT rowid FROM document_text WHERE document_text MATCH :asked LIMIT :most'),
            {'asked': quoted([first.text]), 'most': IN_ALL}).scalars().all()
        query = query.where(row.id.in_(matching))
    found = session.execute(
        query.add_columns(row.text).where(*scope.conditions(by_id=True))
        .order_by(row.start_ns).limit(MAX_ROWS))
    from emv_ros.retrieval.terms import squash

    wanted = squash(first.text)
    return [key for key, text in found if squash(text) == wanted]


def _score(units: Sequence[Unit], hits: Sequence[Hit], times: AskedTimes) -> None:
    """Give units their scores: how their text was found, and how their words fit."""
    by_record = {(hit.kind, hit.ref_id): hit for hit in hits}
    best = max((hit.score for hit in hits), default=0.0) or 1.0
    by_group: dict[int, Hit] = {}
    for unit in units:
        for span in unit.spans:
            if hit := by_record.get((unit.kind, span.ref_id)):
                by_group.setdefault(unit.group, hit)
    fits = _word_scores(times.words, [unit.words for unit in units])
    top = max(fits, default=0.0) or 1.0
    for unit, fit in zip(units, fits, strict=True):
        found = by_group.get(unit.group)
        if found:
            unit.similarity = found.similarity
        unit.score = ((found.score / best if found else 0.0) + fit / top) / 2
        unit.at_moment = int(any(span.overlaps(moment.start_ns, moment.end_ns)
                                 for moment in times.moments for span in unit.spans))


def _word_scores(asked: str, texts: Sequence[str]) -> list[float]:
    """Return how well the words of each text fit, by BM25 among these texts."""
    terms = {stem(term) for term in search_terms(asked)}
    held = [Counter(stem(term) for term in search_terms(text)) for text in texts]
    lengths = [sum(words.values()) for words in held]
    mean = sum(lengths) / max(1, len(lengths)) or 1.0
    count = len(texts)
    weights = {}
    for term in terms:
        known = sum(term in words for words in held)
        weights[term] = math.log(1 + (count - known + 0.5) / (known + 0.5))
    return [sum(weights[term] * words[term] * (K1 + 1)
                / (words[term] + K1 * (1 - B + B * length / mean))
                for term in terms if term in words)
            for words, length in zip(held, lengths, strict=True)]


def _narrowed(window: Window, asked: Interval | None) -> Window:
    """Return the part of a window that lies in the time asked for; the caller's own bounds win."""
    if asked is None or window.start_ns is not None or window.end_ns is not None:
        return window
    return replace(window, start_ns=asked.start_ns, end_ns=asked.end_ns)


def _unread(units: Sequence[Unit], read: set[tuple[str, int]]) -> list[Unit]:
    """Return the units with what was not read of them."""
    if not read:
        return list(units)
    left = []
    for unit in units:
        unit.spans = [span for span in unit.spans if (unit.kind, span.ref_id) not in read]
        if unit.spans:
            left.append(unit)
    return left


def _is_asked(span: Span, times: AskedTimes) -> bool:
    return any(span.overlaps(moment.start_ns, moment.end_ns) for moment in times.moments)
