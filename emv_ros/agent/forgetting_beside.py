"""A text that is forgotten, where it stands beside all records.

Whatever says it still goes, too: names that a person gave, who said something and why, summaries
that a model wrote, accounts of earlier forgettings, choices of parameters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from emv_ros.biography.mentions import Names, rename_left
from emv_ros.memory import schema
from emv_ros.memory.choosing import Choice
from emv_ros.memory.entities import ALIASES, NAMED_BY, aliases_of
from emv_ros.memory.queries import Window, within
from emv_ros.memory.said_words import Saying
from emv_ros.memory.store import MemoryStore
from emv_ros.timeline import Interval
from emv_ros.tree.reopening import BLANK, blank, reopen_spans


def is_beside(store: MemoryStore, session: Session, choice: Choice, saying: Saying) -> bool:
    """Whether a text stands where `forget_beside` takes it out, choices of parameters aside."""
    return next(_beside(store, session, choice, saying), None) is not None


def forget_beside(store: MemoryStore, session: Session, choice: Choice,
                  saying: Saying) -> Counter[str]:
    """Take a text out of what stays and says it still; return how much of each kind changed."""
    counts: Counter[str] = Counter()
    if choice.references or choice.speakers:
        return counts
    found: dict[type[Any], list[Any]] = {}
    for row in _beside(store, session, choice, saying):
        found.setdefault(type(row), []).append(row)
    for row in found.get(schema.NamingRow, ()):
        if saying(row.name):
            session.delete(row)
    for table in (schema.NamingRow, schema.VerdictRow, schema.AuditRow):
        for row in found.get(table, ()):
            row.reason = '' if saying(row.reason) else row.reason
            row.author = BLANK if saying(row.author) else row.author
    session.flush()
    for row in found.get(schema.EntityRow, ()):
        _rename(session, row, saying)
    counts['renamed'] = len(found.get(schema.EntityRow, ()))
    counts['nodes_rewritten'] = _blank_nodes(session, found.get(schema.NodeRow, ()))
    _forget_states(session, saying)
    session.flush()
    return counts


def _beside(store: MemoryStore, session: Session, choice: Choice, saying: Saying) -> Iterator[Any]:
    """Yield rows that say it, in the time: of what persons said, of entities, nodes and audits.

    An account is of no robot; an entity lies wherever an observation of it does.
    """
    if choice.references or choice.speakers:
        return
    window = Window(robots=choice.robots, start_ns=choice.start_ns, end_ns=choice.end_ns)
    node, audit = schema.NodeRow, schema.AuditRow
    queries = [(within(store, session, select(node), node, window), (node.summary, node.name)),
               (_stamped(select(audit), choice), (audit.reason, audit.author))]
    if not choice.kinds or 'observation' in choice.kinds:
        queries += _of_persons(store, session, window)
    for query, columns in queries:
        for row in session.scalars(query.where(saying.may_stand_in(*columns))).all():
            if saying(*(getattr(row, column.key) for column in columns)):
                yield row


def _of_persons(store: MemoryStore, session: Session,
                window: Window) -> list[tuple[Any, tuple[Any, ...]]]:
    """Return queries of what persons said of observations, and of entities, with their columns."""
    seen, naming, verdict = schema.ObservationRow, schema.NamingRow, schema.VerdictRow
    entity = schema.EntityRow
    fitting = within(store, session, select(seen.id), seen, window)
    holding = within(store, session, select(seen.entity_id), seen, window)
    entities = select(entity)
    if window != Window():  # of all, also those that hold nothing now
        entities = entities.where(or_(
            entity.id.in_(holding), entity.merged_into.in_(holding)))
    return [(select(naming).where(naming.observation_id.in_(fitting)),
             (naming.name, naming.reason, naming.author)),
            (select(verdict).where(or_(
                verdict.first_id.in_(fitting), verdict.second_id.in_(fitting))),
             (verdict.reason, verdict.author)),
            (entities, (entity.name, entity.attributes))]


def _stamped(query: Any, choice: Choice) -> Any:
    row = schema.AuditRow
    if choice.start_ns is not None:
        query = query.where(row.stamp_ns >= choice.start_ns)
    return query if choice.end_ns is None else query.where(row.stamp_ns < choice.end_ns)


def _rename(session: Session, entity: Any, saying: Saying) -> None:
    """Take a text out of the names of an entity and of what else is told of it."""
    told = frozenset(name for name in (entity.name, *aliases_of(entity.attributes))
                     if saying(name))
    if told and entity.merged_into is None:
        rename_left(session, [entity.id], Names(told, frozenset()))
    elif entity.name in told:
        entity.name = ''
    entity.attributes = {
        key: [name for name in value if not saying(name)] if key == ALIASES else
        BLANK if key == NAMED_BY and saying(value) else value
        for key, value in entity.attributes.items()
        if key in (ALIASES, NAMED_BY) or not saying(key, value)}
    session.flush()


def _blank_nodes(session: Session, nodes: Sequence[Any]) -> int:
    """Blank the nodes that say it of themselves, such as a summary by a model."""
    found: dict[int, list[Interval]] = {}
    told = [node for node in nodes if node.summary != BLANK]
    for node in told:
        found.setdefault(node.robot_id, []).append(Interval(node.start_ns, node.end_ns))
    for robot_id, spans in found.items():
        reopen_spans(session, robot_id, spans)
    if told:
        blank(session, {node.id for node in told})
    return len(told)


def _forget_states(session: Session, saying: Saying) -> None:
    """Take it out of choices of parameters and of the stays that go on."""
    row = schema.StateRow
    for item in session.scalars(select(row).where(or_(
            row.key.startswith('telling parameters of '), row.key.startswith('symbolic:')))):
        if item.key.startswith('symbolic:'):
            kept = [stay for stay in item.value.get('open', []) if not saying(stay)]
            item.value = {**item.value, 'open': kept}
        elif saying(item.key, item.value):
            session.delete(item)
