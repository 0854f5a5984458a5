"""The motion of a camera: known shifts, turns and zooms of a drawn wall."""

import cv2
import numpy as np
import pytest
from test_tracking import BLACK, texture

from emv_ros.perception.camera_motion import CameraMotion, identity

SIZE = (320, 240)


def view(turn: float = 0, zoom: float = 1, shift=(0, 0), size=SIZE) -> tuple:
    """Return a picture of the wall, and the 3 × 3 map from the wall to it."""
    warp = cv2.getRotationMatrix2D((300, 300), turn, zoom)
    warp[:, 2] += (size[0] / 2 - 300 - shift[0], size[1] / 2 - 300 - shift[1])
    return cv2.warpAffine(texture(), warp, size), np.vstack([warp, [0, 0, 1]])


@pytest.mark.parametrize(('motion', 'limit_px'), [
    ({}, 0.01), ({'shift': (12, -7)}, 0.5), ({'shift': (120, 30)}, 1.5),
    ({'turn': 8, 'shift': (10, 4)}, 1.5), ({'zoom': 1.2}, 1.5), ({'turn': 60}, 6)])
def test_a_known_motion(motion: dict, limit_px: float) -> None:
    camera = CameraMotion()
    before, from_wall = view()
    after, from_wall_after = view(**motion)
    assert (camera.update(before) == identity()).all()
    truth = (from_wall_after @ np.linalg.inv(from_wall))[:2]
    corners = np.array([[60, 50, 1], [260, 50, 1], [60, 190, 1], [260, 190, 1]], float).T
    assert np.abs(camera.update(after) @ corners - truth @ corners).max() < limit_px


@pytest.mark.parametrize('nothing', [
    BLACK, np.full_like(BLACK, 200),
    np.random.default_rng(1).integers(0, 3, BLACK.shape).astype(np.uint8), texture(9)[:240, :320]])
def test_pictures_without_a_common_motion(nothing: np.ndarray) -> None:
    camera = CameraMotion()
    camera.update(view()[0])
    assert (camera.update(nothing) == identity()).all()
    assert (camera.update(view()[0]) == identity()).all()


def test_a_large_thing_that_moves_moves_no_camera() -> None:
    camera = CameraMotion()
    wall, wide = view()[0], texture(3)
    for step in range(4):
        picture = wall.copy()
        left = 20 + 25 * step
        picture[40:240, left:left + 170] = wide[:200, :170]
        assert np.abs(camera.update(picture) - identity()).max() < 0.05


def test_a_smaller_picture_of_the_same_view() -> None:
    camera = CameraMotion()
    picture, _ = view(size=(640, 480))
    camera.update(picture)
    warp = camera.update(cv2.resize(picture, (320, 240), interpolation=cv2.INTER_AREA))
    assert warp == pytest.approx(np.array([[0.5, 0, 0], [0, 0.5, 0]]), abs=0.6)
    assert (CameraMotion().update(None) == identity()).all()
