"""A column among many numbers, as a condition whose text is the same however many there are.

SQLAlchemy writes a parameter for each number of an `IN`, which takes longer than the database takes
to find the rows; here all numbers are one parameter, and the statement is compiled once.
"""

from __future__ import annotations

from collections.abc import Sequence
import json
from typing import Any

from sqlalchemy import ARRAY, BigInteger, BindParameter, ColumnElement, String, bindparam
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine


class Numbers(TypeDecorator[Sequence[int]]):
    """Whole numbers as one value: JSON in SQLite, an array elsewhere."""

    impl = String
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return how a database takes them."""
        return dialect.type_descriptor(
            String() if dialect.name == 'sqlite' else ARRAY(BigInteger))

    def process_bind_param(self, value: Sequence[int] | None, dialect: Dialect) -> Any:
        """Return the value for the driver."""
        numbers = list(value or ())
        return json.dumps(numbers) if dialect.name == 'sqlite' else numbers


class _Set(FunctionElement[int]):
    """Numbers as a subquery."""

    type = BigInteger()
    inherit_cache = True


def among(column: Any, numbers: Sequence[int] | BindParameter[Any]) -> ColumnElement[bool]:
    """Return the condition that a column is one of the numbers, or of a parameter of `Numbers`."""
    if not isinstance(numbers, BindParameter):
        numbers = bindparam(None, numbers, type_=Numbers(), unique=True)
    condition: ColumnElement[bool] = column.bool_op('IN')(_Set(numbers))
    return condition


@compiles(_Set)
def _of_an_array(element: _Set, compiler: Any, **options: Any) -> str:
    return f'(SELECT unnest({compiler.process(element.clauses, **options)}))'


@compiles(_Set, 'sqlite')
def _of_json(element: _Set, compiler: Any, **options: Any) -> str:
    return f'(SELECT value FROM json_each({compiler.process(element.clauses, **options)}))'
