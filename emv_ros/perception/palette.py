"""How bright a thing is, and how much brighter one part of it than another, in each channel.

Logarithms of the brightness, sorted and from top to bottom: another light moves all of them alike,
another shade of one of two colours only some. A linear metric can so tell shades from lights, which
a histogram's wide cells cannot.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emv_ros.perception.detections import Pixels

EDGE_PX = 32
DARKEST = 4.0  # added to each value: below it, noise decides
PER_CENT = (5, 15, 30, 50, 70, 85, 95)
MIDDLE = slice(6, 28), slice(7, 25)  # rows and columns that mostly show the thing
BANDS, BAND_PX, COLUMNS = (5, 11, 17, 23), 6, slice(8, 24)

Row = NDArray[np.float32]


def palette(crop: Pixels) -> Row:
    """Return 40 logarithms: percentiles of each channel and of all, and the means of four bands."""
    import cv2

    small = cv2.resize(crop, (EDGE_PX, EDGE_PX), interpolation=cv2.INTER_AREA)
    logs = np.log(small.astype(np.float32) + np.float32(DARKEST))
    middle = logs[MIDDLE].reshape(-1, 3)
    return np.concatenate([
        np.percentile(middle, PER_CENT, axis=0).ravel(),
        np.percentile(middle.mean(axis=1), PER_CENT),
        *(logs[top:top + BAND_PX, COLUMNS].reshape(-1, 3).mean(axis=0) for top in BANDS),
    ]).astype(np.float32)
