"""Lines of least squares and sums over nights, against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from emv_ros.evaluation.trend import fitted_ends, integrated, trend


def test_a_straight_line_is_its_own_fit():
    assert fitted_ends([2.0, 4.0, 6.0, 8.0]) == pytest.approx((2.0, 8.0))
    found = trend([2.0, 4.0, 6.0, 8.0])
    assert found.change == pytest.approx(3.0)
    assert not found.is_flat


def test_the_fit_agrees_with_numpy():
    values = [float(value) for value in np.random.default_rng(5).uniform(10, 20, 60)]
    slope, height = np.polyfit(range(60), values, 1)
    assert fitted_ends(values) == pytest.approx((height, height + 59 * slope))


def test_noise_around_a_level_is_flat_and_a_late_rise_is_not():
    assert trend([100.0, 110.0, 90.0, 105.0, 95.0, 100.0] * 10).is_flat
    # The line is nearly level, but the last third is not.
    assert not trend([100.0] * 50 + [130.0] * 20).is_flat


def test_one_day_and_days_without_cost_have_no_trend():
    assert trend([5.0]).change == 0.0
    assert trend([0.0, 0.0, 0.0]).is_flat


def test_nights_between_measured_ones_lie_on_the_line_between():
    # 10, 12, 14, 16: measured are the first and the fourth.
    assert integrated([(1, 10.0), (4, 16.0)]) == pytest.approx(52.0)
    assert integrated([(1, 1.0), (2, 2.0), (3, 3.0)]) == pytest.approx(6.0)
    assert integrated([(1, 7.0)]) == 7.0
    assert integrated([]) == 0.0
