"""Values as every database takes them: the same record is stored alike in SQLite and PostgreSQL.

Neither NUL characters nor numbers that are none are refused, since they come from C programs and
sensors that mean nothing by them: a NUL becomes a space, and within JSON a NaN or an infinity
becomes null.
"""

from __future__ import annotations

import json
import math
from typing import Any

from sqlalchemy import Double, String
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from emv_ros.errors import StoreDamagedError, StoreValueError

NUL = '\0'
_ESCAPED_NUL = '\\u0000'


class Text(TypeDecorator[str]):
    """A text without NUL characters."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Return the text for the driver.

        Raises TypeError for what databases would keep as another value each.
        """
        if isinstance(value, bytes | list | tuple | dict):
            raise TypeError(f'a {type(value).__name__} is no text')
        return value.replace(NUL, ' ') if isinstance(value, str) and NUL in value else value


class Number(TypeDecorator[float]):
    """A number, none where it is not one (NaN), which SQLite does not hold."""

    impl = Double
    cache_ok = True

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:
        """Return the number for the driver; PostgreSQL does not take a truth value for one."""
        number = float(value) if isinstance(value, int) else value
        return None if number is None or number != number else number


def to_json(value: Any) -> str:
    """Return a value as JSON. Raises StoreValueError for one that has none."""
    try:
        said = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):  # ValueError: a NaN, or a list in itself
        said = _written(value)
    return _written(value) if _ESCAPED_NUL in said else said


def from_json(said: str | bytes) -> Any:
    """Return the value of a JSON text in the database.

    Raises StoreDamagedError for one that is none.
    """
    try:
        return json.loads(said)
    except (ValueError, RecursionError) as error:
        raise StoreDamagedError(
            f'the database holds a value that is no JSON ({error}): it is damaged; '
            '`emv doctor --repair` keeps a copy and mends it') from error


def clean(value: Any) -> Any:
    """Return what JSON holds as it will be read again: clean, with lists for tuples."""
    if isinstance(value, str):
        return value.replace(NUL, ' ')
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {clean(key) if isinstance(key, str) else key: clean(inner)
                for key, inner in value.items()}
    return [clean(inner) for inner in value] if isinstance(value, list | tuple) else value


def _written(value: Any) -> str:
    try:
        return json.dumps(clean(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreValueError(f'a value that the database cannot hold: {error}') from error
