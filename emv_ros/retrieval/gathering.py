"""From the texts that a search found to the documents of all records that say them.

Also what lies at a moment or in a window, whatever it says. Everything is read through a scope, and
so many records at most that a search stays quick in a long life. Nothing is ranked or chosen here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set as AbstractSet
from dataclasses import replace
from typing import Any

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.budget import LAST
from emv_ros.retrieval.lexical import group_key
from emv_ros.retrieval.scope import KINDS, Scope
from emv_ros.retrieval.search import Hit, Searcher
from emv_ros.retrieval.terms import squash
from emv_ros.retrieval.units import (
    CHUNK,
    WHOLE,
    Span,
    Unit,
    spans_of,
    spans_of_thing,
    units_of,
)
from emv_ros.retrieval.word_index import quoted
from emv_ros.timeline import HOUR_NS, MAX_NS, Interval

# Records of one text that are read to find its units, and in all. Of observations a few tell which
# things there are; the units that are shown are made whole afterwards.
OF_ONE_TEXT, OF_MANY_TEXTS = 48, 12
MANY = 400
IN_ALL = 1000
OF_ONE_GROUP = 4000
# Texts that hold the same words may be far more than anyone can use.
MAX_ROWS = 20_000
EVENT = 2
# Kinds whose records of one text are units of their own words and goals alone.
SAID = ('utterance', 'skill_event', 'annotation')
OF_ONE_EVENT = 12
# Records at the moments that a question names; a window that holds no more is looked at whole.
AT_MOMENTS = 200
# Nothing but episodes lasts longer, as far as moments and windows go.
LONGEST_NS = 6 * HOUR_NS


class Gathering:
    """What one search reads of a memory, in one transaction."""

    def __init__(self, store: MemoryStore, searcher: Searcher, session: Session,
                 scope: Scope) -> None:
        self._store = store
        self._searcher = searcher
        self._session = session
        self._scope = scope
        self._robots = list(store.robot_ids(session))

    def at(self, moments: Sequence[Interval]) -> list[int]:
        """Return records, no episodes, that were there at the moments."""
        row = schema.DocumentRow
        found: list[int] = []
        for moment in moments:
            found += self._session.scalars(
                select(row.id).where(
                    row.robot_id.in_(self._robots), row.kind != 'node',
                    row.start_ns >= moment.start_ns - LONGEST_NS, row.start_ns < moment.end_ns,
                    row.end_ns >= moment.start_ns, *self._scope.conditions(by_id=True))
                .order_by(row.start_ns.desc()).limit(AT_MOMENTS)).all()
        return found

    def inside(self) -> list[int]:
        """Return the records in the scope's window; of too many the episodes that lie in it."""
        row, window = schema.DocumentRow, self._scope.window
        start_ns = window.start_ns or 0
        near = select(row.id).where(row.robot_id.in_(self._robots),
                                    row.start_ns >= start_ns - LONGEST_NS,
                                    *self._scope.conditions())
        found = self._session.scalars(near.where(row.kind != 'node').limit(AT_MOMENTS + 1)).all()
        if len(found) <= AT_MOMENTS:
            return list(found)
        node = schema.NodeRow
        return list(self._session.scalars(
            near.join(node, node.id == row.ref_id)
            .where(row.kind == 'node', node.level > EVENT, row.start_ns >= start_ns,
                   row.end_ns <= (window.end_ns or MAX_NS))
            .order_by(node.level.desc(), row.start_ns).limit(AT_MOMENTS)))

    def whole(self, hits: Sequence[Hit],
              read: Collection[tuple[str, int]] = ()) -> list[int]:
        """Return the documents of hits, and of all records that say the same, as many as fit.

        Where not all fit, those of records that were `read` are the first to be left out.
        """
        row = schema.DocumentRow
        refs: dict[str, list[int]] = {}
        for hit in hits:
            refs.setdefault(hit.kind, []).append(hit.ref_id)
        found = {(item.kind, item.ref_id): item for kind, ids in refs.items()
                 for item in self._session.execute(
                     select(row.id, row.kind, row.ref_id, row.robot_id, row.text)
                     .where(row.kind == kind, among(row.ref_id, ids)))}
        documents: dict[int, None] = {}
        for hit in hits:
            first = found.get((hit.kind, hit.ref_id))
            if first is None:
                continue
            documents.setdefault(first.id)
            if hit.repeats > 1 and len(documents) < IN_ALL:
                documents |= dict.fromkeys(self._alike(first, len(documents), read))
        return list(documents)

    def _alike(self, first: Any, taken: int, read: Collection[tuple[str, int]]) -> list[int]:
        """Return the documents that say what the first says; of very many some, evenly spread."""
        ids = self._same((first.robot_id, first.kind, first.text))
        most = MANY
        if first.kind == 'observation':
            most = OF_ONE_TEXT if taken < MANY // 2 else OF_MANY_TEXTS
        if len(ids) > most and (known := self._documents_of(first.kind, read)):
            ids = [key for key in ids if key not in known] or ids
        if len(ids) <= most:
            return ids
        step = (len(ids) - 1) / (most - 1)
        return [ids[round(at * step)] for at in range(most)]

    def _documents_of(self, kind: str, records: Collection[tuple[str, int]]) -> set[int]:
        row, found = schema.DocumentRow, set[int]()
        refs = [ref_id for told, ref_id in records if told == kind]
        for start in range(0, len(refs), CHUNK):
            found.update(self._session.scalars(select(row.id).where(
                row.kind == kind, row.ref_id.in_(refs[start:start + CHUNK]))))
        return found

    def _same(self, said: tuple[int, str, str]) -> list[int]:
        """Return the documents of a robot and kind that say a text, in order of time."""
        key = group_key(*said)
        return self._searcher.alike([key], self._scope).get(key) or _by_phrase(
            self._session, self._scope, *said)

    def complete(self, units: Sequence[Unit], read: AbstractSet[tuple[str, int]]) -> None:
        """Give units all their records that say the same."""
        self._searcher.follow(self._session)
        known: dict[int, list[int]] = {}
        of_entities: list[tuple[Unit, list[int]]] = []
        for unit in units:
            if unit.kind in SAID and unit.total > 1:
                self._complete_said(unit, read)
            if unit.kind != 'observation' or len(unit.key) != WHOLE:
                continue
            if unit.group not in known:
                known[unit.group] = self._same((unit.robot_id, unit.kind, unit.text))
            ids = known[unit.group]
            if len(ids) <= OF_MANY_TEXTS:
                continue
            if unit.entity_id is not None and unit.thing in unit.key:
                ids = self._searcher.of_entity(ids, unit.entity_id)
                unit.total = max(unit.total, len(ids))
                of_entities.append((unit, [*ids[:OF_ONE_GROUP], *ids[-LAST:]]))
            else:
                ids = ids[:OF_ONE_GROUP]
                _fill(unit, spans_of_thing(self._session, self._scope, unit, ids), read)
        spans = spans_of(self._session, self._scope, [key for _, ids in of_entities for key in ids])
        for unit, ids in of_entities:
            _fill(unit, [spans[key] for key in ids if key in spans], read)

    def _complete_said(self, unit: Unit, read: AbstractSet[tuple[str, int]]) -> None:
        """Give a unit, of whose text not all records were read, the others."""
        ids = self._same((unit.robot_id, unit.kind, unit.text))
        if len(ids) <= MANY:
            return
        robots = self._store.robot_ids(self._session)
        for whole in units_of(self._session, self._scope, robots, ids[:OF_ONE_GROUP]):
            if whole.key == unit.key:
                _fill(unit, whole.spans, read)


def _fill(unit: Unit, spans: Sequence[Span], read: AbstractSet[tuple[str, int]]) -> None:
    """Give a unit more of its records, in order of time; those that were read only count."""
    every = {span.ref_id: span for span in (*unit.spans, *spans)}
    ordered = sorted(every.values(), key=lambda span: (span.start_ns, span.ref_id))
    unit.total = max(unit.total, len(ordered))
    unit.spans = [span for span in ordered if (unit.kind, span.ref_id) not in read]


def of_records(session: Session, scope: Scope, hits: Sequence[Hit]) -> list[Hit]:
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
    else:
        query = query.where(row.id.in_(text(
            "SELECT id FROM document WHERE words @@ phraseto_tsquery('emv_words', emv_plain(:said))"
            ' LIMIT :most').bindparams(said=said, most=OF_ONE_GROUP)))
    found = session.execute(query.where(*scope.conditions(by_id=True))
                            .order_by(row.start_ns).limit(MAX_ROWS))
    wanted = squash(said)
    return [key for key, words in found if squash(words) == wanted]
