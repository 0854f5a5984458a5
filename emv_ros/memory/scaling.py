"""Stored pictures scaled down for those who ask for less than is there."""

from __future__ import annotations

import numpy as np

from emv_ros.errors import ImageError

JPEG_QUALITY = 90


def scaled(data: bytes, media_type: str, max_edge: int) -> bytes:
    """Return a JPEG or PNG whose longest edge is at most `max_edge` px; as it is where it fits.

    Depth keeps its millimetres: its pixels are picked, not mixed. Raises ImageError.
    """
    import cv2

    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None:
        raise ImageError(f'{len(data)} bytes of {media_type} do not decode')
    height, width = pixels.shape[:2]
    factor = max_edge / max(height, width)
    if factor >= 1:
        return data
    size = max(1, round(width * factor)), max(1, round(height * factor))
    way = cv2.INTER_NEAREST if pixels.dtype == np.uint16 else cv2.INTER_AREA
    small = cv2.resize(pixels, size, interpolation=way)
    suffix, options = ('.png', []) if media_type == 'image/png' else (
        '.jpg', [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    is_done, packed = cv2.imencode(suffix, small, options)
    if not is_done:
        raise ImageError(f'{size[0]}×{size[1]} pixels make no {media_type}')
    return bytes(packed)
