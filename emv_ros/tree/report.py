"""What a consolidation tells of itself."""

from __future__ import annotations

from dataclasses import dataclass, field

from emv_ros.tree.unread import Unread


@dataclass(slots=True)
class ConsolidationReport:
    """What a consolidation did: nodes made or changed by kind, and what the model was asked.

    `records` were taken into the tree, the latest up to `up_to_ns` (robot time; None for none).
    `faults` counts stretches whose records got plain events since none could be derived, `unread`
    names rows that could not be read.
    Calls, tokens and `cost` (US dollars) are those of this consolidation. `stopped` tells why the
    model was asked no more while it could have been of use, '' where it was not stopped, and
    `resumes_ns` (wall clock) when it may go on, where that is known.
    """

    records: int = 0
    up_to_ns: int | None = None
    events: int = 0
    goals: int = 0
    summaries: int = 0
    model_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    fallbacks: int = 0
    faults: int = 0
    unread: list[Unread] = field(default_factory=list)
    duration_s: float = 0.0
    canceled: bool = False
    stopped: str = ''
    resumes_ns: int | None = None
    robots: dict[str, ConsolidationReport] = field(default_factory=dict)

    def add(self, other: ConsolidationReport) -> None:
        """Add the counts of another report."""
        for name in ('records', 'events', 'goals', 'summaries', 'model_calls', 'prompt_tokens',
                     'completion_tokens', 'cost', 'fallbacks', 'faults'):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.unread += other.unread
        if other.up_to_ns is not None:
            self.up_to_ns = max(self.up_to_ns or 0, other.up_to_ns)
        self.stopped = self.stopped or other.stopped
        self.resumes_ns = self.resumes_ns or other.resumes_ns
