"""What a detector finds in one picture, and the geometry of boxes; it finds nothing itself.

Boxes are x1, y1, x2, y2 in pixels from the top left corner, x to the right, y down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import re
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Box = tuple[float, float, float, float]
Pixels = NDArray[np.uint8]  # height × width × 3, BGR

PERSON = 'person'
MOST_LETTERS = 200  # of a name or state
# Control characters, and surrogates, which no database holds.
_UNPRINTED = re.compile(r'[\x00-\x1f\x7f-\x9f\ud800-\udfff]+')


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """One thing in one picture. `instance` where its source vouches for an identity."""

    name: str
    bbox: Box
    confidence: float | None = None
    instance: str = ''
    state: str = ''

    @property
    def is_person(self) -> bool:
        """Whether it is somebody."""
        return self.name == PERSON


class Detector(Protocol):
    """Finds things in pictures; one is used by one thread at a time."""

    @property
    def name(self) -> str:
        """The checkpoint, for the log and the status."""
        ...

    def detect(self, pixels: Pixels) -> list[Detection]:
        """Return what is in a picture, the surest first. Raises PerceptionError."""
        ...


def one_line(words: object) -> str:
    """Return a name or state as one line that a memory can hold; '' where it is no text."""
    if not isinstance(words, str):
        return ''
    return ' '.join(_UNPRINTED.sub(' ', words[:2 * MOST_LETTERS]).split())[:MOST_LETTERS]


def iou(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the overlap of two boxes, 0..1: what they share by what they cover."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return float(shared / (area(first) + area(second) - shared))


def area(box: Sequence[float]) -> float:
    """Return the area of a box, px²; 0 where it is none."""
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])
