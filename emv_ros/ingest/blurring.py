"""Covers parts of pictures before they are stored, for good: nothing of them is left.

What is found (faces, labels of a detector) is filled with one grey, with a margin, since a blur can
be undone. A picture that is changed is compressed anew, without EXIF and the like, and so is one
that carries more than its pixels: a thumbnail in its EXIF would show what is covered. Any other
stays bit for bit. A picture that cannot be looked at is not stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from emv_ros.errors import ImageError, RecordError, RedactionError
from emv_ros.ingest.compressed import carries_more, decode_compressed
from emv_ros.ingest.images import PNG_COMPRESSION, to_eight_bits
from emv_ros.records import ImageRecord

GREY = 127
Box = tuple[float, float, float, float]
Pixels = NDArray[np.uint8]


class Finder(Protocol):
    """Finds what is to be covered; one is used by one thread at a time."""

    def boxes(self, pixels: Pixels) -> list[Box]:
        """Return boxes x1, y1, x2, y2 (px) in a picture of height × width × 3, BGR."""
        ...


class Found(Protocol):
    """One thing that a detector found."""

    @property
    def name(self) -> str:
        """What it is."""
        ...

    @property
    def bbox(self) -> Box:
        """Its box x1, y1, x2, y2 in pixels."""
        ...


class LabelDetector(Protocol):
    """What is needed of a detector of emv_ros.perception, which is handed in."""

    def detect(self, pixels: Pixels) -> Sequence[Found]:
        """Return what is in a picture. Raises EmvError."""
        ...


class LabelFinder:
    """Finds the things of some names by a detector."""

    def __init__(self, detector: LabelDetector, labels: Sequence[str]) -> None:
        self._detector = detector
        self._labels = {label.casefold() for label in labels}

    def boxes(self, pixels: Pixels) -> list[Box]:
        """Return the boxes of the things with these names."""
        return [found.bbox for found in self._detector.detect(pixels)
                if found.name.casefold() in self._labels]


class PictureRedactor:
    """Covers what the finders find. Used by one thread at a time."""

    def __init__(self, finders: Sequence[Finder], margin: float, jpeg_quality: int) -> None:
        self._finders = list(finders)
        self._margin = margin
        self._jpeg_quality = jpeg_quality

    def redacted(self, data: bytes, record: ImageRecord) -> tuple[bytes, ImageRecord]:
        """Return a picture as it may be stored, with its record; depth stays as it is.

        Raises RedactionError where that cannot be told or done: it must not be stored then.
        """
        if record.is_depth or not self._finders:
            return data, record
        try:
            return self._redacted(data, record)
        except Exception as error:  # whatever it is: unlooked at, it must not be stored
            said = str(error) if isinstance(error, RecordError) else (
                f'{type(error).__name__}: {error}')
            raise RedactionError(
                f'a picture of {record.camera} could not be redacted and is not stored: {said}'
            ) from error

    def _redacted(self, data: bytes, record: ImageRecord) -> tuple[bytes, ImageRecord]:
        pixels = _eight_bits(decode_compressed(data))
        colour = _colour(pixels)
        boxes = [box for finder in self._finders for box in finder.boxes(colour)]
        if not boxes and not carries_more(data):
            return data, record
        covered = cover(pixels, boxes, self._margin)
        packed = _packed(covered, record.media_type, self._jpeg_quality)
        height, width = covered.shape[:2]
        extra = {**record.extra, 'covered': len(boxes)} if boxes else record.extra
        return packed, replace(
            record, width=width, height=height, size_bytes=len(packed), extra=extra)


def cover(pixels: Pixels, boxes: Sequence[Box], margin: float) -> Pixels:
    """Return a copy with boxes filled in, each larger by `margin` of its size on every side.

    Raises ImageError for a box that is none: what it should hide is not known.
    """
    covered = pixels.copy()
    height, width = covered.shape[:2]
    for box in boxes:
        if not all(map(math.isfinite, box)):
            raise ImageError(f'a box is {box}')
        x1, y1, x2, y2 = box
        beside, above = margin * abs(x2 - x1), margin * abs(y2 - y1)
        left, right = min(x1, x2) - beside, max(x1, x2) + beside
        top, bottom = min(y1, y2) - above, max(y1, y2) + above
        covered[max(0, math.floor(top)):max(0, min(height, math.ceil(bottom))),
                max(0, math.floor(left)):max(0, min(width, math.ceil(right)))] = GREY
    return covered


def _eight_bits(pixels: NDArray[Any]) -> Pixels:
    return to_eight_bits(pixels) if pixels.dtype == np.uint16 else np.asarray(pixels, np.uint8)


def _colour(pixels: Pixels) -> Pixels:
    return np.repeat(pixels[:, :, None], 3, axis=2) if pixels.ndim == 2 else pixels


def _packed(pixels: Pixels, media_type: str, jpeg_quality: int) -> bytes:
    import cv2

    kind, options = ('.png', [cv2.IMWRITE_PNG_COMPRESSION, PNG_COMPRESSION]) if (
        media_type == 'image/png') else ('.jpg', [cv2.IMWRITE_JPEG_QUALITY, jpeg_quality])
    is_done, packed = cv2.imencode(kind, pixels, options)
    if not is_done:
        raise ImageError(f'{pixels.shape[1]}×{pixels.shape[0]} pixels make no {kind}')
    return bytes(packed.tobytes())
