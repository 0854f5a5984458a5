"""What a question is before some of many are chosen: all its wordings, its answer, its evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from emv_ros.evaluation.histories.phrasing import Phrasing, task_items, tasks_in_words
from emv_ros.evaluation.histories.truth import Task, Truth, Words
from emv_ros.evaluation.questions import Gold, GoldKind
from emv_ros.timeline import Interval


@dataclass(frozen=True, slots=True)
class Draft:
    """A question that can be asked; `form` tells apart what a kind of question has of forms."""

    kind: str
    form: str
    asks: tuple[str, ...]
    gold: Gold
    evidence: tuple[Interval, ...]


Maker = Callable[[Truth, Phrasing], Iterator[Draft]]


def spans(tasks: Sequence[Task]) -> tuple[Interval, ...]:
    """Return when the tasks ran."""
    return tuple(task.span for task in tasks)


def listed(text: str, items: tuple[Words, ...], is_ordered: bool = False) -> Gold:
    """Return the answer that has to name all of the items."""
    return Gold(GoldKind.LIST, text, items=items, is_ordered=is_ordered)


def task_list(tasks: Sequence[Task], is_ordered: bool = False) -> Gold:
    """Return the answer that has to name all of the tasks."""
    return listed(tasks_in_words(tasks), task_items(tasks), is_ordered)


def number(value: int, kind: GoldKind = GoldKind.NUMBER, text: str = '') -> Gold:
    """Return the answer that is a number."""
    return Gold(kind, text or str(value), value=float(value))


def yes_no(is_so: bool, text: str = '') -> Gold:
    """Return the answer yes or no."""
    return Gold(GoldKind.YES_NO, text or ('Yes.' if is_so else 'No.'), value=float(is_so))
