"""Joint states by name, and which of them are worth keeping.

A joint state of a robot is allowed to be incomplete: what is missing, NaN or infinite is None. What
names no joint at all is refused. Units pass through as they are: rad or m, rad/s or m/s, N m or N.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import math
from typing import Any

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
        self._kept: dict[tuple[str, ...], tuple[int, Values]] = {}

    def keep(self, sample: JointSample) -> bool:
        """Return whether to keep a sample."""
        key = tuple(sample.names)
        values = _telling(sample)
        before = self._kept.get(key)
        if before is not None:
            is_early = abs(sample.stamp_ns - before[0]) < self.period_ns
            if is_early or not self._has_moved(before[1], values):
                self.left_out += 1
                return False
        self._kept[key] = (sample.stamp_ns, values)
        return True

    def _has_moved(self, before: Values, now: Values) -> bool:
        if len(before) != len(now):
            return True
        return any(
            (old is None) != (new is None)
            or old is not None and new is not None and abs(new - old) > self.change
            for old, new in zip(before, now, strict=True))


def _telling(sample: JointSample) -> Values:
    for values in (sample.position, sample.velocity, sample.effort):
        if any(value is not None for value in values):
            return tuple(values)
    return tuple(sample.position)
