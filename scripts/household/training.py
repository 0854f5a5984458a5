"""Scenes to train and to test a detector on: anything anywhere, in the household's own drawings.

A scene is made from its seed alone, so that the scenes of two ranges of seeds share nothing but the
drawings. What the story tells is not among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
import random
from typing import Any

from household.camera import HEIGHT, WIDTH, look
from household.rooms import CANVAS
from household.scenes import NAMES, objects_of
from household.shapes import CLOTHES, DRAWINGS, LOOKS, Box
from household.world import FURNITURE, PLACES, SPOTS, Person, Thing, World

# What a detector tells apart: things that move, people, the robot's own hand, and furniture, for
# only what is seen can be in or on something.
CLASSES = (*DRAWINGS, 'person', 'gripper', *(NAMES.get(name, name) for name in PLACES), *FURNITURE)

ROOMS = ('kitchen', 'kitchen', 'kitchen', 'living_room', 'living_room', 'hall')
STATES = {
    'red mug': ('clean', 'full of coffee', 'dirty'), 'bowl': ('clean', 'dirty'),
    'plate': ('clean', 'dirty'), 'glass': ('clean', 'full of water', 'dirty'),
    'water bottle': ('', 'empty'), 'plant': ('dry', 'watered')}
FURNITURE_STATES = {'dishwasher': ('closed', 'open', 'running'), 'door': ('closed', 'open')}
SMALLEST = 5  # of a side of a box that can be asked for, px


@dataclass(frozen=True)
class Scene:
    """A picture, and name and box of each thing that can be seen in it, px."""

    jpeg: bytes
    boxes: list[tuple[str, Box]]


def make_scene(seed: int) -> Scene:
    """Return the scene of a seed."""
    chance = random.Random(seed)
    room = chance.choice(ROOMS)
    world = World(
        people={name: Person(name) for name in CLOTHES},
        states={name: chance.choice(states) for name, states in FURNITURE_STATES.items()})
    _place_things(world, room, chance)
    _place_people(world, room, chance)
    if chance.random() < 0.45:
        _add(world, chance, 'robot')
    pan = chance.randint(0, CANVAS[0] - WIDTH), chance.randint(0, CANVAS[1] - HEIGHT)
    view = look(world, room, pan, chance.randint(-10, 18))
    jpeg = view.jpeg(chance.random(), chance.getrandbits(32))
    return Scene(jpeg, seen_in(objects_of(world, room, view.boxes, (0.0, 0.0, 0.0))))


def seen_in(objects: Iterable[Mapping[str, Any]]) -> list[tuple[str, Box]]:
    """Return name and box of the objects of which enough is in the picture to ask for them."""
    boxes = [(item['name'], item['bbox']) for item in objects]
    return [(name, box) for name, box in boxes
            if min(box[2] - box[0], box[3] - box[1]) >= SMALLEST]


def _place_things(world: World, room: str, chance: random.Random) -> None:
    fill = chance.uniform(0.15, 0.9)
    for place in PLACES.values():
        if place.room != room or place.name == 'door':
            continue
        for slot in range(len(place.slots)):
            if chance.random() < fill:
                thing = _add(world, chance)
                thing.shift = chance.randint(-7, 7), chance.randint(-2, 2)
                world.put(thing.instance, place.name, slot)


def _place_people(world: World, room: str, chance: random.Random) -> None:
    spots = [name for name, (where, *_) in SPOTS.items() if where == room]
    chance.shuffle(spots)
    names = chance.sample(sorted(CLOTHES), chance.choice((0, 0, 1, 1, 2)))
    for name, spot in zip(names, spots, strict=False):
        world.people[name].spot = spot
        if chance.random() < 0.5:
            thing = _add(world, chance, name)
            if chance.random() < 0.5:
                world.drinking[name] = thing.instance


def _add(world: World, chance: random.Random, holder: str = '') -> Thing:
    """Add one thing of a random kind, state and look; red mugs are twice as likely as others."""
    name = chance.choice((*DRAWINGS, 'red mug'))
    looks = ['', *(look for kind, look in LOOKS if kind == name)]
    thing = Thing(f'thing_{len(world.things)}', name, chance.choice(STATES.get(name, ('',))),
                  holder=holder, look=chance.choice(looks))
    world.things[thing.instance] = thing
    return thing
