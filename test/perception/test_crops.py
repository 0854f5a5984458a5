"""Which parts of pictures show a thing well, and what colour it has."""

from __future__ import annotations

import cv2
from film import BLUE, RED, at, box_of, drawn
import numpy as np
import pytest

from emv_ros.perception.colours import colour_of
from emv_ros.perception.crops import Album, best, cropped, is_candidate, sharpness_of

SIZE = (320, 240)


@pytest.mark.parametrize(('bbox', 'fits'), [
    ((100, 80, 150, 140), True),
    ((0, 80, 50, 140), False), ((270, 80, 320, 140), False),  # left and right border
    ((100, 1, 150, 60), False), ((100, 180, 150, 239), False),  # above and below
    ((4, 4, 316, 236), False),  # nearly the whole picture
    ((100, 80, 108, 140), False)])  # eight pixels wide
def test_candidates(bbox, fits):
    assert is_candidate(bbox, SIZE) is fits


def test_a_sharp_crop_comes_before_a_blurred_one_and_a_large_one_before_a_small():
    album, thing = Album(), (RED, 100, 80)
    sharp = drawn(thing)
    blurred = cv2.GaussianBlur(sharp, (21, 21), 0)
    assert sharpness_of(cropped(sharp, box_of(thing))) > sharpness_of(
        cropped(blurred, box_of(thing)))
    album.consider('t', 1, at(0), box_of(thing), blurred)
    album.consider('t', 2, at(1), box_of(thing), sharp)
    album.consider('t', 3, at(10), (100., 80., 125., 110.), sharp)
    # 1 and 2 lie within two seconds: the better one is held.
    assert [crop.image_id for crop in best(album.of(['t']), 4)] == [2, 3]
    assert album.of(['other']) == []


def test_the_best_are_spread_over_time():
    album, thing = Album(), (RED, 100, 80)
    for second in (0, 2, 4, 20, 40):
        album.consider('t', second, at(second), box_of(thing), drawn(thing))
    assert sorted(crop.image_id for crop in best(album.of(['t']), 3)) == [0, 20, 40]


def test_a_box_beyond_the_picture_is_cut():
    assert cropped(drawn(), (-20., -20., 10., 10.)).shape == (10, 10, 3)
    assert cropped(drawn(), (400., 300., 500., 400.)).shape == (1, 1, 3)


def filled(*colours, light: float = 1.0) -> np.ndarray:
    """Return stripes of equal width, in BGR."""
    stripes = [np.full((80, 80 // len(colours), 3), colour) for colour in colours]
    return (np.concatenate(stripes, axis=1) * light).astype(np.uint8)


@pytest.mark.parametrize(('colour', 'name'), [
    ((20, 20, 200), 'red'), ((20, 120, 240), 'orange'), ((30, 70, 120), 'brown'),
    ((20, 220, 230), 'yellow'), ((40, 170, 40), 'green'), ((200, 60, 30), 'blue'),
    ((180, 170, 20), 'turquoise'), ((160, 40, 120), 'purple'), ((180, 90, 240), 'pink'),
    ((10, 10, 10), 'black'), ((240, 240, 240), 'white'), ((120, 120, 120), 'grey')])
def test_colours(colour, name):
    assert colour_of(filled(colour)) == name


@pytest.mark.parametrize('light', [0.5, 0.75, 1.0, 1.2])
def test_a_colour_stays_in_other_light(light):
    assert colour_of(filled((20, 20, 200), light=light)) == 'red'
    assert colour_of(filled((190, 60, 30), light=light)) == 'blue'


def test_two_colours_and_many():
    assert colour_of(filled(RED, (240, 240, 240))) in ('red and white', 'white and red')
    many = filled((20, 20, 200), (20, 220, 230), (40, 170, 40), (200, 60, 30), (160, 40, 120))
    assert colour_of(many) is None


def test_the_colour_is_that_of_the_middle():
    thing = (BLUE, 100, 80)
    wide = cropped(drawn(thing), (90., 70., 160., 150.))  # a margin of the grey table
    assert colour_of(wide) == 'blue'
    assert colour_of(wide[:1, :1]) == 'grey'  # one pixel of it
