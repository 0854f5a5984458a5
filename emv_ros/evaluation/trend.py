"""Whether a series over days is flat: its line of least squares, and its first and last days."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

TOLERANCE = 0.15
EDGE_DAYS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """A series in short. `change` is the growth of the fitted line from first to last, as a share.

    `edges_change` compares the medians of the first and of the last EDGE_DAYS days (a third of the
    days where there are fewer) in the same way. `is_flat`: both lie within ±`tolerance`.
    """

    first: float
    last: float
    mean: float
    lowest: float
    highest: float
    fitted_first: float
    fitted_last: float
    change: float
    median_first_days: float
    median_last_days: float
    edges_change: float
    tolerance: float
    is_flat: bool


def trend(values: Sequence[float], tolerance: float = TOLERANCE) -> Trend:
    """Return the trend of a series of at least one value, one a day."""
    start, end = fitted_ends(values)
    edge = max(1, min(EDGE_DAYS, len(values) // 3))
    early, late = median(values[:edge]), median(values[-edge:])
    change, edges_change = _change(start, end), _change(early, late)
    return Trend(
        first=values[0], last=values[-1], mean=fmean(values), lowest=min(values),
        highest=max(values), fitted_first=start, fitted_last=end, change=change,
        median_first_days=early, median_last_days=late, edges_change=edges_change,
        tolerance=tolerance, is_flat=max(abs(change), abs(edges_change)) <= tolerance)


def fitted_ends(values: Sequence[float]) -> tuple[float, float]:
    """Return the line of least squares through a series at its first and at its last place."""
    count, middle, height = len(values), (len(values) - 1) / 2, fmean(values)
    spread = sum((place - middle) ** 2 for place in range(count))
    slope = sum((place - middle) * (value - height)
                for place, value in enumerate(values)) / spread if spread else 0.0
    return height - slope * middle, height + slope * (count - 1 - middle)


def integrated(measured: Sequence[tuple[int, float]]) -> float:
    """Return the sum over all days from the first to the last measured one.

    `measured` are (day, value) in order; days between are on the straight line between.
    """
    total = measured[0][1] if measured else 0.0
    for (day, value), (next_day, next_value) in zip(measured, measured[1:], strict=False):
        steps = next_day - day
        total += sum(value + (next_value - value) * step / steps for step in range(1, steps + 1))
    return total


def _change(start: float, end: float) -> float:
    return end / start - 1.0 if start else 0.0
