"""What a model of looks offers: vectors of crops, and the thresholds that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from emv_ros.perception.detections import Pixels

Vectors = NDArray[np.float32]  # n × dimension, rows of length 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Cosines that belong to one model of looks.

    `match` must be reached by one of the observations of an entity, `consistent` by all;
    `regroup` joins tracks within a clip. `group` is how like two groups must be to be one when a
    day is over, by the means within them (see biography.grouping); 0 where that is not known.
    """

    match: float
    consistent: float
    regroup: float
    group: float = 0.0


class AppearanceModel(Protocol):
    """Turns crops of things into vectors; one is used by one thread at a time."""

    @property
    def name(self) -> str:
        """The name under which vectors are stored."""
        ...

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    @property
    def thresholds(self) -> Thresholds:
        """The defaults for this model."""
        ...

    def embed(self, crops: Sequence[Pixels]) -> Vectors:
        """Return one row a crop, of length 1. Raises PerceptionError."""
        ...
