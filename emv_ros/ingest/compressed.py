"""Pictures of sensor_msgs/CompressedImage, and picture files: checked, and kept bit for bit.

JPEG and PNG are stored as they came, once they are known to be whole. What the bytes are is read
from the bytes; the `format` of a message only tells depth from colour. compressedDepth has a
header of 12 bytes before a PNG: whole millimetres stay that PNG, quantised metres are decoded and
stored as millimetres. Its rvl variant is not read.
"""

from __future__ import annotations

import struct
from typing import Any
import zlib

import numpy as np
from numpy.typing import NDArray

from emv_ros.errors import ImageError
from emv_ros.ingest.images import EncodedImage, depth_from_metres, encode_pixels, image_record
from emv_ros.ingest.stamps import stamp_from_header
from emv_ros.records import ImageRecord
from emv_ros.settings import IngestSettings

JPEG_START, JPEG_END = b'\xff\xd8', b'\xff\xd9'
PNG_START = b'\x89PNG\r\n\x1a\n'
_DEPTH_HEADER = struct.Struct('<iff')  # format, and the two parameters of the quantisation
_SMALL_JPEG = 4096  # bytes: below, an eighth of a side may be less than a pixel
_GREY_16 = (16, 0)  # bit depth and colour type of a PNG
# Start-of-frame markers, which hold the size: C0..CF but for C4, C8 and CC.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
# What a PNG needs to show its pixels rightly.
_PIXEL_CHUNKS = frozenset((b'IHDR', b'PLTE', b'IDAT', b'tRNS', b'gAMA', b'cHRM', b'sRGB', b'sBIT',
                           b'pHYs', b'bKGD'))
# Of a JPEG, by length and name: what JFIF says without a thumbnail, and Adobe of colours.
_PLAIN_SEGMENTS = frozenset(((16, b'JFIF\0'), (14, b'Adobe')))
_BARE = frozenset((0x01, *range(0xD0, 0xD9)))  # markers without a length


def compressed_from_ros(
        message: Any, camera: str, settings: IngestSettings, receipt_ns: int,
        is_wall: bool = False) -> tuple[bytes, ImageRecord]:
    """Return the stored bytes and the record of a CompressedImage. Raises RecordError."""
    stamp_ns, is_receipt = stamp_from_header(message, receipt_ns, is_wall)
    image = read_compressed(bytes(message.data), str(message.format), settings)
    return image.data, image_record(
        image, camera, stamp_ns, stamp_is_receipt=is_receipt, frame=message.header.frame_id)


def read_compressed(data: bytes, image_format: str, settings: IngestSettings) -> EncodedImage:
    """Return checked bytes with their size and kind.

    `image_format` is as in CompressedImage: 'jpeg', 'png', 'rgb8; jpeg compressed bgr8',
    '16UC1; compressedDepth png'. Raises ImageError.
    """
    if not data:
        raise ImageError(f'compressed image of format {image_format!r}: it has no data')
    if len(data) > settings.max_image_bytes:
        raise ImageError(
            f'compressed image of {len(data)} bytes, more than the {settings.max_image_bytes} '
            'allowed')
    encoding = image_format.partition(';')[0].strip()
    if 'compresseddepth' in image_format.lower():
        return _read_depth(data, encoding, image_format, settings)
    if data.startswith(PNG_START):
        return _read_png(data, encoding, settings)
    if data.startswith(JPEG_START):
        width, height = _jpeg_size(data)
        _check_size(width, height, settings)
        _check_decodes(data, 'JPEG')
        return EncodedImage(data, 'image/jpeg', width, height, encoding, False)
    raise ImageError(
        f'compressed image of format {image_format!r}: neither JPEG nor PNG '
        f'(it begins with {data[:4].hex()})')


def decode_compressed(data: bytes) -> NDArray[Any]:
    """Return stored bytes as pixels: BGR, grey or uint16 depth. Raises ImageError."""
    import cv2

    return _decoded(data, cv2.IMREAD_ANYCOLOR | cv2.IMREAD_ANYDEPTH)


def small_picture(data: bytes) -> NDArray[np.uint8]:
    """Return compressed bytes as a grey picture, an eighth of the size where that is cheaper."""
    import cv2

    is_small = data.startswith(PNG_START) or len(data) < _SMALL_JPEG
    flag = cv2.IMREAD_GRAYSCALE if is_small else cv2.IMREAD_REDUCED_GRAYSCALE_8
    return np.asarray(_decoded(data, flag), np.uint8)


def carries_more(data: bytes) -> bool:
    """Return whether a checked JPEG or PNG holds more than its pixels: EXIF, texts, a tail."""
    if data.startswith(PNG_START):
        position = len(PNG_START)
        while position + 12 <= len(data):
            length, name = struct.unpack_from('>I4s', data, position)
            position += 12 + length
            if name == b'IEND':
                return bool(position < len(data))
            if name not in _PIXEL_CHUNKS:
                return True
        return True
    return _jpeg_carries_more(data)


def _jpeg_carries_more(data: bytes) -> bool:
    position = 2
    while position + 4 <= len(data):
        marker = data[position + 1]
        length = int.from_bytes(data[position + 2:position + 4], 'big')
        if data[position] != 0xFF:  # of a scan: on to the marker that ends it
            position = data.find(0xFF, position + 1)
            if position < 0:
                break
        elif marker in (0x00, 0xFF) or marker in _BARE:
            position += 1 if marker == 0xFF else 2
        elif marker in (0xE0, 0xEE):
            if (length, data[position + 4:position + 9]) not in _PLAIN_SEGMENTS:
                return True
            position += 2 + length
        elif marker == 0xFE or 0xE0 < marker <= 0xEF:
            return True  # a comment, or data of an application other than JFIF's and Adobe's
        elif marker == 0xD9:
            return True  # an end, and something behind it
        else:
            position += 2 + length
    return data[position:] != JPEG_END


def _decoded(data: bytes, flag: int) -> NDArray[Any]:
    import cv2

    try:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), flag)
    except cv2.error as error:
        raise ImageError(f'{len(data)} bytes are no picture: {error}') from error
    if pixels is None:
        raise ImageError(f'{len(data)} bytes are no picture')
    return np.asarray(pixels)


def _read_png(data: bytes, encoding: str, settings: IngestSettings) -> EncodedImage:
    width, height, kind = _png_header(data)
    _check_size(width, height, settings)
    _check_chunks(data)
    _check_decodes(data, 'PNG')
    is_depth = kind == _GREY_16 and encoding.upper() in ('16UC1', '32FC1')
    return EncodedImage(data, 'image/png', width, height, encoding, is_depth)


def _read_depth(
        data: bytes, encoding: str, image_format: str, settings: IngestSettings) -> EncodedImage:
    png = data[_DEPTH_HEADER.size:]
    if not png.startswith(PNG_START):
        way = 'rvl is not supported' if 'rvl' in image_format.lower() else 'there is no PNG in it'
        raise ImageError(f'compressed depth of format {image_format!r}: {way}')
    width, height, kind = _png_header(png)
    _check_size(width, height, settings)
    _check_chunks(png)
    pixels = decode_compressed(png)
    if encoding == '16UC1' and kind == _GREY_16:
        return EncodedImage(png, 'image/png', width, height, encoding, True)
    if encoding != '32FC1' or pixels.dtype != np.uint16 or pixels.ndim != 2:
        raise ImageError(f'compressed depth of format {image_format!r}: unknown kind of depth')
    _, scale, offset = _DEPTH_HEADER.unpack_from(data)
    metres = _from_inverse(pixels, scale, offset)
    return encode_pixels(depth_from_metres(metres), encoding, settings.jpeg_quality)


def _from_inverse(raw: NDArray[np.uint16], scale: float, offset: float) -> NDArray[np.float64]:
    """Return metres of inverse depth as compressed_depth_image_transport quantises it; NaN at 0."""
    if not (np.isfinite(scale) and np.isfinite(offset)) or scale <= 0:
        raise ImageError(f'compressed depth: impossible quantisation {scale}, {offset}')
    with np.errstate(divide='ignore', invalid='ignore'):
        metres = scale / (raw.astype(np.float64) - offset)
    metres[raw == 0] = np.nan
    return metres


def _check_size(width: int, height: int, settings: IngestSettings) -> None:
    if not width or not height:
        raise ImageError(f'compressed image of {width}×{height}: it has no pixels')
    if width * height * 3 > settings.max_image_bytes:
        raise ImageError(
            f'compressed image of {width}×{height}: {width * height * 3} bytes, more than the '
            f'{settings.max_image_bytes} allowed')


def _check_decodes(data: bytes, kind: str) -> None:
    try:
        small_picture(data)
    except ImageError as error:
        raise ImageError(f'{kind} of {len(data)} bytes: it does not decode') from error


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """Return width and height of a JPEG that is whole: it has a frame, a scan and an end."""
    position, size = 2, None
    while position + 4 <= len(data):
        if data[position] != 0xFF:
            raise ImageError(f'JPEG of {len(data)} bytes: no marker at byte {position}')
        marker = data[position + 1]
        if marker == 0xFF:  # fill
            position += 1
            continue
        if marker in _BARE:
            position += 2
            continue
        length = int.from_bytes(data[position + 2:position + 4], 'big')
        if marker in _FRAMES and position + 9 <= len(data):
            height, width = struct.unpack_from('>HH', data, position + 5)
            size = width, height
        if marker == 0xDA:  # the scan: within it no end marker can occur by chance
            if size is None or data.find(JPEG_END, position + length) < 0:
                break
            return size
        position += 2 + length
    raise ImageError(f'JPEG of {len(data)} bytes: it is cut off')


def _png_header(data: bytes) -> tuple[int, int, tuple[int, int]]:
    """Return width, height, and (bit depth, colour type)."""
    if len(data) < 33 or data[12:16] != b'IHDR':
        raise ImageError(f'PNG of {len(data)} bytes: it is cut off')
    width, height, bits, colour = struct.unpack_from('>IIBB', data, 16)
    return width, height, (bits, colour)


def _check_chunks(data: bytes) -> None:
    """Raise ImageError unless all chunks of a PNG are whole, to its end."""
    position = len(PNG_START)
    while position + 12 <= len(data):
        length, name = struct.unpack_from('>I4s', data, position)
        end = position + 12 + length
        if end > len(data):
            break
        checksum, = struct.unpack_from('>I', data, end - 4)
        if zlib.crc32(memoryview(data)[position + 4:end - 4]) != checksum:
            raise ImageError(f'PNG of {len(data)} bytes: damaged at byte {position}')
        if name == b'IEND':
            return
        position = end
    raise ImageError(f'PNG of {len(data)} bytes: it is cut off')
