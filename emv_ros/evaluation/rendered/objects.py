"""Things of a made-up household, drawn from a seed: shapes, patterns, labels, pairs much alike.

Each is a solid of revolution (mug, bottle, bowl, jar, vase, can) or a box (book, carton), with a
texture around it, so that another view shows another part of it. The two of a like pair share kind,
name, size and colours but for one difference that a person sees: pattern, shade, second colour, the
pattern's size, or its label. Nothing here knows where things stand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Texture = NDArray[np.uint8]  # 128 high, 512 around, BGR
TEXTURE_HEIGHT, TEXTURE_WIDTH = 128, 512

# Height by width in units of the base size, of each kind; boxes have a depth, too.
ROUND = {'mug': (1.0, 0.8), 'bottle': (1.7, 0.55), 'bowl': (0.6, 1.3), 'jar': (1.2, 0.85),
         'vase': (1.6, 0.8), 'can': (1.1, 0.65)}
BOXES = {'book': (1.35, 1.0, 0.25), 'carton': (1.5, 0.75, 0.6)}
KINDS = (*ROUND, *BOXES)
PATTERNS = ('plain', 'rings', 'stripes', 'dots', 'checks', 'band', 'zigzag', 'label')
DIFFERENCES = ('pattern', 'shade', 'second', 'period', 'label')
WORDS = ('TEA', 'MILK', 'SOL', 'NORD', 'KIWI', 'OATS', 'MAX', 'LUNA', 'RICE', 'FIN')

Color = tuple[int, int, int]  # L, a, b as OpenCV holds them in 8 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """What one thing looks like. `like` is the key of its pair, or -1."""

    key: int
    kind: str
    base: Color
    second: Color
    pattern: str
    period: float
    word: str
    grain: int
    size: float
    like: int = -1
    difference: str = ''


def make_things(seed: int, count: int = 34, pairs: int = 12) -> list[Thing]:
    """Return `count` things, of which the first 2 × pairs are like pairs."""
    if count < 2 * pairs:
        raise ValueError(f'{pairs} pairs need {2 * pairs} things, not {count}')
    rng = np.random.default_rng([seed, 1])
    made: list[Thing] = []
    while len(made) < count:
        first = _thing(rng, len(made), KINDS[len(made) // 2 % len(KINDS)])
        if len(made) >= 2 * pairs:
            made.append(first)
            continue
        difference = DIFFERENCES[len(made) // 2 % len(DIFFERENCES)]
        second = _varied(rng, first, difference)
        made += [replace(first, like=second.key, difference=difference), second]
    return made


def texture(thing: Thing) -> Texture:
    """Return what runs around a thing."""
    import cv2

    base, second = (_bgr(color) for color in (thing.base, thing.second))
    rows, columns = np.mgrid[0:TEXTURE_HEIGHT, 0:TEXTURE_WIDTH]
    mask = _pattern(thing.pattern, rows / TEXTURE_HEIGHT, columns / TEXTURE_WIDTH, thing.period)
    picture = np.where(mask[..., None], second, base).astype(np.float32)
    grain = np.random.default_rng(thing.grain).normal(0, 1, (16, 64)).astype(np.float32)
    picture += 6 * cv2.resize(grain, (TEXTURE_WIDTH, TEXTURE_HEIGHT))[..., None]
    drawn: Texture = np.clip(picture, 0, 255).astype(np.uint8)
    if thing.pattern == 'label':
        _write_labels(drawn, thing, base, second)
    return drawn


def _thing(rng: np.random.Generator, key: int, kind: str) -> Thing:
    base = _color(rng)
    second = _color(rng)
    while sum(abs(one - other) for one, other in zip(base, second, strict=True)) < 90:
        second = _color(rng)
    return Thing(key=key, kind=kind, base=base, second=second,
                 pattern=str(rng.choice(PATTERNS)), period=float(rng.uniform(0.12, 0.3)),
                 word=str(rng.choice(WORDS)), grain=int(rng.integers(2**31)),
                 size=float(rng.uniform(0.85, 1.15)))


def _varied(rng: np.random.Generator, thing: Thing, difference: str) -> Thing:
    """Return the like of a thing, with one visible difference."""
    other = replace(thing, key=thing.key + 1, like=thing.key, difference=difference,
                    grain=int(rng.integers(2**31)))
    plain = thing.pattern in ('plain', 'label')
    match difference:
        case 'shade':
            light = thing.base[0] + (45 if thing.base[0] < 140 else -45)
            return replace(other, base=(light, *thing.base[1:]))
        case 'second' if thing.pattern != 'plain':
            second = _color(rng)
            while abs(second[1] - thing.second[1]) + abs(second[2] - thing.second[2]) < 50:
                second = _color(rng)
            return replace(other, second=second)
        case 'period' if not plain:
            return replace(other, period=thing.period * (0.5 if thing.period > 0.2 else 2.0))
        case 'label' if thing.pattern == 'label':
            word = str(rng.choice([word for word in WORDS if word != thing.word]))
            return replace(other, word=word, second=_color(rng))
    others = [pattern for pattern in PATTERNS if pattern != thing.pattern]
    return replace(other, pattern=str(rng.choice(others)), difference='pattern')


def _color(rng: np.random.Generator) -> Color:
    return (int(rng.integers(50, 225)), int(rng.integers(88, 170)), int(rng.integers(80, 180)))


def _bgr(color: Color) -> NDArray[np.float32]:
    import cv2

    pixel = np.array([[color]], np.uint8)
    return np.asarray(cv2.cvtColor(pixel, cv2.COLOR_LAB2BGR)[0, 0], np.float32)


def _pattern(name: str, v: NDArray[np.float64], u: NDArray[np.float64],
             period: float) -> NDArray[np.bool_]:
    """Return where the second colour is; u runs around (four times the height), v down."""
    round_count = max(4, round(4 / period))  # whole, so that it closes around the thing
    down, around = v / period, u * round_count
    match name:
        case 'rings':
            return np.asarray(down % 1 < 0.45)
        case 'stripes':
            return np.asarray(around % 1 < 0.45)
        case 'dots':
            shifted = around + 0.5 * (np.floor(down) % 2)
            return np.asarray(np.hypot(shifted % 1 - 0.5, down % 1 - 0.5) < 0.3)
        case 'checks':
            return np.asarray((np.floor(down) + np.floor(around)) % 2 == 0)
        case 'band':
            return np.asarray(np.abs(v - 0.5) < period)
        case 'zigzag':
            return np.asarray((down + np.abs(around % 1 - 0.5)) % 1 < 0.4)
    return np.zeros(v.shape, bool)


def _write_labels(picture: Texture, thing: Thing, base: NDArray[np.float32],
                  second: NDArray[np.float32]) -> None:
    """Draw the label on four sides, so that one is always seen."""
    import cv2

    for side in range(4):
        left = side * TEXTURE_WIDTH // 4 + 16
        cv2.rectangle(picture, (left, 30), (left + 96, 98), second.tolist(), -1)
        cv2.putText(picture, thing.word, (left + 6, 76), cv2.FONT_HERSHEY_DUPLEX, 0.95,
                    base.tolist(), 2, cv2.LINE_AA)
