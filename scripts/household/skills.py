"""What the robot can do: each skill moves it, changes the household and reports about itself.

Its reports name a kind of thing, as 'red mug', for more it does not know: which of two like things
it was is left to the pictures. Places have names in its map.
"""

from __future__ import annotations

from household.robot import Robot
from household.world import PLACES

REACHES = {'shelf': 'high', 'dishwasher': 'low', 'coffee_table': 'low'}  # else middle


def navigate(robot: Robot, place: str) -> None:
    """Drive to a place, unless the robot is there already."""
    if robot.place == place:
        return
    with robot.doing('NavigateTo', destination=place):
        robot.drive(place)


def grasp(robot: Robot, instance: str, trouble: str = '') -> bool:
    """Take a thing from where it is, and return True; with `trouble`, fail for that reason."""
    thing = robot.world.things[instance]
    place = thing.place
    with robot.doing('GraspObject', object=thing.name, source=place) as run:
        robot.move_arm(REACHES.get(place, 'middle'), 3.0)
        if trouble:
            robot.wait(2.0)
            run.fail(trouble)
            robot.note('failure', skill='GraspObject', object=instance, why=trouble)
        else:
            robot.world.give(instance, 'robot')
            thing.hidden_by = ''
            robot.note('moved', object=instance, to='gripper', by='robot')
        robot.move_arm('carry', 2.5)
    return not trouble


def place(robot: Robot, instance: str, where: str, slot: int | None = None) -> None:
    """Put what the gripper holds onto or into a place."""
    with robot.doing('PlaceObject', object=_kind(robot, instance), destination=where):
        robot.move_arm(REACHES.get(where, 'middle'), 2.5)
        robot.world.put(instance, where, slot)
        robot.note('moved', object=instance, to=where, by='robot')
        robot.move_arm('home', 2.5)


def move(robot: Robot, instance: str, where: str, slot: int | None = None,
         trouble: str = '') -> None:
    """Carry a thing from its place to another; with `trouble`, the first grasp fails."""
    with robot.doing('MoveObject', object=_kind(robot, instance), destination=where):
        navigate(robot, robot.world.things[instance].place)
        if trouble:
            grasp(robot, instance, trouble)
            robot.wait(1.0)
        grasp(robot, instance)
        navigate(robot, where)
        place(robot, instance, where, slot)


def hand_over(robot: Robot, instance: str, person: str) -> None:
    """Give what the gripper holds to a person in the same room."""
    with robot.doing('HandOverObject', object=_kind(robot, instance), recipient=person):
        robot.move_arm('offer', 2.5)
        robot.wait(1.5)
        robot.world.give(instance, person)
        robot.note('moved', object=instance, to=person, by='robot')
        robot.move_arm('home', 2.5)


def receive(robot: Robot, instance: str, person: str) -> None:
    """Take a thing that a person holds out."""
    with robot.doing('ReceiveObject', object=_kind(robot, instance), giver=person):
        robot.move_arm('offer', 2.5)
        robot.wait(2.0)
        robot.world.give(instance, 'robot')
        robot.note('moved', object=instance, to='gripper', by='robot')
        robot.move_arm('carry', 2.0)


def operate(robot: Robot, skill: str, target: str, state: str, seconds: float = 3.0) -> None:
    """Open, close or start a piece of furniture: its state changes half way."""
    with robot.doing(skill, target=target):
        robot.move_arm(REACHES.get(target, 'middle'), seconds)
        robot.world.states[target] = state
        robot.note('state', object=target, state=state)
        robot.move_arm('home', seconds)


def pour(robot: Robot, skill: str, target: str, state: str, seconds: float,
         **parameters: str) -> None:
    """Let a liquid flow into a thing, whose state changes by it."""
    with robot.doing(skill, object=_kind(robot, target), **parameters):
        robot.move_arm('pour', 3.0)
        robot.wait(seconds)
        robot.world.things[target].state = state
        robot.note('state', object=target, state=state)
        robot.move_arm('carry', 2.0)


def look_around(robot: Robot, seconds: float = 6.0) -> None:
    """Stand and look."""
    with robot.doing('LookAround', room=PLACES[robot.place].room if robot.place else robot.room):
        robot.wait(seconds)


def _kind(robot: Robot, instance: str) -> str:
    return robot.world.things[instance].name
