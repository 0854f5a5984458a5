"""The palette: what another light moves, and what another shade of one colour moves."""

from __future__ import annotations

import numpy as np
import pytest

from emv_ros.perception.palette import DARKEST, palette


def thing(base: int, second: int) -> np.ndarray:
    """Return a crop of one colour above and another below."""
    pixels = np.full((64, 64, 3), base, np.uint8)
    pixels[32:] = second
    return pixels


def test_a_plain_crop_is_one_number_in_each_channel() -> None:
    pixels = np.full((50, 30, 3), (20, 80, 160), np.uint8)
    row = palette(pixels)
    logs = np.log(np.array([20, 80, 160]) + DARKEST)
    assert row.shape == (40,) and row.dtype == np.float32
    assert row[:21] == pytest.approx(np.tile(logs, 7), abs=1e-5)
    assert row[21:28] == pytest.approx(np.full(7, logs.mean()), abs=1e-5)
    assert row[28:] == pytest.approx(np.tile(logs, 4), abs=1e-5)


def test_light_moves_all_alike_and_a_shade_only_its_own_part() -> None:
    before, dimmed, shaded = (palette(thing(*colours))
                              for colours in ((200, 60), (100, 30), (120, 60)))
    assert (before - dimmed) == pytest.approx(np.full(40, np.log(2)), abs=0.07)
    # The upper bands are of the first colour, the lower ones of the second.
    assert (before - shaded)[28:31] == pytest.approx(np.full(3, np.log(204 / 124)), abs=1e-4)
    assert (before - shaded)[37:] == pytest.approx(np.zeros(3), abs=1e-4)
