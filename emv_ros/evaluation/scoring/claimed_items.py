"""Which items of a list an answer names, and how many others. Lexical, English. Pure.

An answer is cut into segments at commas, 'and', bullets and ends of sentences; what is said in one
segment is taken for one item. An item is named by a segment that holds all words of one of its
alternatives, in any of their forms. Times, introductions ('You did three tasks:'), what places the
answer in time ('after setting the table') and what is denied are no items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import re

from emv_ros.evaluation.scoring.declining import denial_in
from emv_ros.retrieval.terms import STOP_WORDS
from emv_ros.tree.words import NOUN, VERB, forms, readings, words_in

_SEGMENT_END = re.compile(
    r'[.!?](?=\s|$)|[;\n,•]|(?<=\s)[-–*](?=\s)|\b(?:and|then|but|or|nor|as well as|plus)\b|'
    r'(?P<introduced>:(?=\s|$))', re.IGNORECASE)
_SENTENCE_MARK = re.compile(r'[.!?;\n]|\bbut\b|:', re.IGNORECASE)
_PLACING = re.compile(
    r'^\W*(?:just |right |shortly |immediately )?(?:after|before|when|while|during|following|on|at|'
    r'since|until|as)\b', re.IGNORECASE)
_MARKER = re.compile(r'^\s*(?:[-*•]|\(?\d{1,2}[.)])\s+', re.MULTILINE)
_DETERMINED = re.compile(
    r'^\W*(?:the|a|an|some|all|his|her|its|my|your|their|one|two|three|four|five|\d+)\b',
    re.IGNORECASE)
# Words that frame a list without being of it.
_FRAME = frozenset(words_in(
    'task tasks activity activities action actions thing things item items object objects step '
    'steps episode episodes list following first second third fourth last next finally lastly '
    'later afterwards afterward also today yesterday perform performed complete completed did '
    'done carry carried include included including involved total several various recorded '
    'record records memory answer robot user someone successfully success finished finish order '
    'morning afternoon evening night noon day days time times minute minutes hour hours second '
    'seconds am pm went again there here namely well both single named called'))


@dataclass(frozen=True, slots=True)
class ClaimedItems:
    """The numbers of the gold's items in the order in which they were named, and the others."""

    named: tuple[int, ...]
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of an answer that is taken for one item, with its words that count."""

    text: str
    words: tuple[str, ...]  # those that tell something and are not denied
    is_introduction: bool


def claimed_items(answer: str, items: Sequence[Sequence[str]]) -> ClaimedItems:
    """Return which of the items (each with its alternatives) an answer, without times, names."""
    wanted = [[_content(words) for words in alternatives] for alternatives in items]
    named: list[int] = []
    others: list[str] = []
    verb: tuple[str, ...] = ()
    for segment in segments(answer):
        words = segment.words
        if verb and words and _lacks_verb(segment):
            words = (*verb, *words)
        elif words:
            verb = words[:1]
        found = [number for number, alternatives in enumerate(wanted)
                 if any(_says(words, said) for said in alternatives)]
        named += [number for number in _most_telling(found, wanted, words) if number not in named]
        if segment.words and not found and not segment.is_introduction and not _is_part_of_named(
                segment.words, [wanted[number] for number in named]):
            others.append(segment.text)
    return ClaimedItems(tuple(named), tuple(dict.fromkeys(others)))


def content_words(text: str) -> tuple[str, ...]:
    """Return the words of a text that tell something, in lower case and its order."""
    return tuple(word for word in words_in(text)
                 if word not in STOP_WORDS and word not in _FRAME and len(word) > 1)


def _content(said: str) -> tuple[str, ...]:
    """Return the telling words of an alternative; all its words where none tells."""
    return content_words(said) or tuple(words_in(said))


def segments(answer: str) -> list[Segment]:
    """Return the parts of an answer between commas, 'and', bullets and ends of sentences."""
    answer = _MARKER.sub('\n', answer)
    found: list[Segment] = []
    start, is_denied = 0, False
    ends = [(end.start(), end.end(), end) for end in _SEGMENT_END.finditer(answer)]
    for stop, following, end in [*ends, (len(answer), len(answer), None)]:
        text = answer[start:stop].strip()
        # 'not the mug, the plate or the bowl': a denial lasts while no verb begins anew.
        goes_on = is_denied and (_DETERMINED.match(text) is not None or len(text.split()) < 2)
        kept = _undenied(text)
        is_denied = kept != text or (goes_on and bool(text))
        introduces = end is not None and end['introduced'] is not None
        found.append(Segment(text, () if goes_on else content_words(kept),
                              introduces or _PLACING.match(text) is not None))
        if end is not None and _SENTENCE_MARK.match(end[0]):
            is_denied = False
        start = following
    return found


def _undenied(text: str) -> str:
    """Return what stands before a denial of what follows it; nothing where a verb is denied."""
    denial = denial_in(text)
    if denial is None:
        return text
    is_of_verb = re.match(r"(?:not|never|neither|cannot|n't)$", denial[0], re.IGNORECASE)
    return '' if is_of_verb else text[:denial.start()]


def _lacks_verb(segment: Segment) -> bool:
    """Whether a segment goes on with the verb of the one before: '… and the red plates'."""
    if _DETERMINED.match(segment.text):
        return True
    kinds = readings(segment.words[0])
    return len(segment.words) == 1 and (NOUN in kinds or VERB not in kinds)


def _says(words: Sequence[str], said: Sequence[str]) -> bool:
    have = set().union(*(forms(word) for word in words)) if words else set()
    return bool(said) and all(forms(word) & have for word in said)


def _most_telling(found: list[int], wanted: Sequence[Sequence[tuple[str, ...]]],
                  words: Sequence[str]) -> list[int]:
    """Leave out items whose words are only a part of another's: 'cup' in 'red cup'."""
    said = {number: max((alternative for alternative in wanted[number]
                         if _says(words, alternative)), key=len) for number in found}
    return [number for number in found
            if not any(other != number and len(said[other]) > len(said[number])
                       and _says(said[other], said[number]) for other in found)]


def _is_part_of_named(words: Sequence[str],
                      named: Sequence[Sequence[tuple[str, ...]]]) -> bool:
    """Whether a segment only goes on about an item that was named already."""
    return any(_says(alternative, words) for alternatives in named for alternative in alternatives)
