"""How texts came about: at which try, and for what the other tries were refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from emv_ros.tree.checks import Fault


@dataclass(slots=True)
class Account:
    """Counts of what was asked for: served at the first try, at a later one, or not at all.

    `refused` counts each kind of fault, once a try.
    """

    first: int = 0
    again: int = 0
    failed: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    def refuse(self, faults: Iterable[Fault]) -> None:
        """Note why a try was refused."""
        self.refused.update({fault.kind for fault in faults})

    def serve(self, attempt: int) -> None:
        """Note at which try (from 1) it was served; 0: at none."""
        if attempt == 1:
            self.first += 1
        elif attempt:
            self.again += 1
        else:
            self.failed += 1
