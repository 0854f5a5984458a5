"""The tables that tell what was done with a memory, and the small values that processes share.

Calls to models and replies that were paid for, consolidations, questions, changes by persons, the
journal of changes. They hold rows, no behaviour, as those of `emv_ros.memory.schema`.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from emv_ros.memory.columns import COUNTED, Base, new_id


class ModelCallRow(Base):
    """One call to a model."""

    __tablename__ = 'model_call'
    __table_args__ = COUNTED
    id: Mapped[int] = new_id()
    purpose: Mapped[str]
    model: Mapped[str]
    stamp_ns: Mapped[int] = mapped_column(index=True)
    duration_s: Mapped[float]
    prompt_tokens: Mapped[int]
    completion_tokens: Mapped[int]
    cost: Mapped[float]
    outcome: Mapped[str]
    detail: Mapped[str]
    query_id: Mapped[int | None]


class ModelReplyRow(Base):
    """A reply that was paid for, kept until the text that it serves is committed."""

    __tablename__ = 'model_reply'
    robot_id: Mapped[int] = mapped_column(ForeignKey('robot.id'), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    stamp_ns: Mapped[int]
    model: Mapped[str]
    text: Mapped[str]
    prompt_tokens: Mapped[int]
    completion_tokens: Mapped[int]
    cost: Mapped[float]


class ConsolidationRow(Base):
    """One consolidation that had work; `begun_ns` by the wall, `up_to_ns` its latest record."""

    __tablename__ = 'consolidation'
    __table_args__ = (Index('ix_consolidation_robot_begun', 'robot_id', 'begun_ns'), COUNTED)
    id: Mapped[int] = new_id()
    robot_id: Mapped[int] = mapped_column(ForeignKey('robot.id'))
    begun_ns: Mapped[int]
    duration_s: Mapped[float]
    records: Mapped[int]
    up_to_ns: Mapped[int | None]
    events: Mapped[int]
    goals: Mapped[int]
    summaries: Mapped[int]
    model_calls: Mapped[int]
    prompt_tokens: Mapped[int]
    completion_tokens: Mapped[int]
    cost: Mapped[float]
    fallbacks: Mapped[int]
    outcome: Mapped[str]


class QueryRow(Base):
    """One question with its answer and trace."""

    __tablename__ = 'query'
    __table_args__ = COUNTED
    id: Mapped[int] = new_id()
    question: Mapped[str]
    status: Mapped[str]
    stamp_ns: Mapped[int] = mapped_column(index=True)
    query_time_ns: Mapped[int]
    robots: Mapped[list[Any]]
    answer: Mapped[str]
    message: Mapped[str]
    evidence: Mapped[list[Any]]
    trace: Mapped[list[Any]]
    rounds: Mapped[int]
    prompt_tokens: Mapped[int]
    completion_tokens: Mapped[int]
    duration_s: Mapped[float]
    model: Mapped[str]


class AuditRow(Base):
    """What was forgotten: when, by whom, why and how many; never what it said."""

    __tablename__ = 'audit'
    __table_args__ = COUNTED
    id: Mapped[int] = new_id()
    stamp_ns: Mapped[int]
    author: Mapped[str]
    reason: Mapped[str]
    counts: Mapped[dict[str, Any]]


class ChangeRow(Base):
    """A row that came, changed or went: the journal by which caches of search follow the database.

    Triggers write it, and drop what is old; `token` is random, so that copies of a memory that
    went different ways are told apart.
    """

    __tablename__ = 'change'
    __table_args__ = COUNTED
    id: Mapped[int] = new_id()
    kind: Mapped[str]
    ref_id: Mapped[int]
    token: Mapped[int] = mapped_column(server_default=sa.text('(random())'))


class StateRow(Base):
    """Small values that processes share: counters, watermarks, leases."""

    __tablename__ = 'state'
    key: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[dict[str, Any]]
