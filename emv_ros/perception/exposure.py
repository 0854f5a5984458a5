"""How brightly a picture was taken, and its crops as if all pictures were taken alike.

The brightest spots of a picture are near white under most lights, so that they tell the light
better than its mean does, which what is in the room decides. Those above and below a thing count
most, since shadows lie across a room, and those of the whole picture for the rest, since a part may
have no bright spot. Brightness alone is brought to a common one: the same spots tell little of the
tint. Two like things of a lighter and a darker shade can so be told apart in another light. What is
stored stays as it was taken.
"""

from __future__ import annotations

import numpy as np

from emv_ros.perception.detections import Box, Pixels

SMALL_PX = 160  # longest edge at which the picture is looked at: single pixels are noise
BLUR = 1.5  # px there
BRIGHTEST = 99.5  # per cent of the pixels that are darker
WHITE = 220.0  # what the brightest are brought to
LEAST, MOST = 0.5, 2.5  # a dark picture may be of dark things
REACH = 0.22  # of the longest edge: so far to each side of a thing's middle is near it
NEAR = 0.7  # what the brightest near a thing count, in logarithms; those of the whole the rest


class Light:
    """In what light a BGR picture was taken, as a whole and near each thing."""

    def __init__(self, pixels: Pixels) -> None:
        """Look at a picture once, at a small size."""
        import cv2

        self._factor = min(1.0, SMALL_PX / max(pixels.shape[:2]))
        size = [max(1, round(edge * self._factor)) for edge in pixels.shape[1::-1]]
        small = pixels if self._factor == 1 else cv2.resize(
            pixels, size, interpolation=cv2.INTER_AREA)
        self._small = cv2.GaussianBlur(small, (0, 0), BLUR)
        self._whole = _brightest(self._small)

    def gain(self, bbox: Box | None = None) -> float:
        """Return by what to multiply for the brightest to be near white: near a box, or at all."""
        if bbox is None:
            return float(np.clip(WHITE / self._whole, LEAST, MOST))
        middle = (bbox[0] + bbox[2]) / 2 * self._factor
        reach, width = REACH * max(self._small.shape[:2]), self._small.shape[1]
        left = min(int(max(0, middle - reach)), width - 1)
        near = _brightest(self._small[:, left:max(left, int(min(width, middle + reach))) + 1])
        return float(np.clip(WHITE / (near**NEAR * self._whole**(1 - NEAR)), LEAST, MOST))


def _brightest(pixels: Pixels) -> float:
    return max(1.0, float(np.percentile(pixels.reshape(-1, 3), BRIGHTEST, axis=0).mean()))


def exposed(crop: Pixels, gain: float) -> Pixels:
    """Return a crop of a picture that has this gain, multiplied by it."""
    return np.asarray(np.clip(crop.astype(np.float32) * np.float32(gain), 0, 255), np.uint8)
