"""Compressed pictures: kept bit for bit once known to be whole."""

import struct
from types import SimpleNamespace

import cv2
from hypothesis import given, settings, strategies as st
from ingest_parts import header
import numpy as np
import pytest

from emv_ros.errors import ImageError
from emv_ros.ingest.compressed import compressed_from_ros, decode_compressed, read_compressed
from emv_ros.settings import IngestSettings

SETTINGS = IngestSettings()
RAMP = np.tile(np.arange(64, dtype=np.uint8), (48, 1))
DEPTH = np.array([[0, 1000], [2000, 65535]], np.uint16)


def packed(kind, pixels):
    return cv2.imencode(f'.{kind}', pixels)[1].tobytes()


def compressed_depth(pixels, scale=0.0, offset=0.0):
    return struct.pack('<iff', 0, scale, offset) + packed('png', pixels)


@pytest.mark.parametrize('image_format', ['jpeg', 'jpg', 'rgb8; jpeg compressed bgr8', 'png', ''])
def test_a_jpeg_is_kept_bit_for_bit_whatever_it_is_called(image_format):
    data = packed('jpg', RAMP)
    image = read_compressed(data, image_format, SETTINGS)
    assert image.data == data
    assert (image.media_type, image.width, image.height) == ('image/jpeg', 64, 48)
    assert not image.is_depth


def test_the_encoding_is_the_first_word_of_the_format():
    image = read_compressed(packed('jpg', RAMP), 'rgb8; jpeg compressed bgr8', SETTINGS)
    assert image.encoding == 'rgb8'


def test_a_png_is_kept_bit_for_bit():
    data = packed('png', RAMP)
    image = read_compressed(data, 'png', SETTINGS)
    assert image.data == data
    assert (image.media_type, image.width, image.height, image.is_depth) == (
        'image/png', 64, 48, False)


def test_a_png_of_16UC1_is_depth():  # noqa: N802
    image = read_compressed(packed('png', DEPTH), '16UC1; png compressed', SETTINGS)
    assert image.is_depth


@pytest.mark.parametrize('image_format', ['16UC1; compressedDepth png', '16UC1; compressedDepth'])
def test_compressed_depth_in_millimetres_keeps_its_png(image_format):
    data = compressed_depth(DEPTH)
    image = read_compressed(data, image_format, SETTINGS)
    assert image.data == data[12:]
    assert image.is_depth
    assert decode_compressed(image.data).tolist() == DEPTH.tolist()


def test_compressed_depth_in_metres_is_unquantised():
    # depth = scale / (raw - offset): 1000 / (600 - 100) = 2 m, 1000 / (350 - 100) = 4 m; 0 unknown
    raw = np.array([[600, 350, 0]], np.uint16)
    image = read_compressed(compressed_depth(raw, 1000.0, 100.0), '32FC1; compressedDepth',
                            SETTINGS)
    assert image.is_depth
    assert decode_compressed(image.data).tolist() == [[2000, 4000, 0]]


@pytest.mark.parametrize(('data', 'image_format', 'told'), [
    (struct.pack('<iff', 0, 0, 0) + b'\x01' * 40, '16UC1; compressedDepth rvl', 'rvl is not'),
    (b'\x01' * 40, '16UC1; compressedDepth', 'there is no PNG in it'),
    (compressed_depth(DEPTH, 0.0), '32FC1; compressedDepth', 'impossible quantisation'),
    (compressed_depth(DEPTH, float('nan')), '32FC1; compressedDepth', 'impossible quantisation'),
    (compressed_depth(RAMP), '16UC1; compressedDepth', 'unknown kind of depth'),
    (b'', 'jpeg', 'it has no data'),
    (b'GIF89a' + bytes(40), 'gif', "format 'gif': neither JPEG nor PNG"),
    (b'\x00\x00\x00\x01\x67', 'h264', "format 'h264': neither JPEG nor PNG"),
])
def test_what_is_no_picture_is_refused(data, image_format, told):
    with pytest.raises(ImageError, match=told):
        read_compressed(data, image_format, SETTINGS)


@pytest.mark.parametrize('kind', ['jpg', 'png'])
def test_every_truncation_is_refused(kind):
    data = packed(kind, RAMP)
    for length in range(2, len(data) - 1, 7):
        with pytest.raises(ImageError):
            read_compressed(data[:length], kind, SETTINGS)


def test_a_jpeg_followed_by_padding_is_whole():
    assert read_compressed(packed('jpg', RAMP) + bytes(100), 'jpeg', SETTINGS).width == 64


def test_a_damaged_png_is_refused():
    data = bytearray(packed('png', RAMP))
    data[len(data) // 2] ^= 1
    with pytest.raises(ImageError, match='damaged at byte'):
        read_compressed(bytes(data), 'png', SETTINGS)


def test_a_header_that_promises_a_huge_picture_is_refused_before_decoding():
    data = bytearray(packed('jpg', RAMP))
    frame = data.index(b'\xff\xc0')
    data[frame + 5:frame + 9] = b'\xff\xff\xff\xff'
    with pytest.raises(ImageError, match='65535×65535'):
        read_compressed(bytes(data), 'jpeg', SETTINGS)
    png = bytearray(packed('png', RAMP))
    png[16:24] = b'\x7f\xff\xff\xff' * 2
    with pytest.raises(ImageError, match='2147483647×2147483647'):
        read_compressed(bytes(png), 'png', SETTINGS)


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(['jpg', 'png', 'depth']), st.data())
def test_whatever_the_bytes_are_they_are_read_or_refused(kind, data):
    whole = bytearray(compressed_depth(DEPTH) if kind == 'depth' else packed(kind, RAMP))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    image_format = '16UC1; compressedDepth png' if kind == 'depth' else kind
    try:
        image = read_compressed(bytes(whole), image_format, SETTINGS)
    except ImageError:
        return
    assert image.width * image.height * 3 <= SETTINGS.max_image_bytes


def test_the_record_of_a_message():
    data = packed('jpg', RAMP)
    message = SimpleNamespace(header=header(frame='cam'), format='jpeg',
                              data=np.frombuffer(data, np.uint8))
    stored, record = compressed_from_ros(message, 'wrist', SETTINGS, 5)
    assert stored == data
    assert (record.camera, record.frame, record.width, record.height) == ('wrist', 'cam', 64, 48)
    assert record.size_bytes == len(data)
