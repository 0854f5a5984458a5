"""Which colours a crop has, and how much of each, whatever the light: a histogram in CIE Lab.

The middle of the crop counts most, since its corners show what lies behind. Brightness is brought
to a common mean first (within limits: what is black stays dark), unless it shall tell shades apart.
Each pixel counts for several neighbouring cells, so that a slight tint moves little.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emv_ros.perception.detections import Pixels

EDGE_PX = 32
LIGHTNESS = np.linspace(10, 90, 6, dtype=np.float32)
CHROMA = np.linspace(-60, 60, 10, dtype=np.float32)
LIGHTNESS_SPREAD, CHROMA_SPREAD = 14.0, 10.0
CELLS = len(LIGHTNESS) * len(CHROMA)**2
MEAN_LIGHTNESS, MOST_GAIN = 50.0, 2.0

Row = NDArray[np.float32]


def colour_histogram(crop: Pixels, *, is_levelled: bool = True) -> Row:
    """Return CELLS numbers, the roots of shares: their squares add up to 1.

    `is_levelled`: with the brightness brought to a common mean.
    """
    import cv2

    small = cv2.resize(crop, (EDGE_PX, EDGE_PX), interpolation=cv2.INTER_AREA)
    lab = cv2.cvtColor(small.astype(np.float32) / 255, cv2.COLOR_BGR2LAB).reshape(-1, 3)
    if is_levelled:
        mean = float(lab[:, 0] @ _WEIGHTS)
        lab = lab * np.float32(np.clip(MEAN_LIGHTNESS / max(mean, 1.0), 1 / MOST_GAIN, MOST_GAIN))
    light = _shares(lab[:, 0], LIGHTNESS, LIGHTNESS_SPREAD)
    green_red = _shares(lab[:, 1], CHROMA, CHROMA_SPREAD)
    blue_yellow = _shares(lab[:, 2], CHROMA, CHROMA_SPREAD)
    chroma = (green_red[:, :, None] * blue_yellow[:, None, :]).reshape(len(lab), -1)
    cells = (chroma * _WEIGHTS[:, None]).T @ light
    return np.asarray(np.sqrt(cells / cells.sum()).ravel(), np.float32)


def _shares(values: Row, centres: Row, spread: float) -> Row:
    """Return how much each value (rows) belongs to each centre (columns)."""
    nearness = np.exp(-((values[:, None] - centres) / spread)**2 / 2)
    shares: Row = nearness / (nearness.sum(axis=1, keepdims=True) + 1e-9)
    return shares


def _weights() -> Row:
    """Return what each pixel counts, the middle most; all add up to 1."""
    down, across = np.mgrid[0:EDGE_PX, 0:EDGE_PX] - (EDGE_PX - 1) / 2
    weights = np.exp(-((down / 10)**2 + (across / 8)**2) * 0.6).ravel()
    return np.asarray(weights / weights.sum(), np.float32)


_WEIGHTS = _weights()
