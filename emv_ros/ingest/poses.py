"""Poses of a robot: from Odometry, PoseStamped, PoseWithCovarianceStamped, and plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import math
from typing import Any

from emv_ros.errors import RecordError
from emv_ros.ingest.scenes import numbers
from emv_ros.ingest.stamps import stamp_from_header
from emv_ros.records import Pose

# Rounding makes a quaternion a little off; one this far off was never a rotation.
MAX_NORM_ERROR = 0.1

Quaternion = tuple[float, float, float, float]  # x, y, z, w


def pose_from_ros(message: Any, receipt_ns: int, is_wall: bool = False) -> Pose:
    """Return the pose of a PoseStamped, an Odometry or a PoseWithCovarianceStamped.

    Raises RecordError where the position is not finite.
    """
    stamp_ns, is_receipt = stamp_from_header(message, receipt_ns, is_wall)
    inner = message.pose
    if hasattr(inner, 'covariance'):
        inner = inner.pose
    place, turn = inner.position, inner.orientation
    return pose(
        stamp_ns, message.header.frame_id, (place.x, place.y, place.z),
        (turn.x, turn.y, turn.z, turn.w), stamp_is_receipt=is_receipt)


def pose(
        stamp_ns: int, frame: str, position: Iterable[Any],
        orientation: Iterable[Any] | None = None, *, stamp_is_receipt: bool = False,
        extra: Mapping[str, Any] | None = None) -> Pose:
    """Return a pose with a unit quaternion x, y, z, w.

    All zeros, as in a message that nobody filled, is an unknown orientation; so is one that is
    not finite or no rotation, which `extra` then tells. Raises RecordError for a bad position.
    """
    x, y, z = numbers(position, 3, 'position')
    told = dict(extra or {})
    turn = None if orientation is None else _unit(orientation, told)
    return Pose(
        stamp_ns=stamp_ns, frame=frame, position=(x, y, z), orientation=turn,
        stamp_is_receipt=stamp_is_receipt, extra=told)


def _unit(orientation: Iterable[Any], told: dict[str, Any]) -> Quaternion | None:
    try:
        x, y, z, w = numbers(orientation, 4, 'orientation')
    except RecordError as error:
        told['refused'] = [str(error)]
        return None
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    if not norm:
        return None
    if abs(norm - 1) > MAX_NORM_ERROR:
        told['refused'] = [f'the orientation has the norm {norm:.3f}, not 1']
        return None
    return x / norm, y / norm, z / norm, w / norm
