"""The pictures of an observation as a vision model gets them: crops, then frames with a box drawn.

They are cut out of stored keyframes and scaled down. One that is marked as gone is
passed over; one that is lost, damaged or no picture is counted as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
import logging
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.errors import EmvError, ImageError
from emv_ros.memory import schema
from emv_ros.memory.cutting import cut, fitted
from emv_ros.memory.scaling import JPEG_QUALITY, scaled
from emv_ros.memory.store import MemoryStore

log = logging.getLogger(__name__)

MAX_CROPS, MAX_FRAMES = 4, 2
CROP_EDGE, FRAME_EDGE = 384, 768
RED = (0, 0, 255)


@dataclass(slots=True)
class Pictured:
    """JPEG files, the crops first; how many of each, and how many could not be read."""

    data: list[bytes] = field(default_factory=list)
    crops: int = 0
    frames: int = 0
    damaged: int = 0


def pictures_of(store: MemoryStore, session: Session, row: schema.ObservationRow) -> Pictured:
    """Return the pictures of an observation, the best first."""
    shown, image = schema.ObservationImageRow, schema.ImageRow
    found = session.execute(
        select(shown, image).join(image, image.id == shown.image_id)
        .where(shown.observation_id == row.id, image.gone == '').order_by(shown.id)).all()
    crops = [(item, stored) for item, stored in found if item.is_crop]
    frames = [(item, stored) for item, stored in found if not item.is_crop]
    boxes = _boxes(session, row.id, [stored.id for _, stored in frames or crops])
    pictured = Pictured()
    for item, stored in crops:
        if item.bbox and pictured.crops < MAX_CROPS and _add(
                store, stored, item.bbox, pictured, is_crop=True):
            pictured.crops += 1
    # Where no whole frame is kept for it, those of the crops show the surroundings.
    for item, stored in frames or crops:
        box = item.bbox or boxes.get(stored.id)
        if box and pictured.frames < MAX_FRAMES and _add(
                store, stored, box, pictured, is_crop=False):
            pictured.frames += 1
    return pictured


def _boxes(session: Session, observation_id: int, image_ids: Sequence[int]) -> dict[int, Any]:
    """Return where an observation stands in pictures, by their ids, as the scenes have it."""
    scene, item, image = schema.SceneRow, schema.SceneObjectRow, schema.ImageRow
    return {image_id: fitted(bbox, extra, (width, height))
            for image_id, bbox, extra, width, height in session.execute(
                select(image.id, item.bbox, scene.extra, image.width, image.height)
                .join(item, item.scene_id == scene.id).join(image, image.id == scene.image_id)
                .where(item.observation_id == observation_id, image.id.in_(image_ids))) if bbox}


def _add(store: MemoryStore, stored: schema.ImageRow, box: Sequence[float], pictured: Pictured,
         *, is_crop: bool) -> bool:
    try:
        data = store.pictures.read(stored.sha256, stored.media_type)
        pictured.data.append(cut(data, box, CROP_EDGE) if is_crop else scaled(
            _boxed(data, box), 'image/jpeg', FRAME_EDGE))
    except EmvError as error:
        pictured.damaged += 1
        log.warning('image %d does not show an observation: %s', stored.id, error)
        return False
    return True


def _pixels(data: bytes) -> Any:
    import cv2

    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    if pixels is None:
        raise ImageError(f'{len(data)} bytes do not decode')
    return pixels


def _boxed(data: bytes, box: Sequence[float]) -> bytes:
    """Return the whole picture with a red box drawn."""
    import cv2

    pixels = _pixels(data)
    thick = max(2, round(max(pixels.shape[:2]) / 240))
    x1, y1, x2, y2 = (round(value) for value in box)
    return _packed(cv2.rectangle(pixels, (x1, y1), (x2, y2), RED, thick))


def _packed(pixels: Any) -> bytes:
    import cv2

    is_done, packed = cv2.imencode('.jpg', pixels, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    if not is_done:
        raise ImageError(f'{pixels.shape} pixels make no JPEG')
    return bytes(packed)
