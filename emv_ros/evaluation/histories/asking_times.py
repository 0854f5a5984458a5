"""Questions for times and numbers: when, how many days ago, how often, how long, first and last.

A task that is asked for in words never failed in the history: "when did you" would be unclear.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from emv_ros.evaluation.histories.asking_tasks import weeks
from emv_ros.evaluation.histories.drafts import Draft, number, spans, task_list
from emv_ros.evaluation.histories.phrasing import Phrasing, date_words
from emv_ros.evaluation.histories.truth import Task, Truth, grouped
from emv_ros.evaluation.questions import Gold, GoldKind
from emv_ros.timeline import SECOND_NS

# s: an answer may name the request, the beginning or the end of a task.
PRECISION_S = 300.0
DAY_S = 86_400.0
# What is said of them in general could be said of other tasks as well.
UNCLEAR = ('fetch something',)


def clear_groups(truth: Truth) -> Iterator[tuple[str, list[Task]]]:
    """Yield what can be asked of tasks that are alike, in particular or in general: (do, tasks)."""
    seen: set[str] = set()
    for do, alike in chain(grouped(truth.tasks, 'do'), grouped(truth.tasks, 'general_do')):
        if do not in seen and do not in UNCLEAR and not any(task.failed for task in alike):
            seen.add(do)
            yield do, alike


def _time(say: Phrasing, tasks: list[Task], precision_s: float = PRECISION_S) -> Gold:
    text = '; '.join(say.moment(task.start_ns) if precision_s < DAY_S
                     else date_words(say.truth.day_of(task)) for task in tasks)
    longest = max((task.end_ns - task.start_ns) / SECOND_NS for task in tasks)
    return Gold(GoldKind.TIME, text, times_ns=tuple(task.start_ns for task in tasks),
                precision_s=max(precision_s, longest + 60.0))


def when(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    """Yield: when a task was done, of several the last, or all of two or three."""
    for do, alike in clear_groups(truth):
        if len(alike) == 1:
            yield Draft('when', 'once', (
                f'When did you {do}?', f'At what time, and on which day, did you {do}?',
                f'Tell me when it was that you had to {do}.'), _time(say, alike), spans(alike))
        else:
            yield Draft('when', 'last', (
                f'When did you last {do}?', f'When was the last time you had to {do}?',
                f'At what time, and on which day, did you {do} most recently?'),
                _time(say, alike[-1:]), spans(alike[-1:]))
        if 2 <= len(alike) <= 3:
            yield Draft('when', 'all', (
                f'When did you {do}? Name all times.', f'At which times did you {do}?',
                f'Tell me each time at which you had to {do}.'), _time(say, alike), spans(alike))
        if len({truth.day_of(task) for task in alike}) == 1:
            yield Draft('when', 'day', (
                f'On which day did you {do}?', f'Which day was it when you had to {do}?',
                f'On what date did you {do}?'), _time(say, alike[:1], DAY_S), spans(alike))


def how_many_days_ago(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    """Yield: how many days ago a task was done for the last time."""
    for do, alike in clear_groups(truth):
        ago = (say.today - truth.day_of(alike[-1])).days
        last = '' if len(alike) == 1 else 'last '
        if ago > 0:
            yield Draft('how_many_days_ago', 'once' if len(alike) == 1 else 'last', (
                f'How many days ago did you {last}{do}?',
                f'How many days have passed since you {last}had to {do}?',
                f'How many days is it since you {last}{alike[-1].did}?'
                if do == alike[-1].do else f'How long ago, in days, did you {last}{do}?'),
                number(ago, GoldKind.DAYS_AGO, f'{ago} day{"" if ago == 1 else "s"} ago'),
                spans(alike[-1:]))


def count(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    """Yield: how often a task was done, how many tasks there were, and how many failed."""
    for do, alike in clear_groups(truth):
        yield Draft('count', 'task', (
            f'How many times did you {do}?', f'How often did you {do} in all?',
            f'What is the number of times that you had to {do}?'),
            number(len(alike)), spans(alike))
    for first, last in weeks(truth):
        within, done = say.between(first, last), truth.on(first, last)
        for do, alike in clear_groups(truth):
            part = [task for task in alike if task in done]
            if len(part) > 1 and len(part) < len(alike):
                yield Draft('count', 'task_in_week', (
                    f'How many times did you {do} {within}?', f'How often did you {do} {within}?',
                    f'Count how often you had to {do} {within}.'), number(len(part)), spans(part))
        failed = [task for task in done if task.failed]
        if failed:
            yield Draft('count', 'failures_in_week', (
                f'How many of your tasks failed {within}?', f'How many tasks went wrong {within}?',
                f'Count the tasks that failed {within}.'), number(len(failed)), spans(failed))
    for day in truth.days:
        done = truth.on(day)
        if done:
            on = say.on(day)
            yield Draft('count', 'tasks_of_day', (
                f'How many tasks did you have {on}?', f'How many different tasks did you get {on}?',
                f'What number of tasks kept you busy {on}?'), number(len(done)), spans(done))
    failed = [task for task in truth.tasks if task.failed]
    if failed:
        yield Draft('count', 'failures', (
            'How many of your tasks failed in all?', 'How many tasks did not work out so far?',
            'What is the number of all your tasks that failed?'),
            number(len(failed)), spans(failed))


def duration(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    """Yield: how long a task took."""
    for task in truth.tasks:
        if not task.failed:
            seconds = (task.end_ns - task.start_ns) / SECOND_NS
            told = say.told(task)
            yield Draft('duration', task.kind, (
                f'How long did it take you to {task.do} {told}?',
                f'How much time did you need to {task.do} {told}?',
                f'You had to {task.do} {told}. How long were you busy with it?'),
                Gold(GoldKind.DURATION, f'{seconds:.0f} seconds', value=round(seconds, 1),
                     precision_s=max(30.0, round(seconds / 5, 1))), spans([task]))


def first_last(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    """Yield: the first and the last task of a day; when a task was done for the first time."""
    for day in truth.days:
        done = truth.on(day)
        if len(done) > 1:
            for word, one in (('first', done[0]), ('last', done[-1])):
                on = say.on(day)
                yield Draft('first_last', f'{word}_of_day', (
                    f'What was the {word} task that kept you busy {on}?',
                    f'Which task did you do {word} {on}?',
                    f'Of all your tasks {on}, which one was the {word}?'),
                    task_list([one]), spans([one]))
    for do, alike in clear_groups(truth):
        if len(alike) > 1:
            for word, one in (('first', alike[0]), ('last', alike[-1])):
                yield Draft('first_last', f'{word}_time', (
                    f'When was the {word} time that you had to {do}?',
                    f'On which day and at what time did you {do} for the {word} time?',
                    f'When did you {word} {do}?'), _time(say, [one]), spans([one]))
    yield Draft('first_last', 'first_of_all', (
        'What is the very first task that you remember?',
        'Which of all the tasks in your memory was the first?',
        'With which task does your memory begin?'),
        task_list(truth.tasks[:1]), spans(truth.tasks[:1]))
