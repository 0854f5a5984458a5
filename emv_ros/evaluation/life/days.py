"""The days of the made-up life: what was recorded on each, in order of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
import io
import random

from emv_ros.evaluation.life.episodes import WEEKEND, WORKDAY
from emv_ros.evaluation.life.home import PLACES, Home
from emv_ros.evaluation.life.robot import CAMERA, Robot
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ImageRecord, Record
from emv_ros.timeline import HOUR_NS, MINUTE_NS, day_span, parse_zone

FIRST_DAY = date(2026, 1, 5)  # a Monday
ZONE = 'Europe/Berlin'
# What counts as L0: the rest is made of it, or stands beside it (scenes, observations).
L0_KINDS = ('image', 'joint_sample', 'pose', 'utterance', 'skill_event')
PICTURE_SIZE = 32, 24


@dataclass(frozen=True, slots=True)
class Day:
    """One day: its records, how many episodes it had, and when it ends in its zone."""

    number: int
    date: date
    records: tuple[Record, ...]
    episodes: int
    end_ns: int


class Life:
    """The days of one seed. Day 1 is a Monday; each is the same whichever were asked for before."""

    def __init__(self, seed: int, pictures: Mapping[str, ImageRecord]) -> None:
        """`pictures` are those of `keep_pictures`, by place."""
        self.seed = seed
        self.pictures = pictures

    def day(self, number: int) -> Day:
        """Return day `number`, from 1."""
        when = FIRST_DAY + timedelta(days=number - 1)
        span = day_span(when, parse_zone(ZONE))
        chance = random.Random(f'{self.seed}/{number}')
        robot = Robot(Home(), chance, self.pictures, span.start_ns, f'day{number}')
        slots = WEEKEND if when.weekday() >= 5 else WORKDAY
        for hour, episodes in slots:
            robot.wake(span.start_ns + round(hour * HOUR_NS)
                       + round(chance.uniform(-20, 20) * MINUTE_NS))
            robot.home.put_back()
            chance.choice(episodes)(robot)
            robot.wait(chance.uniform(4.0, 10.0))
        robot.records.sort(key=lambda record: record.stamp_ns)
        return Day(number, when, tuple(robot.records), len(slots), span.end_ns)


def keep_pictures(store: MemoryStore) -> dict[str, ImageRecord]:
    """Store one small PNG of each place and return the records that name them.

    They are real files, and the same few for the whole life: consolidation opens none.
    """
    from PIL import Image

    found: dict[str, ImageRecord] = {}
    width, height = PICTURE_SIZE
    for number, place in enumerate(PLACES):
        picture = Image.linear_gradient('L').resize(PICTURE_SIZE).convert('RGB')
        picture.paste((17 * number % 256, 90, 160), (number, number, width, height))
        data = io.BytesIO()
        picture.save(data, 'PNG')
        found[place] = store.keep_picture(data.getvalue(), ImageRecord(
            stamp_ns=0, camera=CAMERA, sha256='', media_type='image/png', width=width,
            height=height, encoding='rgb8'))
    return found
