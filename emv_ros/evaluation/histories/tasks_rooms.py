"""Tasks of simulated histories that have to do with rooms, furniture and clothes."""

from __future__ import annotations

from emv_ros.evaluation.histories.acting import HistoryRobot
from emv_ros.evaluation.histories.household import (
    listed,
    named,
    place_words,
    room_of,
    spoken,
)
from emv_ros.evaluation.histories.requests import Particulars, asked, fails
from emv_ros.evaluation.histories.truth import Detail
from emv_ros.evaluation.life.skills import (
    grasp,
    look_around,
    move,
    navigate,
    operate,
    place,
    treat,
)

SURFACES = ('kitchen_table', 'coffee_table', 'desk', 'sideboard')


def tidy_up(robot: HistoryRobot) -> None:
    """Carry what lies about on a table to its place and wipe it."""
    surface = robot.chance.choice(SURFACES)
    things = robot.chance.sample(('magazine_1', 'blanket_1', 'glass_1', 'remote_control_1'), 2)
    homes = {'magazine_1': 'bookcase', 'blanket_1': 'bed', 'glass_1': 'kitchen_shelf',
             'remote_control_1': 'bedside_table'}
    for thing in things:
        robot.moved_unseen(thing, surface)
    goal = spoken(surface)
    said = Particulars('tidy_up', 'TidyUp', f'tidy up the {goal}', f'tidied up the {goal}',
                       'tidy up a piece of furniture', 'tidied up a piece of furniture',
                       (f'tidy the {goal}', f'tidied the {goal}'))
    with asked(robot, said, room_of(surface), surface=surface) as (task, run):
        for thing in things:
            move(robot, thing, homes[thing])
        task.details += [
            Detail((f'What did you clear off the {goal} {{when}}?',
                    f'Which things did you carry away from the {goal} {{when}}?',
                    f'You tidied up the {goal} {{when}}. Which things did you take away?'),
                   listed(*things), named(*things))]
        navigate(robot, surface)
        if not fails(robot, run, 'The cloth for wiping was dirty.'):
            with robot.doing('WipeSurface', surface=surface):
                robot.move_arm('middle', 2.0)
                robot.wait(8.0)


def check_rooms(robot: HistoryRobot) -> None:
    """The round at night."""
    stops = robot.chance.sample(('dresser', 'stove', 'desk', 'bookcase', 'bed'), 3)
    said = Particulars('check_rooms', 'CheckRooms', 'check the rooms', 'checked the rooms',
                       'check the rooms', 'checked the rooms')
    with asked(robot, said, 'hall', 'check the rooms before the night') as (task, _):
        for stop in stops:
            navigate(robot, stop)
            look_around(robot, 7.0)
        rooms = [room_of(stop) for stop in stops]
        task.details.append(Detail(
            ('Which rooms did you check {when}, in order?',
             'You checked the rooms {when}. Which ones, one after the other?',
             'In which rooms did you look during your check {when}, in order?'),
            ', '.join(map(spoken, rooms)), tuple(map(place_words, rooms)), True))


def sort_laundry(robot: HistoryRobot) -> None:
    """Carry clean clothes to where they belong."""
    clothes = robot.chance.sample(('towel_1', 'shirt_1', 'jumper_1', 'socks_1'), 2)
    for piece in clothes:
        robot.moved_unseen(piece, 'laundry_basket')
    said = Particulars('sort_laundry', 'SortLaundry', 'sort the laundry', 'sorted the laundry',
                       'sort the laundry', 'sorted the laundry')
    with asked(robot, said, 'bathroom') as (task, _):
        for piece in clothes:
            move(robot, piece, 'bathroom_cabinet' if piece == 'towel_1' else 'wardrobe')
        task.details += [
            Detail(('Which pieces of laundry did you sort {when}?',
                    'What was in the laundry that you sorted {when}?',
                    'You sorted the laundry {when}. Which pieces?'),
                   listed(*clothes), named(*clothes))]


def wash_clothes(robot: HistoryRobot) -> None:
    """Fill and start the washing machine."""
    program = robot.chance.choice(('wool', 'cotton', 'quick'))
    piece = robot.chance.choice(('towel_1', 'shirt_1', 'jumper_1'))
    robot.moved_unseen(piece, 'laundry_basket')
    said = Particulars(
        'wash_clothes', 'RunWashingMachine', 'run the washing machine', 'ran the washing machine',
        'run the washing machine', 'ran the washing machine',
        ('start the washing machine', 'started the washing machine', 'washing machine'))
    with asked(robot, said, 'bathroom', f'run the washing machine on {program}',
               program=program) as (task, run):
        move(robot, piece, 'washing_machine')
        if not fails(robot, run, 'The washing machine did not start.'):
            operate(robot, 'StartWashingMachine', 'washing_machine', 2.0)
        task.details += [
            Detail(('What did you put into the washing machine {when}?',
                    'What went into the washing machine {when}?',
                    'You ran the washing machine {when}. What was in it?'),
                   listed(piece), named(piece)),
            Detail(('Which programme did the washing machine run {when}?',
                    'On which programme did you run the washing machine {when}?',
                    'You ran the washing machine {when}. On which programme?'),
                   program, ((program,),))]


def mop_floor(robot: HistoryRobot) -> None:
    """Mop the floor of a room."""
    stop = robot.chance.choice(('stove', 'dresser', 'washing_machine', 'desk'))
    room = room_of(stop)
    said = Particulars('mop_floor', 'MopFloor', f'mop the floor of the {room}',
                       f'mopped the floor of the {room}', 'mop a floor', 'mopped a floor',
                       (f'mop the {room}', f'mopped the {room}'))
    with asked(robot, said, room, room=room) as (task, run):
        navigate(robot, robot.home.things['mop_1'].place)
        grasp(robot, 'mop_1')
        navigate(robot, stop)
        if not fails(robot, run, 'The bucket was empty.'):
            treat(robot, 'Mop', 'mop_1', 'wet', robot.chance.uniform(20.0, 80.0), room=room)
            task.details.append(Detail(
                ('Which floor did you mop {when}?', 'In which room did you mop the floor {when}?',
                 'You mopped a floor {when}. Where was that?'), room, (place_words(room),)))
        navigate(robot, 'bathroom_cabinet')
        place(robot, 'mop_1', 'bathroom_cabinet')


def make_bed(robot: HistoryRobot) -> None:
    """Make the bed."""
    said = Particulars('make_bed', 'MakeBed', 'make the bed', 'made the bed', 'make the bed',
                       'made the bed')
    with asked(robot, said, 'bedroom') as (_, run):
        navigate(robot, 'bed')
        with robot.doing('StraightenSheet', target='bed'):
            robot.move_arm('low', 2.0)
            robot.wait(robot.chance.uniform(10.0, 40.0))
        is_there = robot.home.things['blanket_1'].place == 'bed'
        if not fails(robot, run, 'Somebody was still lying in it.') and not is_there:
            move(robot, 'blanket_1', 'bed')


def close_blinds(robot: HistoryRobot) -> None:
    """Close the blinds of a room."""
    stop = robot.chance.choice(('window_sill', 'desk', 'bed'))
    room = spoken(room_of(stop))
    said = Particulars('close_blinds', 'CloseBlinds', f'close the blinds in the {room}',
                       f'closed the blinds in the {room}', 'close the blinds', 'closed the blinds',
                       (f'close the blinds of the {room}',))
    with asked(robot, said, room_of(stop), room=room_of(stop)) as (task, run):
        navigate(robot, stop)
        if not fails(robot, run, 'The cord of the blinds was stuck.'):
            with robot.doing('PullCord', target=stop):
                robot.wait(5.0)
            task.details.append(Detail(
                ('In which room did you close the blinds {when}?',
                 'Which blinds did you close {when}?',
                 'You closed the blinds {when}. In which room was that?'),
                room, (place_words(room_of(stop)),)))
