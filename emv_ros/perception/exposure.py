"""How brightly a picture was taken, and its crops as if all pictures were taken alike.

The brightest spots of a whole picture are near white under most lights, so that they tell the light
better than its mean does, which what is in the room decides. Brightness alone is brought to a
common one: the same spots tell little of the tint. Two like things of a lighter and a darker shade
can so be told apart in another light. What is stored stays as it was taken.
"""

from __future__ import annotations

import numpy as np

from emv_ros.perception.detections import Pixels

SMALL_PX = 160  # longest edge at which the picture is looked at: single pixels are noise
BLUR = 1.5  # px there
BRIGHTEST = 99.5  # per cent of the pixels that are darker
WHITE = 220.0  # what the brightest are brought to
LEAST, MOST = 0.5, 2.5  # a dark picture may be of dark things


def gain_of(pixels: Pixels) -> float:
    """Return by what a BGR picture has to be multiplied for its brightest to be near white."""
    import cv2

    factor = SMALL_PX / max(pixels.shape[:2])
    small = pixels if factor >= 1 else cv2.resize(
        pixels, (max(1, round(pixels.shape[1] * factor)), max(1, round(pixels.shape[0] * factor))),
        interpolation=cv2.INTER_AREA)
    blurred = cv2.GaussianBlur(small, (0, 0), BLUR).reshape(-1, 3)
    brightest = float(np.percentile(blurred, BRIGHTEST, axis=0).mean())
    return float(np.clip(WHITE / max(brightest, 1.0), LEAST, MOST))


def exposed(crop: Pixels, gain: float) -> Pixels:
    """Return a crop of a picture that has this gain, multiplied by it."""
    return np.asarray(np.clip(crop.astype(np.float32) * np.float32(gain), 0, 255), np.uint8)
