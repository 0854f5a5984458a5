"""What a run of retention did, or would do, in numbers and in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from emv_ros.memory.retention_lots import Lot
from emv_ros.memory.retention_rules import kinds_of


@dataclass(slots=True)
class RetentionReport:
    """What went, or with `is_preview` would go, by kind; `size_bytes` of pictures as files.

    `reasons` has the numbers by reason: 'age', 'size', 'disk'. `refused` and `notes` are for
    people; `is_done` is False where the time was up before all was done.
    """

    is_preview: bool = False
    dropped: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, Counter[str]] = field(default_factory=dict)
    size_bytes: int = 0
    files: int = 0
    refused: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_done: bool = True

    def lines(self) -> list[str]:
        """Return what was done as a person reads it; nothing where nothing was."""
        told = [f'{kinds_of(counts)} {"would go" if self.is_preview else "dropped"} by {reason}'
                for reason, counts in self.reasons.items() if counts.total()]
        return [*told, *self.refused, *self.notes]

    def count(self, reason: str, lot: Lot, count: int | None = None) -> None:
        """Add a lot of which `count` rows went, None: all."""
        count = len(lot.stamps) if count is None else count
        self.dropped[lot.kind] += count
        self.reasons.setdefault(reason, Counter())[lot.kind] += count
        self.size_bytes += lot.size_bytes
