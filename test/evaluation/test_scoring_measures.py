"""Shares of classes, evidence touched, and intervals of means, on values worked out by hand."""

from __future__ import annotations

import math

import pytest

from emv_ros.evaluation.scoring.categories import Category, coarse, s_c, s_p
from emv_ros.evaluation.scoring.evidence import EvidenceScore, score_evidence, summed_up
from emv_ros.evaluation.scoring.intervals import mean_with_bootstrap
from emv_ros.timeline import Interval


def span(start: int, end: int) -> Interval:
    return Interval(start, end)


def test_shares_of_the_seven_classes() -> None:
    each = list(Category)
    assert (s_c(each).count, s_p(each).count, s_c(each).total) == (3, 5, 7)
    # Wilson's interval of 8 of 10, as tables of it have it.
    eight = [Category.CORRECT_TMI] * 8 + [Category.WRONG, Category.PARTIALLY_CORRECT_TMI]
    assert s_c(eight).interval == pytest.approx((0.490, 0.943), abs=5e-4)
    assert s_p(eight).value == 0.9
    assert (s_c([]).value, s_c([]).interval) == (0.0, (0.0, 1.0))
    assert [coarse(item) for item in each] == [
        'correct', 'correct', 'correct', 'partial', 'partial', 'wrong', 'wrong']


WINDOWS = [span(0, 10), span(100, 110), span(200, 210)]


@pytest.mark.parametrize(('spans', 'precision', 'recall', 'f1', 'hit', 'covered'), [
    ([span(5, 6), span(105, 300), span(50, 60), span(52, 52)], 2 / 4, 1.0, 2 / 3, True, True),
    ([span(5, 6), span(7, 8), span(105, 106)], 1.0, 2 / 3, 0.8, True, False),
    ([span(10, 10)], 1.0, 1 / 3, 0.5, True, False),
    ([span(11, 99)], 0.0, 0.0, 0.0, False, False), ([], 0.0, 0.0, 0.0, False, False)])
def test_spans_against_windows(spans: list[Interval], precision: float, recall: float, f1: float,
                               hit: bool, covered: bool) -> None:
    found = score_evidence(spans, WINDOWS)
    assert (found.precision, found.recall, found.f1) == pytest.approx((precision, recall, f1))
    assert (found.is_hit, found.is_covered) == (hit, covered)


def test_a_question_without_windows_has_no_evidence_score() -> None:
    with pytest.raises(ValueError, match='without windows'):
        score_evidence([span(0, 1)], [])


def test_means_over_questions() -> None:
    told = summed_up([EvidenceScore(2, 1, 1, 1), EvidenceScore(4, 4, 2, 1)])
    assert (told['precision'], told['recall'], told['hit'], told['covered']) == (
        0.75, 0.75, 1.0, 0.5)
    assert told['f1'] == pytest.approx((2 / 3 + 2 / 3) / 2, abs=1e-4)
    assert told['precision_95'] == [0.5, 1.0]


def test_the_bootstrap_agrees_with_the_normal_interval_of_many_values() -> None:
    values = [float(value % 10) for value in range(400)]
    mean, low, high = mean_with_bootstrap(values)
    assert mean == 4.5
    # The standard deviation of 0..9 is the root of 8.25.
    reach = 1.96 * math.sqrt(8.25 / 400)
    assert (low, high) == pytest.approx((4.5 - reach, 4.5 + reach), abs=0.03)
    assert mean_with_bootstrap(values) == (mean, low, high)


def test_the_bootstrap_of_few_values() -> None:
    assert mean_with_bootstrap([3.0]) == (3.0, 3.0, 3.0)
    assert all(math.isnan(value) for value in mean_with_bootstrap([]))
    assert mean_with_bootstrap([1.0, 1.0, 1.0]) == (1.0, 1.0, 1.0)
