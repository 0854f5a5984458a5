"""Pictures in every encoding, with pixel values worked out by hand (BGR order)."""

import logging
import struct
import sys
from types import ModuleType

from hypothesis import given, strategies as st
from ingest_parts import image
import numpy as np
import pytest

from emv_ros.errors import ImageError
from emv_ros.ingest import cv_bridge_images
from emv_ros.ingest.compressed import decode_compressed
from emv_ros.ingest.images import (
    camera_of,
    decode_image,
    decode_plain,
    encode_image,
    image_from_ros,
)
from emv_ros.ingest.layout import LAYOUTS, PLANAR, checked_bytes
from emv_ros.settings import IngestSettings

LIMIT = 64_000_000

# Two pixels side by side: red 200, green 100, blue 50; then 1, 2, 3.
TWO = [[[50, 100, 200], [3, 2, 1]]]


@pytest.mark.parametrize(('encoding', 'data', 'expected'), [
    ('rgb8', [200, 100, 50, 1, 2, 3], TWO),
    ('bgr8', [50, 100, 200, 3, 2, 1], TWO),
    ('rgba8', [200, 100, 50, 9, 1, 2, 3, 9], TWO),
    ('bgra8', [50, 100, 200, 9, 3, 2, 1, 9], TWO),
    ('8UC3', [50, 100, 200, 3, 2, 1], TWO),
    ('8UC4', [50, 100, 200, 9, 3, 2, 1, 9], TWO),
    ('mono8', [7, 250], [[7, 250]]),
    ('8UC1', [7, 250], [[7, 250]]),
    # 65535 -> 255; 257 -> 1; 128 / 257 = 0.498 -> 0; 129 / 257 = 0.502 -> 1
    ('mono16', struct.pack('<4H', 65535, 257, 128, 129), [[255, 1, 0, 1]]),
    ('rgb16', struct.pack('<3H', 65535, 257, 0), [[[0, 1, 255]]]),
    ('bgra16', struct.pack('<4H', 65535, 257, 0, 77), [[[255, 1, 0]]]),
    # BT.601: luma 16 is black, 235 white; 81 with chroma 90, 240 is red:
    # R = 1.164 * 65 + 1.596 * 112 = 254.4, G = 75.7 - 0.391 * -38 - 0.813 * 112 = -0.5 -> 0.
    ('yuv422', [128, 16, 128, 235], [[[0, 0, 0], [255, 255, 255]]]),
    ('uyvy', [90, 81, 240, 81], [[[0, 0, 254], [0, 0, 254]]]),
    ('yuv422_yuy2', [16, 128, 235, 128], [[[0, 0, 0], [255, 255, 255]]]),
    ('yuyv', [81, 90, 81, 240], [[[0, 0, 254], [0, 0, 254]]]),
])
def test_each_encoding_gives_its_pixels(encoding, data, expected):
    size = LAYOUTS[encoding].pixel_bytes
    pixels = decode_image(image(encoding, 1, len(data) // size, bytes(data)), LIMIT)
    assert pixels.dtype == np.uint8
    assert pixels.tolist() == expected


@pytest.mark.parametrize(('encoding', 'chroma'), [('nv12', [90, 240]), ('nv21', [240, 90])])
def test_planar_colour_is_red(encoding, chroma):
    message = image(encoding, 2, 2, bytes([81] * 4 + chroma), step=2)
    assert decode_image(message, LIMIT).tolist() == [[[0, 0, 254]] * 2] * 2


@pytest.mark.parametrize(('bits', 'scale'), [(8, 1), (16, 257)])
@pytest.mark.parametrize('pattern', ['rggb', 'bggr', 'gbrg', 'grbg'])
def test_bayer_of_an_even_colour_is_that_colour(pattern, bits, scale):
    value = {'r': 200 * scale, 'g': 100 * scale, 'b': 50 * scale}
    tile = np.array([[value[c] for c in pattern[:2]], [value[c] for c in pattern[2:]]])
    mosaic = np.tile(tile, (4, 4)).astype('<u2' if bits == 16 else 'u1')
    pixels = decode_image(image(f'bayer_{pattern}{bits}', 8, 8, mosaic.tobytes()), LIMIT)
    assert pixels.shape == (8, 8, 3)
    assert (pixels[1:-1, 1:-1] == [50, 100, 200]).all()


def test_depth_in_metres_becomes_millimetres():
    metres = [0.0, 1.2344, 1.2346, float('nan'), float('inf'), -float('inf'), -1.0, 65.535, 65.6]
    pixels = decode_image(image('32FC1', 1, 9, struct.pack('<9f', *metres)), LIMIT)
    assert pixels.dtype == np.uint16
    assert pixels.tolist() == [[0, 1234, 1235, 0, 0, 0, 0, 65535, 0]]


def test_depth_in_millimetres_stays():
    pixels = decode_image(image('16UC1', 2, 2, struct.pack('<4H', 0, 1, 1000, 65535)), LIMIT)
    assert pixels.dtype == np.uint16
    assert pixels.tolist() == [[0, 1], [1000, 65535]]


def test_big_endian_depth_in_rows_padded_by_an_odd_number_of_bytes():
    rows = struct.pack('>2H', 0x0102, 0x0304) + b'\xff' * 3 + struct.pack('>2H', 5, 6) + b'\xff' * 3
    message = image('16UC1', 2, 2, rows, step=7, is_bigendian=1)
    assert decode_image(message, LIMIT).tolist() == [[0x0102, 0x0304], [5, 6]]


def test_big_endian_metres():
    message = image('32FC1', 1, 2, struct.pack('>2f', 0.5, 2.0), is_bigendian=1)
    assert decode_image(message, LIMIT).tolist() == [[500, 2000]]


@given(st.data())
def test_padding_and_byte_order_never_change_a_pixel(data):
    encoding = data.draw(st.sampled_from(['rgb8', 'bgra8', 'mono8', 'mono16', '16UC1', '32FC1']))
    height, width = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    padding, is_big = data.draw(st.integers(0, 9)), data.draw(st.booleans())
    layout = LAYOUTS[encoding]
    count = height * width * layout.channels
    values = np.array(data.draw(st.lists(st.integers(0, 255), min_size=count, max_size=count)))
    values = values.reshape(height, -1)
    order = '>' if is_big else '<'

    def rows(dtype, filler):
        return b''.join(row.astype(dtype).tobytes() + filler for row in values)

    plain = decode_image(image(encoding, height, width, rows(f'<{layout.dtype}', b'')), LIMIT)
    padded = decode_image(
        image(encoding, height, width, rows(f'{order}{layout.dtype}', b'\xa5' * padding),
              is_bigendian=int(is_big)), LIMIT)
    assert plain.dtype == padded.dtype
    assert np.array_equal(plain, padded)


@pytest.mark.parametrize(('fields', 'told'), [
    ({'data': b''}, '0 bytes of data, not 12'),
    ({'data': bytes(11)}, '11 bytes of data, not 12'),
    ({'data': bytes(9)}, '9 bytes of data, not 12'),  # half a row
    ({'data': bytes(13)}, '13 bytes of data, not 12'),
    ({'width': 0}, 'no pixels'),
    ({'height': 0}, 'no pixels'),
    ({'step': 0}, 'a row takes 6 bytes'),
    ({'step': 5}, 'a row takes 6 bytes'),
    ({'height': 2**31}, 'more than the 64000000 allowed'),
    ({'width': 2**31, 'step': 3 * 2**31}, 'more than the 64000000 allowed'),
    ({'encoding': 'rgb12'}, "unknown encoding 'rgb12'"),
    ({'encoding': ''}, "unknown encoding ''"),
    ({'encoding': 'yuv422', 'width': 3, 'step': 6}, 'even size'),
    ({'data': None}, 'its data is no bytes'),
])
def test_a_header_that_does_not_fit_is_refused(fields, told):
    message = image('rgb8', 2, 2, bytes(12))
    vars(message).update(fields)
    with pytest.raises(ImageError, match=told):
        decode_image(message, LIMIT)


def test_a_picture_larger_than_allowed_is_refused():
    with pytest.raises(ImageError, match='12 bytes, more than the 11 allowed'):
        decode_image(image('rgb8', 2, 2, bytes(12)), 11)


def test_data_may_be_bytes_an_array_or_a_list():
    message = image('mono8', 1, 2, b'\x01\x02')
    for data in (b'\x01\x02', bytearray(b'\x01\x02'), np.array([1, 2], np.uint8), [1, 2]):
        message.data = data
        assert decode_image(message, LIMIT).tolist() == [[1, 2]]


def test_colour_is_stored_as_jpeg_and_depth_as_lossless_png():
    settings = IngestSettings(jpeg_quality=95)
    colour = encode_image(image('rgb8', 16, 16, bytes([200, 100, 50] * 256)), settings)
    assert (colour.media_type, colour.width, colour.height) == ('image/jpeg', 16, 16)
    assert not colour.is_depth
    assert np.abs(decode_compressed(colour.data).astype(int) - [50, 100, 200]).max() <= 3
    depth = encode_image(image('32FC1', 1, 2, struct.pack('<2f', 1.5, float('nan'))), settings)
    assert (depth.media_type, depth.is_depth, depth.encoding) == ('image/png', True, '32FC1')
    assert decode_compressed(depth.data).tolist() == [[1500, 0]]


def test_the_record_tells_camera_frame_and_stamp():
    message = image('mono8', 1, 2, b'\x01\x02', nanosec=12, frame='wrist')
    data, record = image_from_ros(message, 'wrist', IngestSettings(), 5)
    assert record.stamp_ns == 1_700_000_000_000_000_012
    assert (record.camera, record.frame, record.size_bytes) == ('wrist', 'wrist', len(data))
    assert (record.sha256, record.encoding, record.stamp_is_receipt) == ('', 'mono8', False)


@pytest.mark.parametrize(('topic', 'camera'), [
    ('/camera/wrist/image_raw/compressed', 'camera/wrist'), ('/camera/image_raw', 'camera'),
    ('/camera/depth/image_rect_raw/compressedDepth', 'camera/depth'), ('/image_raw', 'camera'),
    ('/head', 'head')])
def test_the_camera_is_named_by_its_topic(topic, camera):
    assert camera_of(topic) == camera


@pytest.fixture
def fresh_bridge():
    cv_bridge_images._bridge.cache_clear()
    yield
    cv_bridge_images._bridge.cache_clear()


@pytest.mark.usefixtures('fresh_bridge')
@pytest.mark.parametrize('failing', ['loading', 'using', 'misreading'])
def test_a_cv_bridge_for_another_numpy_is_left_alone(monkeypatch, caplog, failing):
    class Bridge:
        def imgmsg_to_cv2(self, message, encoding):
            if failing == 'using':
                raise TypeError('_ARRAY_API not found')
            return np.zeros((1, 2, 3), np.uint8)

    module = ModuleType('cv_bridge')
    if failing != 'loading':
        module.CvBridge = Bridge
    monkeypatch.setitem(sys.modules, 'cv_bridge', module)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            pixels = decode_image(image('rgb8', 1, 2, bytes([200, 100, 50, 1, 2, 3])), LIMIT)
            assert pixels.tolist() == TWO
    assert len([r for r in caplog.records if 'NumPy decodes' in r.message]) == 1


@pytest.mark.parametrize('encoding', ['rgb8', 'bgr8', 'rgba8', 'bgra8', 'mono8', '16UC1', '32FC1',
                                      'yuv422', 'yuv422_yuy2'])
def test_the_real_cv_bridge_agrees_to_the_pixel(encoding):
    if cv_bridge_images._bridge() is None:
        pytest.skip('no cv_bridge that works here')
    layout = LAYOUTS[encoding]
    values = np.random.default_rng(1).integers(0, 255, 48 * 64 * layout.channels)
    message = image(encoding, 48, 64, values.astype(f'<{layout.dtype}').tobytes())
    decoded = cv_bridge_images.decode(message, layout)
    assert np.array_equal(decoded, decode_plain(message, *checked_bytes(message, LIMIT)))


NUMBER = st.one_of(st.integers(0, 40), st.sampled_from([2**16, 2**31, 2**32 - 1]))


@given(st.sampled_from(sorted(LAYOUTS)), NUMBER, NUMBER, NUMBER, st.binary(max_size=400),
       st.integers(0, 1))
def test_whatever_a_header_says_it_is_decoded_or_refused(
        encoding, height, width, step, data, is_bigendian):
    message = image('mono8', 1, 1, b'\0')
    vars(message).update(encoding=encoding, height=height, width=width, step=step, data=data,
                         is_bigendian=is_bigendian)
    try:
        pixels = decode_image(message, LIMIT)
    except ImageError:
        return
    assert pixels.shape[:2] == (height, width)


@given(st.sampled_from(sorted(LAYOUTS)), st.integers(1, 12), st.integers(1, 12), st.data())
def test_every_header_that_fits_is_decoded(encoding, height, width, data):
    layout = LAYOUTS[encoding]
    height, width = height * layout.height_multiple, width * layout.width_multiple
    step = width * layout.pixel_bytes + data.draw(st.integers(0, 3))
    rows = height * 3 // 2 if encoding in PLANAR else height
    filled = np.random.default_rng(height).integers(0, 256, step * rows, np.uint8).tobytes()
    message = image(encoding, height, width, filled, step=step, is_bigendian=1)
    assert decode_image(message, LIMIT).shape[:2] == (height, width)
