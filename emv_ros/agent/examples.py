"""Worked examples for the prompt: questions with their code, chosen by likeness to a question.

The words that name the task's things are masked first, so that an example is near by its kind of
question and not by its topic.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import takewhile
import json
from pathlib import Path
import re
from textwrap import dedent

from emv_ros.agent.asked import described_things, names_a_time, things_in
from emv_ros.retrieval.similarity import Similarity

FILE = Path(__file__).with_name('examples.json')
# Asks for yes or no.
_WHETHER = (r'^\W*(?:(?!wh|there|you|in|on|by|of|from|how|at)\w+ ){0,2}'
            r'(?:did|have|has|was|were|is|are|could)\b')
# Kinds of question; what the first pattern finds in a question is its kind.
KINDS = (r'order\b', r'each of', r'(?:prep|preparing) for\b',
         r'same', r'where|(?:which|what) place', r'(?:of the|there are) two|in your hand',
         r'how (?:many|long)\b.*\b(?:ago|since|passed)|how (?:many days|long is it)',
         r'how (?:many|often)|number of|count', r'how (?:long|much time)',
         rf'{_WHETHER}.*\b(?:manage\w*|able|succe\w+|work(?:ed)? out|fail\w*)\b',
         r'why|reason|went wrong (?:when|as|while)|(?:kept|stopped|hindered) you from',
         r'slip\w*|grasp\w*|hold of|(?:lose|lost) hold|drop\w*',
         r'who\b|whom|whose|wish(?:ed)?\b|request|(?:ask|want)(?:ed)? you\b', _WHETHER,
         r'(?:right|just|directly|immediately|straight) before',
         r'(?:right|just|directly|immediately|straight|on) (?:after|on)\b|next|followed',
         r'wrong|fail\w*|in vain|not work|succe\w+',
         r'first|oldest|earliest|begins?',
         r'most recently|last(?! (?:\w*day|week|month|year|night))',
         r'(?:around|about|shortly (?:after|before)|at) \d|(?:after|before) \d',
         r'before|after', r'when|(?:what|which) time',
         r'which days?|(?:what|which) date',
         r'say|said|tell(?! me)|told|mention\w*', r'summar|highlight|describe',
         r'(?:in|during) (?:which|what)(?: of)?(?: your)? (?:task|job|activit)\w*|'
         r'(?:task|job|activit)\w*\b.*\b(?:with|need\w*|handle|took|use\w*|made)',
         r'what did you do|(?:task|job|activit)\w*|what have you|everything|busy',
         r'(?:what|which)\b.*\b(?:object|thing|one)s?',
         r'which|what')
LEAST = 3
SAME_KIND = 0.4
SAME_TIME = 0.15
SAME_STATUS = 0.3
SAME_WHETHER = 0.25
SAME_NAMES = 0.2  # 'FoldTowel'
SAME_FORM = 0.25  # 'the mug I drank from'
_STATUS = re.compile(r'\b(?:fail|abort|cancel|succe)', re.IGNORECASE)
_NAME = re.compile(r'\b[a-z]*[A-Z]?[a-z]+(?:[A-Z][a-z0-9]+)+\b|\b\w+_\w+\b')
_DIGITS = re.compile(r'\d+')
_THINGS = re.compile(r'\bthing(?:\W+(?:the |a |an )?thing)+\b')


@dataclass(frozen=True, slots=True)
class Example:
    """A question and the code that answers it; with `output`, code that looks, `then` answers.

    `gives` is the answer that it gives over the life that the examples are of.
    """

    question: str
    code: str
    output: str = ''
    then: str = ''
    choices: tuple[str, ...] = ()
    gives: str = ''

    @property
    def then_with_rows(self) -> str:
        """What the code does with all rows of its first line where there are any, '' if more."""
        first, test, *block = [*self.code.splitlines(), '', ''][:-1]
        if not first.startswith('rows = ') or 'status=' in first or test != 'if rows:':
            return ''
        return dedent('\n'.join(takewhile(lambda line: line.startswith(' '), block)))


@cache
def all_examples() -> tuple[Example, ...]:
    """Return the examples that ship with the package."""
    return tuple(Example(**item | {'choices': tuple(item.get('choices', ()))})
                 for item in json.loads(FILE.read_text(encoding='utf-8')))


def two_step_examples() -> list[Example]:
    """Return the examples that look first and then answer; every prompt shows them."""
    return [example for example in all_examples() if example.output]


def masked(question: str) -> str:
    """Return the question with its things, names of programs and numbers masked."""
    text = _NAME.sub('thing', question)
    for thing in things_in(text):
        text = re.sub(rf'\b{re.escape(thing)}\b', 'thing', text, flags=re.IGNORECASE)
    return _DIGITS.sub('0', _THINGS.sub('thing', text)).lower()


def kind_of(question: str) -> int:
    """Return which of KINDS the question is; their number where it is none."""
    for index, pattern in enumerate(KINDS):
        told = pattern if pattern[0] == '^' else rf'\b(?:{pattern})'
        if re.search(told, question, re.IGNORECASE):
            return index
    return len(KINDS)


def choose(question: str, count: int, similarity: Similarity,
           has_choices: bool = False) -> list[Example]:
    """Return the examples most like the question, the most alike last (nearest to the question)."""
    examples = [example for example in all_examples()
                if not example.output and bool(example.choices) == has_choices]
    scores = similarity.scores(masked(question), [masked(item.question) for item in examples])
    for index, example in enumerate(examples):
        for weight, feature in ((SAME_KIND, kind_of), (SAME_TIME, names_a_time),
                                (SAME_STATUS, _names_a_status),
                                (SAME_WHETHER, asks_whether), (SAME_NAMES, _names_a_program),
                                (SAME_FORM, _describes)):
            scores[index] += weight * (feature(question) == feature(example.question))
    order = sorted(range(len(examples)), key=lambda index: (-scores[index], index))[:count]
    kind = kind_of(question)
    if order and kind_of(examples[order[0]].question) == kind:
        # Small models also copy an example that only begins like the question; and from fewer
        # than LEAST they copy a part of one.
        order = [index for at, index in enumerate(order)
                 if at < LEAST or kind_of(examples[index].question) == kind]
    return [examples[index] for index in reversed(order)]


def _names_a_status(question: str) -> bool:
    return _STATUS.search(question) is not None


def asks_whether(question: str) -> bool:
    """Whether a question asks for yes or no."""
    return re.search(_WHETHER, question, re.IGNORECASE) is not None


def _names_a_program(question: str) -> bool:
    return _NAME.search(question) is not None


def _describes(question: str) -> bool:
    return bool(described_things(question))
