"""Tasks of simulated histories that have to do with food, dishes, plants and the rabbit."""

from __future__ import annotations

from emv_ros.evaluation.histories.acting import HistoryRobot
from emv_ros.evaluation.histories.household import (
    NAMES,
    RESIDENTS,
    listed,
    named,
    place_words,
    room_of,
    spoken,
)
from emv_ros.evaluation.histories.requests import Particulars, asked, fails
from emv_ros.evaluation.histories.truth import Detail
from emv_ros.evaluation.life.skills import grasp, hand_over, move, navigate, operate, place, treat
from emv_ros.timeline import to_datetime


def lay_table(robot: HistoryRobot) -> None:
    """Lay the table for a meal."""
    hour = to_datetime(robot.now_ns, robot.truth.zone).hour
    meal = 'breakfast' if hour < 11 else 'lunch' if hour < 15 else 'supper'
    things = robot.chance.sample(('bread_1', 'jam_1', 'cheese_1', 'honey_1', 'bowl_1'), 2)
    said = Particulars(
        'lay_table', 'LayTable', f'lay the table for {meal}', f'laid the table for {meal}',
        'lay the table', 'laid the table', (f'set the table for {meal}',))
    with asked(robot, said, 'kitchen', meal=meal) as (task, _):
        for thing in things:
            move(robot, thing, 'kitchen_table')
        task.details += [
            Detail(('What did you put on the kitchen table when you laid the table {when}?',
                    'Which things did you bring to the kitchen table for laying it {when}?',
                    'You laid the table {when}. What did you carry to it?'),
                   listed(*things), named(*things)),
            Detail(('For which meal did you lay the table {when}?',
                    'You laid the table {when}. Which meal was that for?',
                    'Which meal was it that you laid the table for {when}?'), meal, ((meal,),))]


def bring_drink(robot: HistoryRobot) -> None:
    """Make a hot drink and bring it to somebody, in one of the mugs."""
    person = robot.chance.choice(RESIDENTS)
    drink = robot.chance.choice(('coffee', 'peppermint tea', 'hot chocolate'))
    mug = robot.chance.choice(('red_mug_1', 'red_mug_2', 'red_mug_1', 'red_mug_2', 'yellow_mug_1'))
    where = robot.chance.choice(('kitchen_table', 'desk', 'coffee_table'))
    said = Particulars(
        'bring_drink', f'Bring{drink.title().replace(" ", "")}', f'bring {person} a {drink}',
        f'brought {person} a {drink}', 'bring somebody a hot drink',
        'brought somebody a hot drink', (f'bring a {drink} to {person}',
                                         f'brought a {drink} to {person}',
                                         f'{drink} for {person}', f'{drink} to {person}'))
    with asked(robot, said, room_of(where), f'bring me a {drink}', asker=person,
               recipient=person, drink=drink) as (task, run):
        move(robot, mug, 'counter')
        if fails(robot, run, 'The coffee machine was out of water.'):
            return
        treat(robot, 'MakeDrink', mug, f'full of {drink}', 14.0, drink=drink)
        grasp(robot, mug)
        navigate(robot, where)
        hand_over(robot, mug, person)
        task.details += [
            Detail(('What did you bring somebody to drink {when}?',
                    'Which drink did you make {when}?',
                    'You brought somebody a hot drink {when}. What was it?'), drink, ((drink,),)),
            Detail(('To whom did you bring a hot drink {when}?',
                    'Who got a hot drink from you {when}?',
                    'You brought somebody a hot drink {when}. Who was it for?'),
                   person, ((person,),))]
    robot.moved_unseen(mug, 'kitchen_shelf')


def serve_meal(robot: HistoryRobot) -> None:
    """Warm up something and serve it."""
    person = robot.chance.choice(RESIDENTS)
    dish, vessel = robot.chance.choice((('lentil soup', 'pot_1'), ('risotto', 'pan_1'),
                                        ('pancakes', 'pan_1'), ('vegetable curry', 'pot_1')))
    said = Particulars(
        'serve_meal', 'ServeMeal', f'serve {person} {dish}', f'served {person} {dish}',
        'serve somebody a meal', 'served somebody a meal',
        (f'serve {dish} to {person}', f'served {dish} to {person}', f'{dish} for {person}'))
    with asked(robot, said, 'kitchen', f'serve me {dish}', asker=person, dish=dish,
               person=person) as (task, run):
        navigate(robot, 'stove')
        if fails(robot, run, f'The {NAMES[vessel]} was empty.'):
            return
        treat(robot, 'WarmUp', vessel, 'hot', 12.0, dish=dish)
        move(robot, 'plate_1', 'stove')
        treat(robot, 'FillPlate', 'plate_1', f'full of {dish}', 6.0, dish=dish)
        move(robot, 'plate_1', 'kitchen_table')
        task.details += [
            Detail(('What did you serve {when}?', 'Which dish did you serve {when}?',
                    'You served somebody a meal {when}. What was it?'), dish, ((dish,),))]


def load_dishwasher(robot: HistoryRobot) -> None:
    """Put dirty dishes from the table into the dishwasher and start it."""
    dishes = robot.chance.sample(('plate_1', 'bowl_1', 'glass_1', 'yellow_mug_1', 'pan_1'), 2)
    for dish in dishes:
        robot.moved_unseen(dish, 'kitchen_table')
    said = Particulars('load_dishwasher', 'LoadDishwasher', 'load the dishwasher',
                       'loaded the dishwasher', 'load the dishwasher', 'loaded the dishwasher')
    with asked(robot, said, 'kitchen') as (task, run):
        navigate(robot, 'dishwasher')
        operate(robot, 'OpenDishwasher', 'dishwasher')
        for dish in dishes:
            move(robot, dish, 'dishwasher')
        task.details += [
            Detail(('What did you put into the dishwasher {when}?',
                    'Which things went into the dishwasher {when}?',
                    'You loaded the dishwasher {when}. What with?'),
                   listed(*dishes), named(*dishes))]
        if not fails(robot, run, 'The door of the dishwasher did not close.'):
            operate(robot, 'CloseDishwasher', 'dishwasher')
            operate(robot, 'StartDishwasher', 'dishwasher', 1.5)


def water_plants(robot: HistoryRobot) -> None:
    """Water some of the plants."""
    plants = robot.chance.sample(('fern_1', 'orchid_1', 'basil_1'), 2)
    said = Particulars('water_plants', 'WaterPlants', 'water the plants', 'watered the plants',
                       'water the plants', 'watered the plants')
    with asked(robot, said, trigger='It is time to water the plants.') as (task, run):
        navigate(robot, 'window_sill')
        grasp(robot, 'watering_can_1')
        if fails(robot, run, 'The watering can was empty.'):
            place(robot, 'watering_can_1', 'window_sill')
            return
        for plant in plants:
            treat(robot, 'WaterPlant', plant, 'watered', 8.0)
        place(robot, 'watering_can_1', 'window_sill')
        task.details += [
            Detail(('Which plants did you water {when}?', 'What did you water {when}?',
                    'You watered the plants {when}. Which ones?'),
                   listed(*plants), named(*plants))]


def feed_rabbit(robot: HistoryRobot) -> None:
    """Fill the rabbit's bowl."""
    food = robot.chance.choice(('hay', 'carrots', 'dandelion', 'pellets'))
    said = Particulars('feed_rabbit', 'FeedRabbit', 'feed the rabbit', 'fed the rabbit',
                       'feed the rabbit', 'fed the rabbit', ('rabbit',))
    with asked(robot, said, 'hall', food=food) as (task, run):
        navigate(robot, 'rabbit_hutch')
        if fails(robot, run, 'The hutch was locked.'):
            return
        treat(robot, 'FillBowl', 'food_bowl_1', f'full of {food}', 7.0, food=food)
        task.details += [
            Detail(('What did the rabbit get to eat {when}?',
                    'What did you feed the rabbit {when}?',
                    'You fed the rabbit {when}. What did you give it?'), food, ((food,),))]


def put_groceries_away(robot: HistoryRobot) -> None:
    """Put what was bought to its places."""
    goods = robot.chance.sample(('apples_1', 'rice_1', 'eggs_1'), 2)
    for good in goods:
        robot.moved_unseen(good, 'counter')
    places = {'apples_1': 'sideboard', 'rice_1': 'kitchen_shelf', 'eggs_1': 'fridge'}
    said = Particulars('put_groceries_away', 'PutGroceriesAway', 'put the groceries away',
                       'put the groceries away', 'put the groceries away',
                       'put the groceries away', ('put away the groceries', 'groceries'))
    with asked(robot, said, 'kitchen') as (task, _):
        for good in goods:
            move(robot, good, places[good])
        task.details += [
            Detail(('Which groceries did you put away {when}?', 'What did you put away {when}?',
                    'You put the groceries away {when}. What were they?'),
                   listed(*goods), named(*goods)),
            Detail((f'Where did you put the {NAMES[goods[0]]} {{when}}?',
                    f'In which place did you put the {NAMES[goods[0]]} {{when}}?',
                    f'You put the {NAMES[goods[0]]} away {{when}}. Where to?'),
                   spoken(places[goods[0]]), (place_words(places[goods[0]]),))]


def take_out_rubbish(robot: HistoryRobot) -> None:
    """Carry the rubbish bag out."""
    robot.moved_unseen('rubbish_bag_1', 'counter')
    said = Particulars('take_out_rubbish', 'TakeOutRubbish', 'take out the rubbish',
                       'took out the rubbish', 'take out the rubbish', 'took out the rubbish',
                       ('take the rubbish out', 'took the rubbish out', 'rubbish'))
    with asked(robot, said, 'kitchen') as (_, run):
        navigate(robot, 'counter')
        grasp(robot, 'rubbish_bag_1')
        navigate(robot, 'front_door')
        if fails(robot, run, 'The front door was locked.'):
            place(robot, 'rubbish_bag_1', 'front_door')
            return
        operate(robot, 'OpenDoor', 'front_door')
        navigate(robot, 'dustbin')
        place(robot, 'rubbish_bag_1', 'dustbin')
