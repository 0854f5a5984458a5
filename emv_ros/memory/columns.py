"""What the tables of a memory have in common: base, ids, links, and the columns of records."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import JSON, BigInteger, ForeignKey, Index
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from emv_ros.memory.values import Number, Text

# Ids of rows that are gone are not given out again.
COUNTED = {'sqlite_autoincrement': True}
# SQLite autoincrements only INTEGER; other databases get 64 bits.
Id = BigInteger().with_variant(sa.Integer, 'sqlite')

NAMES = {
    'ix': 'ix_%(table_name)s_%(column_0_N_name)s', 'uq': 'uq_%(table_name)s_%(column_0_N_name)s',
    'fk': 'fk_%(table_name)s_%(column_0_name)s', 'pk': 'pk_%(table_name)s'}


class Base(DeclarativeBase):
    """The base of all tables."""

    metadata = sa.MetaData(naming_convention=NAMES)
    type_annotation_map = {int: BigInteger, float: Number, str: Text, dict[str, Any]: JSON,
                           list[Any]: JSON}


def new_id() -> Mapped[int]:
    """Return the column of a row's number, given by the database."""
    return mapped_column(Id, primary_key=True, autoincrement=True)


def part_of(table: str) -> ForeignKey:
    """Return a link to what a row is part of, and goes with."""
    return ForeignKey(f'{table}.id', ondelete='CASCADE')


def link_to(table: str) -> ForeignKey:
    """Return a link to what a row outlives."""
    return ForeignKey(f'{table}.id', ondelete='SET NULL')


class Recorded:
    """The columns of all L0 and L1 rows."""

    id: Mapped[int] = new_id()
    robot_id: Mapped[int] = mapped_column(ForeignKey('robot.id'))
    session_id: Mapped[int] = mapped_column(ForeignKey('session.id'), index=True)
    stamp_ns: Mapped[int]
    stamp_is_receipt: Mapped[bool] = mapped_column(default=False)
    extra: Mapped[dict[str, Any]] = mapped_column(default=dict)
    pending: Mapped[bool] = mapped_column(default=True)


def recorded(table: str, *others: Any) -> tuple[Any, ...]:
    """Return the indices that every recorded table has: by time, and of what is pending."""
    return (
        Index(f'ix_{table}_robot_stamp', 'robot_id', 'stamp_ns'),
        # SQLite takes a partial index only for a query that says the same, which is `pending = 1`.
        Index(f'ix_{table}_pending', 'robot_id', 'stamp_ns', sqlite_where=sa.text('pending = 1'),
              postgresql_where=sa.text('pending')),
        *others, COUNTED)
