"""What happens in the household from Tuesday, 12 May to Thursday, 14 May 2026, in Berlin.

Each episode is a function; `EPISODES` says when it begins. People speak, come, go and move things
by themselves between the episodes as well; the robot records only what it perceives.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from zoneinfo import ZoneInfo

from household.robot import Robot
from household.skills import (
    grasp,
    hand_over,
    look_around,
    move,
    navigate,
    operate,
    place,
    pour,
    receive,
)
from household.world import SPOTS

ZONE = ZoneInfo('Europe/Berlin')


def _stand(robot: Robot, person: str, spot: str = '') -> None:
    """Let a person be at a spot, by default nowhere."""
    if spot and spot not in SPOTS:
        raise ValueError(f'there is no spot {spot!r}')
    robot.world.people[person].spot = spot


def set_table(robot: Robot) -> None:
    """The user asks for breakfast."""
    robot.wait(4)
    robot.say('user', 'please set the table for breakfast', by_recogniser=True)
    robot.say('robot', 'Of course. Give me a few minutes.')
    with robot.doing('SetTable', trigger='please set the table for breakfast', meal='breakfast'):
        move(robot, 'plate_1', 'table')
        move(robot, 'bowl_1', 'table')
        move(robot, 'cereal_box_1', 'table')
        move(robot, 'milk_1', 'table')
    _stand(robot, 'user', 'at table')
    robot.say('robot', 'Breakfast is ready.')
    robot.say('user', 'Thank you, that looks good.')
    robot.wait(8)
    for dish in ('plate_1', 'bowl_1'):
        robot.world.things[dish].state = 'dirty'
    robot.wait(5)


def receive_delivery(robot: Robot) -> None:
    """A courier brings a parcel while the user is out."""
    _stand(robot, 'user')
    for instance, slot in (('cereal_box_1', 2), ('milk_1', 3)):  # tidied away by the user
        robot.world.put(instance, 'counter', slot)
    robot.wait(3)
    with robot.doing('ReceiveDelivery', trigger='The doorbell rang.') as goal:
        navigate(robot, 'door')
        operate(robot, 'OpenDoor', 'door', 'open')
        _stand(robot, 'courier', 'at door')
        robot.world.give('parcel_1', 'courier')
        robot.say('courier', 'Good morning. I have a parcel for Mister Weber.')
        robot.say('robot', 'Thank you. I will take it for him.')
        receive(robot, 'parcel_1', 'courier')
        robot.note('delivered', object='parcel_1', by='courier')
        robot.wait(2)
        _stand(robot, 'courier')
        operate(robot, 'CloseDoor', 'door', 'closed')
        navigate(robot, 'dresser')
        place(robot, 'parcel_1', 'dresser', 0)
        goal.narration = 'Took a parcel from a courier and put it on the dresser in the hall.'
    robot.wait(5)


def load_dishwasher(robot: Robot) -> None:
    """The dishes of the breakfast go into the dishwasher; the bowl slips once."""
    _stand(robot, 'user', 'at counter')
    navigate(robot, 'table')
    robot.wait(3)
    robot.say('user', 'Could you load the dishwasher, please?')
    robot.say('robot', 'Yes, I will load the dishwasher.')
    with robot.doing('LoadDishwasher', trigger='Could you load the dishwasher, please?'):
        navigate(robot, 'dishwasher')
        operate(robot, 'OpenDishwasher', 'dishwasher', 'open')
        _stand(robot, 'user')
        move(robot, 'bowl_1', 'dishwasher', trouble='The bowl slipped out of the gripper.')
        move(robot, 'plate_1', 'dishwasher')
        operate(robot, 'CloseDishwasher', 'dishwasher', 'closed')
        operate(robot, 'StartDishwasher', 'dishwasher', 'running', 2.0)
    robot.say('robot', 'The dishwasher is running.')
    robot.say('robot', 'A parcel came this morning. It is on the dresser in the hall.')
    robot.wait(5)


def bring_coffee(robot: Robot) -> None:
    """The user drinks coffee from one of the two red mugs."""
    robot.world.states['dishwasher'] = 'closed'
    for dish in ('plate_1', 'bowl_1'):
        robot.world.things[dish].state = 'clean'
    _stand(robot, 'user', 'at table')
    navigate(robot, 'counter')
    wish = 'can you bring me a coffee in a red mug'
    robot.say('user', wish, by_recogniser=True)
    with robot.doing('BringCoffee', trigger=wish, recipient='user') as goal:
        navigate(robot, 'shelf')
        grasp(robot, 'red_mug_1')
        navigate(robot, 'counter')
        place(robot, 'red_mug_1', 'counter', 1)
        pour(robot, 'MakeCoffee', 'red_mug_1', 'full of coffee', 9.0, machine='coffee machine')
        grasp(robot, 'red_mug_1')
        navigate(robot, 'table')
        hand_over(robot, 'red_mug_1', 'user')
        goal.narration = 'Made coffee in a red mug and handed it to the user at the table.'
    robot.say('robot', 'Here is your coffee.')
    robot.say('user', 'Thank you. That is just what I needed.')
    robot.world.drinking['user'] = 'red_mug_1'
    robot.note('drinks', person='user', object='red_mug_1')
    robot.wait(24)
    robot.note('drank', person='user', object='red_mug_1')
    del robot.world.drinking['user']
    robot.world.things['red_mug_1'].state = 'dirty'
    robot.world.put('red_mug_1', 'table', 1)
    robot.note('moved', object='red_mug_1', to='table', by='user')
    robot.wait(4)
    robot.say('user', 'I drank it all, that was good. Now I have to go to work.')
    robot.say('user', 'Please water the plants today.')
    robot.say('robot', 'I will do that. Have a good day.')
    robot.wait(2)
    _stand(robot, 'user')
    robot.wait(4)


def water_plants(robot: Robot) -> None:
    """The plants in the living room get water while nobody is at home."""
    robot.wait(2)
    with robot.doing('WaterPlants', trigger='Please water the plants today.'):
        navigate(robot, 'window_sill')
        grasp(robot, 'watering_can_1')
        for plant in ('plant_1', 'plant_2'):
            pour(robot, 'WaterPlant', plant, 'watered', 7.0, tool='watering can')
            robot.note('watered', object=plant)
        place(robot, 'watering_can_1', 'window_sill', 1)
    look_around(robot, 5)


def clear_table(robot: Robot) -> None:
    """The mug of the morning goes into the sink."""
    _stand(robot, 'user', 'at counter')
    navigate(robot, 'table')
    wish = 'i am back please clear the table'
    robot.say('user', wish, by_recogniser=True)
    with robot.doing('ClearTable', trigger=wish) as goal:
        _stand(robot, 'user', 'by table')
        move(robot, 'red_mug_1', 'sink', 1)
        navigate(robot, 'table')
        with robot.doing('WipeSurface', surface='table'):
            robot.move_arm('middle', 3)
            robot.wait(4)
            robot.move_arm('home', 2)
        goal.narration = 'Carried the red mug from the table to the sink and wiped the table.'
    robot.say('robot', 'The table is clean. I put the mug into the sink.')
    robot.wait(3)


def find_keys(robot: Robot) -> None:
    """The keys lie under the newspaper."""
    _stand(robot, 'user', 'in hall')
    navigate(robot, 'dresser')
    wish = 'I cannot find my keys. Can you look for them?'
    robot.say('user', wish)
    with robot.doing('FindObject', trigger=wish, object='keys') as goal:
        look_around(robot)
        robot.say('robot', 'They are not in the hall.')
        navigate(robot, 'coffee_table')
        look_around(robot)
        grasp(robot, 'newspaper_1')
        robot.note('found', object='keys_1', where='coffee_table')
        robot.say('robot', 'I found your keys. They were under the newspaper on the coffee table.')
        place(robot, 'newspaper_1', 'coffee_table', 0)
        _stand(robot, 'user', 'in living room')
        grasp(robot, 'keys_1')
        hand_over(robot, 'keys_1', 'user')
        goal.narration = 'Found the keys under the newspaper on the coffee table.'
    robot.say('user', 'There they are. Thank you so much.')
    robot.wait(4)


def welcome_guest(robot: Robot) -> None:
    """Clara comes to visit."""
    robot.world.things['keys_1'].holder = ''  # in a pocket, out of sight
    _stand(robot, 'user')
    robot.wait(2)
    with robot.doing('WelcomeGuest', trigger='The doorbell rang.'):
        navigate(robot, 'door')
        operate(robot, 'OpenDoor', 'door', 'open')
        _stand(robot, 'Clara', 'at door')
        robot.note('arrived', person='Clara')
        robot.say('Clara', 'Hello. I am Clara, a friend from university.')
        robot.say('robot', 'Welcome, Clara. Please come in.')
        _stand(robot, 'Clara', 'in hall')
        operate(robot, 'CloseDoor', 'door', 'closed')
        with robot.doing('GuidePerson', person='Clara', destination='coffee_table'):
            robot.drive('coffee_table')
            _stand(robot, 'Clara', 'on sofa right')
    _stand(robot, 'user', 'on sofa')
    robot.say('Clara', 'What a nice flat. I have a new phone, I will give you my number later.')
    robot.say('user', 'Good. Write it down before you leave.')
    robot.wait(5)


def bring_water(robot: Robot) -> None:
    """The bottle is empty, so the water comes from the tap."""
    wish = 'Could I have a glass of water, please?'
    robot.say('Clara', wish)
    robot.world.things['bottle_1'].state = 'empty'
    navigate(robot, 'shelf')
    grasp(robot, 'glass_1')
    navigate(robot, 'counter')
    place(robot, 'glass_1', 'counter', 1)
    with robot.doing('PourWater', trigger=wish, object='glass',
                     container='water bottle') as run:
        robot.move_arm('pour', 3)
        robot.wait(3)
        why = 'The water bottle is empty.'
        run.fail(why)
        robot.note('failure', skill='PourWater', object='glass_1', why=why)
        robot.move_arm('home', 2)
    robot.say('robot', 'The water bottle is empty. I will take water from the tap.')
    with robot.doing('BringWater', trigger=wish, recipient='Clara'):
        grasp(robot, 'glass_1')
        navigate(robot, 'sink')
        pour(robot, 'FillGlass', 'glass_1', 'full of water', 5.0, source='sink')
        navigate(robot, 'coffee_table')
        hand_over(robot, 'glass_1', 'Clara')
    robot.say('Clara', 'Thank you, that is very kind.')
    robot.wait(6)


def say_goodbye(robot: Robot) -> None:
    """Clara leaves; the robot has a last look at the kitchen."""
    robot.world.things['glass_1'].state = 'dirty'
    robot.world.put('glass_1', 'coffee_table', 2)
    _stand(robot, 'user', 'in hall')
    _stand(robot, 'Clara', 'at door')
    robot.world.states['door'] = 'open'
    navigate(robot, 'door')
    robot.say('Clara', 'Goodbye, and thank you for the nice afternoon.')
    robot.say('robot', 'Goodbye, Clara.')
    _stand(robot, 'Clara')
    robot.note('left', person='Clara')
    operate(robot, 'CloseDoor', 'door', 'closed')
    wish = 'please check the kitchen once more for today'
    robot.say('user', wish, by_recogniser=True)
    with robot.doing('InspectKitchen', trigger=wish):
        for stop in ('shelf', 'sink', 'table'):
            navigate(robot, stop)
            look_around(robot, 7)
    robot.say('robot', 'Everything is in order. There is still a mug in the sink.')
    robot.wait(4)


EPISODES: tuple[tuple[str, Callable[[Robot], None]], ...] = (
    ('2026-05-12 07:32:00', set_table),
    ('2026-05-12 10:05:00', receive_delivery),
    ('2026-05-12 19:15:00', load_dishwasher),
    ('2026-05-13 08:10:00', bring_coffee),
    ('2026-05-13 13:40:00', water_plants),
    ('2026-05-13 18:20:00', clear_table),
    ('2026-05-13 20:30:00', find_keys),
    ('2026-05-14 15:00:00', welcome_guest),
    ('2026-05-14 15:25:00', bring_water),
    ('2026-05-14 18:05:00', say_goodbye),
)


def tell(robot: Robot) -> None:
    """Let all episodes happen, one after the other."""
    for when, episode in EPISODES:
        begin = datetime.fromisoformat(when).replace(tzinfo=ZONE)
        robot.wake(round(begin.timestamp()) * 1_000_000_000)
        episode(robot)
