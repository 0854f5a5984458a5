"""Questions for things, people and outcomes: where, which of two, who said what, why it failed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from emv_ros.evaluation.histories.asking_tasks import MOST_ITEMS
from emv_ros.evaluation.histories.asking_times import UNCLEAR, clear_groups
from emv_ros.evaluation.histories.drafts import Draft, listed, spans, task_list, yes_no
from emv_ros.evaluation.histories.household import LIKE, RESIDENTS, place_words, spoken
from emv_ros.evaluation.histories.phrasing import Phrasing
from emv_ros.evaluation.histories.truth import Placement, Task, Truth
from emv_ros.evaluation.life.home import EVERY_PLACE
from emv_ros.evaluation.questions import Gold
from emv_ros.timeline import HOUR_NS, Interval, to_datetime

# The words that may stand for why something failed.
WHY = {
    'out of water': ('out of water', 'no water'), 'was empty': ('empty',),
    'did not close': ('did not close', "didn't close", 'not close'), 'locked': ('locked',),
    'did not start': ('did not start', "didn't start", 'not start'),
    'cloth': ('cloth was dirty', 'dirty cloth', 'no clean cloth'),
    'lying in it': ('somebody lying', 'someone lying', 'somebody in bed', 'someone in bed',
                    'somebody in it', 'someone in it'),
    'did not answer': ('did not answer', "didn't answer", 'not answer'), 'stuck': ('stuck',),
    'could not be found': ('not be found', 'not found', 'could not find', "couldn't find")}


def failure(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    """Yield: which tasks failed, why one did, and with which thing a grasp failed."""
    failed = [task for task in truth.tasks if task.failed]
    if 0 < len(failed) <= MOST_ITEMS:
        yield Draft('failure', 'which', (
            'Which of your tasks failed?', 'Name all the tasks that did not work out.',
            'What have you tried in vain so far?'), task_list(failed), spans(failed))
    for task in failed:
        told = say.told(task)
        alternatives = next(words for part, words in WHY.items() if part in task.reason)
        yield Draft('failure', 'why', (
            f'Why did you fail to {task.do} {told}?',
            f'What went wrong when you tried to {task.do} {told}?',
            f'You could not {task.do} {told}. What was the reason?'),
            listed(task.reason, (alternatives,)), spans([task]))
        if len([one for one in truth.on(truth.day_of(task)) if one.failed]) == 1:
            on = say.on(truth.day_of(task))
            yield Draft('failure', 'which_of_day', (
                f'Which task failed {on}?', f'What did not work out {on}?',
                f'One of your tasks went wrong {on}. Which one?'), task_list([task]),
                spans([task]))
    for task in truth.tasks:
        slips = [step for step in task.steps if step.skill == 'GraspObject' and step.reason]
        if len(slips) == 1:
            instance = slips[0].parameters['object']
            name, told = truth.names[instance], say.told(task)
            if name in task.do:
                continue  # the question would tell it
            yield Draft('failure', 'grasp', (
                f'Which thing could you not grasp at the first attempt {told} while you had to '
                f'{task.do}?',
                f'While you were to {task.do} {told}, one grasp failed. Of which thing?',
                f'Of what did you lose hold when you had to {task.do} {told}?'),
                listed(name, ((name, instance),)), (slips[0].span,))


def where(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    """Yield: where a thing is, or was at a time: put there by the robot, and not moved since."""
    for instance, name in truth.names.items():
        verb = 'are' if name.endswith('s') and not name.endswith('ss') else 'is'
        was = {'are': 'were', 'is': 'was'}[verb]
        if name in LIKE:
            continue
        placed = [one for one in truth.placements if one.instance == instance]
        if placed and _is_known(placed[-1]):
            yield Draft('where', 'now', (
                f'Where {verb} the {name} now?', f'Where did you leave the {name}?',
                f'In which place {verb} the {name} at the moment?'), *_place(placed[-1]))
        for one, following in zip(placed, placed[1:], strict=False):
            if _is_known(one) and following.stamp_ns > one.stamp_ns + 4 * HOUR_NS:
                stamp_ns = one.stamp_ns + say.chance.randint(1, 3) * HOUR_NS
                when = f'{_on(truth, say, stamp_ns)} at {say.clock(stamp_ns)}'
                yield Draft('where', 'then', (
                    f'Where {was} the {name} {when}?', f'In which place {was} the {name} {when}?',
                    f'At what place could one find the {name} {when}?'), *_place(one))


def _on(truth: Truth, say: Phrasing, stamp_ns: int) -> str:
    return say.on(to_datetime(stamp_ns, truth.zone).date())


def _is_known(placed: Placement) -> bool:
    return placed.seen and placed.where in EVERY_PLACE


def _place(placed: Placement) -> tuple[Gold, tuple[Interval, ...]]:
    return listed(spoken(placed.where), (place_words(placed.where),)), (placed.span,)


def which_like(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    """Yield: which of two like things was used, whether it was the same, where it is now."""
    for name in LIKE:
        used = [(task, next(iter(own))) for task in truth.tasks
                if not task.failed and len(own := _of(truth, task, name)) == 1]
        for task, instance in used:
            told, did = say.told(task), task.did.replace(f'a {name}', 'it')
            yield Draft('which_like', 'which', (
                f'Which of the two {name}s did you use when you {did} {told}?',
                f'There are two {name}s. Which one was it when you {did} {told}?',
                f'By its name in your records, which {name} did you take when you {did} {told}?'),
                listed(instance, (place_words(instance),)), spans([task]))
            now = truth.latest(instance, say.now_ns)
            others = [truth.latest(one, say.now_ns) for one in truth.instances(name)
                      if one != instance]
            if now is not None and _is_known(now) and spoken(now.where) not in did and all(
                    other is None or other.where != now.where for other in others):
                yield Draft('which_like', 'where', (
                    f'Where is the {name} now that you used when you {did} {told}?',
                    f'A {name} was in your hand when you {did} {told}. Where is that one now?',
                    f'Where did you last put the {name} that you took when you {did} {told}?'),
                    _place(now)[0], (task.span, now.span))
        for (one, first), (two, second) in combinations(used, 2):
            early, late = say.told(one), say.told(two)
            yield Draft('which_like', 'same' if first == second else 'other', (
                f'Was it the same {name} when you {one.did} {early} and when you {two.did} {late}?',
                f'Did you use one and the same {name} when you {one.did} {early} and when you '
                f'{two.did} {late}?',
                f'You {one.did} {early}, and you {two.did} {late}. Was that the same {name}?'),
                yes_no(first == second), spans([one, two]))


def _of(truth: Truth, task: Task, name: str) -> list[str]:
    return [instance for instance in task.things if truth.names[instance] == name]


def said(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    """Yield: who asked for a task, and what somebody said by the way."""
    for task in truth.tasks:
        do = task.do if task.general_do in UNCLEAR else task.general_do
        if task.person and task.person not in do:
            told = say.told(task)
            yield Draft('said', 'who', (
                f'Who asked you to {do} {told}?', f'Who wanted you to {do} {told}?',
                f'At whose request did you have to {do} {told}?'),
                listed(task.person, ((task.person,),)),
                (*truth.request(task), task.span))
    for one in truth.sayings:
        if one.topic:
            yield Draft('said', 'what', (
                f'What did {one.speaker} tell you about {one.topic}?',
                f'What did {one.speaker} say concerning {one.topic}?',
                f'{one.speaker} mentioned {one.topic}. What was it?'),
                listed(one.text, one.items), (one.span,))
            yield Draft('said', 'speaker', (
                f'Who told you something about {one.topic}?', f'Who talked about {one.topic}?',
                f'From whom did you hear something about {one.topic}?'),
                listed(one.speaker, ((one.speaker,),)), (one.span,))


def is_so(truth: Truth, say: Phrasing) -> Iterator[Draft]:
    """Yield: whether a task was done on a day, whether it worked out, who had asked for it."""
    for do, alike in clear_groups(truth):
        for day in filter(truth.on, truth.days):
            done = [task for task in alike if truth.day_of(task) == day]
            yield _did(do, say.on(day), done)
    for task in truth.tasks:
        told = say.told(task)
        if task.failed or task.kind in {one.kind for one in truth.tasks if one.failed}:
            yield Draft('yes_no', 'failed' if task.failed else 'succeeded', (
                f'Did you manage to {task.do} {told}?', f'Were you able to {task.do} {told}?',
                f'Did it work out when you were to {task.do} {told}?'),
                yes_no(not task.failed), spans([task]))
        do = task.do if task.general_do in UNCLEAR else task.general_do
        if task.person and task.person not in do:
            for person in RESIDENTS:
                yield Draft('yes_no', 'asked' if person == task.person else 'not_asked', (
                    f'Was it {person} who asked you to {do} {told}?',
                    f'Did {person} ask you to {do} {told}?',
                    f'Was the wish that you {do} {told} one of {person}?'),
                    yes_no(person == task.person),
                    (*truth.request(task), task.span))


def _did(do: str, on: str, done: list[Task]) -> Draft:
    return Draft('yes_no', 'done' if done else 'not_done', (
        f'Did you {do} {on}?', f'Is it true that you had to {do} {on}?',
        f'Was one of your tasks {on} to {do}?'), yes_no(bool(done)), spans(done))
