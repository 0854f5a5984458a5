"""Finds faces in pictures, offline: by the cascades that OpenCV carries, or a YuNet checkpoint.

The cascades find most upright faces from 24 px on (of a picture shrunk to 960 px), from the front
and from either side, and now and then something that is no face; YuNet finds more. Neither finds
all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emv_ros.errors import SettingsError

SMALLEST_PX = 24
LONGEST_PX = 960  # of a picture that is searched: larger ones take most of a second
SCALE = 1.15  # from one size that is looked for to the next
NEIGHBOURS = 3  # hits beside one another that make a face
# Where the packages of a distribution put them, whose cv2 does not tell.
SYSTEM_FOLDERS = ('/usr/share/opencv4/haarcascades', '/usr/share/opencv/haarcascades')
FRONTAL, PROFILE = 'haarcascade_frontalface_alt2.xml', 'haarcascade_profileface.xml'

Box = tuple[float, float, float, float]


class CascadeFaces:
    """Haar cascades: faces from the front, and from both sides."""

    def __init__(self) -> None:
        """Load them. Raises SettingsError where this OpenCV carries none."""
        import cv2

        carried = getattr(getattr(cv2, 'data', None), 'haarcascades', '')
        folder = next((folder for folder in map(Path, filter(None, (carried, *SYSTEM_FOLDERS)))
                       if (folder / FRONTAL).is_file()), Path(carried))
        make = getattr(cv2, 'CascadeClassifier', None)
        self._cascades: list[Any] = []
        for name in (FRONTAL, PROFILE):
            file = folder / name
            cascade = make(str(file)) if make is not None and file.is_file() else None
            if cascade is None or cascade.empty():
                raise SettingsError(
                    f'privacy.blur_faces: this OpenCV {cv2.__version__} does not carry {name}: '
                    'name a YuNet checkpoint in privacy.face_model')
            self._cascades.append(cascade)

    def boxes(self, pixels: NDArray[np.uint8]) -> list[Box]:
        """Return the boxes of faces in a BGR picture."""
        import cv2

        scale = min(1.0, LONGEST_PX / max(pixels.shape[:2]))
        grey = cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY)
        if scale < 1.0:
            height, width = (max(1, round(edge * scale)) for edge in grey.shape)
            grey = cv2.resize(grey, (width, height), interpolation=cv2.INTER_AREA)
        grey = cv2.equalizeHist(grey)
        width = grey.shape[1]
        frontal, profile = self._cascades
        found = [*_found(frontal, grey), *_found(profile, grey)]
        # The cascade knows one side; the other is that side in the mirror.
        found += [(width - x2, y1, width - x1, y2)
                  for x1, y1, x2, y2 in _found(profile, cv2.flip(grey, 1))]
        return [(x1 / scale, y1 / scale, x2 / scale, y2 / scale) for x1, y1, x2, y2 in found]


class YuNetFaces:
    """A YuNet checkpoint, as OpenCV's model zoo has it."""

    def __init__(self, path: Path, min_confidence: float) -> None:
        """Load it and try it once. Raises SettingsError."""
        import cv2

        if not path.is_file():
            raise SettingsError(f'privacy.face_model: there is no file {path}')
        try:
            self._detector = cv2.FaceDetectorYN.create(
                str(path), '', (320, 320), score_threshold=min_confidence)
            self.boxes(np.full((120, 160, 3), 127, np.uint8))
        except (cv2.error, AttributeError) as error:
            raise SettingsError(
                f'privacy.face_model: {path} is no YuNet checkpoint: {error}') from error

    def boxes(self, pixels: NDArray[np.uint8]) -> list[Box]:
        """Return the boxes of faces in a BGR picture."""
        height, width = pixels.shape[:2]
        self._detector.setInputSize((width, height))
        _, faces = self._detector.detect(np.ascontiguousarray(pixels))
        return [] if faces is None else [
            (float(x), float(y), float(x + w), float(y + h)) for x, y, w, h, *_ in faces]


def _found(cascade: Any, grey: NDArray[Any]) -> list[Box]:
    found = cascade.detectMultiScale(
        grey, SCALE, NEIGHBOURS, minSize=(SMALLEST_PX, SMALLEST_PX))
    return [(float(x), float(y), float(x + w), float(y + h)) for x, y, w, h in found]
