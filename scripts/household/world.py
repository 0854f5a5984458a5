"""The state of the household: rooms, places, things and people, and what of it a camera can see.

It knows where everything is and nothing of messages or the story. A place offers slots; a slot has
an anchor on the canvas of its room (px, the middle of the foot of what stands there) and a position
in the map.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

# Metres in the map for a pixel of a canvas: rooms are about four metres wide.
METRES_PER_PIXEL = 0.0115


@dataclass(frozen=True)
class Place:
    """A piece of furniture that things stand on or in.

    `slots` are anchors in pixels; `origin` is where the canvas' left edge is at this place, m.
    """

    name: str
    room: str
    slots: tuple[tuple[int, int], ...]
    origin: tuple[float, float, float]
    stand: tuple[float, float, float]  # where the robot stands to work at it: x, y in m, yaw in rad
    box: tuple[int, int, int, int]  # on the canvas, px
    predicate: str = 'on'

    def position(self, slot: int) -> tuple[float, float, float]:
        """Return where a thing in the slot is in the map, m."""
        x, y, z = self.origin
        return x, round(y - METRES_PER_PIXEL * self.slots[slot][0], 3), z


def _places() -> dict[str, Place]:
    found = [
        Place('shelf', 'kitchen', ((34, 80), (66, 80), (98, 80), (34, 46), (66, 46), (98, 46)),
              (2.9, 2.0, 1.45), (2.2, 1.2, 0.0), (14, 40, 122, 88)),
        Place('counter', 'kitchen', ((150, 118), (180, 118), (206, 118), (322, 118), (346, 118)),
              (2.8, 2.0, 0.92), (2.1, 0.0, 0.0), (124, 114, 360, 186)),
        Place('sink', 'kitchen', ((250, 136), (274, 136), (298, 136)),
              (2.8, 2.0, 0.8), (2.1, -1.1, 0.0), (232, 116, 312, 142), 'in'),
        Place('dishwasher', 'kitchen', ((156, 194), (178, 194), (200, 194)),
              (2.5, 2.0, 0.35), (1.8, 0.1, 0.0), (126, 128, 200, 204), 'in'),
        Place('table', 'kitchen', ((42, 214), (72, 206), (100, 214), (126, 206)),
              (1.4, 2.0, 0.74), (0.6, 1.1, 0.0), (14, 194, 152, 256)),
        Place('coffee_table', 'living_room', ((118, 226), (152, 222), (186, 226)),
              (-1.6, 6.0, 0.42), (-2.4, 4.2, 0.0), (92, 212, 212, 254)),
        Place('window_sill', 'living_room', ((232, 118), (272, 118), (312, 118)),
              (-0.4, 6.0, 0.95), (-1.1, 2.9, 0.0), (206, 114, 338, 126)),
        Place('dresser', 'hall', ((214, 146), (250, 146), (288, 146), (322, 146)),
              (5.1, -2.0, 0.88), (4.4, -4.9, 0.0), (194, 142, 342, 220)),
        Place('door', 'hall', ((96, 214),), (5.0, -2.0, 0.0), (4.2, -3.1, 0.0), (48, 44, 142, 216)),
    ]
    return {place.name: place for place in found}


PLACES = _places()
# Where the robot waits, and the spots where people stand or sit: anchors on the canvas, px.
DOCK = (0.0, -1.6, 1.57)
SPOTS = {
    'at table': ('kitchen', (58, 196), (1.9, 1.2, 0.0), 'next_to', 'table'),
    'by table': ('kitchen', (140, 196), (1.9, 0.4, 0.0), 'next_to', 'table'),
    'at counter': ('kitchen', (216, 204), (2.0, -0.5, 0.0), 'next_to', 'counter'),
    'on sofa': ('living_room', (70, 204), (-0.9, 5.2, 0.0), 'on', 'sofa'),
    'on sofa right': ('living_room', (134, 204), (-0.9, 4.5, 0.0), 'on', 'sofa'),
    'in living room': ('living_room', (252, 226), (-1.5, 3.1, 0.0), '', ''),
    'at door': ('hall', (96, 214), (5.0, -3.1, 0.0), 'at', 'door'),
    'in hall': ('hall', (166, 224), (4.6, -3.9, 0.0), '', ''),
}
# What is always there: name, room, box on the canvas, position in the map.
FURNITURE = {
    'sofa': ('living_room', (22, 136, 186, 214), (-0.8, 5.0, 0.4)),
}


@dataclass
class Thing:
    """Something that can be moved. It is at a place and slot, or held by `holder`; else away.

    `look` tells things of one name apart; `shift` is how far from its slot's anchor it stands, px.
    """

    instance: str
    name: str
    state: str = ''
    place: str = ''
    slot: int = 0
    holder: str = ''
    hidden_by: str = ''
    look: str = ''
    shift: tuple[int, int] = (0, 0)


@dataclass
class Person:
    """Somebody in the household; at no spot: not at home."""

    name: str
    spot: str = ''


@dataclass
class World:
    """All that is the case at one instant."""

    things: dict[str, Thing] = field(default_factory=dict)
    people: dict[str, Person] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)  # of furniture
    drinking: dict[str, str] = field(default_factory=dict)  # person to thing

    def put(self, instance: str, place: str, slot: int | None = None) -> None:
        """Put a thing into a slot of a place, by default the first free one."""
        taken = {thing.slot for thing in self.things.values() if thing.place == place}
        free = [number for number in range(len(PLACES[place].slots)) if number not in taken]
        wanted = free[0] if slot is None else slot
        if wanted not in free:
            raise ValueError(f'slot {wanted} of {place} is taken: no room for {instance}')
        thing = self.things[instance]
        thing.place, thing.slot, thing.holder = place, wanted, ''

    def give(self, instance: str, holder: str) -> None:
        """Give a thing to a person or into the robot's gripper."""
        thing = self.things[instance]
        thing.place, thing.slot, thing.holder = '', 0, holder

    def held_by(self, holder: str) -> Thing | None:
        """Return what somebody holds."""
        return next((thing for thing in self.things.values() if thing.holder == holder), None)

    def people_in(self, room: str) -> Iterator[Person]:
        """Yield who is in a room."""
        for person in self.people.values():
            if person.spot and SPOTS[person.spot][0] == room:
                yield person

    def things_in(self, room: str) -> Iterator[Thing]:
        """Yield what stands open to view in a room, but for what a person or the gripper holds."""
        for thing in self.things.values():
            if not thing.place or PLACES[thing.place].room != room:
                continue
            is_covered = bool(thing.hidden_by) and self.things[thing.hidden_by].place == thing.place
            is_shut = thing.place == 'dishwasher' and self.states.get('dishwasher') != 'open'
            if not (is_covered or is_shut):
                yield thing


def household() -> World:
    """Return the household as it is before the first day."""
    world = World(
        people={name: Person(name) for name in ('user', 'courier', 'Clara')},
        states={'dishwasher': 'closed', 'door': 'closed'})
    stock = [
        ('red_mug_1', 'red mug', 'clean', 'shelf', 0),
        ('red_mug_2', 'red mug', 'clean', 'shelf', 2),
        ('bowl_1', 'bowl', 'clean', 'shelf', 3), ('glass_1', 'glass', 'clean', 'shelf', 4),
        ('plate_1', 'plate', 'clean', 'shelf', 5),
        ('cereal_box_1', 'cereal box', '', 'counter', 2), ('milk_1', 'milk', '', 'counter', 3),
        ('bottle_1', 'water bottle', '', 'counter', 4),
        ('coffee_machine', 'coffee machine', '', 'counter', 0),
        ('keys_1', 'keys', '', 'coffee_table', 1),
        ('newspaper_1', 'newspaper', '', 'coffee_table', 1),
        ('plant_1', 'plant', 'dry', 'window_sill', 0),
        ('plant_2', 'plant', 'dry', 'window_sill', 2),
        ('watering_can_1', 'watering can', 'full', 'window_sill', 1),
        ('lamp_1', 'lamp', '', 'dresser', 3)]
    for instance, name, state, place, slot in stock:
        world.things[instance] = Thing(instance, name, state, place, slot)
    world.things['parcel_1'] = Thing('parcel_1', 'parcel', 'closed')
    world.things['red_mug_1'].look = 'white band'
    world.things['keys_1'].hidden_by = 'newspaper_1'
    return world
