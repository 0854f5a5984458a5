"""The seven classes of an answer, and the shares that tables are made of (H-EMV, §IV-D)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from emv_ros.evaluation.proportions import wilson


class Category(StrEnum):
    """How an answer relates to the gold; the names are those of the graded answers."""

    CORRECT = 'correct'
    CORRECT_SUMMARIZED = 'correct_summarized'  # all of it, in fewer words
    CORRECT_TMI = 'correct_tmi'  # all of it, and some more that was not asked
    PARTIALLY_CORRECT_MISSING = 'partially_correct_missing'  # some of it
    PARTIALLY_CORRECT_TMI = 'partially_correct_tmi'  # some of it among what is wrong
    WRONG = 'wrong'
    NO_ANSWER = 'no_answer'  # refuses, or failed


CORRECT = frozenset((Category.CORRECT, Category.CORRECT_SUMMARIZED, Category.CORRECT_TMI))
PARTIAL = frozenset((Category.PARTIALLY_CORRECT_MISSING, Category.PARTIALLY_CORRECT_TMI))


@dataclass(frozen=True, slots=True)
class Share:
    """A share of `total` answers and its 95 % Wilson interval; of nothing 0, from 0 to 1."""

    count: int
    total: int

    @property
    def value(self) -> float:
        """The share, from 0 to 1."""
        return self.count / self.total if self.total else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The ends between which the true share lies, in 95 % of cases."""
        return wilson(self.count, self.total)


def s_c(categories: Iterable[Category]) -> Share:
    """Return the share of answers that are correct, in any of the three forms."""
    return _share(categories, CORRECT)


def s_p(categories: Iterable[Category]) -> Share:
    """Return the share of answers that are correct at least in part."""
    return _share(categories, CORRECT | PARTIAL)


def coarse(category: Category) -> str:
    """Return 'correct', 'partial' or 'wrong' (which no answer is, too)."""
    if category in CORRECT:
        return 'correct'
    return 'partial' if category in PARTIAL else 'wrong'


def _share(categories: Iterable[Category], wanted: frozenset[Category]) -> Share:
    found = list(categories)
    return Share(sum(category in wanted for category in found), len(found))
