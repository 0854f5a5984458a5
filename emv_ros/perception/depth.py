"""How far the things in a picture are: from a stored depth picture of the same pair of cameras.

A pair is a colour and a depth camera whose names differ only in words for that ('head/color' and
'head/depth', 'camera/color' and 'camera/aligned_depth_to_color'). The depth picture is taken as
registered to the colour picture: same view, perhaps another size; one of another shape is of
another view and not used. No position in metres is made of it, since that takes the camera's
intrinsics, which a memory does not store.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
import logging
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from emv_ros.errors import EmvError, PerceptionError
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.perception.detections import Box
from emv_ros.timeline import SECOND_NS

log = logging.getLogger(__name__)

MM_PER_M = 1000.0
# The nearest depth picture may be this far from the colour picture in time.
TOLERANCE_NS = SECOND_NS // 2
# The core of a box: its middle half, both ways; beside it there is background.
CORE = 0.5
# So much of the core must have a known distance.
LEAST_KNOWN = 0.1
# Shapes of pictures (width by height) that differ by less are the same.
SAME_SHAPE = 0.02
_WORD = re.compile(r'[a-z0-9]+')
_KIND = frozenset(('aligned', 'color', 'colour', 'compressed', 'depth', 'image', 'raw', 'rect',
                   'registered', 'rgb', 'to'))


@dataclass(frozen=True, slots=True)
class DepthPicture:
    """Distances, height × width, uint16, mm, 0 where unknown."""

    millimetres: NDArray[np.uint16]

    def distance(self, box: Box, size: tuple[int, int]) -> float | None:
        """Return the median distance of what a box shows, m; None where too little is known.

        The box is that of a picture of `size` (width, height).
        """
        height, width = self.millimetres.shape
        across, down = width / size[0], height / size[1]
        left, right = _core(box[0] * across, box[2] * across, width)
        top, bottom = _core(box[1] * down, box[3] * down, height)
        core = self.millimetres[top:bottom, left:right]
        known = core[core > 0]
        if not known.size or known.size < LEAST_KNOWN * core.size:
            return None
        return float(np.median(known)) / MM_PER_M


class DepthReader:
    """Finds the depth picture that belongs to a picture of one camera of a robot."""

    def __init__(self, store: MemoryStore, robot: str, camera: str) -> None:
        self._store = store
        self._robot = robot
        self._camera = camera

    def at(self, stamp_ns: int, size: tuple[int, int]) -> DepthPicture | None:
        """Return the depth nearest to a stamp, for a picture of `size` (width, height).

        None where there is none within half a second; a damaged one is told in the log.
        """
        with self._store.reading() as session:
            row = self._nearest(session, stamp_ns)
            if row is None or not _is_same_shape((row.width, row.height), size):
                return None
            sha256, media_type, ref_id = row.sha256, row.media_type, row.id
        try:
            return decode_depth(self._store.pictures.read(sha256, media_type))
        except EmvError as error:
            log.warning('depth picture %d of camera %s is passed over: %s', ref_id, self._camera,
                        error)
            return None

    def _nearest(self, session: Session, stamp_ns: int) -> Any:
        row = schema.ImageRow
        near = (row.robot_id.in_(self._store.robot_ids(session, [self._robot])), row.is_depth,
                row.gone == '',
                row.stamp_ns.between(stamp_ns - TOLERANCE_NS, stamp_ns + TOLERANCE_NS))
        cameras = session.scalars(select(row.camera).where(*near).distinct())
        camera = depth_camera_of(self._camera, cameras)
        if camera is None:
            return None
        return session.scalar(select(row).where(*near, row.camera == camera).order_by(
            func.abs(row.stamp_ns - stamp_ns), row.id).limit(1))


def depth_camera_of(camera: str, depth_cameras: Iterable[str]) -> str | None:
    """Return the depth camera of a colour camera, one that is aligned before others."""
    fitting = [name for name in depth_cameras if _place_of(name) == _place_of(camera)]
    return min(fitting, key=lambda name: ('aligned' not in name and 'registered' not in name, name),
               default=None)


def decode_depth(data: bytes) -> DepthPicture:
    """Return the depth of a 16-bit PNG. Raises PerceptionError where it is none."""
    import cv2

    try:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error as error:
        raise PerceptionError(f'{len(data)} bytes are no depth picture: {error}') from error
    if pixels is None or pixels.ndim != 2 or pixels.dtype != np.uint16:
        raise PerceptionError(f'{len(data)} bytes are no 16-bit depth picture')
    return DepthPicture(np.asarray(pixels, np.uint16))


def _place_of(camera: str) -> frozenset[str]:
    return frozenset(_WORD.findall(camera.lower().replace('_', ' '))) - _KIND


def _core(low: float, high: float, end: int) -> tuple[int, int]:
    """Return the middle of low..high as indices below `end`, at least one where it is inside."""
    margin = (high - low) * (1 - CORE) / 2
    first = min(max(0, int(low + margin)), end)
    return first, min(end, max(first + 1, int(round(high - margin))))


def _is_same_shape(first: tuple[int, int], second: tuple[int, int]) -> bool:
    return abs(first[0] * second[1] - second[0] * first[1]) <= SAME_SHAPE * first[0] * second[1]
