"""The number that an answer claims, in digits or words, apart from its times and names. Pure."""

from __future__ import annotations

from dataclasses import dataclass
import re

from emv_ros.evaluation.scoring.declining import denies_event, is_bound, is_denied, refuses
from emv_ros.tree.words import forms
from emv_ros.whens import NUMBERS

_TEENS = ('thirteen', 'fourteen', 'fifteen', 'sixteen', 'seventeen', 'eighteen', 'nineteen',
          'twenty')
WORDS = {word: float(number) for word, number in NUMBERS.items() if word not in ('a', 'an')}
WORDS |= {word: float(number) for number, word in enumerate(_TEENS, 13)}
_OFTEN = {'once': 1.0, 'twice': 2.0, 'thrice': 3.0, 'never': 0.0}
_NUMBER = re.compile(
    r'(?<![\w.:/#-])(?P<digits>\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)(?![\w/-]|[.,:]\d)|'
    rf'\b(?P<word>{"|".join((*WORDS, *_OFTEN))})\b', re.IGNORECASE)
_MARKER = re.compile(r'^[ \t]*\d+[.)](?=[ \t]+\S)', re.MULTILINE)
_HEDGED = re.compile(r'\s*(?:or|to|–|-)\s*(?:\d|(?:' + '|'.join(WORDS) + r')\b)', re.IGNORECASE)
# Nothing but numbers, one after another: whoever says '3, 4, 5' says none of them.
_ROW = re.compile(
    rf'^\W*(?:(?:\d+|{"|".join(WORDS)}|times?|maybe|perhaps|possibly|and|or)\b\W*)+$',
    re.IGNORECASE)
_WHOLE_OF_A_PART = re.compile(
    rf'\bout of (?:the |all )?(?:\d+|{"|".join(WORDS)})\b|'
    rf'(?<=\d) of (?:the |all )?(?:\d+|{"|".join(WORDS)})\b', re.IGNORECASE)
_ZERO = re.compile(r'\b(?:none|not once|no times?|not at all|no)\b', re.IGNORECASE)
_COUNTED = re.compile(r'\bhow many (?P<noun>\w+(?: \w+)?)|\bhow often\b', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text, whether it counts times, and the words that follow it."""

    value: float
    counts_times: bool
    after: str
    is_hedged: bool
    is_once: bool = False


def claimed_number(question: str, answer: str) -> float | None:
    """Return the number that answers the question, None where none or more than one may.

    `answer` comes without its times. What the question counts goes before other numbers; what is
    said of no such thing is 0.
    """
    # Of '2 of 5' the 5 is what the 2 are of.
    answer = _WHOLE_OF_A_PART.sub(lambda whole: ' ' * len(whole[0]), answer)
    found = numbers(answer)
    if len({number.value for number in found}) > 1 and _ROW.match(answer):
        return None
    counted = _COUNTED.search(question)
    if counted:
        found = _of_the_counted(found, counted['noun'] or 'times') or found
    if not found:
        is_none = (_ZERO.match(answer.strip()) or denies_event(answer)) and not refuses(answer)
        return 0.0 if is_none else None
    if found[0].is_hedged:
        return None
    if len(found) > 1 and all(number.is_once for number in found):
        return float(len(found))  # 'once at noon and once in the evening'
    return found[0].value


def numbers(text: str) -> list[Number]:
    """Return the numbers that a text claims, in its order; those that it denies are left out."""
    text = _MARKER.sub(lambda marker: ' ' * len(marker[0]), text)
    found = []
    for match in _NUMBER.finditer(text):
        word = (match['word'] or '').lower()
        if word != 'never' and (
                is_denied(text, match.start()) or is_bound(text, match.start())):
            continue
        value = (float(match['digits'].replace(',', '')) if match['digits'] else
                 WORDS.get(word, _OFTEN.get(word, 0.0)))
        # Up to the next number or mark, the words tell what is counted.
        after = re.split(r'[,.;:\d]', text[match.end():match.end() + 40])[0]
        counts = word in _OFTEN or re.match(r'\s*(?:\w+ )?(?:times?|x)\b', after) is not None
        found.append(Number(value, counts, after, _HEDGED.match(text, match.end()) is not None,
                            counts and value == 1))
    return found


def _of_the_counted(found: list[Number], noun: str) -> list[Number]:
    if noun.lower().split()[0] in ('times', 'time'):
        return [number for number in found if number.counts_times]
    words = noun.lower().split()
    # '5 tasks, of which 2 failed': of 'tasks failed' the last word tells which are counted.
    return _followed_by(found, words[-1:]) or _followed_by(found, words)


def _followed_by(found: list[Number], words: list[str]) -> list[Number]:
    wanted = set().union(*map(forms, words))
    return [number for number in found
            if any(forms(word) & wanted
                   for word in re.findall(r'[^\W\d_]+', number.after.lower())[:3])]
