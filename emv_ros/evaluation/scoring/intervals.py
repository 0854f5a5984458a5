"""The mean of some measurements with the interval in which the true one may lie."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RESAMPLES = 2000
SEED = 20
# Resamples at a time: what is held is this many times the values.
_BATCH = 250


def mean_with_bootstrap(values: Sequence[float], confidence: float = 0.95,
                        resamples: int = RESAMPLES,
                        seed: int = SEED) -> tuple[float, float, float]:
    """Return the mean and the ends of its percentile bootstrap interval.

    The same values give the same ends: the seed is fixed. Of one value both ends are that value,
    of none all three are nan.
    """
    found = np.asarray(values, np.float64)
    if not found.size:
        return float('nan'), float('nan'), float('nan')
    chance = np.random.default_rng(seed)
    means = np.concatenate([
        found[chance.integers(found.size, size=(min(_BATCH, resamples - done), found.size))]
        .mean(axis=1) for done in range(0, resamples, _BATCH)])
    low, high = np.quantile(means, ((1 - confidence) / 2, (1 + confidence) / 2))
    return float(found.mean()), float(low), float(high)
