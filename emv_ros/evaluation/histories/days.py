"""The days of a simulated history: how many tasks each has, when, and which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
import random

from emv_ros.evaluation.histories import tasks_errands, tasks_kitchen, tasks_rooms
from emv_ros.evaluation.histories.acting import HistoryRobot
from emv_ros.evaluation.histories.household import NAMES, RESIDENTS, new_home
from emv_ros.evaluation.histories.remarks import REMARKS, Remark
from emv_ros.evaluation.histories.truth import Truth
from emv_ros.records import Record
from emv_ros.timeline import HOUR_NS, day_span, parse_zone

# No clocks go forward or back in it: an hour of the day is the same all through a history.
ZONE = 'UTC+01:00'
FIRST_DAYS = date(2026, 1, 5), 14  # the first day is one of so many from there on
EMPTY = 0.22  # of all days but the first
MOST = 5
# h: so far apart are the beginnings of two tasks at least.
APART = 0.75
REMARKED = 0.3
# Like things are used in these: they come more often, so that the things can be mixed up.
OFTEN = {'bring_drink': 5.0, 'fetch_things': 4.0}

Act = Callable[[HistoryRobot], None]
# (from, to: the local hours between which it begins, and what is done)
KINDS: tuple[tuple[float, float, Act], ...] = (
    (7.0, 19.0, tasks_kitchen.lay_table), (7.0, 20.0, tasks_kitchen.bring_drink),
    (11.5, 20.5, tasks_kitchen.serve_meal), (8.0, 21.5, tasks_kitchen.load_dishwasher),
    (8.0, 20.0, tasks_kitchen.water_plants), (7.0, 20.0, tasks_kitchen.feed_rabbit),
    (9.0, 20.0, tasks_kitchen.put_groceries_away), (7.0, 21.5, tasks_kitchen.take_out_rubbish),
    (8.5, 18.0, tasks_errands.take_delivery), (7.0, 21.0, tasks_errands.find_thing),
    (11.0, 20.0, tasks_errands.let_guest_in), (8.0, 21.0, tasks_errands.fetch_things),
    (9.0, 21.5, tasks_rooms.tidy_up), (20.5, 22.3, tasks_rooms.check_rooms),
    (9.0, 21.0, tasks_rooms.sort_laundry), (8.0, 20.0, tasks_rooms.wash_clothes),
    (9.0, 19.0, tasks_rooms.mop_floor), (8.0, 12.0, tasks_rooms.make_bed),
    (10.0, 22.0, tasks_errands.play_music), (7.0, 22.0, tasks_errands.bring_medicine),
    (7.0, 21.0, tasks_errands.read_news), (16.5, 22.0, tasks_rooms.close_blinds))


@dataclass(frozen=True, slots=True)
class History:
    """What was recorded, in order of time, and what really happened."""

    records: tuple[Record, ...]
    truth: Truth


def live(episodes: int, seed: int) -> History:
    """Live so many episodes, one task each, over as many days as they take; same seed, same one."""
    chance = random.Random(f'history/{episodes}/{seed}')
    zone = parse_zone(ZONE)
    first, choice = FIRST_DAYS
    day = first + timedelta(days=chance.randrange(choice))
    truth = Truth(zone, names=dict(NAMES))
    robot = HistoryRobot(new_home(), chance, {}, day_span(day, zone).start_ns, f'history{seed}',
                         truth=truth)
    waiting = chance.sample(REMARKS, len(REMARKS))
    while len(truth.tasks) < episodes:
        truth.days.append(day)
        if len(truth.days) == 1 or chance.random() >= EMPTY:
            start_ns = day_span(day, zone).start_ns
            amount = min(chance.randint(1, MOST), episodes - len(truth.tasks))
            for hour, act in _plan(chance, amount, truth):
                robot.wake(start_ns + round(hour * HOUR_NS))
                robot.settle()
                act(robot)
                _remark(robot, waiting)
                robot.wait(chance.uniform(4.0, 12.0))
        day += timedelta(days=1)
    robot.records.sort(key=lambda record: record.stamp_ns)
    return History(tuple(robot.records), truth)


def _plan(chance: random.Random, amount: int, truth: Truth) -> list[tuple[float, Act]]:
    """Return the tasks of a day: kinds and hours differ, and what was seldom done is likelier."""
    done = [task.kind for task in truth.tasks]
    planned: list[tuple[float, Act]] = []
    weights = [OFTEN.get(act.__name__, 1.0) / (1 + done.count(act.__name__)) for *_, act in KINDS]
    while len(planned) < amount:
        begin, end, act = chance.choices(KINDS, weights)[0]
        hour = chance.uniform(begin, end)
        if all(act is not other and abs(hour - at) >= APART for at, other in planned):
            planned.append((hour, act))
    return sorted(planned, key=lambda item: item[0])


def _remark(robot: HistoryRobot, waiting: list[Remark]) -> None:
    if waiting and robot.chance.random() < REMARKED:
        remark = waiting.pop()
        robot.say(robot.chance.choice(RESIDENTS), remark.text, remark.topic, remark.items)
