"""What a perfect detector would say of a view: objects with boxes and places, and relations.

None of it is recorded: it is the yardstick for what a real detector makes of the pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import math
from typing import Any

from household.shapes import Box
from household.world import FURNITURE, PLACES, SPOTS, World

NAMES = {'coffee_table': 'coffee table', 'window_sill': 'window sill'}


def objects_of(world: World, room: str, boxes: Mapping[str, Box],
               robot: tuple[float, ...]) -> list[dict[str, Any]]:
    """Return name, instance, bbox, position and state of everything that has a box.

    `robot` is x, y, yaw of the robot in the map: what it holds is where its hand is.
    """
    x, y, yaw = robot
    gripper = (round(x + 0.6 * math.cos(yaw), 3), round(y + 0.6 * math.sin(yaw), 3), 0.95)
    found = []
    for instance, box in boxes.items():
        name, position, state = _described(world, room, instance, gripper)
        found.append({'name': name, 'instance': instance, 'bbox': box, 'position': position,
                      'state': state})
    return found


def _described(world: World, room: str, instance: str, gripper: tuple[float, float, float],
               ) -> tuple[str, tuple[float, float, float] | None, str]:
    if instance == 'gripper':
        return 'gripper', gripper, 'holding' if world.held_by('robot') else 'empty'
    if instance in PLACES:
        middle = len(PLACES[instance].slots) // 2
        return (NAMES.get(instance, instance), PLACES[instance].position(middle),
                world.states.get(instance, ''))
    if instance in FURNITURE:
        return instance, FURNITURE[instance][2], ''
    if instance in world.people:
        x, y, _ = SPOTS[world.people[instance].spot][2]
        is_seated = 'sofa' in world.people[instance].spot
        return 'person', (x, y, 0.9), 'sitting' if is_seated else 'standing'
    thing = world.things[instance]
    if thing.holder == 'robot':
        return thing.name, gripper, thing.state
    if thing.holder:
        x, y, _ = SPOTS[world.people[thing.holder].spot][2]
        return thing.name, (round(x - 0.2, 3), y, 1.1), thing.state
    return thing.name, PLACES[thing.place].position(thing.slot), thing.state


def relations_of(world: World, room: str, seen: set[str]) -> list[tuple[str, str, str]]:
    """Return subject, predicate and object of each relation between instances that are seen."""
    found = [*_people(world, room), *_things(world, room)]
    return [one for one in found if one[0] in seen and one[2] in seen]


def _people(world: World, room: str) -> Iterator[tuple[str, str, str]]:
    for someone in world.people_in(room):
        _, _, _, predicate, furniture = SPOTS[someone.spot]
        if predicate:
            yield someone.name, predicate, furniture
        held = world.held_by(someone.name)
        if held is not None:
            is_drinking = world.drinking.get(someone.name) == held.instance
            yield someone.name, 'drinks_from' if is_drinking else 'holds', held.instance


def _things(world: World, room: str) -> Iterator[tuple[str, str, str]]:
    held = world.held_by('robot')
    if held is not None:
        yield 'gripper', 'holds', held.instance
    things = list(world.things_in(room))
    for thing in things:
        yield thing.instance, PLACES[thing.place].predicate, thing.place
    for one in things:
        for other in things:
            if one.place == other.place and other.slot == one.slot + 1:
                yield one.instance, 'next_to', other.instance
