"""The best pictures of a thing: large, sharp, whole, and from different moments.

A box that touches the border of its picture shows only a part, one that fills the picture is no
thing in it, and a tiny one shows nothing: none of these is a candidate.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from emv_ros.perception.detections import Box, Pixels, area
from emv_ros.timeline import SECOND_NS

BORDER_PX = 2.0
FULL_FRAME = 0.8  # of the area of the picture
TINY_PX = 12.0  # the shorter edge
ENOUGH_PX = 224.0  # a larger crop shows no more to a model of looks
SHARP = 100.0  # variance of the Laplacian at which a crop is half as good as a perfectly sharp one
EDGE_PX = 96  # longest edge at which sharpness is measured, so that it compares
SLOT_NS = 2 * SECOND_NS  # of each track the best candidate of a slot is held


@dataclass(frozen=True, slots=True)
class Crop:
    """A candidate: a box inside a stored picture, its pixels, and the gain of that picture."""

    image_id: int
    stamp_ns: int
    bbox: Box
    score: float
    pixels: Pixels
    gain: float = 1.0


class Album:
    """Candidates of the tracks of a clip; it holds few of each, however long the clip is."""

    def __init__(self) -> None:
        self._slots: dict[Hashable, dict[int, Crop]] = {}

    def consider(self, track: Hashable, image_id: int, stamp_ns: int, bbox: Box, pixels: Pixels,
                 gain: float = 1.0) -> None:
        """Keep the part of a picture in the box, if it is the best of its track at that time."""
        height, width = pixels.shape[:2]
        if not is_candidate(bbox, (width, height)):
            return
        part = cropped(pixels, bbox)
        score = score_of(part, bbox)
        slots = self._slots.setdefault(track, {})
        slot = stamp_ns // SLOT_NS
        if slot not in slots or score > slots[slot].score:
            slots[slot] = Crop(image_id, stamp_ns, bbox, score, part.copy(), gain)

    def of(self, tracks: Iterable[Hashable]) -> list[Crop]:
        """Return the candidates of tracks."""
        return [crop for track in tracks for crop in self._slots.get(track, {}).values()]


def is_candidate(bbox: Box, size: tuple[int, int]) -> bool:
    """Whether a box in a picture of `size` (width, height, px) shows a thing as a whole."""
    width, height = size
    x1, y1, x2, y2 = bbox
    return (min(x2 - x1, y2 - y1) >= TINY_PX and area(bbox) < FULL_FRAME * width * height
            and x1 > BORDER_PX and y1 > BORDER_PX
            and x2 < width - BORDER_PX and y2 < height - BORDER_PX)


def cropped(pixels: Pixels, bbox: Box) -> Pixels:
    """Return the part of a picture in a box, a view; at least one pixel."""
    height, width = pixels.shape[:2]
    left, top = (min(max(0, int(bbox[0])), width - 1), min(max(0, int(bbox[1])), height - 1))
    right, bottom = (min(width, max(left + 1, round(bbox[2]))),
                     min(height, max(top + 1, round(bbox[3]))))
    return pixels[top:bottom, left:right]


def score_of(part: Pixels, bbox: Box) -> float:
    """Return how good a crop is, 0..1: its size by its sharpness."""
    sharpness = sharpness_of(part)
    size = min(1.0, area(bbox) / ENOUGH_PX**2)
    return float(size * sharpness / (sharpness + SHARP))


def sharpness_of(part: Pixels) -> float:
    """Return the variance of the Laplacian of a crop at a common scale."""
    import cv2

    grey = cv2.cvtColor(part, cv2.COLOR_BGR2GRAY)
    factor = EDGE_PX / max(grey.shape)
    if factor < 1:
        size = max(1, round(grey.shape[1] * factor)), max(1, round(grey.shape[0] * factor))
        grey = cv2.resize(grey, size, interpolation=cv2.INTER_AREA)
    return float(np.var(cv2.Laplacian(grey, cv2.CV_32F)))


def best(crops: Sequence[Crop], count: int) -> list[Crop]:
    """Return at most `count` crops: the best first, then those that are good and far in time."""
    left = sorted(crops, key=lambda crop: (-crop.score, crop.stamp_ns))
    if not left:
        return []
    stamps = [crop.stamp_ns for crop in left]
    stretch_ns = max(1, (max(stamps) - min(stamps)) // max(1, count))
    taken = [left.pop(0)]
    while left and len(taken) < count:
        def worth(crop: Crop) -> float:
            away_ns = min(abs(crop.stamp_ns - other.stamp_ns) for other in taken)
            return crop.score * min(1.0, away_ns / stretch_ns)

        taken.append(left.pop(max(range(len(left)), key=lambda place: worth(left[place]))))
    return taken
