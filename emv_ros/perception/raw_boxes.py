"""What networks put out, made into detections: boxes checked and clipped, names in plain words.

Every detector ends here, whatever runs its network. It knows no network and no file format.
"""

from __future__ import annotations

from collections.abc import Mapping
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emv_ros.errors import PerceptionError
from emv_ros.perception.detections import PERSON, Box, Detection, Pixels, area, iou

MIN_EDGE = 1.0  # px: what is thinner shows nothing
MIN_CONTRAST = 2.0  # standard deviation of a channel, of 255, below which nothing is shown
SUPPRESS_IOU = 0.6  # of two boxes of one class that overlap more, the surer one stays
# Two names for one thing: boxes that cover the same are kept once, under the surer name.
SAME_BOX_IOU = 0.85
MOST = 300  # detections kept of one picture
_PEOPLE = frozenset({
    'person', 'people', 'human', 'human being', 'man', 'woman', 'boy', 'girl', 'child',
    'pedestrian'})
_SEPARATORS = re.compile(r'[\s_]+')


def plain_name(label: str) -> str:
    """Return a class name as lower-case words; whoever is somebody is called 'person'."""
    name = _SEPARATORS.sub(' ', label).strip().lower()
    return PERSON if name in _PEOPLE else name


def class_names(names: Any) -> dict[int, str]:
    """Return the names of classes by index, from a mapping or a list. Raises ValueError."""
    pairs = names.items() if isinstance(names, Mapping) else enumerate(names)
    return {int(index): plain_name(str(name)) for index, name in pairs}


def as_colour(pixels: NDArray[Any]) -> Pixels:
    """Return a picture as height × width × 3, BGR; grey is repeated, alpha dropped.

    Raises PerceptionError where it is none: other types than uint8, no area.
    """
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or not pixels.size:
        raise PerceptionError(f'no colour picture: {pixels.dtype} of shape {pixels.shape}')
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    if pixels.shape[2] == 1:
        pixels = np.repeat(pixels, 3, axis=2)
    if pixels.shape[2] not in (3, 4):
        raise PerceptionError(f'no colour picture: {pixels.shape[2]} channels')
    return np.ascontiguousarray(pixels[:, :, :3])


def is_blank(pixels: Pixels) -> bool:
    """Return whether a picture is black or uniform: networks see things even there."""
    import cv2

    return bool(cv2.meanStdDev(pixels)[1].max() < MIN_CONTRAST)


def detections_of(
        boxes: NDArray[Any], scores: NDArray[Any], classes: NDArray[Any],
        names: Mapping[int, str], size: tuple[int, int], min_confidence: float) -> list[Detection]:
    """Return what is left of rows of boxes, the surest first.

    boxes: n × 4 corners in pixels; scores, classes: n; size: width and height of the picture.
    Dropped are numbers that are none, what is too faint or outside the picture, and the less sure
    of two that cover the same. A class without a name is called by its number.
    """
    found: list[Detection] = []
    boxes = np.asarray(boxes, np.float64).reshape(-1, 4)
    scores = np.asarray(scores, np.float64).reshape(-1)
    classes = np.asarray(classes, np.float64).reshape(-1)
    is_number = np.isfinite(boxes).all(axis=1) & np.isfinite(scores) & np.isfinite(classes)
    is_kept = is_number & (scores >= min_confidence)
    for index in np.argsort(-scores, kind='stable'):
        if not is_kept[index]:
            continue
        box = clipped(tuple(boxes[index].tolist()), size)
        if box is None or any(iou(box, other.bbox) >= SAME_BOX_IOU for other in found):
            continue
        kind = int(classes[index])
        found.append(Detection(
            name=names.get(kind) or f'class {kind}', bbox=box,
            confidence=min(1.0, float(scores[index]))))
        if len(found) == MOST:
            break
    return found


def overlaps(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """Return the IoU of each of n boxes with each of m, n × m."""
    low = np.maximum(first[:, None, :2], second[None, :, :2])
    high = np.minimum(first[:, None, 2:], second[None, :, 2:])
    shared = np.prod(np.maximum(high - low, 0.0), axis=2)
    areas = [np.prod(np.maximum(boxes[:, 2:] - boxes[:, :2], 0.0), axis=1)
             for boxes in (first, second)]
    covered = areas[0][:, None] + areas[1][None, :] - shared
    return np.asarray(np.divide(shared, covered, out=np.zeros_like(shared), where=covered > 0))


def suppressed(
        boxes: NDArray[Any], scores: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return which boxes (n × 4 corners) are the best of their class and place, best first."""
    left = np.argsort(-scores, kind='stable')
    kept = []
    while len(left):
        best, left = left[0], left[1:]
        kept.append(best)
        is_same = overlaps(boxes[best][None], boxes[left])[0] > SUPPRESS_IOU
        left = left[~(is_same & (classes[left] == classes[best]))]
    return np.array(kept, np.int64)


def clipped(box: Box, size: tuple[int, int]) -> Box | None:
    """Return the part of a box inside a picture of a width and height; None where there is none."""
    width, height = size
    left, right = (min(max(x, 0.0), float(width)) for x in (box[0], box[2]))
    top, bottom = (min(max(y, 0.0), float(height)) for y in (box[1], box[3]))
    inside = (left, top, right, bottom)
    is_thin = right - left < MIN_EDGE or bottom - top < MIN_EDGE
    return None if is_thin or not area(inside) else inside
