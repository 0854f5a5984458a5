"""How a task begins and ends in a simulated history: somebody asks, the robot replies, thanks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
import re

from emv_ros.evaluation.histories.acting import HistoryRobot
from emv_ros.evaluation.histories.household import RESIDENTS
from emv_ros.evaluation.histories.truth import Task, Words
from emv_ros.evaluation.life.robot import Run
from emv_ros.records import Status

# How often a task of a kind that can fail does.
TASK_FAILS = 0.2
_POLITE = ('Could you {0}, please?', 'Please {0}.', 'Would you {0}?', 'Can you {0} now?')
_REPLIES = ('Of course.', 'Yes, right away.', 'I will do that.', 'Gladly.')
_THANKS = ('Thank you.', 'Thanks a lot.', 'Well done, thank you.', 'Lovely, thanks.')
# People seldom ask in the very words in which the task is spoken of later.
_OTHER_WORDS = {
    'load the dishwasher': ('get the dirty dishes into the dishwasher', 'start the dishwasher'),
    'water the plants': ('give the plants some water',),
    'take out the rubbish': ('get rid of the rubbish bag', 'bring the bag to the dustbin'),
    'feed the rabbit': ('give our rabbit something to eat', 'see to the rabbit'),
    'sort the laundry': ('put the clean clothes where they belong', 'see to the laundry basket'),
    'make the bed': ('straighten the bed', 'see to the bed'),
    'put the groceries away': ('stow away the shopping', 'see to the shopping')}
_DOUBLED = ('mop', 'put', 'let')


@dataclass(frozen=True, slots=True)
class Particulars:
    """A task in words: with its particulars, in general, and what else may stand for it."""

    kind: str
    skill: str
    do: str
    did: str
    general_do: str
    general_did: str
    others: Words = ()


@contextmanager
def asked(robot: HistoryRobot, said: Particulars, at: str = '', wish: str = '', trigger: str = '',
          **parameters: str) -> Iterator[tuple[Task, Run]]:
    """Do what a resident asks for in the room `at`, in a wish like 'bring me a tea'.

    With a `trigger` nobody asks. `person` among the parameters says who does.
    """
    person = '' if trigger else parameters.pop('asker', '') or robot.chance.choice(RESIDENTS)
    if person:
        robot.home.people[person] = at
        robot.wait(2.0)
        words = wish or robot.chance.choice((said.do, *_OTHER_WORDS.get(said.do, ())))
        trigger = robot.chance.choice(_POLITE).format(words)
        robot.say(person, trigger)
        robot.say('robot', robot.chance.choice(_REPLIES))
    task = Task(said.kind, said.skill, said.do, said.did, said.general_do, said.general_did,
                names_of(said), person, trigger, robot.now_ns)
    with robot.working_on(task, **parameters) as run:
        yield task, run
    if person:
        robot.say(person, robot.chance.choice(_THANKS) if task.status is Status.SUCCEEDED
                  else 'Never mind.')
        robot.wait(2.0)
        robot.home.people.pop(person, None)


def fails(robot: HistoryRobot, run: Run, why: str) -> bool:
    """Let a run fail now and then; return whether it did."""
    if robot.chance.random() >= TASK_FAILS:
        return False
    robot.wait(3.0)
    run.fail(why)
    return True


def names_of(said: Particulars) -> Words:
    """Return all the words that may stand for a task in an answer."""
    verb, _, rest = said.do.partition(' ')
    parts = re.sub(r'(?<=[a-z])(?=[A-Z])', ' ', said.skill).lower()
    return tuple(dict.fromkeys((said.do, said.did, f'{_ing(verb)} {rest}', said.skill, parts,
                                *said.others)))


def _ing(verb: str) -> str:
    if verb.endswith('e'):
        return f'{verb[:-1]}ing'
    return f'{verb}{verb[-1] if verb in _DOUBLED else ""}ing'
