"""The rooms as they look when nothing stands in them: walls, floors and furniture on a canvas."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PIL import Image, ImageDraw

from household.world import FURNITURE, PLACES

# Larger than a picture, so that the camera can pan.
CANVAS = (360, 256)
EDGE = (70, 62, 56)
WOOD, DARK_WOOD, STEEL = (178, 128, 84), (136, 94, 58), (186, 192, 198)


def draw_room(room: str, states: Mapping[str, str]) -> Image.Image:
    """Return the canvas of a room whose furniture is in the given states."""
    wall, floor, horizon = {
        'kitchen': ((226, 222, 206), (166, 150, 132), 190),
        'living_room': ((206, 216, 210), (150, 118, 90), 176),
        'hall': ((224, 212, 196), (128, 120, 118), 184)}[room]
    image = Image.new('RGB', CANVAS, wall)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, horizon, *CANVAS), floor)
    draw.rectangle((0, horizon - 4, CANVAS[0], horizon), tuple(value - 30 for value in wall))
    ROOMS[room](draw, states)
    return image


def _kitchen(draw: ImageDraw.ImageDraw, states: Mapping[str, str]) -> None:
    for x in range(124, 360, 20):  # tiles
        for y in range(76, 114, 19):
            draw.rectangle((x, y, x + 20, y + 19), (238, 238, 232), (206, 206, 200))
    for y in (46, 80):  # the shelf
        draw.rectangle((14, y, 122, y + 6), WOOD, EDGE)
    draw.rectangle((14, 40, 18, 88), DARK_WOOD)
    draw.rectangle((118, 40, 122, 88), DARK_WOOD)
    draw.rectangle((124, 122, 360, 190), (120, 142, 152), EDGE)
    for x in (206, 320):
        draw.rectangle((x, 128, x + (34 if x > 300 else 20), 186), (138, 160, 170), EDGE)
    draw.rectangle((122, 114, 360, 123), (92, 82, 78), EDGE)
    draw.rounded_rectangle((232, 116, 316, 146), 5, STEEL, EDGE)  # the sink, cut open to view
    draw.rounded_rectangle((238, 118, 310, 140), 4, (104, 110, 118))
    draw.line((275, 116, 275, 86), STEEL, 5)
    draw.arc((275, 76, 301, 100), 180, 360, STEEL, 5)
    _dishwasher(draw, states.get('dishwasher', 'closed'))
    draw.polygon([(24, 194), (142, 194), (154, 220), (12, 220)], WOOD, EDGE)  # the table
    draw.rectangle((12, 220, 154, 226), DARK_WOOD, EDGE)
    for x in (18, 142):
        draw.rectangle((x, 226, x + 7, 262), DARK_WOOD)


def _dishwasher(draw: ImageDraw.ImageDraw, state: str) -> None:
    if state == 'open':
        draw.rectangle((126, 126, 200, 178), (66, 72, 80), EDGE)
        draw.polygon([(126, 178), (200, 178), (208, 208), (118, 208)], (206, 210, 214), EDGE)
        for x in range(130, 200, 9):
            draw.line((x, 182, x - 3, 204), (140, 148, 156), 1)
        return
    draw.rectangle((126, 126, 200, 186), (214, 218, 222), EDGE)
    draw.rectangle((136, 134, 190, 139), (120, 126, 132))
    light = (60, 210, 90) if state == 'running' else (150, 60, 56)
    draw.ellipse((190, 144, 196, 150), light)


def _living_room(draw: ImageDraw.ImageDraw, _: Mapping[str, str]) -> None:
    draw.rectangle((212, 22, 332, 116), (176, 212, 238), (250, 250, 250), 5)  # the window
    draw.rectangle((269, 22, 275, 116), (250, 250, 250))
    draw.ellipse((290, 34, 314, 58), (252, 244, 200))
    draw.rectangle((206, 114, 338, 126), (240, 238, 232), EDGE)
    draw.rectangle((46, 40, 108, 92), (250, 248, 240), EDGE)  # a picture on the wall
    draw.polygon([(50, 88), (72, 56), (88, 76), (96, 66), (104, 88)], (96, 130, 110))
    x1, y1, x2, y2 = FURNITURE['sofa'][1]
    draw.rounded_rectangle((x1, y1, x2, y2 - 30), 12, (110, 70, 76), EDGE)
    draw.rounded_rectangle((x1 - 8, y1 + 32, x2 + 8, y2), 10, (128, 84, 90), EDGE)
    draw.line(((x1 + x2) // 2, y1 + 36, (x1 + x2) // 2, y2 - 4), EDGE, 1)
    draw.polygon([(104, 212), (200, 212), (212, 230), (92, 230)], WOOD, EDGE)  # the coffee table
    draw.rectangle((92, 230, 212, 235), DARK_WOOD, EDGE)
    for x in (96, 202):
        draw.rectangle((x, 235, x + 6, 254), DARK_WOOD)


def _hall(draw: ImageDraw.ImageDraw, states: Mapping[str, str]) -> None:
    x1, y1, x2, y2 = PLACES['door'].box
    draw.rectangle((x1 - 6, y1 - 6, x2 + 6, y2), (244, 240, 232), EDGE)
    if states.get('door') == 'open':
        draw.rectangle((x1, y1, x2, y2 - 60), (170, 206, 232))
        draw.rectangle((x1, y2 - 62, x2, y2), (132, 164, 110))
        wing = [(x1, y1), (x1 - 22, y1 + 12), (x1 - 22, y2 + 12), (x1, y2)]
        draw.polygon(wing, (120, 76, 48), EDGE)
    else:
        draw.rectangle((x1, y1, x2, y2), (142, 90, 56), EDGE)
        draw.rectangle((x1 + 14, y1 + 16, x2 - 14, y1 + 64), (122, 76, 46))
        draw.ellipse((x2 - 16, y1 + 82, x2 - 8, y1 + 90), (220, 190, 80))
    draw.rectangle((194, 146, 342, 216), DARK_WOOD, EDGE)  # the dresser
    draw.rectangle((190, 142, 346, 148), WOOD, EDGE)
    for x in (202, 272):
        draw.rectangle((x, 158, x + 62, 206), WOOD, EDGE)
        draw.ellipse((x + 28, 178, x + 34, 184), (230, 210, 150))
    draw.ellipse((228, 40, 312, 112), (206, 226, 232), (176, 140, 70), 4)  # a mirror


ROOMS: dict[str, Callable[[ImageDraw.ImageDraw, Mapping[str, str]], None]] = {
    'kitchen': _kitchen, 'living_room': _living_room, 'hall': _hall}
