"""Which items of a list an answer names, and how many others. Lexical, English. Pure.

An answer is cut into segments at commas, 'and', bullets and ends of sentences; what is said in one
segment is taken for one item. An item is named by a segment that holds all words of one of its
alternatives, in any of their forms, numbers of names included ('red mug 2'). Times, introductions
('You did three tasks:'), what places the answer in time ('after setting the table'), what only says
the question again and what is denied are no items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import re

from emv_ros.evaluation.scoring.declining import denial_in
from emv_ros.retrieval.terms import STOP_WORDS, squash
from emv_ros.tree.words import NOUN, VERB, forms, readings, words_in

_SEGMENT_END = re.compile(
    r'[.!?](?=\s|$)|[;\n,•]|(?<=\s)[-–*](?=\s)|\b(?:and|then|but|or|nor|as well as|plus)\b|'
    r'(?P<introduced>:(?=\s|$))', re.IGNORECASE)
_SENTENCE_MARK = re.compile(r'[.!?;\n]|\bbut\b|:', re.IGNORECASE)
_PLACING = re.compile(
    r'^\W*(?:just |right |shortly |immediately |directly )?(?:after|before|when|while|during|'
    r'following|on|at|since|until|as)\b', re.IGNORECASE)
_MARKER = re.compile(r'^\s*(?:[-*•]|\(?\d{1,2}[.)])\s+', re.MULTILINE)
_ARTICLES = frozenset(('a', 'an', 'the', 'some', 'his', 'her', 'its', 'my', 'your', 'their'))
_DETERMINED = re.compile(rf'^\W*(?:{"|".join(_ARTICLES)}|all|one|two|three|four|five|\d+)\b',
                         re.IGNORECASE)
_NUMBER = re.compile(r'(?<![A-Za-z\d])\d+(?![A-Za-z\d])')
# Words that frame a list without being of it.
_FRAME = frozenset(words_in(
    'task tasks activity activities action actions thing things item items object objects step '
    'steps episode episodes list following first second third fourth last next finally lastly '
    'later afterwards afterward also today yesterday perform performed complete completed did '
    'done carry carried include included including involved total several various recorded '
    'record records memory answer robot user someone successfully success succeeded failed status '
    'skill goal finish finished order morning afternoon evening night noon day days time times '
    'minute minutes hour hours seconds am pm went again there here namely well both single named '
    'called busy'))


@dataclass(frozen=True, slots=True)
class ClaimedItems:
    """The numbers of the gold's items in the order in which they were named, and the others."""

    named: tuple[int, ...]
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of an answer that is taken for one item: its words that are not denied.

    `words` are those that tell something, `all_words` also those that only frame a list, and
    numbers. Introductions and what places in time are `is_aside`.
    """

    text: str
    words: tuple[str, ...]
    all_words: tuple[str, ...]
    is_aside: bool


def claimed_items(answer: str, items: Sequence[Sequence[str]], question: str = '') -> ClaimedItems:
    """Return which of the items (each with its alternatives) an answer, without times, names."""
    wanted = [[said for words in alternatives if (said := _said_by_words(words))]
              for alternatives in items]
    asked = tuple(words_in(question))
    if any(_says(asked, said) for alternatives in wanted for said in alternatives):
        asked = ()  # the question offers what to name: to say it again is to name it
    named: list[int] = []
    others: list[str] = []
    before: tuple[str, ...] = ()
    for segment in segments(answer):
        found = _found_in(segment, before, wanted, named)
        found += [number for number, alternatives in enumerate(items)
                  if number not in found and _says_as_phrase(segment.text, alternatives)]
        is_new = bool(segment.words) and not found and not segment.is_aside
        if is_new and not _says(asked, segment.words) and not _is_about_named(
                segment.words, [wanted[number] for number in named]):
            others.append(segment.text)
        named += [number for number in found if number not in named]
        if segment.words and not (before and _lacks_verb(segment)):
            before = segment.all_words
    return ClaimedItems(tuple(named), tuple(dict.fromkeys(others)))


def content_words(text: str) -> tuple[str, ...]:
    """Return the words of a text that tell something, in lower case and its order."""
    return tuple(word for word in _all_words(text)
                 if word not in _FRAME and len(word) > 1 and not word.isdigit())


def segments(answer: str) -> list[Segment]:
    """Return the parts of an answer between commas, 'and', bullets and ends of sentences."""
    answer = _MARKER.sub('\n', answer)
    found: list[Segment] = []
    start, is_denied, is_neither = 0, False, False
    ends = [(end.start(), end.end(), end) for end in _SEGMENT_END.finditer(answer)]
    for stop, following, end in [*ends, (len(answer), len(answer), None)]:
        text = answer[start:stop].strip()
        # 'not the mug, the plate or the bowl': a denial lasts while no verb begins anew.
        goes_on = is_denied and (_DETERMINED.match(text) is not None or len(text.split()) < 2)
        kept = '' if goes_on or is_neither else _undenied(text)
        is_denied = kept != text
        introduces = end is not None and end['introduced'] is not None
        found.append(Segment(text, content_words(kept), _all_words(kept),
                             introduces or _PLACING.match(text) is not None))
        if end is not None and _SENTENCE_MARK.match(end[0]):
            is_denied = False
        is_neither = end is not None and end[0].lower() == 'nor'
        start = following
    return found


def _all_words(text: str) -> tuple[str, ...]:
    words = [word for word in words_in(text) if word not in STOP_WORDS]
    return (*words, *_NUMBER.findall(text.replace('_', ' ')))


def _said_by_words(alternative: str) -> tuple[str, ...]:
    """Return the words by which an alternative is told; () where only the whole phrase will do.

    So it is with a denial ('did not answer') and where grammar tells it ('out of water').
    """
    words = _all_words(alternative)
    spoken = [word for word in words_in(alternative) if word not in _ARTICLES]
    if denial_in(alternative) or (len(words) == 1 and spoken and spoken[0] in STOP_WORDS):
        return ()
    return words


def _says_as_phrase(text: str, alternatives: Sequence[str]) -> bool:
    said = f' {squash(text)} '
    return any(f' {squash(words)} ' in said for words in alternatives
               if not _said_by_words(words))


def _found_in(segment: Segment, before: Sequence[str],
              wanted: Sequence[Sequence[tuple[str, ...]]], named: Sequence[int]) -> list[int]:
    """Return the items that a segment names.

    One without a verb goes on with that of the segment before, or with all that it said: '… and
    the red plates', 'coffee to Clara and Henrik'.
    """
    tries = [segment.all_words]
    again: list[int] = []
    if before and segment.words and _lacks_verb(segment):
        tries = [(before[0], *segment.all_words), (*before, *segment.all_words)]
    for words in tries:
        # The longest alternative that was said, for each item.
        said = {number: max(fitting, key=len) for number, alternatives in enumerate(wanted)
                if (fitting := [words_of for words_of in alternatives if _says(words, words_of)])}
        if any(number not in named for number in said):
            return _most_telling(said, named)
        if words is segment.all_words:
            again = list(said)  # what only the words before say again is not said by this one
    return again


def _most_telling(said: dict[int, tuple[str, ...]], named: Sequence[int]) -> list[int]:
    """Leave out items whose words are only a part of another's: 'cup' in 'red cup'.

    Of items that are told by the same words a segment names one, the first that none named yet.
    """
    found: list[int] = []
    for number in sorted(said, key=lambda number: number in named):
        rivals = [other for other in said if other != number]
        is_part = any(len(said[other]) > len(said[number]) and _says(said[other], said[number])
                      for other in rivals)
        is_same = any(_says(said[other], said[number]) and _says(said[number], said[other])
                      for other in found)
        if not is_part and not is_same:
            found.append(number)
    return found


def _undenied(text: str) -> str:
    """Return what stands before a denial of what follows it; nothing where a verb is denied."""
    denial = denial_in(text)
    if denial is None:
        return text
    is_of_verb = re.match(r"(?:not|never|neither|cannot|n't)$", denial[0], re.IGNORECASE)
    return '' if is_of_verb else text[:denial.start()]


def _lacks_verb(segment: Segment) -> bool:
    if _DETERMINED.match(segment.text):
        return True
    kinds = readings(segment.words[0])
    return len(segment.words) == 1 and (NOUN in kinds or VERB not in kinds)


def _says(words: Sequence[str], said: Sequence[str]) -> bool:
    """Whether all of `said` stand among the words, in any form."""
    have = {form for word in words for form in forms(word)}
    return bool(said) and all(forms(word) & have for word in said)


def _is_about_named(words: Sequence[str],
                    named: Sequence[Sequence[tuple[str, ...]]]) -> bool:
    """Whether a segment only goes on about an item that was named already."""
    return any(_says(alternative, words) for alternatives in named for alternative in alternatives)
