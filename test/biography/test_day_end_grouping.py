"""Groups by likeness under what must never be one: numbers alone."""

from __future__ import annotations

from hypothesis import assume, given, settings, strategies
import numpy as np
import pytest

from emv_ros.biography.grouping import Groups, group, joined, settled, without_doubtful


def unit(*rows: tuple[float, ...]) -> np.ndarray:
    found = np.array(rows, np.float64)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def of(looks: np.ndarray, days: list[int] | None = None,
       unit_of: list[int] | None = None, count: int = 0) -> Groups:
    places = list(range(len(looks))) if unit_of is None else unit_of
    return Groups.of(looks, np.array(days or range(len(looks))), np.array(places, np.int64),
                     count or len(looks))


def test_likeness_is_the_mean_between_by_the_means_within() -> None:
    """Two of cosine 0.8 against one: mean within (0.7 + 0.8) / 2, between of 0.96 and 0.6."""
    looks = unit((1, 0), (0.8, 0.6), (0.96, -0.28))
    between = (looks[0] @ looks[2] + looks[1] @ looks[2]) / 2
    apart = of(looks, [1, 2, 3], [0, 0, 1], 2)
    assert apart.likeness(0, 0.7)[1] == pytest.approx(between / np.sqrt(0.75 * 0.7))
    # Of one day they tell nothing of how looks differ, and what is assumed is all there is.
    same_day = of(looks, [1, 1, 1], [0, 0, 1], 2)
    assert same_day.likeness(0, 0.7)[1] == pytest.approx(between / 0.7)
    # One that is unlike within counts as what is assumed, not as less.
    spread = of(unit((1, 0), (0, 1), (0.96, -0.28)), [1, 2, 3], [0, 0, 1], 2)
    assert spread.likeness(0, 0.7)[1] == pytest.approx((0.96 - 0.28) / 2 / 0.7)


def test_the_likest_go_together_first() -> None:
    """The middle one is like both ends, which are barred: it goes to the one that is nearer."""
    barred = np.zeros((3, 3), bool)
    barred[0, 2] = barred[2, 0] = True
    assert group(of(unit((1, 0), (0.9, 0.436), (0.6, 0.8))), barred, 0.8, 0.8).tolist() == [0, 0, 2]


def test_what_has_no_looks_stays_by_itself() -> None:
    looks = unit((1, 0), (1, 0))
    assert group(of(looks, unit_of=[0, 2], count=3), np.zeros((3, 3), bool), 0.5, 0.8).tolist() == [
        0, 1, 0]
    nothing = Groups.of(np.zeros((0, 2)), np.zeros(0, np.int64), np.zeros(0, np.int64), 0)
    assert group(nothing, np.zeros((0, 0), bool), 0.5, 0.8).tolist() == []


@settings(max_examples=60, deadline=None)
@given(seed=strategies.integers(0, 10_000), count=strategies.integers(2, 24),
       share=strategies.floats(0, 0.6))
def test_barred_are_never_one_and_all_is_as_the_plain_way(
        seed: int, count: int, share: float) -> None:
    chance = np.random.default_rng(seed)
    looks = chance.standard_normal((count, 6)) + 2
    looks /= np.linalg.norm(looks, axis=1, keepdims=True)
    days = chance.integers(3, size=count).tolist()
    barred = np.triu(chance.random((count, count)) < share, 1)
    barred |= barred.T
    labels = joined(of(looks, days), barred, 0.95, 0.85)
    assert partition(labels) == plain(looks, days, barred, 0.95, 0.85)
    for found in (labels, settled(of(looks, days), barred, labels),
                  group(of(looks, days), barred, 0.95, 0.85)):
        for label in set(found.tolist()):
            members = np.flatnonzero(found == label)
            assert not barred[np.ix_(members, members)].any()


def turned(*degrees: float) -> np.ndarray:
    return unit(*((np.cos(np.radians(at)), np.sin(np.radians(at))) for at in degrees))


def test_what_is_more_like_another_group_goes_there() -> None:
    looks = turned(0, 2, 20, 22, 18)
    assert settled(of(looks), np.zeros((5, 5), bool), np.array([0, 0, 2, 2, 0])).tolist() == [
        0, 0, 2, 2, 2]
    # One that is alone stays so, however like it is to others: joining is what asks how like.
    assert settled(of(looks), np.zeros((5, 5), bool), np.array([0, 0, 2, 2, 4])).tolist() == [
        0, 0, 2, 2, 4]


def test_two_that_keep_each_other_out_trade_places() -> None:
    looks, wrong = turned(0, 2, 21, 20, 22, 1), np.array([0, 0, 0, 3, 3, 3])
    barred = np.zeros((6, 6), bool)
    barred[2, 5] = barred[5, 2] = True  # seen beside one another, each in the group of the other
    assert settled(of(looks), barred, wrong).tolist() == [0, 0, 3, 3, 3, 0]
    barred[2, 4] = barred[4, 2] = True  # a second one keeps it out, too
    assert settled(of(looks), barred, wrong).tolist() == wrong.tolist()


def test_a_unit_of_many_looks_goes_as_one() -> None:
    looks = turned(0, 2, 19, 21, 20, 22)
    places = [0, 1, 2, 2, 3, 4]
    labels = settled(of(looks, unit_of=places, count=5), np.zeros((5, 5), bool),
                     np.array([0, 0, 0, 3, 3]))
    assert labels.tolist() == [0, 0, 3, 3, 3]


@settings(max_examples=40, deadline=None)
@given(seed=strategies.integers(0, 10_000), count=strategies.integers(2, 20))
def test_at_the_end_none_would_rather_be_elsewhere(seed: int, count: int) -> None:
    chance = np.random.default_rng(seed)
    looks = chance.standard_normal((count, 4)) + 1
    looks /= np.linalg.norm(looks, axis=1, keepdims=True)
    labels = settled(of(looks), np.zeros((count, count), bool),
                     chance.integers(4, size=count).astype(np.int64))
    # Few go round in circles: by the means of moving groups two may chase one another.
    assume((settled(of(looks), np.zeros((count, count), bool), labels) == labels).all())
    cosines = looks @ looks.T
    for at, label in enumerate(labels.tolist()):
        means = {other: np.mean([cosines[at, to] for to in range(count)
                                 if labels[to] == other and to != at])
                 for other in set(labels.tolist()) if other != label or (labels == label).sum() > 1}
        assert label not in means or means[label] >= max(means.values()) - 1e-6


def partition(labels: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in labels}


def plain(looks: np.ndarray, days: list[int], barred: np.ndarray, least: float,
          alone: float) -> set[frozenset[int]]:
    """Group the slow way: of all pairs of groups the likest, each counted from its pairs."""
    cosines = looks @ looks.T

    def within(keys: list[int]) -> float:
        pairs = [cosines[a, b] for at, a in enumerate(keys) for b in keys[at + 1:]
                 if days[a] != days[b]]
        return max(alone, (alone + sum(pairs)) / (1 + len(pairs)))

    groups = [[at] for at in range(len(looks))]
    while True:
        found = [(cosines[np.ix_(a, b)].mean() / np.sqrt(within(a) * within(b)), a, b)
                 for at, a in enumerate(groups) for b in groups[at + 1:]
                 if not barred[np.ix_(a, b)].any()]
        like, first, second = max(found, key=lambda item: item[0], default=(0.0, [], []))
        if like < least:
            return {frozenset(keys) for keys in groups}
        groups = [keys for keys in groups if keys not in (first, second)] + [first + second]


@pytest.mark.parametrize(('at', 'days_of_other', 'is_barred', 'is_alone'), [
    (9.5, 4, False, True),  # cosines 0.986 and 0.983
    (8, 4, False, False),  # 0.990 and 0.978
    (9.5, 3, False, False),  # three days do not make another thing known
    (9.5, 4, True, False)])  # what was seen beside the other is not the other
def test_what_may_be_of_either_of_two_known_things_is_left_alone(
        at: float, days_of_other: int, is_barred: bool, is_alone: bool) -> None:
    looks = turned(*[0] * 4, *[20] * 4, at)
    days = [*range(4), *(day % days_of_other for day in range(4)), 9]
    barred = np.zeros((9, 9), bool)
    barred[8, 4] = barred[4, 8] = is_barred
    labels = np.array([0] * 4 + [1] * 4 + [0])
    found = without_doubtful(of(looks, days), barred, labels)
    assert found[:8].tolist() == labels[:8].tolist()
    assert (found[8] not in (0, 1)) == is_alone
    assert is_alone or found[8] == 0
