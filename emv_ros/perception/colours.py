"""What colour a thing has, in a word: by the hue of its middle, whatever the light.

A thing of one colour has its name, one of two has both ('red and white'); one of many has none.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from emv_ros.perception.detections import Pixels

MIDDLE = 0.6  # of width and height: the rest is background
SAMPLES = 32  # per edge
SOLE, BOTH, SECOND = 0.6, 0.75, 0.25  # shares of the pixels

# OpenCV's hue is 0..179; each name up to the hue that stands with it.
_HUES = ((8, 'red'), (20, 'orange'), (34, 'yellow'), (84, 'green'), (98, 'turquoise'),
         (130, 'blue'), (148, 'purple'), (168, 'pink'), (180, 'red'))
_NAMES = ('black', 'grey', 'white', 'brown', *dict.fromkeys(name for _, name in _HUES))
_DARK, _BRIGHT = 45, 180  # brightness (0..255) below which it is black, above which white
_FAINT = 50  # saturation below which a colour is none
_DEEP = 150  # brightness below which orange is brown


def colour_of(pixels: Pixels) -> str | None:
    """Return the name of the colour, or of both colours, of a crop; None where it has many."""
    import cv2

    height, width = pixels.shape[:2]
    top, left = round(height * (1 - MIDDLE) / 2), round(width * (1 - MIDDLE) / 2)
    middle = pixels[top:max(top + 1, height - top), left:max(left + 1, width - left)]
    small = cv2.resize(middle, (SAMPLES, SAMPLES), interpolation=cv2.INTER_AREA)
    shares = Counter(_names_of(cv2.cvtColor(small, cv2.COLOR_BGR2HSV)).ravel().tolist())
    (first, count), *rest = shares.most_common(2)
    total = SAMPLES * SAMPLES
    if count >= SOLE * total and not (rest and rest[0][1] >= SECOND * total):
        return _NAMES[first]
    if rest and count + rest[0][1] >= BOTH * total and rest[0][1] >= SECOND * total:
        return f'{_NAMES[first]} and {_NAMES[rest[0][0]]}'
    return _NAMES[first] if count >= SOLE * total else None


def _names_of(hsv: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return of each pixel the place of its name in _NAMES."""
    hue, saturation, value = (hsv[..., channel].astype(np.int64) for channel in range(3))
    limits = np.array([limit for limit, _ in _HUES])
    of_hue = np.array([_NAMES.index(name) for _, name in _HUES])
    named = of_hue[np.searchsorted(limits, hue, side='right').clip(max=len(limits) - 1)]
    is_brown = (value < _DEEP) & np.isin(named, [_NAMES.index('orange')])
    named = np.where(is_brown, _NAMES.index('brown'), named)
    # Dark pixels are noisy in their saturation: the darker, the more of it a colour takes.
    is_faint = saturation < _FAINT + np.maximum(0, 90 - value)
    grey = np.where(value >= _BRIGHT, _NAMES.index('white'), _NAMES.index('grey'))
    named = np.where(is_faint, grey, named)
    return np.asarray(np.where(value < _DARK, _NAMES.index('black'), named))
