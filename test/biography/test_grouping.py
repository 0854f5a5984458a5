"""Groups by likeness under what must never be one: numbers alone."""

from __future__ import annotations

from hypothesis import given, settings, strategies
import numpy as np
import pytest

from emv_ros.biography.grouping import group, likeness


def unit(*rows: tuple[float, ...]) -> np.ndarray:
    found = np.array(rows, np.float64)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_likeness_is_the_mean_between_by_the_means_within() -> None:
    """Two of cosine 0.8 against one: means within (0.7 + 0.8) / 2 and 0.7, between 0.96 and 0.6."""
    first, second, other = unit((1, 0), (0.8, 0.6), (0.96, -0.28))
    sums = np.stack((first + second, other))
    found = likeness(sums @ sums.T, np.array([2.0, 1.0]), 0, 0.7)
    between = (first @ other + second @ other) / 2
    assert found[1] == pytest.approx(between / np.sqrt(0.75 * 0.7))
    # One that is unlike within counts as what is assumed of a single look, not as less.
    spread = np.stack((first + unit((0, 1))[0], other))
    found = likeness(spread @ spread.T, np.array([2.0, 1.0]), 0, 0.7)
    assert found[1] == pytest.approx((0.96 - 0.28) / 2 / 0.7)


def test_the_likest_go_together_first() -> None:
    """The middle one is like both ends, which are barred: it goes to the one that is nearer."""
    looks = unit((1, 0), (0.9, 0.436), (0.6, 0.8))
    barred = np.zeros((3, 3), bool)
    barred[0, 2] = barred[2, 0] = True
    labels = group(looks, np.ones(3), barred, 0.8, 0.8)
    assert labels.tolist() == [0, 0, 2]


def test_what_has_no_looks_stays_by_itself() -> None:
    looks = np.stack((unit((1, 0))[0], np.zeros(2), unit((1, 0))[0]))
    labels = group(looks, np.array([1, 0, 1]), np.zeros((3, 3), bool), 0.5, 0.8)
    assert labels.tolist() == [0, 1, 0]
    assert group(looks[:0], np.zeros(0), np.zeros((0, 0), bool), 0.5, 0.8).tolist() == []


@settings(max_examples=60, deadline=None)
@given(seed=strategies.integers(0, 10_000), count=strategies.integers(2, 24),
       share=strategies.floats(0, 0.6))
def test_barred_are_never_one_and_all_is_as_the_plain_way(
        seed: int, count: int, share: float) -> None:
    chance = np.random.default_rng(seed)
    looks = chance.standard_normal((count, 6)) + 2
    looks /= np.linalg.norm(looks, axis=1, keepdims=True)
    barred = np.triu(chance.random((count, count)) < share, 1)
    barred |= barred.T
    labels = group(looks, np.ones(count), barred, 0.95, 0.85)
    for label in set(labels.tolist()):
        members = np.flatnonzero(labels == label)
        assert not barred[np.ix_(members, members)].any()
    assert partition(labels) == plain(looks, barred, 0.95, 0.85)


def partition(labels: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in labels}


def plain(looks: np.ndarray, barred: np.ndarray, least: float, alone: float) -> set[frozenset[int]]:
    """Group the slow way: of all pairs of groups the likest, each counted from its pairs."""
    cosines = looks @ looks.T

    def within(keys: list[int]) -> float:
        pairs = [cosines[a, b] for at, a in enumerate(keys) for b in keys[at + 1:]]
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
