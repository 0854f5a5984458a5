"""A single-shot detector of COCO's 80 kinds of things, run by OpenCV: no further package.

About a tenth of a second a picture on one core. It is weak on small things, since it sees every
picture as 300 × 300.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from emv_ros.errors import PerceptionError
from emv_ros.perception.detections import Detection, Pixels
from emv_ros.perception.raw_boxes import as_colour, detections_of, is_blank

INPUT = (300, 300)  # width and height that the network was trained for
# COCO numbers its kinds from 1; ten numbers were never given.
_NUMBERED = {
    1: 'person bicycle car motorcycle airplane bus train truck boat traffic_light fire_hydrant',
    13: 'stop_sign parking_meter bench bird cat dog horse sheep cow elephant bear zebra giraffe',
    27: 'backpack umbrella', 31: 'handbag tie suitcase frisbee skis snowboard sports_ball kite '
    'baseball_bat baseball_glove skateboard surfboard tennis_racket bottle',
    46: 'wine_glass cup fork knife spoon bowl banana apple sandwich orange broccoli carrot hot_dog '
    'pizza donut cake chair couch potted_plant bed', 67: 'dining_table', 70: 'toilet',
    72: 'tv laptop mouse remote keyboard cell_phone microwave oven toaster sink refrigerator',
    84: 'book clock vase scissors teddy_bear hair_drier toothbrush'}
COCO = {first + place: word.replace('_', ' ') for first, words in _NUMBERED.items()
        for place, word in enumerate(words.split())}


class OpenCvSsd:
    """A TensorFlow graph (.pb) with its description for OpenCV (.pbtxt)."""

    def __init__(self, graph: Path, description: Path, *, min_confidence: float) -> None:
        """Read the graph (a second). Raises PerceptionError."""
        import cv2

        self._min_confidence = min_confidence
        self._name = f'{graph.parent.parent.name}/{graph.name}'
        try:
            self._net = cv2.dnn.readNetFromTensorflow(str(graph), str(description))
        except cv2.error as error:
            raise PerceptionError(f'detector {graph} cannot be read: {error.err}') from error

    @property
    def name(self) -> str:
        """The package and the file."""
        return self._name

    @property
    def labels(self) -> frozenset[str]:
        """The names that it can give; empty where it does not tell."""
        return frozenset(COCO.values())

    def detect(self, pixels: Pixels) -> list[Detection]:
        """Return what is in a picture, the surest first. Raises PerceptionError."""
        import cv2

        picture = as_colour(pixels)
        if is_blank(picture):
            return []
        height, width = picture.shape[:2]
        try:
            self._net.setInput(cv2.dnn.blobFromImage(picture, size=INPUT, swapRB=True))
            # One row a finding: picture, kind, confidence, corners as shares of the picture.
            rows = self._net.forward().reshape(-1, 7)
        except cv2.error as error:
            raise PerceptionError(f'detector {self._name} failed: {error.err}') from error
        corners = rows[:, 3:7] * np.array([width, height, width, height], np.float32)
        return detections_of(
            corners, rows[:, 2], rows[:, 1], COCO, (width, height), self._min_confidence)
