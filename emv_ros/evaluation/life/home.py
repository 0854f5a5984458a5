"""The home of the made-up life: its places, its things, its people, and where everything is.

Each morning everything is at its own place again, so that no day depends on the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Place:
    """A piece of furniture; `stand` is where the robot works at it: x, y in m, yaw in rad."""

    name: str
    room: str
    stand: tuple[float, float, float]
    posture: str = 'middle'
    predicate: str = 'on'


@dataclass(slots=True)
class Thing:
    """Something that can be carried. `place` names a place, 'gripper' or a person."""

    instance: str
    name: str
    home: str
    state: str = ''
    place: str = ''


PLACES = {place.name: place for place in (
    Place('kitchen_shelf', 'kitchen', (2.2, 1.2, 0.0), 'high'),
    Place('counter', 'kitchen', (2.1, 0.0, 0.0)),
    Place('sink', 'kitchen', (2.1, -1.1, 0.0), 'middle', 'in'),
    Place('dishwasher', 'kitchen', (1.8, 0.1, 0.0), 'low', 'in'),
    Place('fridge', 'kitchen', (2.2, -2.0, 0.0), 'middle', 'in'),
    Place('kitchen_table', 'kitchen', (0.6, 1.1, 0.0)),
    Place('coffee_table', 'living_room', (-2.4, 4.2, 0.0), 'low'),
    Place('window_sill', 'living_room', (-1.1, 2.9, 0.0)),
    Place('bookcase', 'living_room', (-3.0, 3.4, 1.6), 'high'),
    Place('desk', 'study', (-4.6, -1.2, 3.1)),
    Place('dresser', 'hall', (4.4, -4.9, 0.0)),
    Place('front_door', 'hall', (4.2, -3.1, 0.0)),
    Place('washing_machine', 'bathroom', (5.2, 1.4, 0.0), 'low', 'in'),
    Place('bedside_table', 'bedroom', (-4.8, 6.1, 1.6), 'low'))}
# Where the made-up life never goes, and simulated histories do.
FURTHER_PLACES = {place.name: place for place in (
    Place('stove', 'kitchen', (1.4, -2.2, 0.0)),
    Place('dustbin', 'yard', (7.4, -3.4, 0.0), 'low', 'in'),
    Place('rabbit_hutch', 'yard', (7.0, -5.6, 0.0), 'low', 'in'),
    Place('sideboard', 'living_room', (-3.4, 2.2, 3.1)),
    Place('wardrobe', 'bedroom', (-3.2, 6.6, 1.6), 'middle', 'in'),
    Place('bed', 'bedroom', (-4.2, 5.2, 1.6), 'low'),
    Place('laundry_basket', 'bathroom', (5.0, 2.4, 0.0), 'low', 'in'),
    Place('bathroom_cabinet', 'bathroom', (4.3, 2.6, 1.6), 'high', 'in'))}
EVERY_PLACE = PLACES | FURTHER_PLACES

_STOCK = (
    ('red_mug_1', 'red mug', 'kitchen_shelf', 'clean'),
    ('red_mug_2', 'red mug', 'kitchen_shelf', 'clean'),
    ('blue_mug_1', 'blue mug', 'kitchen_shelf', 'clean'),
    ('plate_1', 'plate', 'kitchen_shelf', 'clean'), ('plate_2', 'plate', 'kitchen_shelf', 'clean'),
    ('bowl_1', 'bowl', 'kitchen_shelf', 'clean'), ('glass_1', 'glass', 'counter', 'clean'),
    ('glass_2', 'glass', 'counter', 'clean'), ('cereal_box_1', 'cereal box', 'counter', ''),
    ('bread_1', 'bread', 'counter', ''), ('milk_1', 'milk', 'fridge', ''),
    ('juice_1', 'orange juice', 'fridge', ''), ('yoghurt_1', 'yoghurt', 'fridge', ''),
    ('keys_1', 'keys', 'dresser', ''), ('umbrella_1', 'umbrella', 'dresser', ''),
    ('scarf_1', 'green scarf', 'dresser', ''), ('glasses_1', 'reading glasses', 'desk', ''),
    ('phone_1', 'phone', 'desk', ''), ('charger_1', 'charger', 'desk', ''),
    ('novel_1', 'novel', 'bookcase', ''), ('atlas_1', 'atlas', 'bookcase', ''),
    ('newspaper_1', 'newspaper', 'coffee_table', ''), ('remote_1', 'remote control',
                                                       'coffee_table', ''),
    ('plant_1', 'plant', 'window_sill', 'dry'), ('plant_2', 'plant', 'window_sill', 'dry'),
    ('watering_can_1', 'watering can', 'window_sill', 'full'),
    ('towel_1', 'towel', 'washing_machine', 'clean'),
    ('medicine_1', 'medicine box', 'bedside_table', ''),
    ('parcel_1', 'parcel', '', 'closed'))


def _things() -> dict[str, Thing]:
    return {instance: Thing(instance, name, home, state, home)
            for instance, name, home, state in _STOCK}


@dataclass(slots=True)
class Home:
    """Where everything is, and who is in which room."""

    things: dict[str, Thing] = field(default_factory=_things)
    people: dict[str, str] = field(default_factory=dict)

    def put_back(self) -> None:
        """Let people put back what they hold, and find what was lost."""
        for thing in self.things.values():
            if thing.place not in EVERY_PLACE:
                thing.place = thing.home

    def at(self, place: str, *names: str) -> list[Thing]:
        """Return the things at a place, those of the given names where there are any."""
        return [thing for thing in self.things.values()
                if thing.place == place and (not names or thing.name in names)]

    def held(self) -> Thing | None:
        """Return what the robot holds."""
        return next(iter(self.at('gripper')), None)

    def in_view(self, place: str) -> Sequence[Thing]:
        """Return what a robot at a place sees: what stands there, and what it holds."""
        return [*self.at(place), *self.at('gripper')]

    def people_in(self, room: str) -> list[str]:
        """Return who is in a room."""
        return [name for name, where in self.people.items() if where == room]
