"""Stored pictures without what is to be forgotten: boxes filled with grey, encoded anew.

The filled box is a little larger than the one that was seen, since boxes are tight. Bytes that are
no picture any more become a grey one: nobody can tell what they would show. What a file carries
beside its pixels (a thumbnail, notes of the camera) is not taken over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emv_ros.errors import ImageError
from emv_ros.memory.pictures import SUFFIXES

GREY = 128
MARGIN_SHARE, MARGIN_PX = 0.05, 4
JPEG_QUALITY = 90

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Redacted:
    """The new bytes of a picture and its size, px."""

    data: bytes
    width: int
    height: int


def redact(data: bytes, media_type: str, boxes: Sequence[Box | None],
           size: tuple[int, int]) -> Redacted:
    """Return a picture with boxes (x1, y1, x2, y2, px) filled; None is all of it.

    `size` is its width and height as they are stored, for bytes that cannot be decoded. Raises
    ImageError where the picture cannot be encoded.
    """
    pixels = _decoded(data)
    if pixels is None:
        pixels, boxes = np.zeros((max(1, size[1]), max(1, size[0]), 3), np.uint8), [None]
    height, width = pixels.shape[:2]
    pixels = pixels.copy()
    for box in boxes:
        left, top, right, bottom = (0, 0, width, height) if box is None else _grown(
            box, width, height)
        # In depth, 0 is unknown.
        pixels[top:bottom, left:right] = 0 if pixels.dtype == np.uint16 else GREY
    return Redacted(_encoded(pixels, media_type), width, height)


def _decoded(data: bytes) -> NDArray[Any] | None:
    import cv2

    if not data:
        return None
    try:
        pixels = cv2.imdecode(
            np.frombuffer(data, np.uint8), cv2.IMREAD_ANYCOLOR | cv2.IMREAD_ANYDEPTH)
    except cv2.error:
        return None
    return None if pixels is None else np.asarray(pixels)


def _encoded(pixels: NDArray[Any], media_type: str) -> bytes:
    import cv2

    suffix = SUFFIXES.get(media_type)
    if suffix is None:
        raise ImageError(f'a picture of type {media_type!r} cannot be written')
    options = [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY] if suffix == '.jpg' else []
    try:
        is_done, packed = cv2.imencode(suffix, pixels, options)
    except cv2.error as error:
        raise ImageError(f'{pixels.shape} pixels make no {media_type}: {error}') from error
    if not is_done:
        raise ImageError(f'{pixels.shape} pixels make no {media_type}')
    return bytes(packed.tobytes())


def _grown(box: Box, width: int, height: int) -> tuple[int, int, int, int]:
    box = (max(0.0, box[0]), max(0.0, box[1]), min(box[2], width), min(box[3], height))
    across = max(MARGIN_PX, MARGIN_SHARE * (box[2] - box[0]))
    down = max(MARGIN_PX, MARGIN_SHARE * (box[3] - box[1]))
    return (_within(box[0] - across, width), _within(box[1] - down, height),
            _within(box[2] + across + 1, width), _within(box[3] + down + 1, height))


def _within(value: float, end: int) -> int:
    return int(min(max(0.0, value), end))
