"""Tasks of simulated histories that have to do with people and their things."""

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
from emv_ros.evaluation.histories.truth import Detail
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
)

# How often a search ends without success.
SEARCH_FAILS = 0.25


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
        answer_door(robot, 'courier')
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
        answer_door(robot, guest)
        robot.say(guest, f'Hi, I am {guest}, here to see {host}. I brought {gift}.')
        show_in(robot, guest)
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
