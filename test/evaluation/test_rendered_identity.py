"""Rendered days: what they hold, and the whole way through perception and association, small."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from emv_ros.evaluation.rendered.days import HEIGHT, WIDTH, Days
from emv_ros.evaluation.rendered.identity import (
    EACH_DAY,
    Pairs,
    evaluate_identity,
    mean_with_interval,
    pairs_of,
)
from emv_ros.evaluation.rendered.objects import make_things, texture
from emv_ros.perception.appearance import EfficientNetLooks
from emv_ros.settings import Settings

SMALL = Days(seed=300, things=7, pairs=2, days=3, shortest=5, longest=7)


def test_like_pairs_differ_visibly_and_in_little_else() -> None:
    for seed in range(5):
        things = make_things(seed)
        assert len(things) == 34 and sum(thing.like >= 0 for thing in things) == 24
        for thing in things[:24]:
            other = things[thing.like]
            assert (other.like, other.kind, other.size) == (thing.key, thing.kind, thing.size)
            difference = cv2.absdiff(texture(thing), texture(other)).max(axis=2)
            assert (difference > 25).mean() > 0.02


def test_equal_seeds_give_equal_days() -> None:
    first = [frame for clip in SMALL.clips() for frame in clip]
    assert first == [frame for clip in SMALL.clips() for frame in clip]
    stamps = [frame.stamp_ns for frame in first]
    assert stamps == sorted(set(stamps))
    for frame in first:
        assert cv2.imdecode(np.frombuffer(frame.jpeg, np.uint8), 1).shape == (HEIGHT, WIDTH, 3)
        for seen in frame.seen:
            x1, y1, x2, y2 = seen.bbox
            assert 0 <= x1 < x2 <= WIDTH and 0 <= y1 < y2 <= HEIGHT
    assert {seen.key for frame in first for seen in frame.seen} == set(range(7))


def test_pairs_are_counted_as_by_hand() -> None:
    # Things a a a b b, entities 1 1 2 2 2: right are aa and bb, wrong ab and ab, missed aa and aa.
    true, found = {1: 0, 2: 0, 3: 0, 4: 1, 5: 1}, {1: 1, 2: 1, 3: 2, 4: 2, 5: 2}
    assert pairs_of(true, found) == Pairs(2, 2, 2)
    assert pairs_of({1: 0, 2: 1}, {1: 7, 2: 8}).precision == 1.0
    mean, low, high = mean_with_interval([0.9, 0.8, 1.0])
    # 0.9 ± 4.303 × 0.1 / √3
    assert (mean, low, high) == pytest.approx((0.9, 0.652, 1.0), abs=1e-3)


def test_looks_tell_things_apart_better_than_names() -> None:
    report = evaluate_identity(SMALL, Settings(), EfficientNetLooks())
    assert report.observations >= 10
    assert report.ways['none'].recall == 0 and report.ways['name'].recall == 1
    for way in ('looks', EACH_DAY):
        looks = report.ways[way]
        assert looks.precision >= 0.95 > report.ways['name'].precision
        assert looks.recall >= 0.6
    assert report.ways[EACH_DAY].recall >= report.ways['looks'].recall
