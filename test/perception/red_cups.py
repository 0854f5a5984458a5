"""A real detector for one film: red cups by their colour, and the film's pictures.

Three like cups are shuffled by hand in ../shared/data/cups.mcap. A red region that is too large
for one cup is several, one before the other: the one with the lowest foot is taken out first.
"""

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from emv_ros.ingest.bag_reader import BagReader
from emv_ros.ingest.compressed import decode_compressed
from emv_ros.perception.detections import Detection, Pixels

FILM = Path(__file__).resolve().parents[3] / 'shared' / 'data' / 'cups.mcap'
# px of 640 × 360
WIDTH, HEIGHT, SPARE = 80, 118, 12
FULL_AREA = 6900  # red px of a whole cup
MIN_AREA = 900  # less is the edge of a covered cup


def pictures() -> Iterator[tuple[int, Pixels]]:
    """Yield the stamp and the pixels of each picture of the film."""
    reader = BagReader(FILM)
    for raw in reader.messages():
        message = reader.decode(raw)
        stamp = message.header.stamp
        yield (stamp.sec * 1_000_000_000 + stamp.nanosec,
               decode_compressed(bytes(message.data)))


class RedCups:
    """Finds cups by their colour."""

    name = 'red cups'

    def detect(self, pixels: Pixels) -> list[Detection]:
        hue, saturation, value = cv2.split(cv2.cvtColor(pixels, cv2.COLOR_BGR2HSV))
        red = ((hue < 6) | (hue > 168)) & (saturation > 140) & (value > 70)
        kernel = np.ones((5, 5), np.uint8)
        mask = cv2.morphologyEx(red.astype(np.uint8), cv2.MORPH_OPEN, kernel)
        mask = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, kernel)
        return sorted(
            (Detection(name='cup', bbox=box, confidence=confidence)
             for box, confidence in _cups(mask)), key=lambda found: -(found.confidence or 0))


def _cups(mask: np.ndarray) -> Iterator[tuple[tuple[float, float, float, float], float]]:
    """Yield the box of each cup and the share of it that is seen, the nearest of a group first."""
    waiting = _pieces(mask)
    while waiting:
        part = waiting.pop()
        left, top, width, height = cv2.boundingRect(part)
        box = (left, top, left + width, top + height)
        if width > WIDTH + SPARE or height > HEIGHT + SPARE:
            box = _nearest(part, box)
        inside = part[box[1]:box[3], box[0]:box[2]]
        yield tuple(map(float, box)), round(min(1.0, inside.sum() / FULL_AREA), 3)
        part[max(0, box[1] - 6):box[3] + 6, max(0, box[0] - 6):box[2] + 6] = 0
        waiting += _pieces(part)


def _pieces(mask: np.ndarray) -> list[np.ndarray]:
    """Return the regions of a mask that are large enough to be looked at."""
    count, regions = cv2.connectedComponents(mask)
    parts = [(regions == region).astype(np.uint8) for region in range(1, count)]
    return [part for part in parts if part.sum() >= MIN_AREA]


def _nearest(part: np.ndarray, box: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """Return the box of the cup whose foot is lowest: it stands before the others."""
    _, top, _, bottom = box
    across = np.flatnonzero(part[bottom - 14:bottom - 6].any(axis=0))
    runs = np.split(across, np.flatnonzero(np.diff(across) > 3) + 1)
    foot = max(runs, key=len)
    middle = int((foot[0] + foot[-1]) // 2)
    left = max(box[0], middle - WIDTH // 2)
    right = min(box[2], middle + WIDTH // 2)
    return (left, max(top, bottom - HEIGHT), right, bottom)


# Which cup is which from left to right, seen by eye picture by picture: A covers the ball at the
# start, at the end the ball is under the right one. Left out: where two have one middle.
TRUTH = {
    (0, 18): 'AMR', (20, 22): 'MAR', (25, 31): 'AMR', (32, 32): 'ARM', (33, 33): 'RAM',
    (34, 47): 'RMA', (49, 59): 'RAM', (61, 70): 'ARM', (72, 74): 'AMR', (75, 83): 'MAR',
    (85, 99): 'MRA'}


def cups_of(index: int, detections: list[Detection]) -> list[str]:
    """Return which cup each detection of a picture is; [] where that is not known."""
    for (first, last), order in TRUTH.items():
        if first <= index <= last and len(detections) == len(order):
            places = sorted(range(len(order)), key=lambda at: sum(detections[at].bbox[::2]))
            return [order[places.index(at)] for at in range(len(order))]
    return []
