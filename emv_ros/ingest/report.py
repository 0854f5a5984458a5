"""What an import did: how many records of each type, what was refused and why, what was left out.

It counts and remembers; how it is shown is the command line's affair.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

# A file of a million bad lines is described by its first ones and the number of all.
MAX_REFUSALS = 200


@dataclass(frozen=True, slots=True)
class Refusal:
    """One record that could not be stored: where it stood (a line; a topic and time), and why."""

    where: str
    reason: str


@dataclass
class ImportReport:
    """The result of one import. `first_ns` and `last_ns` span the stamps of what was stored."""

    path: str
    records: Counter[str] = field(default_factory=Counter)
    refused: list[Refusal] = field(default_factory=list)
    refused_count: int = 0
    skipped: Counter[str] = field(default_factory=Counter)  # by unknown type, or topic and type
    duplicates: int = 0
    thinned: Counter[str] = field(default_factory=Counter)
    withheld: Counter[str] = field(default_factory=Counter)  # by what privacy asks for
    notes: list[str] = field(default_factory=list)
    session_ids: list[int] = field(default_factory=list)
    zone: str = 'UTC'
    first_ns: int | None = None
    last_ns: int | None = None

    @property
    def stored(self) -> int:
        """Records that were stored."""
        return self.records.total()

    @property
    def read(self) -> int:
        """Everything that the file held: stored, refused, skipped, left out or there twice."""
        return (self.stored + self.refused_count + self.skipped.total() + self.thinned.total()
                + self.withheld.total() + self.duplicates)

    def count(self, kind: str, stamp_ns: int) -> None:
        """Note a stored record."""
        self.records[kind] += 1
        self.first_ns = stamp_ns if self.first_ns is None else min(self.first_ns, stamp_ns)
        self.last_ns = stamp_ns if self.last_ns is None else max(self.last_ns, stamp_ns)

    def refuse(self, where: str, reason: str) -> None:
        """Note a record that could not be stored."""
        self.refused_count += 1
        if len(self.refused) < MAX_REFUSALS:
            self.refused.append(Refusal(where, reason))
