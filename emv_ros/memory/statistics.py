"""What a memory holds, counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.engine import make_url
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore

L0_AND_L1 = ('image', 'joint_sample', 'pose', 'utterance', 'skill_event', 'annotation', 'scene',
             'observation')


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUse:
    """What the calls for one purpose cost; tokens by the models' own count."""

    purpose: str
    model: str
    calls: int
    failures: int
    prompt_tokens: int
    completion_tokens: int
    duration_s: float
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Counts of rows; sizes in bytes; the span of all stamps, None where nothing is recorded."""

    records: dict[str, int]
    pending: dict[str, int]
    robots: list[str]
    sessions: int
    first_ns: int | None
    last_ns: int | None
    nodes_by_level: dict[int, int]
    documents: int
    vectors: dict[str, int]
    database_bytes: int | None
    picture_files: int
    picture_bytes: int
    model_use: list[ModelUse] = field(default_factory=list)


def statistics(store: MemoryStore) -> Statistics:
    """Count what the memory holds. Raises StoreError where it cannot be read."""
    records = store.counts()
    pictures = [path.stat().st_size for path in store.pictures]
    with store.reading() as session:
        first_ns, last_ns = _span(session)
        node, document, vector = schema.NodeRow, schema.DocumentRow, schema.EmbeddingRow
        return Statistics(
            records={name: count for name, count in records.items() if name != 'session'},
            pending={kind: count for kind in L0_AND_L1 if (count := _pending(session, kind))},
            robots=sorted(store.robot_ids(session).values()), sessions=records['session'],
            first_ns=first_ns, last_ns=last_ns,
            nodes_by_level=dict(_pairs(session, select(node.level, func.count()).group_by(
                node.level).order_by(node.level))),
            documents=int(session.scalar(select(func.count()).select_from(document)) or 0),
            vectors=dict(_pairs(session, select(vector.model, func.count()).group_by(
                vector.model))),
            database_bytes=_database_bytes(store), picture_files=len(pictures),
            picture_bytes=sum(pictures), model_use=_model_use(session))


def _pairs(session: Session, query: Any) -> list[tuple[Any, int]]:
    return [(key, int(count)) for key, count in session.execute(query)]


def _pending(session: Session, kind: str) -> int:
    table = schema.KINDS[kind]
    return int(session.scalar(
        select(func.count()).select_from(table).where(table.pending)) or 0)


def _span(session: Session) -> tuple[int | None, int | None]:
    firsts, lasts = [], []
    for kind in L0_AND_L1:
        table = schema.KINDS[kind]
        ends = [table.stamp_ns, *(getattr(table, name) for name in ('end_ns', 'last_report_ns')
                                  if hasattr(table, name))]
        first, *last = session.execute(
            select(func.min(table.stamp_ns), *map(func.max, ends))).one()
        firsts.append(first)
        lasts.extend(last)
    return (min((stamp for stamp in firsts if stamp is not None), default=None),
            max((stamp for stamp in lasts if stamp is not None), default=None))


def _database_bytes(store: MemoryStore) -> int | None:
    """Return the size of the SQLite file with its log; None for a database on a server."""
    url = make_url(store.url)
    if url.get_backend_name() != 'sqlite' or not url.database:
        return None
    files = (Path(f'{url.database}{ending}') for ending in ('', '-wal', '-shm'))
    return sum(file.stat().st_size for file in files if file.exists())


def _model_use(session: Session) -> list[ModelUse]:
    call = schema.ModelCallRow
    asked_for, said_back, took, cost_of = (func.coalesce(func.sum(column), 0) for column in (
        call.prompt_tokens, call.completion_tokens, call.duration_s, call.cost))
    rows = session.execute(
        select(call.purpose, call.model, func.count(),
               func.count().filter(call.outcome != 'ok'), asked_for, said_back, took, cost_of)
        .group_by(call.purpose, call.model).order_by(call.purpose, call.model))
    return [ModelUse(purpose=purpose, model=model, calls=calls, failures=failures,
                     prompt_tokens=int(asked), completion_tokens=int(said),
                     duration_s=float(seconds), cost=float(cost))
            for purpose, model, calls, failures, asked, said, seconds, cost in rows]
