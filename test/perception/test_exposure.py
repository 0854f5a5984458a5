"""How brightly a picture was taken: what its brightest spots tell, and what follows for crops."""

from __future__ import annotations

import numpy as np
import pytest

from emv_ros.perception.crops import Album, best
from emv_ros.perception.exposure import LEAST, MOST, WHITE, Light, exposed


def room(gain: float, shade: int = 90) -> np.ndarray:
    """Return a picture of a grey room with a white sheet and a thing of a shade, in some light."""
    pixels = np.full((480, 640, 3), 100.0)
    pixels[40:140, 60:200] = 200
    pixels[200:400, 300:500] = shade
    return np.clip(pixels * gain, 0, 255).astype(np.uint8)


@pytest.mark.parametrize('gain', [0.6, 1.0, 1.2])
def test_the_brightest_of_a_picture_become_one(gain: float) -> None:
    # The sheet is 200 × gain, and WHITE afterwards.
    assert Light(room(gain)).gain() == pytest.approx(WHITE / (200 * gain), rel=0.01)


def test_a_dark_or_a_white_picture_moves_within_limits() -> None:
    assert Light(np.zeros((3, 2, 3), np.uint8)).gain() == MOST
    white = Light(np.full((480, 640, 3), 255, np.uint8))
    assert white.gain() == pytest.approx(WHITE / 255, rel=0.01)
    assert LEAST < WHITE / 255


def test_a_single_bright_pixel_tells_nothing() -> None:
    pixels = room(0.6)
    pixels[240, 100] = 255
    assert Light(pixels).gain() == pytest.approx(Light(room(0.6)).gain(), rel=0.01)


def test_like_things_of_two_shades_differ_in_any_light() -> None:
    box = (300., 200., 500., 400.)
    album = Album()
    # The darker one in bright light is as bright as the lighter one in dim light.
    for key, pixels in (('dark', room(1.2, 80)), ('light', room(0.8, 120))):
        album.consider(key, 1, 0, box, pixels, Light(pixels).gain())
    dark, light = (best(album.of([key]), 1)[0] for key in ('dark', 'light'))
    assert dark.pixels.mean() == light.pixels.mean() == 96
    # 80 and 120 times 220 / 200.
    assert exposed(dark.pixels, dark.gain).mean() == pytest.approx(88, abs=1.5)
    assert exposed(light.pixels, light.gain).mean() == pytest.approx(132, abs=1.5)


def test_a_shadow_across_the_room_counts_where_it_lies() -> None:
    pixels = room(1.0)
    pixels[40:140, 560:] = 200  # another sheet, and the right half of the room at half the light
    pixels[:, 320:] //= 2
    light = Light(pixels)
    # The whole picture's brightest are the sheet's 200; near the right those of 100 count 0.7.
    assert light.gain() == pytest.approx(WHITE / 200, rel=0.01)
    assert light.gain((20., 200., 80., 300.)) == pytest.approx(WHITE / 200, rel=0.01)
    assert light.gain((560., 200., 620., 300.)) == pytest.approx(
        WHITE / (100**0.7 * 200**0.3), rel=0.02)


def test_a_box_outside_its_picture_has_a_gain_all_the_same() -> None:
    light = Light(room(1.0))
    for box in ((-900., 0., -800., 10.), (5000., 0., 5100., 10.)):
        assert LEAST <= light.gain(box) <= MOST
