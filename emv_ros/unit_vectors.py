"""Vectors of length 1, whose products are cosines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def normalised(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Return vectors, n × dimension, as rows of length 1; a row of zeros stays."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: NDArray[np.float32] = (rows / np.maximum(lengths, 1e-12)).astype(np.float32)
    return scaled
