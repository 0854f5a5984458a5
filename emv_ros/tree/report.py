"""What a consolidation tells of itself."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class ConsolidationReport:
    """What a consolidation did: nodes made or changed by kind, and what the model was asked.

    `records` were taken into the tree, the latest up to `up_to_ns` (robot time; None for none).
    """

    records: int = 0
    up_to_ns: int | None = None
    events: int = 0
    goals: int = 0
    summaries: int = 0
    model_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    fallbacks: int = 0
    duration_s: float = 0.0
    canceled: bool = False
    robots: dict[str, ConsolidationReport] = field(default_factory=dict)

    def add(self, other: ConsolidationReport) -> None:
        """Add the counts of another report."""
        for name in ('records', 'events', 'goals', 'summaries', 'model_calls', 'prompt_tokens',
                     'completion_tokens', 'fallbacks'):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.up_to_ns is not None:
            self.up_to_ns = max(self.up_to_ns or 0, other.up_to_ns)
