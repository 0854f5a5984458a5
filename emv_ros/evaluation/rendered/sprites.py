"""A thing as it is seen from one side: its pixels with how much each covers.

A texture is wrapped around the shape and turned by `yaw`; light comes from one side. Perspective
of a whole scene, blur and the rest are not done here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emv_ros.evaluation.rendered.objects import BOXES, ROUND, TEXTURE_WIDTH, Texture, Thing

Sprite = NDArray[np.float32]  # height × width × 4: B, G, R in 0..255 and the cover in 0..1
PITCH = 0.35  # how far the camera looks down, as the sine of the angle


def sprite(thing: Thing, around: Texture, height_px: float, yaw: float, light: float) -> Sprite:
    """Return a thing seen from one side.

    `height_px` is that of a thing of size 1, `yaw` the turn in rad, `light` the sine of where the
    light comes from, -1 left to 1 right.
    """
    unit = height_px * thing.size
    if thing.kind in BOXES:
        return _box(around, unit, BOXES[thing.kind], yaw, light)
    high, wide = ROUND[thing.kind]
    return _round(thing, around, (unit * high, unit * wide), yaw, light)


def _round(thing: Thing, around: Texture, size: tuple[float, float], yaw: float,
           light: float) -> Sprite:
    import cv2

    high, wide = size
    rim = max(2, round(wide / 2 * PITCH * (0.35 if thing.kind == 'bottle' else 1.0)))
    margin = round(wide * 0.35) if thing.kind == 'mug' else 2
    rows, columns = round(high) + 2 * rim + 2, round(wide) + 2 * margin
    y, x = np.mgrid[0:rows, 0:columns].astype(np.float32)
    x = (x - (columns - 1) / 2) / (wide / 2)
    # Rings are seen from above: what is in front hangs lower.
    above = _profile(thing.kind, np.clip((y - rim) / high, 0, 1))
    v = (y - rim - rim * np.sqrt(np.clip(above**2 - x**2, 0, 1))) / high
    radius = _profile(thing.kind, np.clip(v, 0, 1))
    inside = (np.abs(x) < radius) & (v >= 0) & (v <= 1)
    angle = np.arcsin(np.clip(x / radius, -1, 1))
    u = ((angle + yaw) / (2 * np.pi) * TEXTURE_WIDTH) % TEXTURE_WIDTH
    color = cv2.remap(around, u.astype(np.float32), (np.clip(v, 0, 1) * 127).astype(np.float32),
                      cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP).astype(np.float32)
    shade = 0.55 + 0.45 * np.clip(np.cos(angle - light), 0, 1)
    made = np.dstack([color * shade[..., None], inside.astype(np.float32)])
    top = float(_profile(thing.kind, np.zeros(1, np.float32))[0])
    opening = (x / top)**2 + ((y - rim) / (rim * top))**2 < 1
    made[opening] = (*(np.mean(around, axis=(0, 1)) * 0.45), 1)
    if thing.kind == 'mug':
        _handle(made, around, (high, wide), (rim, margin), yaw)
    return made.astype(np.float32)


def _handle(made: Sprite, around: Texture, size: tuple[float, float],
            edges: tuple[int, int], yaw: float) -> None:
    """Draw the handle where the turn has brought it, behind the mug or in front of it."""
    import cv2

    (high, wide), (rim, margin) = size, edges
    side = np.sin(1.2 - yaw)
    centre = (round(made.shape[1] / 2 + side * wide / 2), round(rim * 1.5 + high / 2))
    layer = np.zeros(made.shape, np.float32)
    axes = (max(2, round(margin * 0.8 * abs(side))), max(3, round(high * 0.26)))
    color = (*(np.median(around, axis=(0, 1)) * 0.8).tolist(), 1.0)
    cv2.ellipse(layer, centre, axes, 0, 0, 360, color, max(2, round(high * 0.1)), cv2.LINE_AA)
    is_front = np.cos(1.2 - yaw) > 0
    where = layer[..., 3] > 0.5 if is_front else (layer[..., 3] > 0.5) & (made[..., 3] < 0.5)
    made[where] = layer[where]


def _profile(kind: str, v: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the radius (1 is the widest) at a height from the top, 0..1."""
    match kind:
        case 'bottle':
            made = np.where(v < 0.3, 0.36, np.where(v < 0.45, 0.36 + (v - 0.3) / 0.15 * 0.62, 0.98))
        case 'bowl':
            made = np.sqrt(np.clip(1 - (v * 0.9)**2, 0.1, 1))
        case 'jar':
            made = np.where(v < 0.14, 0.72, 0.97 - 0.05 * np.abs(v - 0.6))
        case 'vase':
            made = 0.62 + 0.36 * np.sin(np.pi * np.clip(v * 1.1 - 0.1, 0, 1))
        case _:
            made = np.full(v.shape, 0.98)
    return made.astype(np.float32)


def _box(around: Texture, unit: float, size: tuple[float, float, float], yaw: float,
         light: float) -> Sprite:
    import cv2

    high, wide, deep = (unit * length for length in size)
    front_px, side_px = wide * abs(np.cos(yaw)) + 1, deep * abs(np.sin(yaw)) + 1
    slant = 0.18 * side_px
    rows, columns = round(high + slant) + 4, round(front_px + side_px) + 4
    made = np.zeros((rows, columns, 4), np.float32)
    is_left = np.sin(yaw) < 0
    split = side_px if is_left else front_px
    faces = ((around[:, :192], is_left, 0.75 + 0.2 * light),
             (around[:, 192:320], not is_left, 0.75 - 0.2 * light))
    for face, is_right, shade in faces:
        left, right = (split, front_px + side_px) if is_right else (0.0, split)
        outer, inner = (0.0, slant) if is_right else (slant, 0.0)
        # The edge between both faces is nearest, so it hangs lowest.
        target = np.array([[left, inner * 0.4 + 1], [right, outer * 0.4 + 1],
                           [right, high + (0 if is_right else slant)],
                           [left, high + (slant if is_right else 0)]], np.float32)
        source = np.array([[0, 0], [face.shape[1], 0], [face.shape[1], 128], [0, 128]], np.float32)
        matrix = cv2.getPerspectiveTransform(source, target)
        layer = np.dstack([face * shade, np.ones(face.shape[:2])]).astype(np.float32)
        warped = cv2.warpPerspective(layer, matrix, (columns, rows), flags=cv2.INTER_AREA)
        cover = warped[..., 3:]
        made = warped + made * (1 - cover)
    return made
