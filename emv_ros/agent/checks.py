"""Whether an answer may go out: what its evidence must be, hold and bear out.

A verdict that refuses says what to write instead; the model sees it as an error of the console.
The checks: evidence was shown; it is of the time asked; it is more than the robot's own words; it
bears out the times and the counted statuses; it mentions what was asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
import itertools
import re

from emv_ros.agent.answers import EvidenceItem
from emv_ros.agent.asked import (
    asks_for_words,
    asks_whether_done,
    asks_who_wished,
    is_mentioned,
    missing_things,
    names_a_time,
    names_in,
    target_in,
    things_in,
)
from emv_ros.agent.choices import choice_named
from emv_ros.agent.cited import cited_ids
from emv_ros.agent.times_told import unknown_times
from emv_ros.memory.names import squash
from emv_ros.timeline import Interval

MAX_ANSWER_CHARS = 2000
MAX_EVIDENCE = 20
# Of a record; e3, an entity, may be what was asked for.
_ID = re.compile(r'[aginosu]\d+')
_UNFILLED = re.compile(r'\{\s*(?:len|rows|r|row|times|names|total|first|nodes|n)\b[^}]*\}')
_NEGATIVE = re.compile(
    r"^\W*(?:no|never|nothing|none|not|i did not|i didn't|i have not|i haven't|i never)\b", re.I)
_ZERO = re.compile(r'\b(?:0|zero|no|none|never|not)\b', re.I)
_LOOSE = re.compile(r'\s+([.,;:!?])')
_DOUBLED = re.compile(r'[,;:]+(?=[.,;:])')
_TIMES = re.compile(r'\b(\d{1,6}) times?\b', re.I)
_COUNTS = re.compile(r'\bhow (?:many|often)\b|\bnumber of\b', re.I)
_UNKNOWN = re.compile(
    r'\b(?:is|are|was|were|has|have)(?: not|n.t)(?: been)? '
    r'(?:recorded|known|mentioned|stored in (?:the |my )?memory)\b|'
    r'\bnot (?:in|part of) (?:the |my )?memory\b|\bI (?:do not|don.t) (?:know|remember)\b|'
    r'\bmemory (?:does not|doesn.t) (?:tell|say|hold)\b|^\W*no (?:record|information)\b|'
    r'^\W*(?:not (?:recorded|known|found)|unknown)\W*$', re.I)
# What makes more of a question than whether a thing was done.
_IN_ORDER = re.compile(r'\b(?:before|after|while|without|only|always|never|first|twice|again|than|'
                       r'or|not|more|enough|alone)\b', re.I)
_OFFSET = re.compile(r'(\d{2}:\d{2}:\d{2})(?:\.\d+)?(?:[+-]\d{2}:\d{2})?')
_TASKS = r'(?: of)?(?: your| the)? (?:task|job|activit)(?:s|y|ies)?\b'
_COUNTED_TASKS = re.compile(rf'\b(?:how many|number of){_TASKS}', re.I)
_WHICH_TASK = re.compile(rf'\b(?:which|what){_TASKS}', re.I)
ASKED_STATUS = {'failed': r'\bfail', 'aborted': r'\babort', 'canceled': r'\bcancel',
                'succeeded': r'\bsucce'}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check decided: the answer's text and evidence, or why not (`refused`).

    `count` is the number of pieces of evidence, of which `evidence` holds the first. `absent` are
    the things asked for that nothing recorded mentions; `is_hearsay`: there is no evidence but the
    robot's own words.
    """

    text: str = ''
    evidence: tuple[EvidenceItem, ...] = ()
    count: int = 0
    choice: int | None = None
    refused: str = ''
    absent: tuple[str, ...] = ()
    is_hearsay: bool = False


@dataclass(frozen=True, slots=True)
class Grounds:
    """What an answer is checked against.

    `text_of` gives the full recorded text behind an id, `is_recorded` whether memory mentions a
    word anywhere in the question's window, `seen_text` all that the model was shown in this run,
    `statuses` the outcome of each run that was shown, `parts` those of them within others.
    `is_own` tells the robot's own words, `is_echo` those that repeat an answer that it gave.
    `asked` is the time that evidence must lie in, where the question names one;
    `is_recorded_then` is `is_recorded` within that time.
    """

    question: str
    shown: dict[str, EvidenceItem]
    seen_text: str
    text_of: Callable[[EvidenceItem], str]
    is_recorded: Callable[[str], bool]
    statuses: dict[str, str] = field(default_factory=dict)
    parts: frozenset[str] = frozenset()
    is_own: Callable[[EvidenceItem], bool] = lambda item: False
    is_echo: Callable[[EvidenceItem], bool] = lambda item: False
    choices: tuple[str, ...] = ()
    asked: Interval | None = None
    is_recorded_then: Callable[[str], bool] = lambda word: True


def check_answer(text: str, ids: Iterable[str], grounds: Grounds,
                 insists: bool = False) -> Verdict:
    """Return the verdict on answer(text, evidence); `insists` where the same was refused before."""
    text = tidy(text)
    if not any(map(str.isalnum, text)) or _ID.fullmatch(text):
        return Verdict(refused='the answer is empty: write answer(told(rows), evidence=rows)')
    if squash(text) == squash(grounds.question):
        return Verdict(refused='that is the question: answer from the rows, or call '
                       'not_recorded(reason)')
    if _UNFILLED.search(text):
        return Verdict(refused='the answer holds an unfilled {…}: use an f-string, '
                       "answer(f'…', evidence=rows)")
    ids = cited_ids(ids)
    if unknown := [item for item in ids if item not in grounds.shown]:
        return Verdict(refused=f'evidence {unknown[0][:40]!r} was never shown: '
                       'pass rows that a function returned')
    if not ids:
        return Verdict(refused='an answer needs evidence: pass evidence=rows, or call '
                       'not_recorded(reason)')
    named = [grounds.shown[item] for item in ids]
    evidence = tuple(item for item in named if not grounds.is_echo(item))
    if not evidence:
        return Verdict(is_hearsay=True, refused='the evidence only repeats an answer that was '
                       'given before: find what it rests on, or call not_recorded(reason)')
    within = tuple(item for item in evidence if _lies_in(item, grounds.asked))
    if not within:
        return Verdict(refused='the evidence is of another time than was asked: use when= with the '
                       'time of the question')
    evidence = within
    if grounds.choices:
        return _check_choice(text, evidence, grounds.choices)
    told = (grounds.seen_text, grounds.question)
    if strange := unknown_times(text, evidence, told):
        return Verdict(refused=f'the answer says {strange}, which no row shows: '
                       'take times from the rows, {row.when}')
    if status := _status_missed(text, evidence, grounds):
        return Verdict(refused=f'the question counts {status} runs, but other runs are in the '
                       f'evidence: use events(…, status={status!r})')
    if not insists and (part := _part_for_task(evidence, grounds)):
        return Verdict(refused=f'{part} is a part of a task, no task itself: use goals(…) in the '
                       'place of events(…)')
    if not insists and (held := _miscounted(text, evidence, grounds)):
        return Verdict(refused=f'the evidence holds {held} runs, not as many as the answer counts: '
                       "answer(f'{len(rows)} times', evidence=rows)")
    if _is_hearsay(evidence, grounds, insists):
        return Verdict(is_hearsay=True, refused="that is told only by the robot's own words, which "
                       'show nothing but that they were said: use events(…) or seen(…), or call '
                       'not_recorded(reason)')
    return _check_things(text, evidence, grounds, insists)


def _lies_in(item: EvidenceItem, asked: Interval | None) -> bool:
    return asked is None or (item.start_ns < asked.end_ns and item.end_ns >= asked.start_ns)


def _check_choice(text: str, evidence: tuple[EvidenceItem, ...],
                  choices: tuple[str, ...]) -> Verdict:
    """Check that an answer is one of the choices; which of them it rests on, pick() found out."""
    choice = choice_named(text, choices)
    if choice is None:
        return Verdict(refused='the answer is none of the choices: write '
                       'answer(pick(rows), evidence=rows)')
    return Verdict(choices[choice], evidence[:MAX_EVIDENCE], len(evidence), choice)


def _is_hearsay(evidence: tuple[EvidenceItem, ...], grounds: Grounds, insists: bool) -> bool:
    """Whether nothing but what the robot said bears out the answer, and no words were asked for.

    Where other evidence stands beside it, the thing asked for must be in that; who insists must
    find at least one of several things there.
    """
    if asks_for_words(grounds.question):
        return False
    evidence = evidence[:MAX_EVIDENCE]  # what goes out; each is looked up
    others = [item for item in evidence if not grounds.is_own(item)]
    if not others or len(others) == len(evidence):
        return not others
    missing = missing_things(grounds.question, _held(others, grounds))
    if len(missing) == len(missing_things(grounds.question, _held(evidence, grounds))):
        return False
    return not insists or len(missing) == len(things_in(grounds.question))


def _held(evidence: Sequence[EvidenceItem], grounds: Grounds) -> str:
    """Return the words of evidence: all of what goes out, of the rest those that were shown."""
    return ' '.join((*map(grounds.text_of, evidence[:MAX_EVIDENCE]),
                     *(item.text for item in evidence[MAX_EVIDENCE:])))


def _check_things(text: str, evidence: tuple[EvidenceItem, ...], grounds: Grounds,
                  insists: bool) -> Verdict:
    """Check that what was asked for is in the evidence, or is rightly denied."""
    missing = missing_things(grounds.question, _held(evidence, grounds))
    accepted = Verdict(text, evidence[:MAX_EVIDENCE], len(evidence))
    if not insists and is_negative(text) and (done := _done_in(evidence, grounds)):
        return Verdict(refused=f'{done.id} tells that it was done: answer from it, or look '
                       'further before saying no')
    if not missing:
        return accepted
    recorded = [thing for thing in missing if grounds.is_recorded(thing)]
    absent = tuple(thing for thing in missing if thing not in recorded)
    words = ' '.join(recorded)
    if is_negative(text):
        if absent or insists or not all(map(grounds.is_recorded_then, recorded)):
            return accepted  # what was asked for is nowhere, or not then: saying no is right
        if asks_who_wished(grounds.question) and any(
                item.kind == 'utterance' for item in evidence):
            return accepted  # somebody else's words are shown
        return Verdict(refused=f'memory does mention {", ".join(recorded)}: look with '
                       f'search({words!r}) before saying no')
    things = things_in(grounds.question)
    # A part of a task need not name whom the task was for.
    of_parts = any(item.id in grounds.parts for item in evidence)
    if not insists and not of_parts and (names := names_in(grounds.question, recorded)):
        asked = ' '.join(thing for thing in things if thing not in missing or thing in names)
        return Verdict(refused=f'no row of the evidence names {", ".join(names)}: look for '
                       f'{asked}, too')
    if not absent and len(missing) * 2 < len(things):
        return accepted  # a word or two may be said otherwise where the rest fits
    is_all = len(missing) == len(things)
    if insists and not (absent and (is_all or _is_beside_target(text, absent, grounds))):
        return accepted
    if recorded:
        return Verdict(refused=f'the evidence does not mention {", ".join(recorded)}, but memory '
                       f'does: search({words!r})', absent=absent)
    return Verdict(refused=f'nothing recorded mentions {", ".join(absent)}: use rows that are '
                   'about it under another name, or call not_recorded(reason)', absent=absent)


def _is_beside_target(text: str, absent: Sequence[str], grounds: Grounds) -> bool:
    """Whether the very thing wanted was never recorded, and the answer only says the rest again.

    What is counted needs its unit; a word that names a kind ('which animal') may go unmentioned
    where the answer adds something to the question.
    """
    target, is_counted = target_in(grounds.question)
    return target in absent and (
        is_counted or all(is_mentioned(word, grounds.question) for word in things_in(text)))


def _done_in(evidence: Sequence[EvidenceItem], grounds: Grounds) -> EvidenceItem | None:
    """Return the successful run that did what was asked for, where only that was asked.

    It stands in the evidence or was shown besides: a small model's own filter may have lost it.
    """
    question = grounds.question
    if (not asks_whether_done(question) or not things_in(question) or _IN_ORDER.search(question)
            or (names_a_time(question) and grounds.asked is None)
            or any(re.search(word, question, re.I) for word in ASKED_STATUS.values())):
        return None
    shown = (item for item in grounds.shown.values() if item not in evidence)
    done = (item for item in (*evidence, *shown) if grounds.statuses.get(item.id) == 'succeeded'
            and _lies_in(item, grounds.asked))
    return next((item for item in itertools.islice(done, MAX_EVIDENCE)
                 if not missing_things(question, grounds.text_of(item))), None)


def _status_missed(text: str, evidence: tuple[EvidenceItem, ...], grounds: Grounds) -> str:
    """Return the one status that a counting question asks for, where the evidence holds others.

    Runs of other statuses alone may stand for a count of none.
    """
    question = grounds.question
    asked = [status for status, word in ASKED_STATUS.items() if re.search(word, question, re.I)]
    runs = [item for item in evidence if item.id in grounds.statuses]
    if len(asked) != 1 or not _COUNTS.search(question) or not runs:
        return ''
    fitting = [item for item in runs if grounds.statuses[item.id] == asked[0]]
    if len(fitting) == len(runs) or (not fitting and _ZERO.search(text)):
        return ''
    return asked[0]


def _part_for_task(evidence: Iterable[EvidenceItem], grounds: Grounds) -> str:
    """Return a run within another that stands for a task where tasks are asked for, or ''.

    Where it is asked which task it was, parts may stand beside the task that they are of.
    """
    items = list(evidence)
    if not _COUNTED_TASKS.search(grounds.question) and not (
            _WHICH_TASK.search(grounds.question)
            and all(item.id in grounds.parts for item in items)):
        return ''
    return next((item.id for item in items if item.id in grounds.parts), '')


def _miscounted(text: str, evidence: tuple[EvidenceItem, ...], grounds: Grounds) -> int:
    """Return how many runs the evidence holds, where the answer counts more or fewer, else 0.

    Fewer may be those of one status; none may be told by runs that are something else.
    """
    told = _TIMES.findall(text)
    if (len(told) != 1 or not _COUNTS.search(grounds.question)
            or not all(item.id in grounds.statuses for item in evidence)):
        return 0
    by_status = Counter(grounds.statuses[item.id] for item in evidence)
    return 0 if int(told[0]) in {0, len(evidence), *by_status.values()} else len(evidence)


def says_nothing_known(text: str) -> bool:
    """Whether an answer says that memory does not tell, in words of its own."""
    return _UNKNOWN.search(text) is not None


def tidy(text: str) -> str:
    """Return the answer's text on few lines, without offsets and fractions behind clock times."""
    text = _OFFSET.sub(r'\1', text)
    text = _DOUBLED.sub('', _LOOSE.sub(r'\1', text))
    lines = [' '.join(line.split()) for line in text.splitlines()]
    return '\n'.join(line for line in lines if line)[:MAX_ANSWER_CHARS]


def is_negative(text: str) -> bool:
    """Whether the answer begins by denying."""
    return _NEGATIVE.match(text) is not None


def things_recorded(question: str, is_recorded: Callable[[str], bool]) -> bool:
    """Whether the question asks for things and memory mentions each of them."""
    things = things_in(question)
    return bool(things) and all(is_recorded(thing) for thing in things)
