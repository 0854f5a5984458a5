"""Joint states by name, and which of them are worth keeping.

A joint state of a robot is allowed to be incomplete: what is missing, NaN or infinite is None. What
names no joint at all is refused. Units pass through as they are: rad or m, rad/s or m/s, N m or N.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emv_ros.errors import RecordError
from emv_ros.ingest.stamps import stamp_from_header
from emv_ros.records import JointSample

Values = tuple[float | None, ...]


def joint_sample_from_ros(message: Any, receipt_ns: int, is_wall: bool = False) -> JointSample:
    """Return the sample of a sensor_msgs/JointState. Raises RecordError."""
    stamp_ns, is_receipt = stamp_from_header(message, receipt_ns, is_wall)
    return joint_sample(
        stamp_ns, message.name, message.position, message.velocity, message.effort,
        stamp_is_receipt=is_receipt)


def joint_sample(
        stamp_ns: int, names: Sequence[str], position: Iterable[Any] = (),
        velocity: Iterable[Any] = (), effort: Iterable[Any] = (),
        extra: Mapping[str, Any] | None = None, stamp_is_receipt: bool = False) -> JointSample:
    """Return a sample in which each name stands once and each value is finite or None.

    Of a name that comes twice the first is kept, a nameless joint is left out; `extra` tells both.
    Raises RecordError where no name, or not one value, is left.
    """
    told = dict(extra or {})
    kept = _unique(names, told)
    if not kept:
        raise RecordError('the joint state names no joint')
    columns = [_column(values, kept, len(names), told, label) for label, values in (
        ('position', position), ('velocity', velocity), ('effort', effort))]
    if all(value is None for column in columns for value in column):
        raise RecordError(f'the joint state has no value for any of its {len(names)} joints')
    return JointSample(
        stamp_ns=stamp_ns, names=tuple(names[i] for i in kept),
        position=columns[0] or (None,) * len(kept), velocity=columns[1], effort=columns[2],
        extra=told, stamp_is_receipt=stamp_is_receipt)


def _unique(names: Sequence[str], told: dict[str, Any]) -> Sequence[int]:
    """Return the indices of the joints to keep."""
    if len(set(names)) == len(names) and '' not in names:
        return range(len(names))
    first: dict[str, int] = {}
    repeated: list[str] = []
    for index, name in enumerate(names):
        if name in first:
            repeated.append(name)
        elif name:
            first[name] = index
    if repeated:
        told['repeated_names'] = repeated
    if empty := sum(not name for name in names):
        told['empty_names'] = empty
    return list(first.values())


def _column(
        values: Iterable[Any], kept: Sequence[int], count: int, told: dict[str, Any],
        label: str) -> Values:
    listed = values.tolist() if hasattr(values, 'tolist') else list(values)
    if not listed:
        return ()
    if len(listed) > count:
        told[f'unnamed_{label}'] = len(listed) - count
    return tuple(_finite(listed[i]) if i < len(listed) else None for i in kept)


def _finite(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordError(f'a joint value is {value!r}, which is no number')
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an integer beyond the range of a float, as JSON allows
        return None


class JointThinning:
    """Keeps the samples in which something moved, at most one a period of each set of joints.

    Two publishers with different joints on one topic do not disturb each other. Positions decide;
    velocities or efforts only where a sample has no position. `left_out` counts the rest. Not safe
    for several threads.
    """

    def __init__(self, period_ns: int, change: float) -> None:
        self.period_ns = period_ns
        self.change = change
        self.left_out = 0
        self._kept: dict[tuple[str, ...], _Kept] = {}

    def keep(self, sample: JointSample) -> bool:
        """Return whether to keep a sample."""
        key = tuple(sample.names)
        values = _as_array(_telling(sample))
        if not self._is_due(key, sample.stamp_ns, values):
            self.left_out += 1
            return False
        self._kept[key] = _Kept(sample.stamp_ns, values)
        return True

    def may_keep(self, names: tuple[str, ...], stamp_ns: int,
                 position: NDArray[np.float64]) -> bool:
        """Return False where `keep` would leave out a sample with these positions.

        For messages that are not decoded yet; it notes nothing but what it leaves out.
        """
        if len(position) == len(names) and np.isfinite(position).any():
            may_keep = self._is_due(names, stamp_ns, position)
        else:  # what tells of movement is not known yet
            before = self._kept.get(names)
            may_keep = before is None or abs(stamp_ns - before.stamp_ns) >= self.period_ns
        self.left_out += not may_keep
        return may_keep

    def _is_due(self, names: tuple[str, ...], stamp_ns: int, now: NDArray[np.float64]) -> bool:
        before = self._kept.get(names)
        if before is None:
            return True
        if abs(stamp_ns - before.stamp_ns) < self.period_ns:
            return False
        old = before.values
        if len(old) != len(now):
            return True
        with np.errstate(invalid='ignore'):  # infinite ones are unknown, as NaN is
            is_still = np.abs(now - old) <= self.change
        return not bool(is_still.all() or (is_still | (np.isnan(old) & ~np.isfinite(now))).all())


class _Kept(NamedTuple):
    """When a sample was kept, and the values by which the next ones have moved; NaN is unknown."""

    stamp_ns: int
    values: NDArray[np.float64]


def _as_array(values: Values) -> NDArray[np.float64]:
    return np.array([math.nan if value is None else value for value in values], np.float64)


def _telling(sample: JointSample) -> Values:
    for values in (sample.position, sample.velocity, sample.effort):
        if any(value is not None for value in values):
            return tuple(values)
    return tuple(sample.position)
