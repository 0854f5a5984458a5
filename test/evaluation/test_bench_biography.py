"""The bench of associations, small: what it counts is right, and its rival is exact."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from emv_ros.evaluation.bench_biography import Exact, bench_biography
from emv_ros.evaluation.seen_life import SeenLife


def test_a_small_life_is_measured(tmp_path: Path) -> None:
    told: list[str] = []
    report = bench_biography(tmp_path, 3000, 64, 1500, told.append)
    assert [row['observations'] for row in report['curve']] == [1000, 3000]
    assert all(row['next_1000_s'] > 0 and row['times_quicker'] > 0 for row in report['curve'])
    # Up to 1,024 entities the index is no approximation, and there are fewer.
    assert report['compared'] == 1500 and report['equal_decisions'] == 1.0
    assert [row['nearest_found'] for row in report['curve']] == [1.0, 1.0]
    assert report['open_and_one_cpu_s'] > 0 and report['build_and_one_cpu_s'] > 0
    assert report['pair_precision'] > 0.99 and report['pair_recall'] > 0.9
    assert len(told) == 3


def test_a_life_is_the_same_however_it_is_read() -> None:
    life = SeenLife(1200, 100, 16)
    assert (np.concatenate((life.looks(0, 700), life.looks(700, 1200)))
            == life.looks(0, 1200)).all()
    assert np.linalg.norm(life.looks(3, 9), axis=1) == pytest.approx(np.ones(6), abs=1e-5)
    assert set(life.thing_of.tolist()) == set(range(100))
    assert all(other // 3 == 11 // 3 and life.thing_of[other] != life.thing_of[11]
               for other in life.apart(11))


def test_the_rival_goes_by_the_rules() -> None:
    """Angles in a plane, two references: 75° fits 30° and 40°, 95° is 55° away from 40°."""
    def at(degrees: float) -> np.ndarray:
        turn = np.radians(degrees)
        return np.array([np.cos(turn), np.sin(turn)], np.float32)

    exact = Exact(2, 2, 0.75, 0.60)
    decided = [exact.decide(number, at(degrees), ()) for number, degrees in enumerate(
        (0, 30, 40, 75, 95, 0))]
    assert decided == [0, 0, 0, 0, 1, 2]
    assert exact.decide(6, at(0), [2]) == 3
