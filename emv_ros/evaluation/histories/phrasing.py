"""Times, days, spans and tasks in words, as people ask about them and as they are answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
import random

from emv_ros.evaluation.histories.truth import Task, Truth
from emv_ros.timeline import to_datetime

_NUMBERS = ('no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten')


def date_words(day: date) -> str:
    """Return '12 January 2026'."""
    return f'{day.day} {day:%B} {day.year}'


class Phrasing:
    """Words for the times of one history, seen from `now_ns`; draws among equal ones."""

    def __init__(self, truth: Truth, now_ns: int, chance: random.Random) -> None:
        self.truth = truth
        self.now_ns = now_ns
        self.chance = chance
        self.today = to_datetime(now_ns, truth.zone).date()

    def day(self, day: date) -> str:
        """Return a day without its preposition."""
        return self.chance.choice((f'{day.day} {day:%B}', f'{day:%A} {day.day} {day:%B}',
                                   f'{day:%B} {day.day}', date_words(day)))

    def on(self, day: date) -> str:
        """Return 'on 12 January', now and then 'today' or 'yesterday' where it is."""
        near = {self.today: 'today', self.today - timedelta(days=1): 'yesterday'}
        if day in near and self.chance.random() < 0.7:
            return near[day]
        return f'on {self.day(day)}'

    def between(self, first: date, last: date) -> str:
        """Return the days from `first` to `last`, both included."""
        return self.chance.choice((f'from {self.day(first)} to {self.day(last)}',
                                   f'in the days from {self.day(first)} up to {self.day(last)}'))

    def clock(self, stamp_ns: int) -> str:
        """Return the local time of the day, to the minute."""
        when = to_datetime(stamp_ns, self.truth.zone)
        return self.chance.choice((f'{when:%H:%M}', f'{when:%I:%M %p}'.lstrip('0')))

    def told(self, task: Task) -> str:
        """Return when a task was, so that no other task of its kind can be meant."""
        day = self.truth.day_of(task)
        others = [one for one in self.truth.on(day) if one.kind == task.kind]
        if len(others) == 1:
            return self.on(day)
        return f'{self.on(day)} at {self.clock(task.start_ns)}'

    def days_ago(self, days: int) -> str:
        """Return 'three days ago'."""
        number = _NUMBERS[days] if days < len(_NUMBERS) and self.chance.random() < 0.5 else days
        return f'{number} day{"" if days == 1 else "s"} ago'

    def moment(self, stamp_ns: int) -> str:
        """Return a date and time as an answer says them."""
        when = to_datetime(stamp_ns, self.truth.zone)
        return f'{date_words(when.date())} at {when:%H:%M}'


def tasks_in_words(tasks: Iterable[Task]) -> str:
    """Return what was done, in order."""
    return '; '.join(dict.fromkeys(
        f'tried in vain to {task.do}' if task.failed else task.did for task in tasks)) + '.'


def task_items(tasks: Sequence[Task]) -> tuple[tuple[str, ...], ...]:
    """Return what an answer has to name of tasks: those that read alike once."""
    return tuple({task.do: task.names for task in tasks}.values())
