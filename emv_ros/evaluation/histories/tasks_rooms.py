"""Tasks of simulated histories that have to do with rooms, clothes, things and people."""

from __future__ import annotations

from emv_ros.evaluation.histories.acting import HistoryRobot
from emv_ros.evaluation.histories.household import (
    GUESTS,
    NAMES,
    RESIDENTS,
    place_words,
    room_of,
    spoken,
)
from emv_ros.evaluation.histories.requests import Particulars, asked, fails
from emv_ros.evaluation.histories.tasks_kitchen import listed, named
from emv_ros.evaluation.histories.truth import Detail
from emv_ros.evaluation.life.skills import (
    grasp,
    hand_over,
    look_around,
    move,
    navigate,
    operate,
    place,
    receive,
    treat,
)

SEARCH_FAILS = 0.25
SURFACES = ('kitchen_table', 'coffee_table', 'desk', 'sideboard')


def take_delivery(robot: HistoryRobot) -> None:
    """Take a package or a letter from the courier."""
    thing = robot.chance.choice(('package_1', 'letter_1'))
    name, person = NAMES[thing], robot.chance.choice(RESIDENTS)
    where = robot.chance.choice(('dresser', 'desk', 'sideboard'))
    said = Particulars(
        'take_delivery', 'TakeDelivery', f'take a {name} for {person} from the courier',
        f'took a {name} for {person} from the courier', 'take something from the courier',
        'took something from the courier',
        (f'take a {name} from the courier', f'took a {name} from the courier',
         f'take delivery of a {name}', f'{name} for {person}'))
    with asked(robot, said, trigger='The doorbell rang.') as (task, _):
        navigate(robot, 'front_door')
        operate(robot, 'OpenDoor', 'front_door')
        robot.home.people['courier'] = 'hall'
        robot.moved_unseen(thing, 'courier')
        robot.say('courier', f'Hello, I have a {name} for {person}.')
        robot.say('robot', 'Thank you, I take it.')
        receive(robot, thing, 'courier')
        robot.home.people.pop('courier', None)
        operate(robot, 'CloseDoor', 'front_door')
        navigate(robot, where)
        place(robot, thing, where)
        task.details += [
            Detail(('Where did you put what the courier brought {when}?',
                    'Where did the delivery go that you took from the courier {when}?',
                    'You took something from the courier {when}. Where did you leave it?'),
                   spoken(where), (place_words(where),)),
            Detail(('For whom was what the courier brought {when}?',
                    'Who was the delivery for that you took from the courier {when}?',
                    'You took something from the courier {when}. For whom?'),
                   person, ((person,),))]


def find_thing(robot: HistoryRobot) -> None:
    """Look for something that a resident misses."""
    person = robot.chance.choice(RESIDENTS)
    thing = robot.chance.choice(('car_keys_1', 'phone_1', 'reading_glasses_1', 'wallet_1',
                                 'remote_control_1'))
    stops = robot.chance.sample(('dresser', 'coffee_table', 'desk', 'bedside_table', 'bookcase',
                                 'sideboard'), 3)
    is_found = robot.chance.random() >= SEARCH_FAILS
    robot.moved_unseen(thing, stops[-1] if is_found else 'lost')
    name = NAMES[thing]
    said = Particulars(
        'find_thing', 'FindObject', f'look for the {name} of {person}',
        f'looked for the {name} of {person}', f'look for the {name}', f'looked for the {name}',
        (f"look for {person}'s {name}", f"looked for {person}'s {name}", f'find the {name}',
         f"find {person}'s {name}", f'found the {name}', f'look for the {name}',
         f'looked for the {name}'))
    with asked(robot, said, 'living_room', f'look for my {name}', asker=person,
               object=thing) as (task, run):
        for stop in stops:
            navigate(robot, stop)
            look_around(robot, 6.0)
        if is_found:
            grasp(robot, thing)
            navigate(robot, 'coffee_table')
            hand_over(robot, thing, person)
            task.details.append(Detail(
                (f'Where did you find the {name} {{when}}?',
                 f'Where were the {name} that you found {{when}}?' if name.endswith('s') else
                 f'Where was the {name} that you found {{when}}?',
                 f'You looked for the {name} {{when}}. Where did you find it?'),
                spoken(stops[-1]), (place_words(stops[-1]),)))
        else:
            run.fail(f'The {name} could not be found in any of the places.')
        task.details.append(Detail(
            (f'Where did you look for the {name} {{when}}, in order?',
             f'Which places did you search for the {name} {{when}}, one after the other?',
             f'You looked for the {name} {{when}}. At which places, in order?'),
            ', '.join(map(spoken, stops)), tuple(map(place_words, stops)), True))


def let_guest_in(robot: HistoryRobot) -> None:
    """Open to a guest and show the way."""
    guest, host = robot.chance.choice(GUESTS), robot.chance.choice(RESIDENTS)
    gift = robot.chance.choice(('a cake', 'some tulips', 'a jigsaw', 'a bottle of cider'))
    said = Particulars('let_guest_in', 'LetGuestIn', f'let {guest} in', f'let {guest} in',
                       'let a guest in', 'let a guest in',
                       (f'welcome {guest}', f'welcomed {guest}', f'opened the door to {guest}'))
    with asked(robot, said, trigger='The doorbell rang.', guest=guest) as (task, _):
        navigate(robot, 'front_door')
        operate(robot, 'OpenDoor', 'front_door')
        robot.home.people[guest] = 'hall'
        robot.say(guest, f'Hi, I am {guest}, here to see {host}. I brought {gift}.')
        robot.say('robot', f'Welcome, {guest}. Please come in.')
        operate(robot, 'CloseDoor', 'front_door')
        with robot.doing('GuidePerson', person=guest, destination='coffee_table'):
            robot.drive('coffee_table')
            robot.home.people[guest] = 'living_room'
        task.details += [
            Detail(('What did the guest bring whom you let in {when}?',
                    'You let a guest in {when}. What had the guest brought?',
                    'What did your guest say to have brought {when}?'),
                   gift, ((gift, gift.split()[-1]),)),
            Detail(('Whom did you let in {when}?', 'Which guest came in {when}?',
                    'You let a guest in {when}. Who was it?'), guest, ((guest,),))]
    robot.home.people.pop(guest, None)


def fetch_things(robot: HistoryRobot) -> None:
    """Carry something to a place."""
    thing = robot.chance.choice(('novel_1', 'atlas_1', 'sewing_kit_1', 'chess_set_1', 'torch_1',
                                 'green_folder_1', 'green_folder_2', 'green_folder_1',
                                 'green_folder_2'))
    where = robot.chance.choice([place for place in (
        'coffee_table', 'desk', 'dresser', 'bedside_table', 'kitchen_table', 'sideboard')
        if place != robot.home.things[thing].place])
    name, goal = NAMES[thing], spoken(where)
    article = 'a' if thing.startswith('green') else 'the'
    said = Particulars(
        'fetch_things', 'FetchObject', f'bring {article} {name} to the {goal}',
        f'brought {article} {name} to the {goal}', 'fetch something', 'fetched something',
        (f'carry the {name} to the {goal}', f'moved the {name} to the {goal}',
         f'brought the {name} to the {goal}', f'bring the {name} to the {goal}',
         f'fetch the {name}', f'fetched the {name}'))
    with asked(robot, said, room_of(where), object=thing, destination=where):
        move(robot, thing, where)


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
        if not fails(robot, run, 'There was no clean cloth to wipe with.'):
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


def play_music(robot: HistoryRobot) -> None:
    """Play some music."""
    person = robot.chance.choice(RESIDENTS)
    music = robot.chance.choice(('swing', 'tango', 'piano music', 'folk songs'))
    said = Particulars('play_music', 'PlayMusic', f'play {music} for {person}',
                       f'played {music} for {person}', 'play some music', 'played some music',
                       (f'play {music}', f'played {music}', f'playing {music}', music))
    with asked(robot, said, 'living_room', f'play some {music} for me', asker=person,
               music=music) as (task, run):
        navigate(robot, 'sideboard')
        if fails(robot, run, 'The loudspeaker did not answer.'):
            return
        with robot.doing('StartPlayback', music=music):
            robot.wait(robot.chance.uniform(30.0, 150.0))
        task.details.append(Detail(
            ('What music did you play {when}?', 'Which kind of music did you play {when}?',
             'You played some music {when}. What was it?'), music, ((music,),)))


def bring_medicine(robot: HistoryRobot) -> None:
    """Remind somebody of the medicine and bring it."""
    person = robot.chance.choice(RESIDENTS)
    where = robot.chance.choice(('kitchen_table', 'coffee_table'))
    said = Particulars(
        'bring_medicine', 'BringMedicine', f'bring {person} the medicine',
        f'brought {person} the medicine', 'bring the medicine', 'brought the medicine',
        (f'bring the medicine to {person}', f'brought the medicine to {person}',
         f'medicine to {person}', f'remind {person} of the medicine'))
    with asked(robot, said, trigger='It is time for the medicine.', person=person):
        robot.home.people[person] = room_of(where)
        navigate(robot, robot.home.things['medicine_box_1'].place)
        grasp(robot, 'medicine_box_1')
        navigate(robot, where)
        robot.say('robot', f'{person}, it is time for your medicine.')
        place(robot, 'medicine_box_1', where)
        robot.home.people.pop(person, None)


def read_news(robot: HistoryRobot) -> None:
    """Read the news to somebody."""
    person = robot.chance.choice(RESIDENTS)
    said = Particulars('read_news', 'ReadNews', f'read the news to {person}',
                       f'read the news to {person}', 'read the news', 'read the news',
                       (f'read {person} the news',))
    with asked(robot, said, 'living_room', 'read the news to me', asker=person, person=person):
        navigate(robot, 'coffee_table')
        with robot.doing('ReadAloud', person=person):
            robot.wait(robot.chance.uniform(20.0, 90.0))


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
