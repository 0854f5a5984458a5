"""Pictures of sensor_msgs/Image: to arrays, and to the bytes that a memory stores.

A decoded picture is BGR (height × width × 3, uint8, the order of OpenCV), grey (height × width,
uint8) or depth (height × width, uint16, millimetres, 0 where unknown). The header is checked
against the data before anything is allocated, since headers come from outside.

Sixteen bits: 16UC1 and 32FC1 are depth. mono16, rgb16 and the like are pictures; they are scaled
to 8 bits over the full range (65535 becomes 255), because a viewer and a vision model show no
more. Alpha is dropped. Distances beyond 65.535 m, and negative ones, are unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emv_ros.errors import ImageError
from emv_ros.ingest.layout import PLANAR, Layout, Picture, checked_bytes
from emv_ros.ingest.stamps import stamp_from_header
from emv_ros.records import ImageRecord
from emv_ros.settings import IngestSettings

MM_PER_M = 1000.0
MAX_DEPTH_MM = 65_535
PNG_COMPRESSION = 1  # of 0..9: more costs four times the time for a tenth of the size


@dataclass(frozen=True, slots=True)
class EncodedImage:
    """A picture as it is stored; sizes in pixels, `encoding` that of the message."""

    data: bytes
    media_type: str  # image/jpeg, image/png
    width: int
    height: int
    encoding: str
    is_depth: bool


def decode_image(message: Any, max_bytes: int) -> NDArray[Any]:
    """Return the pixels of anything with the fields of sensor_msgs/Image.

    Raises ImageError where header and data do not fit, the picture would take more than
    `max_bytes` or the encoding is unknown. The array may be a view of the message's data.
    """
    from emv_ros.ingest import cv_bridge_images

    layout, data = checked_bytes(message, max_bytes)
    decoded = cv_bridge_images.decode(message, layout)
    return decode_plain(message, layout, data) if decoded is None else decoded


def decode_plain(message: Any, layout: Layout, data: memoryview) -> NDArray[Any]:
    """Return the pixels of a checked image through NumPy and OpenCV alone."""
    height, width, step = int(message.height), int(message.width), int(message.step)
    if layout.name in PLANAR:
        rows = np.ndarray((height * 3 // 2, width), np.uint8, data, strides=(step, 1))
        return _convert(np.ascontiguousarray(rows), layout)
    dtype = np.dtype(layout.dtype).newbyteorder('>' if message.is_bigendian else '<')
    size = dtype.itemsize
    shape: tuple[int, ...] = (height, width)
    strides: tuple[int, ...] = (step, size * layout.channels)
    if layout.channels > 1:
        shape, strides = (*shape, layout.channels), (*strides, size)
    # NumPy reads rows of any step in place, also one that is no multiple of the pixel.
    pixels = np.ndarray(shape, dtype, data, strides=strides)
    if not dtype.isnative:
        pixels = pixels.astype(dtype.newbyteorder('='))
    return _convert(pixels, layout)


def _convert(pixels: NDArray[Any], layout: Layout) -> NDArray[Any]:
    """Return pixels in native byte order as BGR, grey or depth."""
    if layout.kind is Picture.METRES:
        return depth_from_metres(pixels)
    if layout.conversion:
        import cv2

        pixels = cv2.cvtColor(np.ascontiguousarray(pixels), getattr(cv2, layout.conversion))
    if layout.kind is Picture.DEPTH:
        return np.ascontiguousarray(pixels)
    return to_eight_bits(pixels) if pixels.dtype == np.uint16 else pixels


def to_eight_bits(pixels: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """Return 16-bit brightness scaled to 8 bits, rounded: 65535 becomes 255."""
    return ((pixels.astype(np.uint32) + 128) // 257).astype(np.uint8)


def depth_from_metres(metres: NDArray[np.floating[Any]]) -> NDArray[np.uint16]:
    """Return millimetres, rounded; 0 where the distance is NaN, infinite, negative or too far."""
    with np.errstate(invalid='ignore', over='ignore'):
        mm = np.rint(metres * np.float32(MM_PER_M))  # exact enough: 24 bits for 16
        is_known = (mm > 0) & (mm <= MAX_DEPTH_MM)  # False for NaN
    return np.where(is_known, mm, 0).astype(np.uint16)


def encode_image(message: Any, settings: IngestSettings) -> EncodedImage:
    """Return a sensor_msgs/Image compressed: depth as PNG, all else as JPEG. Raises ImageError."""
    return encode_pixels(
        decode_image(message, settings.max_image_bytes), str(message.encoding),
        settings.jpeg_quality)


def encode_pixels(pixels: NDArray[Any], encoding: str, jpeg_quality: int) -> EncodedImage:
    """Return decoded pixels compressed: uint16 as PNG (depth), uint8 as JPEG."""
    import cv2

    is_depth = pixels.dtype == np.uint16
    kind, options = ('png', [cv2.IMWRITE_PNG_COMPRESSION, PNG_COMPRESSION]) if is_depth else (
        'jpeg', [cv2.IMWRITE_JPEG_QUALITY, jpeg_quality])
    height, width = pixels.shape[:2]
    try:
        is_done, packed = cv2.imencode(f'.{kind}', pixels, options)
    except cv2.error as error:
        raise ImageError(f'{width}×{height} pixels make no {kind}: {error}') from error
    if not is_done:
        raise ImageError(f'{width}×{height} pixels make no {kind}')
    return EncodedImage(packed.tobytes(), f'image/{kind}', width, height, encoding, is_depth)


def image_record(
        image: EncodedImage, camera: str, stamp_ns: int, *, stamp_is_receipt: bool = False,
        frame: str = '') -> ImageRecord:
    """Return the record of a picture; its `sha256` is left to the store."""
    return ImageRecord(
        stamp_ns=stamp_ns, camera=camera, sha256='', media_type=image.media_type,
        width=image.width, height=image.height, encoding=image.encoding,
        is_depth=image.is_depth, size_bytes=len(image.data), frame=frame,
        stamp_is_receipt=stamp_is_receipt)


def image_from_ros(
        message: Any, camera: str, settings: IngestSettings, receipt_ns: int,
        is_wall: bool = False) -> tuple[bytes, ImageRecord]:
    """Return the stored bytes and the record of a sensor_msgs/Image. Raises RecordError."""
    stamp_ns, is_receipt = stamp_from_header(message, receipt_ns, is_wall)
    image = encode_image(message, settings)
    return image.data, image_record(
        image, camera, stamp_ns, stamp_is_receipt=is_receipt, frame=message.header.frame_id)


# What stands at the end of the name of an image topic and says nothing about the camera.
_TRANSPORT = ('compressed', 'compressedDepth', 'theora', 'ffmpeg', 'zstd')


def camera_of(topic: str) -> str:
    """Return the camera of an image topic: 'camera/wrist' of /camera/wrist/image_raw/compressed."""
    parts = [part for part in topic.split('/') if part]
    while parts and (parts[-1] in _TRANSPORT or parts[-1].startswith('image')):
        parts.pop()
    return '/'.join(parts) or 'camera'
