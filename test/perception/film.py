"""Small real pictures: coloured rectangles on a table, rendered, compressed and stored.

Stamps are seconds after noon of 1 March 2024, UTC.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from emv_ros.memory.store import MemoryStore
from emv_ros.perception.detections import Detection, Pixels
from emv_ros.perception.looks import Thresholds, Vectors
from emv_ros.records import ImageRecord
from emv_ros.timeline import SECOND_NS, parse_stamp

NOON_NS = parse_stamp('2024-03-01T12:00:00Z')[0]
WIDTH, HEIGHT = 320, 240
RED, BLUE, GREEN = (30, 30, 200), (200, 60, 30), (40, 170, 40)  # BGR
BOX = (50, 60)  # width and height of a thing, px

Thing = tuple[tuple[int, int, int], int, int]  # colour, left, top


def at(seconds: float) -> int:
    return NOON_NS + round(seconds * SECOND_NS)


def drawn(*things: Thing) -> Pixels:
    """Return a picture of things on a grey table; each bears a check, so that it is sharp."""
    pixels = np.full((HEIGHT, WIDTH, 3), 120, np.uint8)
    for colour, left, top in things:
        cv2.rectangle(pixels, (left, top), (left + BOX[0] - 1, top + BOX[1] - 1), colour, -1)
        cv2.line(pixels, (left, top + 5), (left + BOX[0] - 1, top + 5), (0, 0, 0), 1)
    return pixels


def box_of(thing: Thing) -> tuple[float, float, float, float]:
    _, left, top = thing
    return (float(left), float(top), float(left + BOX[0]), float(top + BOX[1]))


def stored(store: MemoryStore, seconds: float, pixels: Pixels | bytes, *, camera: str = 'head',
           kind: str = 'jpeg', session_id: int | None = None) -> int:
    """Store a picture (or bytes that are none) and return its id."""
    data = pixels if isinstance(pixels, bytes) else bytes(
        cv2.imencode('.jpg' if kind == 'jpeg' else '.png', pixels)[1])
    return store.add_image(data, ImageRecord(
        stamp_ns=at(seconds), camera=camera, sha256='', media_type=f'image/{kind}', width=WIDTH,
        height=HEIGHT, session_id=session_id))


class ColourDetector:
    """Finds red, blue and green rectangles: a real detector for such pictures."""

    name = 'rectangles'

    def __init__(self, names: dict[str, str] | None = None) -> None:
        self.calls = 0
        self._names = names or {'red': 'cup', 'blue': 'bottle', 'green': 'plant'}

    def detect(self, pixels: Pixels) -> list[Detection]:
        self.calls += 1
        found = []
        blue, green, red = (pixels[..., channel].astype(int) for channel in range(3))
        for colour, own, others in (('red', red, (blue, green)), ('blue', blue, (red, green)),
                                    ('green', green, (red, blue))):
            mask = ((own - others[0] > 60) & (own - others[1] > 60)).astype(np.uint8)
            mask = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((7, 7), np.uint8))
            count, _, stats, _ = cv2.connectedComponentsWithStats(mask)
            for left, top, width, height, size in stats[1:count].tolist():
                if size > 200:
                    found.append(Detection(
                        name=self._names[colour], confidence=0.9,
                        bbox=(float(left), float(top), float(left + width),
                              float(top + height))))
        return found


class Scripted:
    """A detector that gives what is written down for each picture in turn."""

    name = 'script'

    def __init__(self, script: Sequence[Sequence[Detection] | Exception]) -> None:
        self._script = list(script)

    def detect(self, pixels: Pixels) -> list[Detection]:
        step = self._script.pop(0)
        if isinstance(step, Exception):
            raise step
        return list(step)


class MeanColour:
    """A model of looks for such pictures: the mean colour of a crop."""

    name, dimension = 'mean-colour', 3
    thresholds = Thresholds(match=0.99, consistent=0.95, regroup=0.98)

    def embed(self, crops: Sequence[Pixels]) -> Vectors:
        rows = np.stack([crop.reshape(-1, 3).mean(axis=0) for crop in crops])
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)
