"""Pictures with something to hide: a drawn face, and a person of the demonstration's recording."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
import re
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

import emv_ros
from emv_ros.ingest.bag_reader import BagReader

RECORDING = Path(emv_ros.__file__).parent / 'demo' / 'recording' / 'household'
# In this picture of it a person stands here, x1, y1, x2, y2 in px.
PERSON_AT, PERSON_BOX = 91, (25, 46, 72, 176)
FACE_BOX = (160, 90, 240, 200)


def drawn_face(width: int = 480, height: int = 360) -> NDArray[np.uint8]:
    """A face with hair, brows, eyes, nose and mouth, whose inner part is FACE_BOX."""
    picture = np.full((height, width, 3), 90, np.uint8)
    centre_x, centre_y = 200, 148
    face_w, face_h = 120, 162

    def ellipse(dx: float, dy: float, rx: float, ry: float, colour: tuple[int, int, int],
                end: int = 360, start: int = 0) -> None:
        cv2.ellipse(picture, (int(centre_x + dx * face_w), int(centre_y + dy * face_h)),
                    (int(rx * face_w), int(ry * face_h)), 0, start, end, colour, -1)

    dark = (30, 40, 50)
    ellipse(0, -.12, .52, .5, dark, start=180)
    ellipse(0, 0, .5, .5, (150, 180, 220))
    ellipse(0, -.34, .45, .17, dark, start=180)
    for side in (-.21, .21):
        ellipse(side, -.13, .15, .09, (110, 135, 170))
        ellipse(side, -.19, .13, .022, (40, 50, 60))
        ellipse(side, -.10, .10, .04, (235, 235, 235))
        cv2.circle(picture, (int(centre_x + side * face_w), int(centre_y - .10 * face_h)),
                   int(.045 * face_w), dark, -1)
    ellipse(0, .08, .05, .13, (165, 195, 232))
    ellipse(0, .15, .09, .02, (100, 120, 150), end=180)
    ellipse(0, .28, .19, .035, (80, 80, 150))
    return cv2.GaussianBlur(picture, (0, 0), 2.0)


@lru_cache(maxsize=1)
def jpeg_of_a_person() -> bytes:
    """The bytes of a picture of the recording, as the camera sent them."""
    reader, number = BagReader(RECORDING), 0
    for message in reader.messages():
        if message.topic.type == 'sensor_msgs/msg/CompressedImage':
            number += 1
            if number == PERSON_AT:
                return bytes(reader.decode(message).data)
    raise AssertionError('the recording is shorter than it was')


def decoded(data: bytes) -> NDArray[np.uint8]:
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)


def is_covered(picture: NDArray[np.uint8], box: tuple[int, int, int, int]) -> bool:
    """Whether nothing but one grey is there, as far as JPEG keeps it."""
    x1, y1, x2, y2 = box
    region = picture[y1:y2, x1:x2].astype(int)
    return bool(np.abs(region - 127).max() <= 6)


def pictures_in(folder: Path) -> list[NDArray[np.uint8]]:
    """All pictures under a folder, whatever their files are called."""
    found = []
    for file in folder.rglob('*'):
        if file.is_file() and re.search(rb'^(\xff\xd8|\x89PNG)', data := file.read_bytes()):
            found.append(decoded(data))
    return found


def files_with(folder: Path, *words: str) -> list[tuple[str, str]]:
    """The files under a folder whose bytes hold one of the words, in any case."""
    return [(file.name, word) for file in folder.rglob('*') if file.is_file()
            for word in words if word.lower().encode() in file.read_bytes().lower()]


def strings_in(value: Any) -> list[str]:
    """All texts in a JSON value."""
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in items for text in strings_in(item)]
