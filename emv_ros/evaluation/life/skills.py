"""What the robot of the made-up life can do: each skill moves it, changes the home, and reports."""

from __future__ import annotations

from emv_ros.evaluation.life.home import EVERY_PLACE
from emv_ros.evaluation.life.robot import Robot

# How often a grasp fails, and then is tried again.
GRASP_FAILS = 0.08
_TROUBLES = ('The thing slipped out of the gripper.', 'The grasp was not stable.',
             'The arm did not reach it.')


def navigate(robot: Robot, place: str) -> None:
    """Drive to a place, unless the robot is there already."""
    if robot.place != place:
        with robot.doing('NavigateTo', destination=place):
            robot.drive(place)


def grasp(robot: Robot, instance: str) -> None:
    """Take a thing from where it is, sometimes at the second attempt."""
    thing = robot.home.things[instance]
    posture = EVERY_PLACE[thing.place].posture
    if robot.chance.random() < GRASP_FAILS:
        with robot.doing('GraspObject', object=instance, source=thing.place) as run:
            robot.move_arm(posture, 3.0)
            run.fail(robot.chance.choice(_TROUBLES))
            robot.move_arm('carry', 2.0)
    with robot.doing('GraspObject', object=instance, source=thing.place):
        robot.move_arm(posture, 3.0)
        thing.place = 'gripper'
        robot.move_arm('carry', 2.5)


def place(robot: Robot, instance: str, where: str) -> None:
    """Put what the gripper holds onto or into a place."""
    with robot.doing('PlaceObject', object=instance, destination=where):
        robot.move_arm(EVERY_PLACE[where].posture, 2.5)
        robot.home.things[instance].place = where
        robot.notice(instance, f'put {EVERY_PLACE[where].predicate} {where}')
        robot.move_arm('home', 2.5)


def move(robot: Robot, instance: str, where: str) -> None:
    """Carry a thing from its place to another."""
    with robot.doing('MoveObject', object=instance, destination=where):
        navigate(robot, robot.home.things[instance].place)
        grasp(robot, instance)
        navigate(robot, where)
        place(robot, instance, where)


def hand_over(robot: Robot, instance: str, person: str) -> None:
    """Give what the gripper holds to a person in the same room."""
    with robot.doing('HandOverObject', object=instance, recipient=person):
        robot.move_arm('offer', 2.5)
        robot.wait(1.5)
        robot.home.things[instance].place = person
        robot.notice(instance, f'given to {person}')
        robot.move_arm('home', 2.5)


def receive(robot: Robot, instance: str, person: str) -> None:
    """Take a thing that a person holds out."""
    with robot.doing('ReceiveObject', object=instance, giver=person):
        robot.move_arm('offer', 2.5)
        robot.wait(2.0)
        robot.home.things[instance].place = 'gripper'
        robot.notice(instance, f'taken from {person}')
        robot.move_arm('carry', 2.0)


def operate(robot: Robot, skill: str, target: str, seconds: float = 2.5) -> None:
    """Open, close or start a piece of furniture."""
    with robot.doing(skill, target=target):
        robot.move_arm(EVERY_PLACE[target].posture, seconds)
        robot.move_arm('home', seconds)


def treat(robot: Robot, skill: str, instance: str, state: str, seconds: float,
          **parameters: str) -> None:
    """Do something to a thing by which its state changes: pour, fill, water, wipe."""
    with robot.doing(skill, object=instance, **parameters):
        robot.move_arm('pour', 2.5)
        robot.wait(seconds)
        robot.home.things[instance].state = state
        robot.notice(instance, state)
        robot.move_arm('carry', 2.0)


def look_around(robot: Robot, seconds: float = 6.0) -> None:
    """Stand and look."""
    with robot.doing('LookAround', room=EVERY_PLACE[robot.place].room):
        robot.wait(seconds)


def answer_door(robot: Robot, visitor: str) -> None:
    """Open the front door to somebody, who stands in the hall then."""
    navigate(robot, 'front_door')
    operate(robot, 'OpenDoor', 'front_door')
    robot.home.people[visitor] = 'hall'


def show_in(robot: Robot, guest: str) -> None:
    """Welcome a guest who stands in the hall, and lead the way to the living room."""
    robot.say('robot', f'Welcome, {guest}. Please come in.')
    operate(robot, 'CloseDoor', 'front_door')
    with robot.doing('GuidePerson', person=guest, destination='coffee_table'):
        robot.drive('coffee_table')
        robot.home.people[guest] = 'living_room'
