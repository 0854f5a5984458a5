"""The household of simulated histories: who lives there, what is in it, and how it is called.

Where things are carries over from day to day: a thing stays where it was left until the robot or,
unseen by it, a person moves it.
"""

from __future__ import annotations

from emv_ros.evaluation.life.home import EVERY_PLACE, Home, Thing

RESIDENTS = ('Clara', 'Henrik')
GUESTS = ('Nadja', 'Emil', 'Ruth', 'Oskar', 'Yara', 'Viktor')

OUTSIDE = 'outside'  # where things are before somebody brings them

_STOCK = (
    ('red_mug_1', 'red mug', 'kitchen_shelf'), ('red_mug_2', 'red mug', 'kitchen_shelf'),
    ('yellow_mug_1', 'yellow mug', 'kitchen_shelf'), ('plate_1', 'plate', 'kitchen_shelf'),
    ('bowl_1', 'bowl', 'kitchen_shelf'), ('glass_1', 'glass', 'kitchen_shelf'),
    ('pan_1', 'pan', 'stove'), ('pot_1', 'pot', 'stove'), ('bread_1', 'bread', 'counter'),
    ('jam_1', 'jam', 'fridge'), ('cheese_1', 'cheese', 'fridge'), ('honey_1', 'honey', 'counter'),
    ('fern_1', 'fern', 'window_sill'), ('orchid_1', 'orchid', 'window_sill'),
    ('basil_1', 'basil', 'window_sill'), ('watering_can_1', 'watering can', 'window_sill'),
    ('car_keys_1', 'car keys', 'dresser'), ('phone_1', 'phone', 'desk'),
    ('reading_glasses_1', 'reading glasses', 'desk'), ('wallet_1', 'wallet', 'dresser'),
    ('remote_control_1', 'remote control', 'coffee_table'), ('novel_1', 'novel', 'bookcase'),
    ('atlas_1', 'atlas', 'bookcase'), ('sewing_kit_1', 'sewing kit', 'sideboard'),
    ('chess_set_1', 'chess set', 'sideboard'), ('torch_1', 'torch', 'dresser'),
    ('green_folder_1', 'green folder', 'bookcase'), ('green_folder_2', 'green folder', 'bookcase'),
    ('magazine_1', 'magazine', 'coffee_table'), ('blanket_1', 'blanket', 'bed'),
    ('towel_1', 'towel', 'laundry_basket'), ('shirt_1', 'shirt', 'laundry_basket'),
    ('jumper_1', 'jumper', 'laundry_basket'), ('socks_1', 'socks', 'laundry_basket'),
    ('medicine_box_1', 'medicine box', 'bathroom_cabinet'), ('mop_1', 'mop', 'bathroom_cabinet'),
    ('food_bowl_1', 'food bowl', 'rabbit_hutch'), ('rubbish_bag_1', 'rubbish bag', 'counter'),
    ('package_1', 'package', OUTSIDE), ('letter_1', 'letter', OUTSIDE),
    ('apples_1', 'apples', 'counter'), ('rice_1', 'rice', 'counter'), ('eggs_1', 'eggs', 'counter'))

NAMES = {instance: name for instance, name, _ in _STOCK}
LIKE = ('red mug', 'green folder')  # names that two things share


def new_home() -> Home:
    """Return the household as it is before the first day."""
    return Home(things={instance: Thing(instance, name, home, '', home)
                        for instance, name, home in _STOCK})


def spoken(name: str) -> str:
    """Return the name of a place as people say it."""
    return name.replace('_', ' ')


def place_words(name: str) -> tuple[str, ...]:
    """Return the words that may stand for a place or a person in an answer."""
    return tuple(dict.fromkeys((spoken(name), name)))


def room_of(place: str) -> str:
    """Return the room that a place is in."""
    return EVERY_PLACE[place].room


def named(*instances: str) -> tuple[tuple[str, ...], ...]:
    """Return the words that may stand for each of the instances."""
    return tuple(place_words(NAMES[one]) + (one,) for one in instances)


def listed(*instances: str) -> str:
    """Return the names of instances as a list in words."""
    names = [f'the {NAMES[one]}' for one in instances]
    return ' and '.join((', '.join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
