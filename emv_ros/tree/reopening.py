"""Re-opening: records that change or vanish take with them what the tree said of them.

Whoever changes or deletes records calls `reopen` in the same write transaction, before it does, and
`scrub` after it where nothing of them may stay. At once no node, searchable text, head or kept
reply repeats them; the next consolidation derives what is left around them anew, drops nodes that
lost all their records, and renews the texts up to the root. Nothing else is touched. Rows of
pictures, joint samples and poses have no text of their own in the tree: their stretch is derived
anew, no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import and_, delete, func, or_, select, text
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.adding import renew_documents
from emv_ros.memory.among import among
from emv_ros.memory.dropped import marked_below, unmark
from emv_ros.timeline import SECOND_NS, Interval
from emv_ros.tree.heads import drop_head
from emv_ros.tree.levels import EPISODE, EVENT, GOAL

# Stands in a node for what it said, until the next consolidation.
BLANK = '…'
IN_LIMIT = 500
# So many records of a kind at once are derived anew.
PIECE = 800
# Spans with less between them are one: each is derived with its surroundings anyway.
NEAR_NS = 600 * SECOND_NS
NODE = 'node'


def reopen(session: Session, kind: str, ref_ids: Iterable[int]) -> None:
    """Have the neighbourhood of records that are about to change or to be deleted derived anew.

    `kind` is 'utterance', 'skill_event', 'scene', 'annotation', 'observation', 'image',
    'joint_sample' or 'pose'. Ids that name no row are passed over.
    """
    table = schema.KINDS[kind]
    wanted = list(ref_ids)
    for start in range(0, len(wanted), IN_LIMIT):
        part = wanted[start:start + IN_LIMIT]
        end = func.coalesce(table.end_ns, table.stamp_ns) if hasattr(table, 'end_ns') \
            else table.stamp_ns
        spans: dict[int, list[Interval]] = {}
        for robot_id, first_ns, last_ns in session.execute(
                select(table.robot_id, table.stamp_ns, end).where(table.id.in_(part))):
            spans.setdefault(robot_id, []).append(Interval(first_ns, max(first_ns, last_ns)))
        for robot_id, found in spans.items():
            reopen_spans(session, robot_id, found)
        _blank(session, kind, part)


def scrub(session: Session) -> None:
    """Take out of the full-text index what it still holds of texts that are gone.

    Call it in the same transaction, after the records and their searchable texts are deleted. It
    takes as long as the index is large: once for all that is forgotten at a time.
    """
    if session.get_bind().dialect.name == 'sqlite':
        # SQLite's own secure deletion does not reach into the blocks of such an index.
        session.flush()
        session.execute(text("INSERT INTO document_text(document_text) VALUES ('optimize')"))


def reopen_spans(session: Session, robot_id: int, spans: Iterable[Interval]) -> None:
    """Have spans of a robot's life, ends included, derived anew by the next consolidation."""
    _set_waiting(session, robot_id, _joined([*waiting_spans(session, robot_id), *spans]))
    key = _times_key(robot_id)
    session.merge(schema.StateRow(key=key, value={'times': times_reopened(session, robot_id) + 1}))
    session.flush()


def times_reopened(session: Session, robot_id: int) -> int:
    """Return how often something of a robot's life was re-opened.

    Whoever read records, and writes what was made of them in a later transaction, compares it.
    """
    row = session.get(schema.StateRow, _times_key(robot_id))
    return int(row.value['times']) if row else 0


def waiting_spans(session: Session, robot_id: int) -> list[Interval]:
    """Return the re-opened spans in order of time, ends included."""
    row = session.get(schema.StateRow, _key(robot_id))
    return [Interval(first_ns, last_ns) for first_ns, last_ns in row.value['spans']] if row else []


def next_piece(session: Session, robot_id: int) -> Interval | None:
    """Return the first part of what is re-opened that a transaction should take at once."""
    spans = waiting_spans(session, robot_id)
    if not spans:
        return None
    first = spans[0]
    ends = [first.end_ns]
    for kind in (NODE, 'skill_event', 'utterance', 'scene', 'annotation', 'observation'):
        table = schema.KINDS[kind]
        stamp = table.start_ns if kind == NODE else table.stamp_ns
        query = select(stamp).where(table.robot_id == robot_id, stamp >= first.start_ns,
                                    stamp <= first.end_ns)
        if kind == NODE:
            query = query.where(table.level.in_((EVENT, GOAL)))
        last = session.scalar(query.order_by(stamp).offset(PIECE).limit(1))
        ends += [] if last is None else [last]
    return Interval(first.start_ns, min(ends))


def take_up(session: Session, robot_id: int, done: Interval) -> None:
    """Note that a span, ends included, was derived anew."""
    spans = waiting_spans(session, robot_id)
    left = []
    for span in spans:
        if span.end_ns < done.start_ns or span.start_ns > done.end_ns:
            left.append(span)
            continue
        if span.start_ns < done.start_ns:
            left.append(Interval(span.start_ns, done.start_ns - 1))
        if span.end_ns > done.end_ns:
            left.append(Interval(done.end_ns + 1, span.end_ns))
    if left != spans:
        _set_waiting(session, robot_id, left)


def _blank(session: Session, kind: str, ref_ids: Sequence[int]) -> None:
    """Take back what the nodes of records say, and those above them, up to the root."""
    member = schema.NodeMemberRow
    blank(session, set(session.scalars(select(member.node_id).where(
        member.kind == kind, member.ref_id.in_(ref_ids)))))


def blank(session: Session, holders: set[int]) -> None:
    """Take back what nodes say, and those above them, up to the root; they are written anew.

    Of events and goals also their spans must be re-opened, see `reopen_spans`.
    """
    node = schema.NodeRow
    rows: dict[int, Any] = {}
    told = session.scalars(select(node.id).where(
        among(node.id, sorted(holders)), node.level <= GOAL)).all()
    holders = holders | marked_below(session, told)
    waiting = holders
    while waiting:
        found = [row for start in range(0, len(waiting), IN_LIMIT) for row in session.scalars(
            select(node).where(node.id.in_(sorted(waiting)[start:start + IN_LIMIT])))]
        rows.update((row.id, row) for row in found)
        waiting = {row.parent_id for row in found if row.parent_id is not None} - set(rows)
    unmark(session, rows)
    for row in rows.values():
        row.summary = BLANK
        if row.id in holders:
            row.name = ''
        if row.level >= EPISODE:
            row.made_by, row.is_open = 'calendar', True
            row.model = row.prompt_version = ''
            drop_head(session, row.id)
    session.flush()
    for row in rows.values():
        if row.level == GOAL and row.id not in holders and not _has_run(session, row.id):
            row.name = ''
    session.flush()
    renew_documents(session, NODE, list(rows.values()))
    for robot_id in {row.robot_id for row in rows.values()}:
        # Replies that were paid for and not used yet: what asks for them again pays again.
        session.execute(delete(schema.ModelReplyRow).where(
            schema.ModelReplyRow.robot_id == robot_id))


def _has_run(session: Session, goal_id: int) -> bool:
    """Whether a run in a goal, or the goal's own, still tells of itself, and so of its goals."""
    member, node = schema.NodeMemberRow, schema.NodeRow
    waiting = [goal_id]
    while waiting:
        below: list[int] = []
        for start in range(0, len(waiting), IN_LIMIT):
            part = waiting[start:start + IN_LIMIT]
            tells = or_(node.id == goal_id, and_(
                member.kind == 'skill_event', node.summary != BLANK))
            if session.scalar(select(node.id).join(member, member.node_id == node.id).where(
                    node.id.in_(part), tells).limit(1)) is not None:
                return True
            below += session.scalars(select(node.id).where(node.parent_id.in_(part)))
        waiting = below
    return False


def _joined(spans: Iterable[Interval]) -> list[Interval]:
    """Return spans in order, near ones as one."""
    joined: list[Interval] = []
    for span in sorted(spans, key=lambda span: (span.start_ns, span.end_ns)):
        if joined and span.start_ns <= joined[-1].end_ns + NEAR_NS:
            joined[-1] = Interval(joined[-1].start_ns, max(joined[-1].end_ns, span.end_ns))
        else:
            joined.append(span)
    return joined


def _set_waiting(session: Session, robot_id: int, spans: Sequence[Interval]) -> None:
    if not spans:
        session.execute(delete(schema.StateRow).where(schema.StateRow.key == _key(robot_id)))
        return
    session.merge(schema.StateRow(key=_key(robot_id), value={
        'spans': [[span.start_ns, span.end_ns] for span in spans]}))
    session.flush()


def _key(robot_id: int) -> str:
    return f'tree:reopened:{robot_id}'


def _times_key(robot_id: int) -> str:
    return f'tree:reopenings:{robot_id}'
