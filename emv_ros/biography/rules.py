"""When an observation is of an entity: the rules as GEB has them (§3.3, appendix A), and no data.

Looks count as a match where all references reach `consistent` and one of them `match`; the best
mean wins. A box that stayed put across the cut of two clips serves as the one that matches. Who was
seen apart, or told apart by a person, is not asked for looks at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from emv_ros.memory.thresholds import stored_group, stored_thresholds
from emv_ros.settings import BiographySettings
from emv_ros.timeline import SECOND_NS

Cosines = NDArray[np.float32]

# Where neither settings nor a calibration nor a model of looks says otherwise.
MATCH, CONSISTENT = 0.75, 0.60
# Means that differ by less are equal: sums of floats in another order do.
DIGITS = 5


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides, beside the thresholds, which belong to a model of looks."""

    identity: str = 'looks'
    references: int = 10
    instances: str = 'session'
    carry_over_iou: float = 0.6
    clip_gap_ns: int = 5 * SECOND_NS

    @classmethod
    def of(cls, settings: BiographySettings, clip_gap_s: float) -> Rules:
        """Return the rules of the settings; clips are cut by `clip_gap_s`."""
        return cls(settings.identity, settings.references, settings.instances,
                   settings.carry_over_iou, round(clip_gap_s * SECOND_NS))


@dataclass(frozen=True, slots=True)
class Fit:
    """An entity that an observation may be of, by its looks; the greatest wins."""

    entity_id: int
    mean: float
    last_ns: int

    @property
    def rank(self) -> tuple[float, int, int]:
        """Its place: by mean, then by when it was last seen, then the older entity."""
        return round(self.mean, DIGITS), self.last_ns, -self.entity_id


def mean_if_fit(cosines: Cosines, match: float, consistent: float) -> float | None:
    """Return the mean of the cosines to the references of an entity, None where it is another."""
    if not len(cosines) or cosines.min() < consistent or cosines.max() < match:
        return None
    return float(cosines.mean())


def best(fits: Iterable[Fit]) -> Fit | None:
    """Return the best of the entities that fit."""
    return max(fits, key=lambda fit: fit.rank, default=None)


def thresholds_of(session: Session, model: str, settings: BiographySettings,
                  default: tuple[float, float] | None) -> tuple[float, float]:
    """Return (match, consistent) for a model of looks.

    A setting counts before what was calibrated, and that before what the model says of itself;
    `default` is for a model that says nothing.
    """
    stored = stored_thresholds(session, model, default or (MATCH, CONSISTENT))
    return (settings.match_similarity or stored[0], settings.consistent_similarity or stored[1])


def group_similarity_of(session: Session, model: str, settings: BiographySettings) -> float:
    """Return how like two groups of looks by a model must be to be one, 0 where it is not known."""
    return settings.group_similarity or stored_group(session, model)
