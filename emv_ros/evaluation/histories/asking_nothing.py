"""Questions that memory does not answer: what never was, was never noted, or was at another time.

The near misses ask for what did happen, but not in the asked days.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from emv_ros.evaluation.histories.asking_tasks import weeks
from emv_ros.evaluation.histories.asking_times import UNCLEAR
from emv_ros.evaluation.histories.drafts import Draft
from emv_ros.evaluation.histories.phrasing import Phrasing
from emv_ros.evaluation.histories.truth import Truth, grouped
from emv_ros.evaluation.questions import Gold, GoldKind

NONE = Gold(GoldKind.NONE, 'That is not recorded.')
# What no task, thing or word of any history has to do with: (the rare word, the rest).
NEVER_DONE = ('repair the bicycle', 'walk the hound', 'iron the curtains', 'mow the lawn',
              'paint the fence', 'sweep the chimney', 'polish the trumpet', 'defrost the freezer')
NEVER_SEEN = ('telescope', 'violin', 'passport', 'tennis racket', 'sunglasses case', 'stapler',
              'kite', 'fishing rod')
# By kind of task: what nobody ever noted of it.
UNNOTED = {
    'take_delivery': ('Which registration number had the van of the courier {0}?',
                      'How old was the courier who came {0}?',
                      'How many grams did the delivery weigh that you took from the courier {0}?'),
    'let_guest_in': ('What colour was the coat of the guest whom you let in {0}?',
                     'How tall was the guest whom you let in {0}?',
                     'By which means of transport had the guest come whom you let in {0}?'),
    'bring_drink': ('How many spoonfuls of sugar were in the drink you brought somebody {0}?',
                    'What brand was the hot drink you brought somebody {0}?',
                    'How hot, in degrees, was the drink you brought somebody {0}?'),
    'wash_clothes': ('Which detergent did you use when you ran the washing machine {0}?',
                     'How many litres did the washing machine need {0}?',
                     'How fast did the washing machine spin {0}?'),
    'put_groceries_away': ('How much did the groceries cost that you put away {0}?',
                           'In which shop had the groceries been bought that you put away {0}?',
                           'Who had bought the groceries that you put away {0}?'),
    'read_news': ('What was the headline when you read the news {0}?',
                  'Which newspaper did you read the news from {0}?',
                  'Which politician was in the news you read {0}?'),
    'feed_rabbit': ('How many grams of food did the rabbit get {0}?',
                    'What is the name of the rabbit that you fed {0}?',
                    'What colour was the rabbit that you fed {0}?'),
    'load_dishwasher': ('What temperature did the dishwasher run at {0}?',
                        'Which brand of tablet was in the dishwasher that you loaded {0}?',
                        'How many litres did the dishwasher use {0}?')}


def unanswerable(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    """Yield questions to which the right answer is that memory does not tell it."""
    for do in NEVER_DONE:
        yield _nothing('never_done', f'When did you {do}?', f'How long did it take you to {do}?',
                       f'Who asked you to {do}?')
    for name in NEVER_SEEN:
        yield _nothing('never_seen', f'Where is the {name} now?',
                       f'Where did you put the {name}?', f'When did you last hold the {name}?')
    yield from _unnoted(truth, say)
    yield from _outside(truth, say)
    yield from _near_misses(truth, say)


def _unnoted(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    for task in truth.tasks:
        if task.kind in UNNOTED and not task.failed:
            when = say.told(task)
            yield _nothing('unnoted', *(ask.format(when) for ask in UNNOTED[task.kind]))


def _outside(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    early = truth.days[0] - timedelta(days=say.chance.randint(5, 40))
    late = say.today + timedelta(days=say.chance.randint(3, 20))
    empty = [day for day in truth.days if not truth.on(day)]
    for day in (early, *empty[:3], late):
        on = f'on {say.day(day)}' if day.year == truth.days[0].year else \
            f'on {day.day} {day:%B} {day.year}'
        yield _nothing('outside' if day in (early, late) else 'empty_day',
                       f'What did you do {on}?', f'Which task came first {on}?',
                       f'Who asked you for something {on}?')


def _near_misses(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    for do, alike in grouped(truth.tasks, 'general_do'):
        if do in UNCLEAR:
            continue
        kind = alike[0].kind
        for first, last in weeks(truth):
            done = truth.on(first, last)
            if done and not any(task.kind == kind for task in done):
                within = say.between(first, last)
                yield _nothing('other_week', f'When did you {do} {within}?',
                               f'How long did it take you to {do} {within}?',
                               f'Who asked you to {do} {within}?')
        for day in truth.days:
            done = truth.on(day)
            if done and not any(task.kind == kind for task in done):
                on = say.on(day)
                yield _nothing('other_day', f'At what time did you {do} {on}?',
                               f'How long did you need to {do} {on}?',
                               f'What did you do right after you had to {do} {on}?')


def _nothing(form: str, *asks: str) -> Draft:
    return Draft('unanswerable', form, asks, NONE, ())
