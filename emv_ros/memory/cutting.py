"""The pictures that show observations: which those are, and what a box in one of them holds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import select

from emv_ros.errors import ImageError
from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.rows import record_of
from emv_ros.memory.scaling import JPEG_QUALITY
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ImageRecord

# A crop shows this much of its box's size around it.
MARGIN = 0.1


@dataclass(frozen=True, slots=True)
class Shown:
    """A stored picture that shows an observation; `bbox` x1, y1, x2, y2 in px, None for all."""

    image: ImageRecord
    bbox: tuple[float, float, float, float] | None = None

    def read(self, store: MemoryStore, max_edge: int = 0) -> bytes:
        """Return the crop as a JPEG file, or the whole picture as it is stored.

        Raises NotFoundError, which says why, or StoreError for a file that is gone or damaged,
        ImageError.
        """
        data = store.read_picture(self.image)
        if self.bbox is None:
            return data
        return cut(data, self.bbox, max_edge)


def shown_in(store: MemoryStore, observation_ids: Collection[int]) -> dict[int, list[Shown]]:
    """Return the pictures of observations: crops first, of each kind the best first."""
    part, image = schema.ObservationImageRow, schema.ImageRow
    found: dict[int, list[Shown]] = {}
    with store.reading() as session:
        robots = store.robot_ids(session)
        rows = session.execute(
            select(part, image).join(image, image.id == part.image_id)
            .where(among(part.observation_id, list(observation_ids)))
            .order_by(part.is_crop.desc(), part.id))
        for item, stored in rows:
            box = tuple(item.bbox) if item.is_crop and item.bbox else None
            found.setdefault(item.observation_id, []).append(Shown(
                record_of('image', stored, robots[stored.robot_id]), box))
    return found


def fitted(box: Sequence[float], told: Mapping[str, Any],
           size: tuple[int, int]) -> tuple[float, float, float, float]:
    """Return a box of a scene as it lies in the stored picture of `size` (width, height, px).

    `told` is the `extra` of the scene, which may tell the size of the picture that the box refers
    to: the robot's detector may have seen it scaled.
    """
    match told.get('image_width'), told.get('image_height'):
        case int(width), int(height) if width > 0 and height > 0:
            across, down = size[0] / width, size[1] / height
        case _:
            across = down = 1.0
    return box[0] * across, box[1] * down, box[2] * across, box[3] * down


def cut(data: bytes, box: Sequence[float], max_edge: int = 0) -> bytes:
    """Return what a box holds, with a margin, as a JPEG of at most `max_edge` px (0: any).

    Raises ImageError for data that is no picture and for a box that lies outside of it.
    """
    import cv2

    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    if pixels is None:
        raise ImageError(f'{len(data)} bytes do not decode as a picture')
    height, width = pixels.shape[:2]
    if len(box) != 4 or not all(np.isfinite(box)):
        raise ImageError(f'{list(box)} is no box')
    across, down = (box[2] - box[0]) * MARGIN, (box[3] - box[1]) * MARGIN
    left, right = max(0, round(box[0] - across)), min(width, round(box[2] + across))
    top, bottom = max(0, round(box[1] - down)), min(height, round(box[3] + down))
    if right <= left or bottom <= top:
        raise ImageError(f'the box {list(box)} lies outside the {width}×{height} pixels')
    crop = pixels[top:bottom, left:right]
    factor = max_edge / max(crop.shape[:2]) if max_edge else 1.0
    if factor < 1:
        size = max(1, round(crop.shape[1] * factor)), max(1, round(crop.shape[0] * factor))
        crop = cv2.resize(crop, size, interpolation=cv2.INTER_AREA)
    is_done, packed = cv2.imencode('.jpg', crop, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    if not is_done:
        raise ImageError(f'{crop.shape} pixels make no JPEG')
    return bytes(packed)
