"""What may happen in the made-up life: requests, goals with steps in them, replies, failures.

Each episode is a function of the robot that draws its things, places and people by chance. The
ones that may take one another's place last about as long, so that days are alike in amount.
"""

from __future__ import annotations

from collections.abc import Callable

from emv_ros.evaluation.life.home import PLACES
from emv_ros.evaluation.life.robot import Robot
from emv_ros.evaluation.life.skills import (
    answer_door,
    grasp,
    hand_over,
    look_around,
    move,
    navigate,
    operate,
    place,
    receive,
    show_in,
    treat,
)

LIVES_HERE = ('Anna', 'Tom')
GUESTS = ('Mara', 'Jonas', 'Ines', 'Paul', 'Selma')
# How often a search ends without success.
SEARCH_FAILS = 0.25


def _asked(robot: Robot, person: str, room: str, wish: str, reply: str) -> None:
    """Let a person come, ask, and be answered."""
    robot.home.people[person] = room
    robot.wait(2.0)
    robot.say(person, wish)
    robot.say('robot', reply)


def _thanked(robot: Robot, person: str) -> None:
    robot.say(person, robot.chance.choice((
        'Thank you, that is kind.', 'Great, thanks.', 'Perfect, thank you very much.')))
    robot.wait(3.0)
    robot.home.people.pop(person, None)


def set_table(robot: Robot) -> None:
    """Breakfast for one of the two."""
    person = robot.chance.choice(LIVES_HERE)
    drink = robot.chance.choice(('milk_1', 'juice_1', 'yoghurt_1'))
    dish = robot.chance.choice(('bowl_1', 'plate_1', 'plate_2'))
    wish = 'please set the table for breakfast'
    _asked(robot, person, 'kitchen', wish, 'Of course. Give me a few minutes.')
    with robot.doing('SetTable', trigger=wish, meal='breakfast', person=person):
        for thing in (dish, robot.chance.choice(('cereal_box_1', 'bread_1')), drink):
            move(robot, thing, 'kitchen_table')
    robot.say('robot', f'Breakfast is ready, {person}.')
    _thanked(robot, person)


def bring_coffee(robot: Robot) -> None:
    """A hot drink, made and brought."""
    person = robot.chance.choice(LIVES_HERE)
    drink = robot.chance.choice(('coffee', 'tea', 'cocoa'))
    mug = robot.chance.choice(('red_mug_1', 'red_mug_2', 'blue_mug_1'))
    target, room = robot.chance.choice((('kitchen_table', 'kitchen'), ('desk', 'study'),
                                        ('coffee_table', 'living_room')))
    wish = f'can you bring me a {drink} please'
    _asked(robot, person, room, wish, f'I will make you a {drink}.')
    with robot.doing(f'Bring{drink.capitalize()}', trigger=wish, recipient=person):
        move(robot, mug, 'counter')
        treat(robot, f'Make{drink.capitalize()}', mug, f'full of {drink}', 15.0,
              machine='coffee_machine')
        grasp(robot, mug)
        navigate(robot, target)
        hand_over(robot, mug, person)
    _thanked(robot, person)


def receive_delivery(robot: Robot) -> None:
    """A courier brings a parcel."""
    where = robot.chance.choice(('dresser', 'desk', 'coffee_table'))
    with robot.doing('ReceiveDelivery', trigger='The doorbell rang.'):
        answer_door(robot, 'courier')
        robot.home.things['parcel_1'].place = 'courier'
        robot.say('courier', f'Good morning. A parcel for {robot.chance.choice(LIVES_HERE)}.')
        robot.say('robot', 'Thank you. I will take it.')
        receive(robot, 'parcel_1', 'courier')
        robot.home.people.pop('courier', None)
        operate(robot, 'CloseDoor', 'front_door')
        navigate(robot, where)
        place(robot, 'parcel_1', where)
    robot.say('robot', f'I put a parcel on the {where.replace("_", " ")}.')
    look_around(robot, 8.0)


def load_dishwasher(robot: Robot) -> None:
    """Dishes of the morning go into the dishwasher."""
    person = robot.chance.choice(LIVES_HERE)
    dishes = robot.chance.sample(('plate_1', 'plate_2', 'bowl_1', 'glass_1', 'red_mug_1'), 2)
    for instance in dishes:
        thing = robot.home.things[instance]
        thing.place, thing.state = 'kitchen_table', 'dirty'
    wish = 'could you load the dishwasher'
    _asked(robot, person, 'kitchen', wish, 'Yes, I will load the dishwasher.')
    with robot.doing('LoadDishwasher', trigger=wish):
        navigate(robot, 'dishwasher')
        operate(robot, 'OpenDishwasher', 'dishwasher')
        for instance in dishes:
            move(robot, instance, 'dishwasher')
        operate(robot, 'CloseDishwasher', 'dishwasher')
        operate(robot, 'StartDishwasher', 'dishwasher', 1.5)
    robot.say('robot', 'The dishwasher is running.')
    robot.home.people.pop(person, None)


def water_plants(robot: Robot) -> None:
    """The plants get water."""
    with robot.doing('WaterPlants', trigger='It is time to water the plants.'):
        navigate(robot, 'window_sill')
        grasp(robot, 'watering_can_1')
        for plant in ('plant_1', 'plant_2'):
            treat(robot, 'WaterPlant', plant, 'watered', 9.0, tool='watering_can_1')
        navigate(robot, 'sink')
        treat(robot, 'FillCan', 'watering_can_1', 'full', 8.0, source='sink')
        navigate(robot, 'window_sill')
        place(robot, 'watering_can_1', 'window_sill')
    robot.say('robot', 'The plants are watered.')


def find_thing(robot: Robot) -> None:
    """Something is not where it should be."""
    person = robot.chance.choice(LIVES_HERE)
    instance = robot.chance.choice((
        'keys_1', 'phone_1', 'glasses_1', 'remote_1', 'umbrella_1', 'charger_1'))
    thing = robot.home.things[instance]
    places = robot.chance.sample(('dresser', 'coffee_table', 'desk', 'kitchen_table',
                                  'bedside_table', 'bookcase'), 3)
    is_found = robot.chance.random() >= SEARCH_FAILS
    thing.place = places[-1] if is_found else ''
    wish = f'I cannot find my {thing.name}, can you look for it'
    _asked(robot, person, 'living_room', wish, f'I will look for your {thing.name}.')
    with robot.doing('FindObject', trigger=wish, object=instance) as goal:
        for stop in places:
            navigate(robot, stop)
            look_around(robot, 7.0)
        if is_found:
            grasp(robot, instance)
            navigate(robot, 'coffee_table')
            hand_over(robot, instance, person)
        else:
            goal.fail(f'The {thing.name} was in none of the places.')
    where = places[-1].replace('_', ' ')
    robot.say('robot', f'Your {thing.name} was on the {where}.' if is_found else
              f'I could not find your {thing.name}.')
    _thanked(robot, person)


def welcome_guest(robot: Robot) -> None:
    """Somebody comes to visit and gets a glass of water."""
    guest = robot.chance.choice(GUESTS)
    with robot.doing('WelcomeGuest', trigger='The doorbell rang.', person=guest):
        answer_door(robot, guest)
        robot.say(guest, f'Hello, I am {guest}. I am here to see {LIVES_HERE[0]}.')
        show_in(robot, guest)
    robot.say(guest, 'Could I have a glass of water, please?')
    glass = robot.chance.choice(('glass_1', 'glass_2'))
    with robot.doing('BringWater', trigger='Could I have a glass of water, please?',
                     recipient=guest):
        navigate(robot, 'counter')
        grasp(robot, glass)
        navigate(robot, 'sink')
        treat(robot, 'FillGlass', glass, 'full of water', 5.0, source='sink')
        navigate(robot, 'coffee_table')
        hand_over(robot, glass, guest)
    _thanked(robot, guest)


def fetch_things(robot: Robot) -> None:
    """Two things are to be brought to a room."""
    person = robot.chance.choice(LIVES_HERE)
    things = robot.chance.sample(('novel_1', 'atlas_1', 'newspaper_1', 'towel_1', 'scarf_1',
                                  'medicine_1', 'charger_1', 'umbrella_1'), 3)
    where = robot.chance.choice(('coffee_table', 'desk', 'dresser', 'bedside_table'))
    names = ' and the '.join(robot.home.things[thing].name for thing in things)
    wish = f'bring the {names} to the {where.replace("_", " ")}'
    _asked(robot, person, PLACES[where].room, wish, 'All right.')
    with robot.doing('FetchThings', trigger=wish, destination=where):
        for thing in things:
            if robot.home.things[thing].place != where:
                move(robot, thing, where)
    robot.say('robot', 'I brought everything.')
    _thanked(robot, person)


def tidy_up(robot: Robot) -> None:
    """Things that lie about go back to their places."""
    person = robot.chance.choice(LIVES_HERE)
    things = robot.chance.sample(('newspaper_1', 'novel_1', 'remote_1', 'blue_mug_1', 'scarf_1',
                                  'towel_1', 'glass_2'), 3)
    room = robot.chance.choice(('coffee_table', 'kitchen_table'))
    for thing in things:
        robot.home.things[thing].place = room
    wish = f'please tidy up the {room.replace("_", " ")}'
    _asked(robot, person, PLACES[room].room, wish, 'I will tidy up.')
    with robot.doing('TidyUp', trigger=wish, surface=room):
        for thing in things:
            if robot.home.things[thing].home != room:
                move(robot, thing, robot.home.things[thing].home)
        navigate(robot, room)
        with robot.doing('WipeSurface', surface=room):
            robot.move_arm('middle', 2.0)
            robot.wait(9.0)
            robot.move_arm('home', 2.0)
    robot.say('robot', f'The {room.replace("_", " ")} is tidy.')
    robot.home.people.pop(person, None)


def check_home(robot: Robot) -> None:
    """The round through the rooms at night."""
    stops = robot.chance.sample(sorted(PLACES), 5)
    wish = 'good night, please check the rooms once more'
    person = robot.chance.choice(LIVES_HERE)
    _asked(robot, person, 'hall', wish, 'I will. Good night.')
    robot.home.people.pop(person, None)
    with robot.doing('InspectHome', trigger=wish):
        for stop in stops:
            navigate(robot, stop)
            look_around(robot, 9.0)
    robot.say('robot', 'Everything is in order.')


Episode = Callable[[Robot], None]
# (local hour at which it begins, the episodes that may happen then).
WORKDAY: tuple[tuple[float, tuple[Episode, ...]], ...] = (
    (7.3, (set_table, bring_coffee)), (10.2, (receive_delivery, load_dishwasher, water_plants)),
    (13.5, (fetch_things, find_thing)), (17.8, (bring_coffee, find_thing, fetch_things)),
    (21.4, (tidy_up, check_home)))
WEEKEND: tuple[tuple[float, tuple[Episode, ...]], ...] = (
    (8.6, (set_table, bring_coffee)), (11.3, (load_dishwasher, water_plants)),
    (14.8, (welcome_guest,)), (18.2, (fetch_things, find_thing)), (22.0, (tidy_up, check_home)))
