"""Distances of things from stored depth pictures."""

from __future__ import annotations

import cv2
from databases import database_url
import numpy as np
import pytest

from emv_ros.errors import PerceptionError
from emv_ros.memory.store import MemoryStore
from emv_ros.perception.depth import DepthPicture, DepthReader, decode_depth, depth_camera_of
from emv_ros.records import ImageRecord
from emv_ros.timeline import SECOND_NS, parse_stamp

NOON_NS = parse_stamp('2024-03-01T12:00:00Z')[0]


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / 'memory'
    with MemoryStore(folder, database_url(folder), 'r2') as opened:
        yield opened


def png(pixels):
    return cv2.imencode('.png', pixels)[1].tobytes()


def keep(store, seconds, pixels, camera='head/depth', is_depth=True):
    height, width = pixels.shape[:2]
    store.add_image(png(pixels), ImageRecord(
        stamp_ns=NOON_NS + round(seconds * SECOND_NS), camera=camera, sha256='',
        media_type='image/png', width=width, height=height, is_depth=is_depth))


def plane(millimetres, width=64, height=48):
    return np.full((height, width), millimetres, np.uint16)


def test_the_median_of_the_core_ignores_the_background_and_what_is_unknown():
    depth = plane(3000)
    depth[10:30, 20:40] = 1200
    depth[15:20, 25:30] = 0
    depth[22, 31] = 65_000  # one wild pixel
    assert DepthPicture(depth).distance((20, 10, 40, 30), (64, 48)) == pytest.approx(1.2)
    # The same box in a picture of twice the size.
    assert DepthPicture(depth).distance((40, 20, 80, 60), (128, 96)) == pytest.approx(1.2)


@pytest.mark.parametrize('box', [(0, 0, 8, 8), (100, 100, 120, 120), (-20, -20, -10, -10)])
def test_too_little_known_is_no_distance(box):
    depth = plane(3000)
    depth[:20, :20] = 0
    depth[3, 3] = 900  # one of sixteen
    assert DepthPicture(depth).distance(box, (64, 48)) is None


def test_a_box_of_less_than_a_pixel_has_the_distance_of_that_pixel():
    assert DepthPicture(plane(700)).distance((10.2, 10.2, 10.4, 10.4), (64, 48)) == 0.7


@pytest.mark.parametrize('camera, others, expected', [
    ('head/color', ['head/depth', 'wrist/depth'], 'head/depth'),
    ('camera/color', ['camera/depth', 'camera/aligned_depth_to_color'],
     'camera/aligned_depth_to_color'),
    ('head', ['head_depth'], 'head_depth'),
    ('camera_1/rgb', ['camera_2/depth'], None),
    ('head', [], None)])
def test_cameras_pair_by_their_names(camera, others, expected):
    assert depth_camera_of(camera, others) == expected


def test_the_nearest_depth_of_the_same_pair_is_used(store):
    for seconds, distance in ((0.0, 1000), (1.0, 2000), (2.0, 3000)):
        keep(store, seconds, plane(distance))
    keep(store, 1.1, plane(9000), camera='wrist/depth')
    keep(store, 1.1, plane(9000), camera='head/color', is_depth=False)
    reader = DepthReader(store, 'r2', 'head/color')

    def at(seconds, size=(640, 480)):
        found = reader.at(NOON_NS + round(seconds * SECOND_NS), size)
        return None if found is None else found.distance((100, 100, 200, 200), (640, 480))

    assert [at(0.1), at(1.2), at(1.8)] == [1.0, 2.0, 3.0]
    assert at(5) is None
    assert at(1.2, (640, 360)) is None  # another view
    assert DepthReader(store, 'r2', 'base').at(NOON_NS, (640, 480)) is None


def test_a_damaged_depth_picture_is_passed_over(store, caplog):
    keep(store, 0, plane(1000))
    row = store.get('image', 1)
    store.pictures.path(row.sha256, row.media_type).write_bytes(b'gone')
    assert DepthReader(store, 'r2', 'head').at(NOON_NS, (64, 48)) is None
    assert 'damaged' in caplog.text
    for data in (b'', b'no picture', png(np.zeros((4, 4, 3), np.uint8))):
        with pytest.raises(PerceptionError):
            decode_depth(data)
