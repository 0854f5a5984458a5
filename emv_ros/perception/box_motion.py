"""Where a box will be: a Kalman filter of its centre and size, each with a velocity that fades.

Pictures come ten times a second or once in two. Over long pauses a steady velocity would carry a
thing across the picture, while what a hand moves has stopped; so a velocity dies down within
`FADING_S`. The camera's own motion is put in by `warp`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from emv_ros.perception.detections import Box

Floats = NDArray[np.float64]

FADING_S = 0.3  # within which a velocity falls to a third
# Standard deviations as shares of the size of the box.
_PLACE = 0.05  # of a measured centre or size
_VELOCITY = 1.0  # of an unknown velocity, a second
_PUSH = 1.5  # that a velocity gains of its own in a second


class BoxMotion:
    """Centre x, centre y, width and height with their velocities, in pixels and seconds."""

    def __init__(self, box: Box) -> None:
        self._place = _measured(box)
        self._velocity: Floats = np.zeros(4)
        spread = self._spread()
        self._variance: Floats = np.zeros((4, 2, 2))  # of place and velocity, axis by axis
        self._variance[:, 0, 0] = (_PLACE * spread) ** 2
        self._variance[:, 1, 1] = (_VELOCITY * spread) ** 2

    @property
    def box(self) -> Box:
        """Where it is held to be."""
        x, y, width, height = self._place.tolist()
        return (x - width / 2, y - height / 2, x + width / 2, y + height / 2)

    def predict(self, elapsed_s: float) -> None:
        """Carry the box on by a time; none or less changes nothing."""
        if elapsed_s <= 0:
            return
        left = math.exp(-elapsed_s / FADING_S)
        step = np.array([[1.0, FADING_S * (1 - left)], [0.0, left]])
        self._place = self._place + step[0, 1] * self._velocity
        self._place[2:] = np.maximum(self._place[2:], 1.0)
        self._velocity = left * self._velocity
        self._variance = step @ self._variance @ step.T
        pushed = (_PUSH * self._spread()) ** 2 * min(elapsed_s, 1.0)
        self._variance[:, 1, 1] += pushed
        self._variance[:, 0, 0] += pushed * step[0, 1] ** 2

    def correct(self, box: Box) -> None:
        """Take in where it was seen."""
        noise = (_PLACE * self._spread()) ** 2
        gain = self._variance[:, :, 0] / (self._variance[:, 0, 0] + noise)[:, None]
        off = _measured(box) - self._place
        self._place = self._place + gain[:, 0] * off
        self._place[2:] = np.maximum(self._place[2:], 1.0)
        self._velocity = self._velocity + gain[:, 1] * off
        self._variance = self._variance - gain[:, :, None] * self._variance[:, None, 0, :]

    def warp(self, warp: Floats) -> None:
        """Move along with the picture: 2 × 3, as of `CameraMotion.update`."""
        turn = warp[:, :2]
        zoom = np.linalg.norm(turn, axis=0)
        self._place = np.concatenate([turn @ self._place[:2] + warp[:, 2], self._place[2:] * zoom])
        self._velocity = np.concatenate([turn @ self._velocity[:2], self._velocity[2:] * zoom])
        self._variance = self._variance * np.tile(zoom ** 2, 2)[:, None, None]

    def _spread(self) -> Floats:
        """Return the size that goes with each axis."""
        return np.maximum(np.tile(self._place[2:], 2), 1.0)


def _measured(box: Box) -> Floats:
    left, top, right, bottom = box
    return np.array([(left + right) / 2, (top + bottom) / 2,
                     max(right - left, 1.0), max(bottom - top, 1.0)])
