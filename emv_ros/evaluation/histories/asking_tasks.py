"""Questions for tasks: of a day or a time, before and after one, with a thing or an action."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import pairwise
import re

from emv_ros.evaluation.histories.drafts import Draft, listed, spans, task_list
from emv_ros.evaluation.histories.phrasing import Phrasing
from emv_ros.evaluation.histories.truth import Task, Truth
from emv_ros.timeline import MINUTE_NS

MOST_ITEMS = 6
# What a step is called by somebody who asks in which tasks it was done.
ACTIONS = {
    'HandOverObject': 'hand something over to a person', 'OpenDoor': 'open the front door',
    'WipeSurface': 'wipe a piece of furniture', 'WarmUp': 'warm up food',
    'LookAround': 'stop and look around', 'GuidePerson': 'guide a person',
    'MakeDrink': 'make a hot drink', 'ReceiveObject': 'receive something from a person',
    'ReadAloud': 'read aloud', 'StartPlayback': 'start the playback of music',
    'OpenDishwasher': 'open the dishwasher', 'FillPlate': 'fill a plate',
    'WaterPlant': 'water a plant', 'StraightenSheet': 'straighten a sheet',
    'PullCord': 'pull the cord of the blinds', 'Mop': 'mop', 'FillBowl': 'fill a bowl'}


def tasks(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    """Yield: all tasks of a day, or of some days."""
    for first in truth.days:
        for length in (1, 2, 3):
            last = first + timedelta(days=length - 1)
            done = truth.on(first, last)
            if not done or len(done) > MOST_ITEMS or last > truth.days[-1]:
                continue
            when = say.on(first) if length == 1 else say.between(first, last)
            yield Draft('tasks', 'day' if length == 1 else 'days', (
                f'Which tasks kept you busy {when}?',
                f'List everything you were busy with {when}, whether it worked out or not.',
                f'What did you do {when}? Name all the tasks.',
                f'What were your tasks {when}?'), task_list(done), spans(done))


def days_ago_list(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    """Yield: all tasks of the day that was so many days ago."""
    for day in truth.days:
        done, ago = truth.on(day), (say.today - day).days
        if done and ago > 0:
            when = say.days_ago(ago)
            yield Draft('days_ago_list', 'day', (
                f'What did you do {when}?', f'Which tasks did you have {when}?',
                f'Can you tell me everything that kept you busy {when}?'),
                task_list(done), spans(done))


def before(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    """Yield: the task just before another on the same day."""
    for first, second in _neighbours(truth):
        when = say.told(second)
        yield Draft('before', 'task', (
            f'What did you do just before you {second.did} {when}?',
            f'Which task came directly before the one in which you {second.did} {when}?',
            f'You {second.did} {when}. What had you been busy with right before?'),
            task_list([first]), spans([first, second]))


def after(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    """Yield: the task just after another on the same day."""
    for first, second in _neighbours(truth):
        when = say.told(first)
        yield Draft('after', 'task', (
            f'What did you do just after you {first.did} {when}?',
            f'Which task followed directly on the one in which you {first.did} {when}?',
            f'You {first.did} {when}. What was the next thing you were busy with?'),
            task_list([second]), spans([first, second]))


def _neighbours(truth: Truth) -> Iterator[tuple[Task, Task]]:
    for first, second in pairwise(truth.tasks):
        if truth.day_of(first) == truth.day_of(second) and not (first.failed or second.failed):
            yield first, second


def by_object(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    """Yield: the tasks in which a thing was handled that has no like."""
    for instance, name in truth.names.items():
        done = [task for task in truth.tasks if instance in task.things]
        looked_for = any(instance not in task.things and re.search(rf'\b{name}\b', task.do)
                         for task in truth.tasks)
        if len(truth.instances(name)) > 1 or looked_for or not _is_short(done):
            continue
        yield Draft('by_object', 'thing', (
            f'In which tasks did you handle the {name}?',
            f'Which of your tasks had to do with the {name}?',
            f'What were all the tasks in which you took or used the {name}?'),
            task_list(done), spans(done))


def by_action(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    """Yield: the tasks with a step of some kind, in all or within some days."""
    for skill, action in ACTIONS.items():
        done = [task for task in truth.tasks
                if any(step.skill == skill and not step.reason for step in task.steps)]
        if _is_short(done):
            yield _with_action(action, '', 'all', done)
            continue
        for first, last in weeks(truth):
            part = [task for task in done if first <= truth.day_of(task) <= last]
            if _is_short(part):
                yield _with_action(action, ' ' + say.between(first, last), 'week', part)


def _with_action(action: str, when: str, form: str, done: Sequence[Task]) -> Draft:
    return Draft('by_action', form, (
        f'In which tasks did you {action}{when}?',
        f'During which tasks did you have to {action}{when}?',
        f'Name all tasks{when} that made you {action}.'), task_list(done), spans(done))


def at_time(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    """Yield: the task around a time of the day; no other is within half an hour."""
    for task in truth.tasks:
        middle = (task.start_ns + task.end_ns) // 2
        clear = all(other is task or other.start_ns > middle + 30 * MINUTE_NS
                    or other.end_ns < middle - 30 * MINUTE_NS for other in truth.tasks)
        if clear:
            when = f'{say.on(truth.day_of(task))} around {say.clock(middle)}'
            yield Draft('at_time', 'task', (
                f'What were you doing {when}?', f'Which task were you busy with {when}?',
                f'What kept you busy {when}?'), task_list([task]), spans([task]))


def detail(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    """Yield: something about one task."""
    for task in truth.tasks:
        for part in () if task.failed else task.details:
            when = say.told(task)
            yield Draft('detail', task.kind, tuple(ask.format(when=when) for ask in part.asks),
                        listed(part.text, part.items, part.is_ordered), spans([task]))


def weeks(truth: Truth) -> Iterator[tuple[date, date]]:
    """Yield the first and the last day of each week, Monday to Sunday, as far as it was lived.

    A week of which only one day was lived is left out.
    """
    day = truth.days[0] - timedelta(days=truth.days[0].weekday())
    while day <= truth.days[-1]:
        first, last = max(day, truth.days[0]), min(day + timedelta(days=6), truth.days[-1])
        if first < last:
            yield first, last
        day += timedelta(days=7)


def _is_short(done: Sequence[Task]) -> bool:
    return 0 < len({task.do for task in done}) <= MOST_ITEMS
