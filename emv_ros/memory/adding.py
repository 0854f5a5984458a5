"""A batch of records as rows and searchable texts, in as few statements as that takes.

It checks each record and finds its robot and session; what it does not do is commit, wait or try
again. Ids come from the database, in the order of the records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import delete, insert, inspect, select
from sqlalchemy.orm import Session

from emv_ros.errors import RecordError
from emv_ros.memory import schema
from emv_ros.memory.documents import text_of
from emv_ros.memory.entities import given_names
from emv_ros.memory.folding import Folding
from emv_ros.memory.rows import KIND_OF, record_of, scene_values, values_of
from emv_ros.records import Node, Record, Scene, SkillReport
from emv_ros.timeline import MAX_NS, MIN_NS

DOCUMENTED = frozenset(('node', 'utterance', 'skill_event', 'annotation', 'observation'))
# The kinds in the order in which their rows may point to one another.
ORDER = {kind: place for place, kind in enumerate(schema.KINDS)}
CHUNK = 500

# Of a record: the ids of its robot and session in this transaction.
Placing = Callable[[Session, Record], tuple[int, int]]


def add_records(session: Session, records: Iterable[Record], place: Placing) -> list[int]:
    """Add the rows of records and return their ids in order; a report's is that of its run.

    A report of a run that was forgotten is left out: its id is 0.

    Raises RecordError for a record that no memory could hold.
    """
    ids: list[int] = []
    waiting: dict[str, list[tuple[int, Record, dict[str, Any]]]] = {}
    folding = Folding(session)
    reports: list[tuple[int, int, int, SkillReport]] = []
    for position, record in enumerate(records):
        ids.append(0)
        check(record)
        robot_id, session_id = place(session, record)
        if isinstance(record, SkillReport):
            reports.append((position, robot_id, session_id, record))
            continue
        values = values_of(record, robot_id)
        values['session_id'] = session_id
        waiting.setdefault(KIND_OF[type(record)], []).append((position, record, values))
    for kind in sorted(waiting, key=ORDER.__getitem__):
        _insert(session, kind, waiting[kind], ids)
    if reports:
        # In order of time, whatever order they came in: then no end is met before its start.
        runs = [(position, folding.fold(robot_id, session_id, report))
                for position, robot_id, session_id, report in sorted(
                    reports, key=lambda item: item[3].stamp_ns)]
        folding.forgotten.save()
        rows = list(folding.touched.values())
        new = [row for row in rows if inspect(row).pending]
        known = [row for row in rows if not inspect(row).pending]
        session.flush()
        _document_new(session, [_document('skill_event', row) for row in new])
        renew_documents(session, 'skill_event', known)
        for position, row in runs:
            ids[position] = row.id if row is not None else 0
    return ids


def check(record: Any) -> None:
    """Raise RecordError for what is no record, has no time in 1970–2200, or ends before it."""
    name = type(record).__name__
    if type(record) not in KIND_OF and not isinstance(record, SkillReport) or isinstance(
            record, Node):
        raise RecordError(f'{name} is no record that can be added')
    for said, stamp_ns in (('stamp', record.stamp_ns), ('end', getattr(record, 'end_ns', None))):
        if stamp_ns is None and said == 'end':
            continue
        if isinstance(stamp_ns, bool) or not isinstance(stamp_ns, int):
            raise RecordError(f'{name}: the {said} {stamp_ns!r} is no integer of nanoseconds')
        if not MIN_NS <= stamp_ns < MAX_NS:
            raise RecordError(
                f'{name}: the {said} {stamp_ns} ns lies outside the years 1970 to 2200')
        if stamp_ns < record.stamp_ns:
            raise RecordError(f'{name}: it ends at {stamp_ns} ns, before its start')


def renew_documents(session: Session, kind: str, rows: Sequence[Any]) -> None:
    """Make or renew the searchable texts of rows; a text that is unchanged keeps its vector."""
    if kind not in DOCUMENTED or not rows:
        return
    document = schema.DocumentRow
    found: dict[int, schema.DocumentRow] = {}
    for start in range(0, len(rows), CHUNK):
        part = [row.id for row in rows[start:start + CHUNK]]
        found.update((item.ref_id, item) for item in session.scalars(
            select(document).where(document.kind == kind, document.ref_id.in_(part))))
    new, stale, gone = [], [], []
    called = given_names(session, (row.entity_id for row in rows if row.entity_id is not None)) if (
        kind == 'observation') else {}
    for row in rows:
        values = _document(kind, row, called.get(row.entity_id, '') if called else '')
        known = found.get(row.id)
        if known is None:
            new.append(values)
            continue
        if values['text'] is None:
            gone.append(known.id)
            continue
        known.start_ns, known.end_ns = values['start_ns'], values['end_ns']
        if known.text != values['text']:
            known.text = values['text'] or ''
            stale.append(known.id)
    _document_new(session, new)
    for start in range(0, len(gone), CHUNK):
        session.execute(delete(document).where(document.id.in_(gone[start:start + CHUNK])))
    for start in range(0, len(stale), CHUNK):
        session.execute(delete(schema.EmbeddingRow).where(
            schema.EmbeddingRow.document_id.in_(stale[start:start + CHUNK])))


def _insert(session: Session, kind: str, rows: list[tuple[int, Record, dict[str, Any]]],
            ids: list[int]) -> None:
    table: Any = schema.KINDS[kind].__table__
    query = insert(table).returning(table.c.id, sort_by_parameter_order=True)
    made = session.execute(query, [values for _, _, values in rows]).scalars().all()
    objects, relations, documents = [], [], []
    for (position, record, values), ref_id in zip(rows, made, strict=True):
        ids[position] = int(ref_id)
        if isinstance(record, Scene):
            seen, related = scene_values(record, ref_id, values['robot_id'])
            objects += seen
            relations += related
        elif kind in DOCUMENTED:
            end_ns = getattr(record, 'end_ns', None)
            documents.append({
                'kind': kind, 'ref_id': ref_id, 'robot_id': values['robot_id'],
                'start_ns': record.stamp_ns, 'end_ns': end_ns or record.stamp_ns,
                'text': text_of(record)})
    part: Any
    for part, parts in ((schema.SceneObjectRow, objects), (schema.SceneRelationRow, relations)):
        if parts:
            session.execute(insert(part.__table__), parts)
    _document_new(session, documents)


def _document(kind: str, row: Any, called: str = '') -> dict[str, Any]:
    start_ns = row.start_ns if kind == 'node' else row.stamp_ns
    return {'kind': kind, 'ref_id': row.id, 'robot_id': row.robot_id, 'start_ns': start_ns,
            'end_ns': getattr(row, 'end_ns', None) or start_ns,
            'text': text_of(record_of(kind, row, ''), called)}


def _document_new(session: Session, documents: Iterable[dict[str, Any]]) -> None:
    told = [values for values in documents if values['text']]
    if told:
        table: Any = schema.DocumentRow.__table__
        session.execute(insert(table), told)
