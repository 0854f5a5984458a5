"""How what an answer cites, or its model was shown, touches the evidence of the question.

Computed as H-EMV §IV-D does for the items that a system retrieved, and as GEB does for evidence.

* A span *touches* a window where they share an instant; ends count, so that an instant recorded at
  the end of a window touches it.
* **Precision**: the share of the spans that touch a window. Of no spans it is 0.
* **Recall**: the share of the windows that a span touches.
* **F1**: their harmonic mean, 0 where both are 0.
* **Hit**: at least one window is touched. **Coverage**: all are.

Only spans of records belong here: an episode or a day that spans a window tells nothing by that.
A question without windows has no such measure. Means over questions are means of each question's
value (macro), with a bootstrap interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from emv_ros.evaluation.scoring.categories import Share
from emv_ros.evaluation.scoring.intervals import mean_with_bootstrap
from emv_ros.timeline import Interval


def touches(span: Interval, window: Interval) -> bool:
    """Whether the two share an instant, their ends included."""
    return span.start_ns <= window.end_ns and span.end_ns >= window.start_ns


def windows_touched(spans: Iterable[Interval], windows: Sequence[Interval]) -> int:
    """Return how many of the windows a span touches."""
    spans = list(spans)
    return sum(any(touches(span, window) for span in spans) for window in windows)


@dataclass(frozen=True, slots=True)
class EvidenceScore:
    """How some spans meet the windows of one question."""

    spans: int
    spans_touching: int
    windows: int
    windows_touched: int

    @property
    def precision(self) -> float:
        """The share of spans that touch a window; 0 of no spans."""
        return self.spans_touching / self.spans if self.spans else 0.0

    @property
    def recall(self) -> float:
        """The share of windows that are touched."""
        return self.windows_touched / self.windows

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, 0 where both are."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    @property
    def is_hit(self) -> bool:
        """Whether a window is touched."""
        return self.windows_touched > 0

    @property
    def is_covered(self) -> bool:
        """Whether all windows are touched."""
        return self.windows_touched == self.windows


def score_evidence(spans: Iterable[Interval], windows: Sequence[Interval]) -> EvidenceScore:
    """Return how the spans of records meet the windows of a question.

    Each item gives its own span, also where two have the same. Raises ValueError where there is no
    window.
    """
    if not windows:
        raise ValueError('a question without windows of evidence has no evidence score')
    found = list(spans)
    return EvidenceScore(
        spans=len(found),
        spans_touching=sum(any(touches(span, window) for window in windows) for span in found),
        windows=len(windows), windows_touched=windows_touched(found, windows))


def summed_up(scores: Sequence[EvidenceScore]) -> dict[str, Any]:
    """Return means over questions and shares of them, each with its 95 % interval."""
    told: dict[str, Any] = {'questions': len(scores)}
    for name in ('precision', 'recall', 'f1'):
        mean, low, high = mean_with_bootstrap([getattr(score, name) for score in scores])
        told |= {name: round(mean, 4), f'{name}_95': [round(low, 4), round(high, 4)]}
    for name, flags in (('hit', [score.is_hit for score in scores]),
                        ('covered', [score.is_covered for score in scores])):
        share = Share(sum(flags), len(flags))
        told |= {name: round(share.value, 4),
                 f'{name}_95': [round(end, 4) for end in share.interval]}
    return told
