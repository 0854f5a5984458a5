"""Groups that fall in two, with vectors whose numbers are worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from emv_ros.biography.grouping import Groups, group
from emv_ros.biography.parting import MOST_DAYS, TWO, Pairs, parted, variance_ratio

ALONE = 0.855


def turned(*degrees: float) -> np.ndarray:
    """Return looks in a plane at these angles."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def of(looks: np.ndarray, days: Sequence[int] | None = None,
       unit_of: Sequence[int] | None = None, count: int | None = None) -> Pairs:
    """Return the sums, with each look a unit and seen on a day of its own if not told otherwise."""
    places = np.arange(len(looks))
    sums = Groups.of(looks, places if days is None else np.array(days),
                     places if unit_of is None else np.array(unit_of), count or len(looks))
    return Pairs(sums.cosines, sums.pairs, sums.day_pairs)


def parts(units: Pairs) -> list[list[int]]:
    """Return the units that are all of one group, as parted."""
    labels = parted(units, np.zeros(len(units.pairs), np.int64), ALONE)
    return sorted(np.flatnonzero(labels == label).tolist() for label in set(labels.tolist()))


def test_days_are_fewer_where_most_looks_share_one() -> None:
    assert of(turned(0, 0, 0)).days() == pytest.approx(3)
    assert of(turned(0, 0, 0), [4, 4, 4]).days() == pytest.approx(1)
    assert of(turned(0, 0, 0, 0), [4, 4, 4, 5]).days() == pytest.approx(1 / (0.75**2 + 0.25**2))


def test_scatter_is_the_squares_of_the_distances_from_the_mean() -> None:
    looks = turned(0, 10, 35, 90)
    assert of(looks).scatter() == pytest.approx(float(((looks - looks.mean(axis=0)) ** 2).sum()))


def test_variance_ratio_of_two_points() -> None:
    """Nothing is within but the pair assumed, and each look is half a chord from the middle."""
    second = np.array([False, False, True, True])
    # 4 × sin²(30°) = 1 on 4 days; of two days each half it is a half on 2 days and says nothing.
    assert variance_ratio(of(turned(0, 0, 60, 60)), second, 0.8) == pytest.approx(1 / 0.2 * 2)
    of_a_day = of(turned(0, 0, 60, 60), [1, 1, 2, 2])
    assert variance_ratio(of_a_day, second, 0.8) == pytest.approx(0)


def test_looks_again_on_the_same_days_add_nothing() -> None:
    looks, days = turned(0, 4, 50, 54), [1, 2, 3, 4]
    once = variance_ratio(of(looks, days), np.arange(4) > 1, ALONE)
    thrice = variance_ratio(of(np.tile(looks, (3, 1)), days * 3), np.arange(12) % 4 > 1, ALONE)
    assert thrice == pytest.approx(once)


def test_units_of_several_looks_count_as_their_looks() -> None:
    looks = turned(0, 8, 30, 38, 41)
    one_by_one = variance_ratio(of(looks), np.arange(5) > 1, ALONE)
    whole = variance_ratio(of(looks, unit_of=[0, 0, 1, 1, 1], count=2),
                           np.array([False, True]), ALONE)
    assert whole == pytest.approx(one_by_one)


def test_more_days_are_more_evidence_up_to_a_number() -> None:
    """Halves at one distance part on six days each, and not on four."""
    half_chord = np.sin(np.radians(3.5)) ** 2
    few, enough = (days * half_chord / (1 - ALONE) * (min(days, MOST_DAYS) - 2) for days in (8, 12))
    assert few < TWO < enough
    assert parts(of(turned(*[0] * 4, *[7] * 4))) == [[*range(8)]]
    assert parts(of(turned(*[0] * 6, *[7] * 6))) == [[*range(6)], [*range(6, 12)]]


def test_halves_of_few_days_are_not_two() -> None:
    """However far apart: of three days each they stay together, of four they part."""
    assert parts(of(turned(*[0] * 3, *[60] * 3))) == [[*range(6)]]
    assert parts(of(turned(*[0] * 3, *[60] * 9))) == [[*range(12)]]
    assert parts(of(turned(*[0] * 4, *[60] * 4))) == [[*range(4)], [*range(4, 8)]]
    of_three = [1, 1, 2, 3, 1, 2, 3, 3]
    assert parts(of(turned(*[0] * 4, *[60] * 4), of_three)) == [[*range(8)]]


def test_many_looks_that_lie_around_one_are_one() -> None:
    looks = np.random.default_rng(5).normal(size=(200, 16)) * 0.1 + np.eye(16)[0]
    looks /= np.linalg.norm(looks, axis=1, keepdims=True)
    assert parts(of(looks)) == [[*range(200)]]


def test_three_in_one_group_are_parted_as_three() -> None:
    looks = turned(*[0, 1, 2] * 2, *[40, 41, 42] * 2, *[90, 91, 92] * 2)
    assert parts(of(looks)) == [[*range(6)], [*range(6, 12)], [*range(12, 18)]]


def test_other_groups_and_what_has_no_looks_stay_as_they_are() -> None:
    """Units 0 (no looks) to 8 are of one group that is two, 9 and 10 of another."""
    looks = turned(*[0] * 4, *[60] * 4, 0, 0)
    labels = parted(of(looks, unit_of=range(1, 11), count=11), np.array([8] * 9 + [3, 3]), ALONE)
    assert labels[9:].tolist() == [3, 3]
    assert sorted([len(set(labels[1:5])), len(set(labels[5:9])), len(set(labels[:9]))]) == [1, 1, 2]
    assert labels[0] == 8


def test_two_like_things_that_join_by_their_mean_are_told_apart() -> None:
    """Between them the mean cosine is 0.96, and yet no look lies between the two."""
    looks = turned(*[-1, 0, 1] * 2, *[15, 16, 17] * 2)
    places = np.arange(len(looks))
    units = Groups.of(looks, places % 6, places, len(looks))
    labels = group(units, np.zeros((12, 12), bool), 0.96, ALONE)
    assert (looks[:6] @ looks[6:].T).mean() == pytest.approx(np.cos(np.radians(16)), abs=1e-3)
    assert len(set(labels[:6])) == len(set(labels[6:])) == 1
    assert labels[0] != labels[6]
