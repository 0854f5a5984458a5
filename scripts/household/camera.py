"""The robot's camera: a picture of the room before it, with the box of all that is seen in it.

The view pans with the place where the robot works, so that boxes of things at rest differ between
pictures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
import io

import numpy as np
from PIL import Image, ImageDraw

from household.rooms import CANVAS, draw_room
from household.shapes import DRAWINGS, LOOKS, Box, hand, mouth, person
from household.world import FURNITURE, PLACES, SPOTS, Person, Thing, World

WIDTH, HEIGHT = 320, 240
JPEG_QUALITY = 72
NOISE = 1.3  # of a brightness from 0 to 255
TABLE_DEPTH = 200  # people behind it stand above this row of the canvas, px
GRIPPER = (206, 196)  # where the foot of a held thing is in the picture, px


@dataclass
class View:
    """A picture and the box in it of each thing, person and piece of furniture by name, px."""

    image: Image.Image
    boxes: dict[str, Box] = field(default_factory=dict)

    def jpeg(self, daylight: float, seed: int) -> bytes:
        """Return the picture as JPEG, as a sensor takes it: tinted by the light, with noise.

        `daylight` is 1 at noon and 0 under lamps; the same seed gives the same noise.
        """
        tint = np.array((1.0, 0.93 + 0.07 * daylight, 0.8 + 0.2 * daylight))
        noise = np.random.Generator(np.random.PCG64(seed)).normal(0.0, NOISE, (HEIGHT, WIDTH, 1))
        pixels = np.asarray(self.image, np.float64) * tint + noise
        image = Image.fromarray(pixels.round().clip(0, 255).astype(np.uint8))
        buffer = io.BytesIO()
        image.save(buffer, 'JPEG', quality=JPEG_QUALITY, optimize=True)
        return buffer.getvalue()


def look(world: World, room: str, pan: tuple[int, int], lift: int = 0) -> View:
    """Return what the camera sees of a room.

    `pan` shifts the picture on the canvas, px; `lift` raises the gripper, px.
    """
    canvas = draw_room(room, world.states)
    boxes: dict[str, Box] = {}
    # What stands further back is drawn first, and may be hidden by a person.
    for _, kind, name in sorted(_layers(world, room)):
        draw = ImageDraw.Draw(canvas)
        if kind == 'furniture':
            _redraw_table(canvas, world)
        elif kind == 'thing':
            thing = world.things[name]
            x, y = PLACES[thing.place].slots[thing.slot]
            boxes[name] = _draw_thing(draw, thing, x + thing.shift[0], y + thing.shift[1])
        else:
            drawn = _draw_person(draw, world, world.people[name])
            boxes = {
                other: box for other, box in boxes.items() if not _hides(drawn[name], box)} | drawn
    boxes.update({name: place.box for name, place in PLACES.items() if place.room == room})
    boxes.update({name: box for name, (where, box, _) in FURNITURE.items() if where == room})
    picture = canvas.crop((pan[0], pan[1], pan[0] + WIDTH, pan[1] + HEIGHT))
    seen = {name: clipped for name, box in boxes.items() if (clipped := _clip(box, pan))}
    seen.update(_draw_gripper(ImageDraw.Draw(picture), world, lift))
    return View(picture, seen)


def _layers(world: World, room: str) -> Iterator[tuple[int, str, str]]:
    """Yield depth (the row of the foot), kind and name of what is drawn over the empty room."""
    for thing in world.things_in(room):
        yield PLACES[thing.place].slots[thing.slot][1], 'thing', thing.instance
    for someone in world.people_in(room):
        yield SPOTS[someone.spot][1][1], 'person', someone.name
    if room == 'kitchen':
        yield TABLE_DEPTH, 'furniture', 'table'


def pan_of(place: str) -> tuple[int, int]:
    """Return how the camera is turned while the robot works at a place."""
    if place not in PLACES:
        return 20, 14
    x1, y1, x2, y2 = PLACES[place].box
    limit = CANVAS[0] - WIDTH, CANVAS[1] - HEIGHT
    middle = (x1 + x2) / 2 / CANVAS[0], (y1 + y2) / 2 / CANVAS[1]
    return round(limit[0] * middle[0]), round(limit[1] * middle[1])


def _draw_thing(draw: ImageDraw.ImageDraw, thing: Thing, x: int, y: int) -> Box:
    drawing = LOOKS.get((thing.name, thing.look)) or DRAWINGS[thing.name]
    return drawing(draw, x, y, thing.state)


def _draw_person(draw: ImageDraw.ImageDraw, world: World, someone: Person) -> dict[str, Box]:
    x, y = SPOTS[someone.spot][1]
    is_seated = someone.spot.startswith('on ')
    boxes = {someone.name: person(draw, someone.name, x, y, is_seated)}
    held = world.held_by(someone.name)
    if held is not None:
        anchor = mouth if world.drinking.get(someone.name) == held.instance else hand
        boxes[held.instance] = _draw_thing(draw, held, *anchor(x, y, is_seated))
    return boxes


def _redraw_table(canvas: Image.Image, world: World) -> None:
    """Put the table before whoever stands behind it."""
    box = (10, 194, 156, CANVAS[1])
    bare = draw_room('kitchen', world.states).crop(box)
    outline = Image.new('L', bare.size, 0)
    ImageDraw.Draw(outline).polygon(
        [(14, 0), (132, 0), (144, 26), (144, 32), (2, 32), (2, 26)], 255)
    canvas.paste(bare, box[:2], outline)


def _draw_gripper(draw: ImageDraw.ImageDraw, world: World, lift: int) -> dict[str, Box]:
    x, y = GRIPPER[0], GRIPPER[1] - lift
    held = world.held_by('robot')
    boxes: dict[str, Box] = {}
    arm = [(x - 9, y + 20), (x + 9, y + 20), (x + 26, HEIGHT), (x - 14, HEIGHT)]
    draw.polygon(arm, (88, 92, 100), (30, 30, 34))
    if held is not None:
        boxes[held.instance] = _draw_thing(draw, held, x, y)
    spread = 12 if held is None else 9
    for side in (-1, 1):
        draw.line((x + side * 4, y + 18, x + side * spread, y + 8), (60, 62, 70), 6)
        draw.line((x + side * spread, y + 9, x + side * (spread - 2), y - 6), (60, 62, 70), 5)
    boxes['gripper'] = (x - 16, y - 9, x + 26, HEIGHT)
    return boxes


def _hides(body: Box, box: Box) -> bool:
    """Return whether a person in the first box leaves little to see of a thing in the second."""
    width = min(body[2] - 10, box[2]) - max(body[0] + 10, box[0])
    height = min(body[3], box[3]) - max(body[1], box[1])
    area = (box[2] - box[0]) * (box[3] - box[1])
    return width > 0 and height > 0 and width * height > 0.6 * area


def _clip(box: Box, pan: tuple[int, int]) -> Box | None:
    """Return the part of a box that is in the picture, or None where too little of it is."""
    x1, y1 = max(0, box[0] - pan[0]), max(0, box[1] - pan[1])
    x2, y2 = min(WIDTH, box[2] - pan[0]), min(HEIGHT, box[3] - pan[1])
    whole = (box[2] - box[0]) * (box[3] - box[1])
    return (x1, y1, x2, y2) if x2 > x1 and y2 > y1 and (x2 - x1) * (y2 - y1) * 3 >= whole else None
