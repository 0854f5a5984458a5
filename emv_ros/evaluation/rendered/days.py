"""Days of a made-up household as clips of pictures with true boxes and identities.

Each thing is seen in about one clip a day. Clips differ in room, light (gain, tint, shadow), scale,
the side that is seen, blur, noise and JPEG quality; within a clip the camera sways and something
may stand in front. Boxes are those of a careful detector: off by a few per cent. Equal seeds give
equal pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emv_ros.evaluation.rendered.objects import Thing, make_things, texture
from emv_ros.evaluation.rendered.sprites import Sprite, sprite
from emv_ros.perception.detections import Box

WIDTH, HEIGHT = 640, 480
SECOND_NS, DAY_NS = 10**9, 86400 * 10**9
START_NS = 1_780_293_600 * 10**9
BASE_PX = 95.0


@dataclass(frozen=True, slots=True)
class Seen:
    """One true thing in one picture."""

    key: int
    name: str
    bbox: Box


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture, as JPEG, with all that is in it."""

    stamp_ns: int
    jpeg: bytes
    seen: tuple[Seen, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """How long, how much and how alike; the defaults are what is reported."""

    seed: int = 0
    things: int = 34
    pairs: int = 12
    days: int = 5
    shortest: int = 10
    longest: int = 30

    def made(self) -> list[Thing]:
        """Return the things that are seen."""
        return make_things(self.seed, self.things, self.pairs)

    def clips(self, places: Sequence[int] | None = None) -> Iterator[list[Frame]]:
        """Yield each clip's frames, one a second, in order of time; at `places` alone where given.

        What is left out is not rendered, and what follows is drawn from other chance.
        """
        things = self.made()
        around = [texture(thing) for thing in things]
        rng = np.random.default_rng([self.seed, 2])
        for day in range(self.days):
            stamp_ns = START_NS + day * DAY_NS
            for keys in _groups(rng, things):
                count = int(rng.integers(self.shortest, self.longest + 1))
                shot = _Shot(rng, self.seed, [things[key] for key in keys],
                             [around[key] for key in keys])
                yield [shot.frame(at, stamp_ns + at * SECOND_NS)
                       for at in (range(count) if places is None else places)]
                stamp_ns += int(rng.integers(300, 1200)) * SECOND_NS


def _groups(rng: np.random.Generator, things: Sequence[Thing]) -> Iterator[list[int]]:
    """Yield who is seen together: each once, some twice; a third of the like pairs together."""
    order = rng.permutation(len(things)).tolist()
    order += rng.choice(len(things), len(things) // 4, replace=False).tolist()
    together = {thing.key for thing in things if thing.like >= 0 and rng.random() < 0.3}
    while order:
        keys = [order.pop(0)]
        if keys[0] in together:
            keys.append(things[keys[0]].like)
        wanted = int(rng.integers(3, 5))
        while order and len(keys) < wanted:
            if order[0] in keys:
                break
            keys.append(order.pop(0))
        yield keys


class _Shot:
    """The conditions of one clip: where all stands, in what light, through what lens."""

    def __init__(self, rng: np.random.Generator, seed: int, things: list[Thing],
                 around: list[NDArray[np.uint8]]) -> None:
        self._rng = rng
        self._things, self._around = things, around
        self._wall = _background(np.random.default_rng([seed, 3, int(rng.integers(4))]), rng)
        self._light = rng.uniform(-0.9, 0.9)
        tint = rng.uniform(0.9, 1.1, 3)
        self._dimmed = (_shadow(rng)[..., None] * rng.uniform(0.6, 1.4) * tint).astype(np.float32)
        self._blur, self._noise = rng.uniform(0, 1.2), rng.uniform(1, 7)
        self._quality = int(rng.integers(55, 95))
        self._scales = rng.uniform(0.6, 1.6, len(things))
        self._yaws = np.clip(rng.normal(0, 0.45, len(things)), -0.9, 0.9)
        self._rolls = rng.normal(0, 0.07, len(things))
        self._feet = rng.uniform(300, 440, len(things))
        self._sway = rng.uniform(0, 2 * np.pi, 3)
        self._hidden = int(rng.integers(len(things))) if rng.random() < 0.4 else -1
        self._cover = (rng.uniform(0.15, 0.4), rng.uniform(20, 230, 3), bool(rng.random() < 0.5))

    def frame(self, at: int, stamp_ns: int) -> Frame:
        """Return the picture of one second."""
        import cv2

        sway = np.sin(self._sway + at * np.array([0.3, 0.23, 0.17]))
        scene = np.roll(self._wall, int(14 * sway[0]), axis=1)
        seen = [self._draw(scene, place, sway, at)
                for place in np.argsort(self._feet).tolist()]
        scene *= self._dimmed
        if self._blur > 0.3:
            scene = cv2.GaussianBlur(scene, (0, 0), self._blur)
        scene += self._rng.standard_normal(scene.shape, np.float32) * np.float32(self._noise)
        pixels = np.clip(scene, 0, 255).astype(np.uint8)
        encoded = cv2.imencode('.jpg', pixels, [cv2.IMWRITE_JPEG_QUALITY, self._quality])[1]
        return Frame(stamp_ns, encoded.tobytes(), tuple(item for item in seen if item))

    def _draw(self, scene: NDArray[np.float32], place: int, sway: NDArray[np.float64],
              at: int) -> Seen | None:
        """Draw one thing into the scene and return it with its box, unless it is out of sight."""
        thing = self._things[place]
        slot = WIDTH / len(self._things)
        scale = min(self._scales[place], 1.15 * slot / (1.3 * BASE_PX)) * (1 + 0.04 * sway[1])
        made = _tilted(sprite(thing, self._around[place], BASE_PX * scale,
                              self._yaws[place] + 0.12 * sway[2], self._light),
                       self._rolls[place] + 0.02 * sway[0], 0.04 * sway[1])
        left = round((place + 0.5) * slot + 22 * sway[0] - made.shape[1] / 2)
        top = round(self._feet[place] - made.shape[0] + 6 * sway[1])
        box = _paste(scene, made, left, top)
        if box is None:
            return None
        if place == self._hidden and at % 9 < 5:
            self._hide(scene, box)
        off = self._rng.normal(0, 0.02, 4) * ([box[2] - box[0], box[3] - box[1]] * 2)
        x1, y1, x2, y2 = (float(edge) for edge in np.clip(
            np.array(box) + off, 0, [WIDTH, HEIGHT] * 2))
        return Seen(thing.key, thing.kind, (x1, y1, x2, y2))

    def _hide(self, scene: NDArray[np.float32], box: tuple[int, int, int, int]) -> None:
        """Cover a part of what was drawn, from one side."""
        import cv2

        share, color, is_left = self._cover
        width = round((box[2] - box[0]) * share)
        left = box[0] if is_left else box[2] - width
        cv2.rectangle(scene, (left, box[1] + (box[3] - box[1]) // 5), (left + width, box[3] + 8),
                      color.tolist(), -1)


def _background(room: np.random.Generator, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return a wall, a table and clutter; the room's colours stay, the view of it changes."""
    import cv2

    wall, table = (room.uniform(60, 210) + room.normal(0, 22, 3) for _ in range(2))
    scene = np.empty((HEIGHT, WIDTH, 3), np.float32)
    edge = int(rng.integers(180, 270))
    scene[:edge], scene[edge:] = wall, table
    stripes = np.sin(np.arange(WIDTH) / room.uniform(4, 30))[None, :, None]
    scene[edge:] += 8 * stripes
    for _ in range(int(rng.integers(10, 22))):
        x, y = rng.integers(0, WIDTH), rng.integers(0, HEIGHT)
        points = (np.array([x, y]) + rng.normal(0, 38, (int(rng.integers(3, 7)), 2))).astype(int)
        cv2.fillPoly(scene, [cv2.convexHull(points.astype(np.int32))],
                     rng.uniform(20, 235, 3).tolist(), cv2.LINE_AA)
    coarse = rng.normal(0, 9, (HEIGHT // 8, WIDTH // 8, 3)).astype(np.float32)
    return np.asarray(np.clip(scene + cv2.resize(coarse, (WIDTH, HEIGHT)), 0, 255), np.float32)


def _shadow(rng: np.random.Generator) -> NDArray[np.float32]:
    """Return how bright each pixel is: a soft edge of shadow across the scene."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
    turn = rng.uniform(0, 2 * np.pi)
    along = (x / WIDTH - rng.uniform(0.2, 0.8)) * np.cos(turn) + (
        y / HEIGHT - rng.uniform(0.2, 0.8)) * np.sin(turn)
    depth = rng.uniform(0, 0.35)
    return np.asarray(1 - depth / (1 + np.exp(-along * rng.uniform(4, 20))), np.float32)


def _tilted(made: Sprite, roll: float, shear: float) -> Sprite:
    import cv2

    height, width = made.shape[:2]
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), float(np.degrees(roll)), 1)
    matrix[0, 1] += shear
    matrix[0, 2] -= shear * height / 2
    grown = cv2.copyMakeBorder(made, 8, 8, 8, 8, cv2.BORDER_CONSTANT)
    return np.asarray(cv2.warpAffine(grown, matrix, (width + 16, height + 16)), np.float32)


def _paste(scene: NDArray[np.float32], made: Sprite, left: int,
           top: int) -> tuple[int, int, int, int] | None:
    """Put a sprite into the scene; return the box of what is inside, or None if too little is."""
    rows, columns = np.nonzero(made[..., 3] > 0.5)
    if not len(rows):
        return None
    x1, y1 = max(0, left), max(0, top)
    x2, y2 = min(WIDTH, left + made.shape[1]), min(HEIGHT, top + made.shape[0])
    box = (max(0, left + int(columns.min())), max(0, top + int(rows.min())),
           min(WIDTH, left + int(columns.max()) + 1), min(HEIGHT, top + int(rows.max()) + 1))
    if box[2] - box[0] < 12 or box[3] - box[1] < 12:
        return None
    part = made[y1 - top:y2 - top, x1 - left:x2 - left]
    cover = part[..., 3:]
    scene[y1:y2, x1:x2] = scene[y1:y2, x1:x2] * (1 - cover) + part[..., :3] * cover
    return box
