"""Class an answer by rule, where the gold is exact: numbers, times, lists, choices, nothing.

English answers in any form people write. The rules lean to strictness: what an answer denies it
does not claim, what it says beside the gold counts against it, and of two values it hedges between
neither counts. A gold in words (TEXT) is for a reader: None.
"""

from __future__ import annotations

from datetime import tzinfo
import re

from emv_ros.agent.answers import QueryStatus
from emv_ros.evaluation.questions import AskedQuestion, Gold, GoldKind
from emv_ros.evaluation.scoring.categories import Category
from emv_ros.evaluation.scoring.choosing import choice_of, reads_alike
from emv_ros.evaluation.scoring.claimed_durations import claimed_duration
from emv_ros.evaluation.scoring.claimed_items import claimed_items, content_words
from emv_ros.evaluation.scoring.claimed_numbers import claimed_number
from emv_ros.evaluation.scoring.claimed_times import ClaimedTime, claimed_times, without_times
from emv_ros.evaluation.scoring.days_ago import claimed_days_ago
from emv_ros.evaluation.scoring.declining import (
    claims_nothing,
    declines,
    denial_in,
    denies_event,
    refuses,
    says_not_recorded,
    sentences,
)
from emv_ros.evaluation.scoring.moments import score_times
from emv_ros.timeline import SECOND_NS
from emv_ros.tree.words import forms

# So much of what is named is of the gold at least: for correct_tmi, and for partially correct.
FEW_OTHERS, MANY_OTHERS = 2 / 3, 1 / 3
# A duration may be off by its precision, but by no more than this share of itself, or 2 s.
DURATION_SHARE, DURATION_LEAST_S = 0.1, 2.0
_MEASURED = (GoldKind.NUMBER, GoldKind.DAYS_AGO, GoldKind.DURATION, GoldKind.TIME)
_YES = re.compile(r'^\W*(?:yes|yeah|correct|true|right|indeed|affirmative)\b', re.IGNORECASE)
_BOTH = re.compile(r'\byes(?:,? (?:and|or)|,) no\b', re.IGNORECASE)
_OPEN = re.compile(
    r'\?\s*$|\b(?:may|might|could|should|would|must|maybe|perhaps|possibly|whether)\b',
    re.IGNORECASE)
_UNDONE = re.compile(r'\b(?:forgot|failed|refused|declined|unable|too late) to\b', re.IGNORECASE)
_NO = re.compile(r'^\W*(?:no|not|never|false|incorrect|negative|nope)\b', re.IGNORECASE)
_PLAIN_NO = re.compile(r'^\W*no\s*(?:[,.;:!–-]|$)', re.IGNORECASE)
_OPPOSITES = tuple(
    (re.compile(asked, re.IGNORECASE), re.compile(other, re.IGNORECASE)) for asked, other in (
        (r'\bsame\b', r'\bdifferent\b|\banother\b'),
        (r'\b(?:manage\w*|succe\w+|work(?:ed)? out)\b', r'\bfail\w*|\bin vain\b|\bunsuccess')))
_ASKS_WHERE = re.compile(r'\bwhere\b|\bwhat place\b|\bwhich place\b', re.IGNORECASE)
_FROM = re.compile(r'\bfrom\b[^,.;]{1,60}?(?=\b(?:to|into|onto)\b)', re.IGNORECASE)
_IS_YES = re.compile(r'\b(?:answer is|answer:|:)\s*(yes|no)\b', re.IGNORECASE)


def score_exact(question: AskedQuestion, answer: str, status: str, zone: tzinfo,
                now_ns: int) -> Category | None:
    """Return the class of an answer, None where only a reader can tell.

    `status` is a QueryStatus; times are local to the zone and seen from `now_ns`. An answer that
    declines an answerable question is NO_ANSWER.
    """
    gold = question.gold
    if gold is None:
        return None
    if gold.kind is GoldKind.NONE:
        return _score_none(answer, status)
    if status == QueryStatus.NOT_RECORDED or not re.search(r'\w', answer):
        return Category.NO_ANSWER
    if gold.kind is GoldKind.TEXT:
        return None
    # A cause or a thing may be told as what was not found; a time or a number may not.
    if gold.kind in _MEASURED and gold.value != 0 and refuses(answer) and \
            says_not_recorded(answer):
        return Category.NO_ANSWER
    found = _score(question, gold, answer, zone, now_ns)
    if found is None:
        return Category.NO_ANSWER if declines(answer) else Category.WRONG
    return Category.NO_ANSWER if found is Category.WRONG and refuses(answer) else found


def _score(question: AskedQuestion, gold: Gold, answer: str, zone: tzinfo,
           now_ns: int) -> Category | None:
    """Return the class of an answer, None where it claims nothing of the kind that was asked."""
    times = claimed_times(answer, now_ns, zone)
    bare = without_times(answer, times)
    match gold.kind:
        case GoldKind.NUMBER:
            return _score_number(question, gold, bare, times)
        case GoldKind.DAYS_AGO:
            days = claimed_days_ago(answer, times, now_ns, zone)
            return None if days is None else _right(days == gold.value)
        case GoldKind.DURATION:
            return _score_duration(question, gold, answer, times)
        case GoldKind.TIME:
            asked = claimed_times(question.text, now_ns, zone)
            return score_times(gold, times, asked, zone)
        case GoldKind.LIST:
            return score_items(gold, bare, question.text)
        case GoldKind.YES_NO:
            asked = claimed_times(question.text, now_ns, zone)
            return _score_yes_no(question, gold, answer, _is_of_another_day(times, asked))
        case _:
            taken = choice_of(question, answer)
            return None if taken is None else _right(
                reads_alike(question.choices[taken], question.choices[int(gold.value or 0)]))


def score_items(gold: Gold, answer: str, question: str = '') -> Category | None:
    """Return the class of an answer, without its times, to a gold that lists items.

    Recall is the share of items that are named, precision the share of named items among all that
    is said. All named is correct, with others up to a third of what is said correct_tmi, with up to
    two thirds partially correct, beyond that wrong: who lists everything knows nothing. Some named
    is partially correct by the same limits. None: it names nothing at all.
    """
    if _ASKS_WHERE.search(question):
        answer = _FROM.sub(' ', answer)  # 'from the shelf to the table' is the table
    claimed = claimed_items(answer, gold.items, question)
    named, others = len(claimed.named), len(claimed.others)
    if not gold.items:
        return _right(declines(answer) or re.match(r'^\W*(?:none|nothing)\b', answer, re.I)
                      is not None)
    if not named and not others:
        return None
    if not named or named / (named + others) < MANY_OTHERS:
        return Category.WRONG
    if named < len(gold.items):
        is_more_wrong = others > len(gold.items) - named
        return Category.PARTIALLY_CORRECT_TMI if is_more_wrong else \
            Category.PARTIALLY_CORRECT_MISSING
    if gold.is_ordered and list(claimed.named) != sorted(claimed.named):
        return Category.PARTIALLY_CORRECT_MISSING
    if not others:
        return Category.CORRECT
    if named / (named + others) >= FEW_OTHERS:
        return Category.CORRECT_TMI
    return Category.PARTIALLY_CORRECT_TMI


def _score_none(answer: str, status: str) -> Category:
    if status == QueryStatus.NOT_RECORDED:
        return Category.CORRECT
    if not re.search(r'\w', answer):
        return Category.NO_ANSWER
    return _right(claims_nothing(answer))


def _score_number(question: AskedQuestion, gold: Gold, bare: str,
                  times: list[ClaimedTime]) -> Category | None:
    claimed = claimed_number(question.text, bare)
    if claimed is None:
        told = sum(time.has_clock and not time.is_denied for time in times)
        is_listed = bool(told) and told == gold.value and not refuses(bare)
        return Category.PARTIALLY_CORRECT_MISSING if is_listed else None
    value = float(gold.value or 0)
    slack = 1e-9 if value.is_integer() else 0.005 * abs(value)
    return _right(abs(claimed - value) <= slack)


def _score_duration(question: AskedQuestion, gold: Gold, answer: str,
                    times: list[ClaimedTime]) -> Category | None:
    """Right within the precision; partly where in coarser units, or told by its two ends only."""
    value = gold.value or 0.0
    slack_s = min(gold.precision_s, max(DURATION_LEAST_S, DURATION_SHARE * value))
    claimed = claimed_duration(question.text, answer)
    if claimed is None:
        lengths = [(time.span.end_ns - time.span.start_ns) / SECOND_NS for time in times
                   if time.has_clock and not time.is_denied]
        is_told = len(lengths) == 1 and abs(lengths[0] - value) <= slack_s
        return Category.PARTIALLY_CORRECT_MISSING if is_told else None
    if abs(claimed.seconds - value) <= slack_s:
        return Category.CORRECT
    is_rounded = claimed.unit_s >= 60 and claimed.seconds >= claimed.unit_s and \
        abs(claimed.seconds - value) <= claimed.unit_s / 2
    return Category.PARTIALLY_CORRECT_MISSING if is_rounded else Category.WRONG


def _is_of_another_day(times: list[ClaimedTime], asked: list[ClaimedTime]) -> bool:
    """Whether an answer names days, and none of those that the question names."""
    told = [time.span for time in times if time.has_day and not time.is_denied]
    wanted = [time.span for time in asked if time.has_day]
    return bool(told and wanted) and not any(
        one.overlaps(other) for one in told for other in wanted)


def _score_yes_no(question: AskedQuestion, gold: Gold, answer: str,
                  is_of_another_day: bool) -> Category | None:
    said = _says_yes(question.text, answer, is_of_another_day)
    if said is None:
        return Category.NO_ANSWER if declines(answer) else None
    return _right(said == bool(gold.value))


def _says_yes(question: str, answer: str, is_of_another_day: bool) -> bool | None:
    """Return what an answer says to a yes-or-no question; None where it does not say.

    A statement without yes, no or denial is a yes where it says at least half of the question's
    words again, of no other day, and leaves nothing open.
    """
    first = (sentences(answer) or [''])[0]
    if _YES.match(first):
        return None if _BOTH.search(first) else True
    if named := _IS_YES.search(first):
        return None if _BOTH.search(first) else named[1].lower() == 'yes'
    if _PLAIN_NO.match(first):
        return False
    if refuses(first) and not re.search(r'\b(?:mention\w*|seen|observed|noted)\b', first):
        return None
    opposite = any(asked.search(question) and other.search(first) for asked, other in _OPPOSITES)
    if _UNDONE.search(first) and not _UNDONE.search(question):
        return False
    if opposite or _NO.match(first) or denies_event(first) or denial_in(first):
        return False
    if is_of_another_day or _OPEN.search(first):
        return None
    words = content_words(question)
    have = {form for word in content_words(answer) for form in forms(word)}
    return True if sum(bool(forms(word) & have) for word in words) * 2 >= len(words) else None


def _right(is_right: bool) -> Category:
    return Category.CORRECT if is_right else Category.WRONG
