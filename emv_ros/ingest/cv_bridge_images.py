"""Pictures through cv_bridge, where a robot has it and it works.

cv_bridge comes with a ROS distribution, not from a package index, and is bound to the NumPy and
OpenCV that it was built for. It is therefore tried once on a small picture: where it is absent,
fails to load or reads that picture wrongly, this module declines everything, says so in the log,
and NumPy decodes. It also declines what cv_bridge is known to misread: rows whose padding is no
multiple of the pixel, and encodings that it does not convert.
"""

from __future__ import annotations

from functools import cache
import logging
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emv_ros.ingest.layout import Layout, Picture

_LOG = logging.getLogger(__name__)

_CONVERTED = ('rgb8', 'bgr8', 'rgba8', 'bgra8', 'mono8', 'yuv422', 'yuv422_yuy2')
_PASSED = ('16UC1', '32FC1')

# A native module built for other libraries raises anything, from loading to use, cv2.error among
# it: any failure of this optional path means that the other one is taken.
_FAILURES = Exception


def decode(message: Any, layout: Layout) -> NDArray[Any] | None:
    """Return the pixels of a checked image as decode_image does, or None to decline."""
    name = layout.name
    if name not in _CONVERTED + _PASSED or int(message.step) % layout.pixel_bytes:
        return None
    bridge = _bridge()
    if bridge is None:
        return None
    try:
        return _converted(bridge, message, layout)
    except _FAILURES as error:
        _warn_once(name, str(error))
        return None


def _converted(bridge: Any, message: Any, layout: Layout) -> NDArray[Any]:
    from emv_ros.ingest.images import depth_from_metres

    if layout.kind is Picture.METRES:
        return depth_from_metres(bridge.imgmsg_to_cv2(message, 'passthrough'))
    if layout.kind is Picture.DEPTH:
        return np.ascontiguousarray(bridge.imgmsg_to_cv2(message, 'passthrough'), np.uint16)
    wanted = 'mono8' if layout.kind is Picture.GREY else 'bgr8'
    return np.asarray(bridge.imgmsg_to_cv2(message, wanted), np.uint8)


@cache
def _bridge() -> Any:
    """Return a CvBridge that read a test picture right, else None; tried once a process."""
    try:
        from cv_bridge import CvBridge
    except ModuleNotFoundError:
        return None
    except _FAILURES as error:
        return _declined(error)
    try:
        bridge = CvBridge()
        pixels = bridge.imgmsg_to_cv2(SimpleNamespace(
            encoding='rgb8', height=1, width=2, step=6, is_bigendian=0,
            data=np.array([1, 2, 3, 4, 5, 6], np.uint8)), 'bgr8')
        if np.asarray(pixels).tolist() != [[[3, 2, 1], [6, 5, 4]]]:
            return _declined('it reads a known picture wrongly')
    except _FAILURES as error:
        return _declined(error)
    return bridge


@cache
def _warn_once(encoding: str, reason: str) -> None:
    _LOG.warning('cv_bridge cannot read %s here (%s): NumPy decodes', encoding, reason)


def _declined(reason: object) -> None:
    _LOG.warning('cv_bridge is installed but does not work here (%s): NumPy decodes', reason)
