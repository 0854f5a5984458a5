"""How a camera moved between two pictures, as a map of pixels: shift, turn and zoom.

Corners of the still world are followed by optical flow and, where the camera moved too far for
that, by matching ORB features. Things that were detected are left out, since they may move on
their own. Where too little agrees (black, uniform, blurred or other pictures) nothing moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emv_ros.perception.detections import Box, Pixels
from emv_ros.perception.raw_boxes import as_colour

Warp = NDArray[np.float64]  # 2 × 3: from pixels of the earlier picture to pixels of the later one
Grey = NDArray[np.uint8]
Points = NDArray[np.float32]  # n × 2

EDGE = 320  # px, the longest edge of the pictures that are compared
CORNERS = 200
MIN_AGREEING = 12  # points that must follow one motion
MIN_SHARE = 0.5  # of the points that were found again
# From this share of points that stay, the camera stood: what moved is somebody before it.
STILL_SHARE = 0.3
MAX_ZOOM = 1.6  # a larger change of scale between two pictures is a mistake
_STILL = 0.5  # px of the small pictures
_TOLERANCE = 2.0  # px of the small pictures


def identity() -> Warp:
    """Return the map of a camera that did not move."""
    return np.eye(2, 3)


class CameraMotion:
    """Compares each picture with the one before it."""

    def __init__(self) -> None:
        self._grey: Grey | None = None
        self._size = (0, 0)
        self._still: Grey | None = None  # where the earlier picture shows no detected thing

    def update(self, pixels: Pixels | None, boxes: Sequence[Box] = ()) -> Warp:
        """Return the map from the picture before to this one. `boxes`: the things in this one.

        A picture of another size maps by the change of size at least. Without a picture nothing
        moved, and the next one is compared with none.
        """
        if pixels is None:
            self._grey = None
            return identity()
        size = (pixels.shape[1], pixels.shape[0])
        grey = _small(pixels)
        still = _mask(grey, size, boxes)
        warp = identity()
        if self._grey is not None and self._grey.shape == grey.shape:
            warp = _enlarged(_motion(self._grey, grey, self._still, still),
                             _scale(self._grey, self._size), _scale(grey, size))
        elif self._grey is not None:  # of another shape
            warp[0, 0], warp[1, 1] = size[0] / self._size[0], size[1] / self._size[1]
        self._grey, self._size, self._still = grey, size, still
        return warp


def _small(pixels: Pixels) -> Grey:
    import cv2

    height, width = pixels.shape[:2]
    scale = EDGE / max(height, width)  # small ones grow, so that all sizes can be compared
    edges = (max(1, round(width * scale)), max(1, round(height * scale)))
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    small = cv2.resize(as_colour(pixels), edges, interpolation=method)
    return np.asarray(cv2.cvtColor(small, cv2.COLOR_BGR2GRAY), np.uint8)


def _scale(grey: Grey, size: tuple[int, int]) -> tuple[float, float]:
    """Return how many pixels of the whole picture one of the small picture stands for."""
    return size[0] / grey.shape[1], size[1] / grey.shape[0]


def _enlarged(small: Warp, before: tuple[float, float], after: tuple[float, float]) -> Warp:
    """Return a map between small pictures as one between the whole pictures."""
    large = small.copy()
    large[:, :2] = small[:, :2] * np.array(after)[:, None] / np.array(before)[None, :]
    large[:, 2] = small[:, 2] * np.array(after)
    return large


def _mask(grey: Grey, size: tuple[int, int], boxes: Sequence[Box]) -> Grey:
    """Return 255 where the world may be still, 0 in the boxes of things."""
    mask = np.full(grey.shape, 255, np.uint8)
    across, down = _scale(grey, size)
    for left, top, right, bottom in boxes:
        mask[max(0, int(top / down)):max(0, int(bottom / down) + 1),
             max(0, int(left / across)):max(0, int(right / across) + 1)] = 0
    return mask


def _motion(before: Grey, after: Grey, still_before: Grey | None, still_after: Grey) -> Warp:
    """Return the map between two small pictures of one size; the identity where none is sure."""
    if min(before.std(), after.std()) < 2.0:  # black or uniform: only noise would be matched
        return identity()
    warp = _agreed(*_flow(before, after, still_before))
    if warp is None:
        warp = _agreed(*_features(before, after, still_before, still_after))
    return identity() if warp is None else warp


def _flow(before: Grey, after: Grey, mask: Grey | None) -> tuple[Points, Points]:
    """Return corners and where they went, as far as following them back ends where it began."""
    import cv2

    corners = cv2.goodFeaturesToTrack(before, CORNERS, 0.01, 8, mask=mask)
    if corners is None:
        return _no_points()
    options: dict[str, Any] = {'winSize': (21, 21), 'maxLevel': 4}
    moved, is_found, _ = cv2.calcOpticalFlowPyrLK(before, after, corners, None, **options)
    back, is_back, _ = cv2.calcOpticalFlowPyrLK(after, before, moved, None, **options)
    is_same = np.linalg.norm((back - corners).reshape(-1, 2), axis=1) < 1.0
    kept = (is_found.ravel() == 1) & (is_back.ravel() == 1) & is_same
    return corners.reshape(-1, 2)[kept], moved.reshape(-1, 2)[kept]


def _features(
        before: Grey, after: Grey, mask: Grey | None, mask_after: Grey) -> tuple[Points, Points]:
    """Return points that look alike in both pictures, each the best for the other."""
    import cv2

    orb = cv2.ORB.create(500)
    points, looks = orb.detectAndCompute(before, mask)
    points_after, looks_after = orb.detectAndCompute(after, mask_after)
    if looks is None or looks_after is None:
        return _no_points()
    pairs = cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True).match(looks, looks_after)
    pairs = [pair for pair in pairs if pair.distance < 50]
    return (np.array([points[pair.queryIdx].pt for pair in pairs], np.float32).reshape(-1, 2),
            np.array([points_after[pair.trainIdx].pt for pair in pairs], np.float32).reshape(-1, 2))


def _agreed(before: Points, after: Points) -> Warp | None:
    """Return the motion that most of the points share; None where too few do."""
    import cv2

    if len(before) < MIN_AGREEING:
        return None
    is_still = np.linalg.norm(after - before, axis=1) < _STILL
    if is_still.sum() >= max(MIN_AGREEING, STILL_SHARE * len(before)):
        return identity()
    cv2.setRNGSeed(1)  # the same pictures move alike each time
    warp, agrees = cv2.estimateAffinePartial2D(
        before, after, method=cv2.RANSAC, ransacReprojThreshold=_TOLERANCE)
    if warp is None or not np.isfinite(warp).all():
        return None
    zoom = float(np.hypot(warp[0, 0], warp[1, 0]))
    count = int(agrees.sum())
    is_sure = count >= max(MIN_AGREEING, MIN_SHARE * len(before))
    return np.asarray(warp, np.float64) if is_sure and 1 / MAX_ZOOM < zoom < MAX_ZOOM else None


def _no_points() -> tuple[Points, Points]:
    return np.empty((0, 2), np.float32), np.empty((0, 2), np.float32)
