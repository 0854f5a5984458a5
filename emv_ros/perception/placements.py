"""What two boxes say about two things: by how many pixels each relation holds, or fails.

A margin is the distance of the nearest edge or size from its threshold, px: positive where the
relation holds. Sizes weigh less than edges, so that a box which trembles by 3 px moves no margin by
more than 8. All of it is meant for a camera that looks from the side or obliquely from above.
With a = (x1, y1, x2, y2) and b alike, y down:

- a in b: b is a container by its name; at least 3/4 of a's width and height lie within b, and a is
  narrower than b.
- a on b: b is no container and nobody; the middle of a lies between b's sides; a's lower edge lies
  between b's upper edge, with a sixth of a's height to spare, and 5/6 of b's height; a's upper edge
  is above b's middle or a is much lower than b; a is not wider than b by more than a fifth.
  A shelf has boards at any height: of a on it only the lower edge counts, from b's upper edge to
  its lower one, with a sixth of a's height to spare, and a is no higher than b.
- a under b: b is a piece of furniture that things lie under, and a is none; the middle of a lies
  between b's sides, all of a in the lower half of b or below, and its lower edge in the last sixth
  or below.
- a held by b: b is named hand or gripper, the middle of a lies between its sides, grown by a
  quarter, their heights meet within a fifth of its height, and a is no wider or taller than three
  times b; or b is a person, a is no taller and no wider than half of the person, and its middle
  lies between a third and three quarters of the person's height, and sideways in the box grown by
  a fifth: where hands are. No pose is known, so that this is the least sure of all.
- a next to b: their rows overlap by half of the lower one's height, neither is taller or wider than
  three times the other, and the gap between them is at most half of their mean width.
- a left of b: the same rows, a gap of up to three mean widths that is more than that of next to,
  and nothing in between; neither is fixed in its place.

What is fixed in its place by its name, as a sink, is held by nobody.

Distances from the camera veto on, in, held by (more than 0.8 m apart and a fifth of the way: a
table is deep) and next to (0.4 m). No position in metres is made of boxes: it takes the camera's
intrinsics, which a memory does not store.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
import re

from emv_ros.perception.detections import Box

ON, IN, UNDER, HELD_BY = 'on', 'in', 'under', 'held by'
NEXT_TO, LEFT_OF, RIGHT_OF = 'next to', 'left of', 'right of'

CONTAINERS = frozenset((
    'basket', 'bag', 'backpack', 'bathtub', 'bin', 'bowl', 'box', 'bucket', 'cabinet', 'can',
    'carton', 'cart', 'cupboard', 'crate', 'cup', 'dishwasher', 'drawer', 'fridge', 'freezer',
    'glass', 'handbag', 'hamper', 'jar', 'jug', 'kettle', 'microwave', 'mug', 'oven', 'pan', 'pot',
    'refrigerator', 'sink', 'suitcase', 'toaster', 'trash', 'tub', 'vase', 'wardrobe', 'washer'))
FURNITURE = frozenset((
    'bed', 'bench', 'chair', 'couch', 'counter', 'desk', 'sideboard', 'sofa', 'stool', 'table',
    'workbench', 'worktop'))
SHELVES = frozenset(('bookcase', 'bookshelf', 'rack', 'shelf', 'shelves'))
FIXED = FURNITURE | SHELVES | frozenset((
    'bathtub', 'cabinet', 'cupboard', 'dishwasher', 'door', 'drawer', 'floor', 'freezer', 'fridge',
    'oven', 'refrigerator', 'sink', 'stove', 'wall', 'wardrobe', 'washer', 'window'))
HANDS = frozenset(('gripper', 'hand', 'endeffector'))
_WORD = re.compile(r'[a-z]+')
# Metres of depth that weigh as much as one pixel.
METRES_PER_PX = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """Something in a picture: `key` tells it from picture to picture, `depth_m` is its distance."""

    key: Hashable
    name: str
    bbox: Box
    is_person: bool = False
    depth_m: float | None = None

    @property
    def kinds(self) -> frozenset[str]:
        """The words of its name, in lower case."""
        return frozenset(_WORD.findall(self.name.lower()))


def placements(one: Thing, other: Thing) -> dict[str, float]:
    """Return the margins of on, in, under and held by of one thing to another."""
    if one.is_person or one.kinds & HANDS:
        return {}
    if one.kinds & FIXED and (other.is_person or other.kinds & HANDS):
        return {}
    if other.kinds & HANDS:
        return {HELD_BY: _deep(_in_hand(one.bbox, other.bbox), one, other, 0.8)}
    if other.is_person:
        return {HELD_BY: _deep(_in_hand_zone(one.bbox, other.bbox), one, other, 0.8)}
    if other.kinds & CONTAINERS:
        return {IN: _deep(_inside(one.bbox, other.bbox), one, other, 0.8)}
    if other.kinds & SHELVES:
        return {ON: _deep(_on_board(one.bbox, other.bbox), one, other, 0.8)}
    told = {ON: _deep(_on_top(one.bbox, other.bbox), one, other, 0.8)}
    if other.kinds & FURNITURE and not one.kinds & FIXED:
        told[UNDER] = _beneath(one.bbox, other.bbox)
    return told


def beside(one: int, other: int, things: Sequence[Thing]) -> dict[str, float]:
    """Return the margins of next to, left of and right of of one of the things to another.

    None of a hand, which is next to everything in turn.
    """
    if (things[one].kinds | things[other].kinds) & HANDS:
        return {}
    a, b = things[one].bbox, things[other].bbox
    width, gap = (_width(a) + _width(b)) / 2, _gap(a, b)
    row = min(_row(a, b), *((3 * low - high) / 4 for low, high in (
        sorted((_width(a), _width(b))), sorted((_height(a), _height(b))))))
    near = min(row, (width / 2 - gap) / 1.5, gap + min(_width(a), _width(b)) / 2)
    told = {NEXT_TO: _deep(near, things[one], things[other], 0.4)}
    if (things[one].kinds | things[other].kinds) & FIXED:
        return told
    apart = min(row, (gap - width / 2) / 1.5, (3 * width - gap) / 4)
    side, far_side = (LEFT_OF, RIGHT_OF) if _middle(a) <= _middle(b) else (RIGHT_OF, LEFT_OF)
    if apart > -width:
        apart = min([apart, *(_out_of_the_way(a, b, thing.bbox) for place, thing
                              in enumerate(things) if place not in (one, other)
                              and not thing.is_person and not thing.kinds & FIXED)])
    told[side] = apart
    told[far_side] = -abs(_middle(a) - _middle(b)) - width
    return told


def _inside(a: Box, b: Box) -> float:
    across = min(a[2], b[2]) - max(a[0], b[0]) - 0.75 * _width(a)
    down = min(a[3], b[3]) - max(a[1], b[1]) - 0.75 * _height(a)
    return min(across, down, (_width(b) - _width(a)) / 2)


def _on_top(a: Box, b: Box) -> float:
    between = min(_middle(a) - b[0], b[2] - _middle(a))
    foot = min(a[3] - (b[1] - _height(a) / 6), b[1] + _height(b) * 5 / 6 - a[3])
    head = max((b[1] + b[3]) / 2 - a[1], (_height(b) / 2 - _height(a)) / 2)
    return min(between, foot, head, (1.2 * _width(b) - _width(a)) / 2)


def _on_board(a: Box, b: Box) -> float:
    between = min(_middle(a) - b[0], b[2] - _middle(a))
    spare = _height(a) / 6
    foot = min(a[3] - b[1] + spare, b[3] - a[3] + spare)
    return min(between, foot, (_height(b) - _height(a)) / 2, (1.2 * _width(b) - _width(a)) / 2)


def _beneath(a: Box, b: Box) -> float:
    between = min(_middle(a) - b[0], b[2] - _middle(a))
    low = min(a[1] - (b[1] + b[3]) / 2, a[3] - (b[3] - _height(b) / 6))
    # Not far below: that is something in front of it.
    return min(between, low, (b[3] + _height(a) / 2 - a[1]) / 1.5)


def _in_hand(a: Box, b: Box) -> float:
    across = min(_middle(a) - (b[0] - _width(b) / 4), b[2] + _width(b) / 4 - _middle(a))
    down = min(a[3] - (b[1] - _height(b) / 5), b[3] + _height(b) / 5 - a[1])
    return min(across, down, (3 * _width(b) - _width(a)) / 4, (3 * _height(b) - _height(a)) / 4)


def _in_hand_zone(a: Box, b: Box) -> float:
    middle = (a[1] + a[3]) / 2
    across = min(_middle(a) - (b[0] - _width(b) / 5), b[2] + _width(b) / 5 - _middle(a))
    down = min(middle - (b[1] + _height(b) / 3), b[1] + _height(b) * 3 / 4 - middle)
    return min(across, down, (_height(b) / 2 - _height(a)) / 2, (_width(b) / 2 - _width(a)) / 2)


def _row(a: Box, b: Box) -> float:
    """Return by how much the rows of two boxes overlap more than half of the lower one."""
    return min(a[3], b[3]) - max(a[1], b[1]) - min(_height(a), _height(b)) / 2


def _gap(a: Box, b: Box) -> float:
    """Return the distance between two boxes sideways; negative where they overlap."""
    return max(a[0], b[0]) - min(a[2], b[2])


def _out_of_the_way(a: Box, b: Box, c: Box) -> float:
    """Return by how much the middle of c lies outside what is between a and b."""
    left, right = min(a[2], b[2]), max(a[0], b[0])
    top, bottom = max(a[1], b[1]), min(a[3], b[3])
    return max(left - _middle(c), _middle(c) - right, c[1] - bottom, top - c[3])


def _deep(margin: float, one: Thing, other: Thing, limit_m: float) -> float:
    if one.depth_m is None or other.depth_m is None:
        return margin
    limit_m = max(limit_m, 0.2 * min(one.depth_m, other.depth_m))
    return min(margin, (limit_m - abs(one.depth_m - other.depth_m)) / METRES_PER_PX)


def _middle(box: Box) -> float:
    return (box[0] + box[2]) / 2


def _width(box: Box) -> float:
    return box[2] - box[0]


def _height(box: Box) -> float:
    return box[3] - box[1]
