"""The metric of looks: how it is fitted, on rows made by hand, and that the shipped one fits."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from emv_ros.perception.appearance import METRIC, Features

SCRIPT = Path(__file__).parents[2] / 'scripts' / 'train_looks.py'


@pytest.fixture(scope='module')
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location('train_looks', SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_differs_within_things_is_held_down(script: ModuleType) -> None:
    # Two things, at 0 and 2 along the second feature; light moves the first by ±3.
    rows = np.array([[-3., 0.], [3, 0], [-3, 2], [3, 2]])
    mean, matrix = script.fitted(rows, np.array([7, 7, 9, 9]),
                                 [(7, 9, 1.0)])
    assert mean.tolist() == [0, 1]
    placed = (rows - mean) @ matrix
    within = np.abs(placed[0] - placed[1]).max()
    between = np.abs(placed[0] - placed[2]).max()
    # Before, light moved three times as much as lies between things; now it has no weight.
    assert within == pytest.approx(0, abs=1e-6) and between > 0.5


def test_what_tells_like_things_apart_counts_more_than_what_does_not(script: ModuleType) -> None:
    # Two like things, three clips of each: the first number is of the thing, the second of chance.
    rows = np.array([[1., 1.], [1, -1], [1, 1], [-1, 1], [-1, -1], [-1, 1]])
    found = script.weights(rows, np.array([0, 0, 0, 1, 1, 1]), np.array([1, 0]),
                           np.array([0, 1, 2, 3, 4, 5]))
    assert found[0] > 1 > found[1] >= 0


def test_the_shipped_metric_weighs_the_features_as_they_are(script: ModuleType) -> None:
    with np.load(METRIC) as metric:
        mean, matrix = metric['mean'], metric['matrix']
    row = Features().of([np.full((20, 20, 3), 90, np.uint8)])
    assert row.shape == (1, len(mean)) and matrix.shape == (len(mean), script.DIMENSION)
    assert np.isfinite(mean).all() and np.isfinite(matrix).all()
