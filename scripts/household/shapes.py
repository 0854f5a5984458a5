"""How each kind of thing looks: small drawings, each standing on the anchor it is given.

An anchor is the middle of the foot, px. Every function draws and returns the box x1, y1, x2, y2 of
what it drew.
"""

from __future__ import annotations

from collections.abc import Callable

from PIL import ImageDraw

Draw = ImageDraw.ImageDraw
Box = tuple[int, int, int, int]
EDGE = (52, 48, 46)


def _mug(draw: Draw, x: int, y: int, state: str) -> Box:
    draw.ellipse((x + 5, y - 17, x + 16, y - 5), outline=(168, 22, 24), width=3)
    draw.rounded_rectangle((x - 10, y - 21, x + 9, y), 3, (206, 34, 34), (120, 14, 16))
    draw.line((x - 6, y - 17, x - 6, y - 4), (238, 120, 112), 2)
    inside = (70, 40, 24) if state in ('full of coffee', 'dirty') else (246, 226, 220)
    draw.ellipse((x - 10, y - 24, x + 9, y - 18), inside, (120, 14, 16))
    return x - 10, y - 24, x + 16, y


def _banded_mug(draw: Draw, x: int, y: int, state: str) -> Box:
    """Draw the other red mug: darker, with a white band, its handle to the left."""
    draw.ellipse((x - 16, y - 17, x - 5, y - 5), outline=(120, 14, 24), width=3)
    draw.rounded_rectangle((x - 9, y - 21, x + 10, y), 3, (172, 20, 34), (92, 10, 18))
    draw.rectangle((x - 9, y - 14, x + 10, y - 7), (246, 240, 232), (92, 10, 18))
    inside = (70, 40, 24) if state in ('full of coffee', 'dirty') else (246, 226, 220)
    draw.ellipse((x - 9, y - 24, x + 10, y - 18), inside, (92, 10, 18))
    return x - 16, y - 24, x + 10, y


def _bowl(draw: Draw, x: int, y: int, state: str) -> Box:
    draw.pieslice((x - 16, y - 27, x + 16, y + 1), 0, 180, (240, 196, 56), EDGE)
    inside = (252, 236, 180) if state == 'clean' else (198, 150, 96)
    draw.ellipse((x - 16, y - 17, x + 16, y - 9), inside, EDGE)
    return x - 16, y - 17, x + 16, y + 1


def _plate(draw: Draw, x: int, y: int, state: str) -> Box:
    draw.ellipse((x - 17, y - 27, x + 17, y), (236, 240, 246), (70, 96, 150), 2)
    inside = (214, 222, 234) if state == 'clean' else (188, 152, 110)
    draw.ellipse((x - 10, y - 21, x + 10, y - 6), inside)
    return x - 17, y - 27, x + 17, y


def _glass(draw: Draw, x: int, y: int, state: str) -> Box:
    wall = [(x - 8, y - 24), (x + 8, y - 24), (x + 6, y), (x - 6, y)]
    draw.polygon(wall, (204, 232, 240), (60, 110, 130))
    if state == 'full of water':
        water = [(x - 7, y - 17), (x + 7, y - 17), (x + 6, y - 1), (x - 6, y - 1)]
        draw.polygon(water, (84, 168, 222))
    return x - 8, y - 24, x + 8, y


def _cereal_box(draw: Draw, x: int, y: int, _: str) -> Box:
    draw.rectangle((x - 12, y - 36, x + 12, y), (236, 132, 36), EDGE)
    draw.ellipse((x - 8, y - 26, x + 8, y - 12), (252, 232, 150), (170, 84, 16))
    draw.rectangle((x - 10, y - 34, x + 10, y - 29), (250, 246, 236))
    return x - 12, y - 36, x + 12, y


def _milk(draw: Draw, x: int, y: int, _: str) -> Box:
    draw.polygon([(x - 9, y - 26), (x, y - 36), (x + 9, y - 26)], (226, 234, 244), EDGE)
    draw.rectangle((x - 9, y - 26, x + 9, y), (250, 250, 252), EDGE)
    draw.rectangle((x - 9, y - 16, x + 9, y - 6), (60, 112, 208))
    return x - 9, y - 36, x + 9, y


def _bottle(draw: Draw, x: int, y: int, state: str) -> Box:
    draw.rectangle((x - 3, y - 42, x + 3, y - 26), (72, 160, 96), EDGE)
    inside = (112, 200, 136) if state != 'empty' else (202, 226, 208)
    draw.rounded_rectangle((x - 8, y - 30, x + 8, y), 4, inside, EDGE)
    draw.rectangle((x - 4, y - 45, x + 4, y - 41), (40, 70, 150))
    return x - 8, y - 45, x + 8, y


def _coffee_machine(draw: Draw, x: int, y: int, _: str) -> Box:
    draw.rounded_rectangle((x - 15, y - 42, x + 15, y), 4, (54, 56, 62), (20, 20, 22))
    draw.rectangle((x - 10, y - 24, x + 10, y - 4), (112, 116, 124))
    draw.rectangle((x - 4, y - 26, x + 4, y - 20), (24, 24, 26))
    draw.ellipse((x + 5, y - 37, x + 11, y - 31), (90, 220, 110))
    return x - 15, y - 42, x + 15, y


def _newspaper(draw: Draw, x: int, y: int, _: str) -> Box:
    sheet = [(x - 24, y - 14), (x + 18, y - 18), (x + 25, y - 2), (x - 18, y + 2)]
    draw.polygon(sheet, (232, 230, 222), EDGE)
    for row in range(3):
        middle, line = x + row * 2, y + row * 4
        draw.line((middle - 15, line - 11, middle + 15, line - 14), (132, 130, 126), 1)
    return x - 24, y - 18, x + 25, y + 2


def _keys(draw: Draw, x: int, y: int, _: str) -> Box:
    draw.ellipse((x - 13, y - 12, x - 2, y - 1), outline=(226, 230, 236), width=3)
    draw.line((x - 2, y - 6, x + 13, y - 4), (226, 230, 236), 3)
    draw.line((x + 8, y - 4, x + 8, y + 1), (226, 230, 236), 2)
    draw.line((x + 12, y - 4, x + 12, y + 1), (226, 230, 236), 2)
    return x - 13, y - 12, x + 13, y + 1


def _plant(draw: Draw, x: int, y: int, state: str) -> Box:
    leaf = (52, 146, 66) if state == 'watered' else (150, 150, 70)
    for dx, dy in ((-14, -34), (-7, -44), (0, -47), (7, -44), (14, -34)):
        draw.line((x, y - 16, x + dx, y + dy), leaf, 4)
        draw.ellipse((x + dx - 6, y + dy - 5, x + dx + 6, y + dy + 5), leaf)
    draw.polygon([(x - 13, y - 18), (x + 13, y - 18), (x + 9, y), (x - 9, y)], (190, 98, 60), EDGE)
    return x - 20, y - 52, x + 20, y


def _watering_can(draw: Draw, x: int, y: int, _: str) -> Box:
    draw.line((x + 8, y - 6, x + 21, y - 20), (38, 118, 168), 4)
    draw.arc((x - 18, y - 24, x - 4, y - 4), 90, 270, (38, 118, 168), 3)
    draw.rounded_rectangle((x - 11, y - 20, x + 10, y), 3, (60, 152, 206), (24, 84, 124))
    return x - 18, y - 24, x + 21, y


def _parcel(draw: Draw, x: int, y: int, _: str) -> Box:
    draw.rectangle((x - 19, y - 25, x + 19, y), (190, 146, 94), EDGE)
    draw.rectangle((x - 4, y - 25, x + 4, y), (224, 194, 140))
    draw.rectangle((x + 7, y - 21, x + 16, y - 13), (248, 246, 240))
    return x - 19, y - 25, x + 19, y


def _lamp(draw: Draw, x: int, y: int, _: str) -> Box:
    draw.line((x, y - 24, x, y - 3), (110, 96, 80), 3)
    draw.rectangle((x - 8, y - 3, x + 8, y), (110, 96, 80))
    shade = [(x - 8, y - 42), (x + 8, y - 42), (x + 14, y - 22), (x - 14, y - 22)]
    draw.polygon(shade, (250, 226, 150), EDGE)
    return x - 14, y - 42, x + 14, y


DRAWINGS: dict[str, Callable[[Draw, int, int, str], Box]] = {
    'red mug': _mug, 'bowl': _bowl, 'plate': _plate, 'glass': _glass, 'cereal box': _cereal_box,
    'milk': _milk, 'water bottle': _bottle, 'coffee machine': _coffee_machine,
    'newspaper': _newspaper, 'keys': _keys, 'plant': _plant, 'watering can': _watering_can,
    'parcel': _parcel, 'lamp': _lamp}
# Things of one name that people tell apart by their looks.
LOOKS: dict[tuple[str, str], Callable[[Draw, int, int, str], Box]] = {
    ('red mug', 'white band'): _banded_mug}

# Hair, upper garment and trousers or skirt of each person.
CLOTHES = {
    'user': ((96, 64, 36), (52, 92, 176), (70, 72, 84)),
    'courier': ((40, 34, 30), (236, 194, 30), (90, 60, 40)),
    'Clara': ((26, 22, 24), (190, 70, 150), (120, 44, 96)),
}


def person(draw: Draw, name: str, x: int, y: int, is_seated: bool) -> Box:
    """Draw a person whose feet (seated: whose seat) stand at x, y."""
    hair, top, legs = CLOTHES[name]
    if not is_seated:
        draw.rectangle((x - 13, y - 52, x - 1, y), legs)
        draw.rectangle((x + 1, y - 52, x + 13, y), legs)
        hip = y - 50
    else:
        draw.rounded_rectangle((x - 17, y - 22, x + 17, y + 4), 6, legs)
        hip = y - 18
    draw.rounded_rectangle((x - 19, hip - 56, x + 19, hip + 2), 9, top, EDGE)
    draw.line((x + 18, hip - 46, x + 26, hip - 18), top, 9)
    draw.line((x - 18, hip - 46, x - 25, hip - 18), top, 9)
    draw.ellipse((x + 21, hip - 22, x + 31, hip - 12), (232, 190, 160))
    draw.ellipse((x - 30, hip - 22, x - 20, hip - 12), (232, 190, 160))
    draw.ellipse((x - 14, hip - 88, x + 14, hip - 54), (232, 190, 160), EDGE)
    draw.pieslice((x - 16, hip - 92, x + 16, hip - 56), 180, 360, hair)
    if name == 'Clara':
        draw.rectangle((x - 16, hip - 74, x - 11, hip - 50), hair)
        draw.rectangle((x + 11, hip - 74, x + 16, hip - 50), hair)
    if name == 'courier':
        draw.rectangle((x - 16, hip - 80, x + 16, hip - 74), (236, 194, 30))
    for eye in (-5, 5):
        draw.ellipse((x + eye - 2, hip - 73, x + eye + 1, hip - 70), (30, 30, 30))
    return x - 30, hip - 92, x + 31, y if not is_seated else y + 4


def hand(x: int, y: int, is_seated: bool) -> tuple[int, int]:
    """Return the anchor of what a person at x, y holds in the right hand."""
    return x + 28, y - (28 if is_seated else 60)


def mouth(x: int, y: int, is_seated: bool) -> tuple[int, int]:
    """Return the anchor of what a person at x, y drinks from."""
    return x + 6, y - (68 if is_seated else 100)
