"""Numbers that a summary says, in figures and in words, against those that follow from its items.

A number follows where an item says it, or where so many items speak of one thing that the summary
names: three lines about a grasp make "grasped three times" true. Times of the clock may be written
in other ways. Whether the right thing is counted is not checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
import re

from emv_ros.tree.little_words import FUNCTION
from emv_ros.tree.words import forms, words_in

_WORDS = {
    'two': 2, 'twice': 2, 'couple': 2, 'second': 2, 'three': 3, 'thrice': 3, 'third': 3, 'four': 4,
    'fourth': 4, 'five': 5, 'fifth': 5, 'six': 6, 'sixth': 6, 'seven': 7, 'seventh': 7, 'eight': 8,
    'eighth': 8, 'nine': 9, 'ninth': 9, 'ten': 10, 'tenth': 10, 'eleven': 11, 'twelve': 12,
    'dozen': 12, 'fifteen': 15, 'twenty': 20, 'thirty': 30, 'forty': 40, 'fifty': 50,
    'hundred': 100}
_FIGURES = re.compile(r'\d+(?:[.:]\d+)*')
_TIME = re.compile(r'\b(\d\d):(\d\d)\b')
# Days and times, whose figures count nothing.
_DATED = re.compile(
    r'\d\d:\d\d(?::\d\d)?|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day \d\d [A-Z][a-z]+(?: \d{4})?')
_MONTHS = {'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'}
_TOKEN = re.compile(r'\d+(?:[.:]\d+)*|[^\W\d_]+')
_TIMES = re.compile(r'\((\d+) times\)|×\s?(\d+)|\b(\d+) ×')
_PARTS = re.compile(r'[;,]|\band\b')
# What may be counted without being named alike: 'three objects' of a mug, a cup and a plate.
_THINGS = {'object', 'objects', 'item', 'items', 'thing', 'things', 'task', 'tasks', 'action',
           'actions', 'step', 'steps', 'activity', 'activities', 'place', 'places', 'location',
           'locations', 'goal', 'goals', 'question', 'questions', 'record', 'records'}
_HOURS = {'morning': range(4, 13), 'noon': range(11, 15), 'afternoon': range(11, 19),
          'evening': range(16, 24), 'night': (*range(19, 24), *range(7)),
          'midnight': (*range(22, 24), *range(2))}


def untrue_numbers(summary: str, lines: Sequence[str], facts: Sequence[str] = ()) -> list[str]:
    """Return the numbers of a summary, as written, that do not follow from its items.

    `lines` may stand for several items, "(3 times)"; `facts` are the whole text of each item.
    """
    known = [*lines, *facts]
    said = ' '.join(known).lower()
    figures = set(_FIGURES.findall(said))
    written = figures | _clock_forms(said)
    told = {form for word in words_in(summary) if word not in FUNCTION for form in forms(word)}
    allowed = {0, 1, *_counted(lines, told), *_counted(facts, told)}
    most = max(len(lines), len(facts), *(len(_PARTS.split(text)) for text in known))
    tokens = ['', *_TOKEN.findall(summary), '']
    found: dict[str, None] = {}
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        number = _number_of(token, before)
        if (number is None and not token[:1].isdigit()) or token in written or number in allowed:
            continue
        if number is not None and after.lower() in _THINGS and number <= most:
            continue
        if any(figure.startswith(f'{token}:') for figure in figures) or (
                {before.lower()[:3], after.lower()[:3]} & _MONTHS and f'{token:0>2}' in figures):
            continue
        found[token] = None
    return list(found)


def untrue_hours(summary: str, known: Sequence[str]) -> list[str]:
    """Return the times of day that a summary names, though no time in the known texts is then."""
    said = ' '.join(known).lower()
    hours = {int(hour) for hour, _ in _TIME.findall(said)}
    told = set(re.findall(r'[a-z]+', said))
    named = [word for word in re.findall(r'[a-z]+', summary.lower()) if word in _HOURS]
    return [word for word in dict.fromkeys(named)
            if hours and word not in told and hours.isdisjoint(_HOURS[word])]


def _counted(texts: Sequence[str], told: set[str]) -> set[int]:
    """Return the numbers that texts say, and how many texts share each word with what is told.

    A text that holds several times the same, "(3 times)", counts so often.
    """
    numbers: set[int] = set()
    plain: Counter[str] = Counter()
    weighed: Counter[str] = Counter()
    for text in texts:
        text = _DATED.sub(' ', text)
        numbers |= {int(figure) for figure in re.findall(r'\d{1,6}', text)}
        times = max((int(number) for match in _TIMES.findall(text) for number in match if number),
                    default=1)
        words = set(words_in(text))
        numbers |= {_WORDS[word] for word in words if word in _WORDS}
        for form in told.intersection(form for word in words for form in forms(word)):
            plain[form] += 1
            weighed[form] += times
    return numbers | set(plain.values()) | set(weighed.values())


def _number_of(token: str, before: str) -> int | None:
    if token.lower() == 'second' and before.lower() in ('a', 'one'):
        return None  # of time
    return int(token) if token.isdigit() else _WORDS.get(token.lower())


def _clock_forms(said: str) -> set[str]:
    """Return the times of a text as other people write them: 07:05 as 7:05, 19:05 as 7:05."""
    forms_of: set[str] = set()
    for hour, minute in _TIME.findall(said):
        forms_of |= {f'{int(hour)}:{minute}', f'{int(hour) % 12 or 12}:{minute}'}
    return forms_of
