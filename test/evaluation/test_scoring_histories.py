"""The rules on simulated histories: golds are right, others' golds and whole lists are not."""

from __future__ import annotations

from datetime import date

import pytest

from emv_ros.evaluation.histories.days import live
from emv_ros.evaluation.histories.question_set import ask
from emv_ros.evaluation.histories.truth import Truth
from emv_ros.evaluation.questions import AskedQuestion, GoldKind
from emv_ros.evaluation.scoring.categories import Category
from emv_ros.evaluation.scoring.exact import score_exact
from emv_ros.timeline import local_date

SEED = 5
Asked = tuple[Truth, list[AskedQuestion]]


@pytest.fixture(scope='module')
def asked() -> Asked:
    truth = live(14, SEED).truth
    return truth, ask(truth, SEED, 3)


def scored(truth: Truth, question: AskedQuestion, answer: str) -> Category | None:
    assert question.query_time_ns is not None
    return score_exact(question, answer, 'ANSWERED', truth.zone, question.query_time_ns)


def days(truth: Truth, question: AskedQuestion) -> set[date]:
    return {local_date(stamp, truth.zone) for stamp in question.gold.times_ns} \
        if question.gold else set()


def test_another_answer_to_a_question_of_its_kind_is_not_taken_for_right(asked: Asked) -> None:
    truth, questions = asked
    tried = 0
    for question in questions:
        for other in questions:
            if (other.kind != question.kind or other.gold is None or question.gold is None
                    or other.gold.kind is not question.gold.kind
                    or other.gold.kind is GoldKind.DURATION  # two may be alike within precision
                    or (other.gold.items, other.gold.value, other.gold.times_ns)
                    == (question.gold.items, question.gold.value, question.gold.times_ns)
                    or set(other.gold.items) & set(question.gold.items)
                    or days(truth, other) & days(truth, question)):
                continue
            tried += 1
            assert scored(truth, question, other.gold.text) in (
                Category.WRONG, Category.NO_ANSWER), (question.text, other.gold.text)
    assert tried > 60


def test_to_name_every_task_answers_no_question(asked: Asked) -> None:
    truth, questions = asked
    everything = '; '.join(dict.fromkeys(task.did for task in truth.tasks))
    for question in questions:
        if question.gold and question.gold.kind is GoldKind.LIST and question.kind != 'tasks':
            assert scored(truth, question, everything) not in (
                Category.CORRECT, Category.CORRECT_TMI), question.text


def test_to_decline_is_right_only_where_nothing_is_recorded(asked: Asked) -> None:
    truth, questions = asked
    for question in questions:
        is_none = question.gold is not None and question.gold.kind is GoldKind.NONE
        assert scored(truth, question, 'I found nothing about that in the memory.') is (
            Category.CORRECT if is_none else Category.NO_ANSWER), question.text
