"""How the pixels of each encoding lie in sensor_msgs/Image, and whether a header fits its data.

Everything is checked with Python's integers before an array is made: a header of height 2^31
costs nothing but an ImageError.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from emv_ros.errors import ImageError


class Picture(Enum):
    """What the numbers of a picture mean."""

    COLOUR = 'colour'
    GREY = 'grey'
    DEPTH = 'depth'  # millimetres
    METRES = 'metres'  # depth as floating point


@dataclass(frozen=True, slots=True)
class Layout:
    """One encoding: numbers a pixel, their type, and OpenCV's conversion to BGR where needed."""

    name: str
    kind: Picture
    channels: int
    dtype: str = 'u1'
    conversion: str = ''
    width_multiple: int = 1
    height_multiple: int = 1

    @property
    def pixel_bytes(self) -> int:
        """Bytes from one pixel of a row to the next."""
        return self.channels * int(self.dtype[1:])


# Luma in full, then colour in a quarter: the data is half as long again as its height says.
PLANAR = ('nv12', 'nv21')


def _layouts() -> dict[str, Layout]:
    colour = {
        'rgb{}': (3, 'COLOR_RGB2BGR'), 'bgr{}': (3, ''), 'rgba{}': (4, 'COLOR_RGBA2BGR'),
        'bgra{}': (4, 'COLOR_BGRA2BGR'),
        # OpenCV names a Bayer pattern by its second row and column, ROS by its first.
        'bayer_rggb{}': (1, 'COLOR_BayerBG2BGR'), 'bayer_bggr{}': (1, 'COLOR_BayerRG2BGR'),
        'bayer_gbrg{}': (1, 'COLOR_BayerGR2BGR'), 'bayer_grbg{}': (1, 'COLOR_BayerGB2BGR')}
    found = [
        Layout(name.format(bits), Picture.COLOUR, channels, dtype, conversion)
        for bits, dtype in ((8, 'u1'), (16, 'u2'))
        for name, (channels, conversion) in colour.items()]
    found += [
        Layout('mono8', Picture.GREY, 1), Layout('8UC1', Picture.GREY, 1),
        Layout('mono16', Picture.GREY, 1, 'u2'),
        Layout('8UC3', Picture.COLOUR, 3), Layout('8UC4', Picture.COLOUR, 4, 'u1',
                                                  'COLOR_BGRA2BGR'),
        Layout('16UC1', Picture.DEPTH, 1, 'u2'), Layout('32FC1', Picture.METRES, 1, 'f4')]
    found += [
        Layout(name, Picture.COLOUR, 2, 'u1', conversion, 2) for name, conversion in (
            ('yuv422', 'COLOR_YUV2BGR_UYVY'), ('uyvy', 'COLOR_YUV2BGR_UYVY'),
            ('yuv422_yuy2', 'COLOR_YUV2BGR_YUY2'), ('yuyv', 'COLOR_YUV2BGR_YUY2'))]
    found += [
        Layout(name, Picture.COLOUR, 1, 'u1', f'COLOR_YUV2BGR_{name.upper()}', 2, 2)
        for name in PLANAR]
    return {layout.name: layout for layout in found}


LAYOUTS = _layouts()


def checked_bytes(message: Any, max_bytes: int) -> tuple[Layout, memoryview]:
    """Return the layout of a message and its data as bytes, without a copy where possible.

    Raises ImageError that names the field at fault.
    """
    encoding = str(message.encoding)
    layout = LAYOUTS.get(encoding)
    if layout is None:
        raise ImageError(f'unknown encoding {encoding!r}')
    height, width, step = int(message.height), int(message.width), int(message.step)
    what = f'{encoding} image of {width}×{height}, step {step}'
    if height < 1 or width < 1:
        raise ImageError(f'{what}: it has no pixels')
    if width % layout.width_multiple or height % layout.height_multiple:
        raise ImageError(f'{what}: the encoding needs an even size')
    row_bytes = width * layout.pixel_bytes
    if step < row_bytes:
        raise ImageError(f'{what}: a row takes {row_bytes} bytes, more than the step')
    expected = step * height * 3 // 2 if encoding in PLANAR else step * height
    decoded = width * height * 3
    if max(expected, decoded) > max_bytes:
        raise ImageError(
            f'{what}: {max(expected, decoded)} bytes, more than the {max_bytes} allowed')
    data = _bytes_of(message.data, what)
    if data.nbytes != expected:
        raise ImageError(f'{what}: {data.nbytes} bytes of data, not {expected}')
    return layout, data


def _bytes_of(data: Any, what: str) -> memoryview:
    try:
        view = memoryview(data)
    except TypeError:
        try:
            view = memoryview(bytes(data))  # a list of numbers
        except (TypeError, ValueError) as error:
            raise ImageError(f'{what}: its data is no bytes ({error})') from error
    return view.cast('B') if view.contiguous else memoryview(view.tobytes())
