"""Processor time and memory of processes, as Linux counts them in /proc."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
import os
from pathlib import Path
from typing import Any

import numpy as np

PROC = Path('/proc')
TICKS_A_SECOND = os.sysconf('SC_CLK_TCK')
PAGE_BYTES = os.sysconf('SC_PAGE_SIZE')
# What a process takes in at its beginning is no growth.
SETTLED_S = 60.0


def cpu_s(pid: int) -> float | None:
    """Return the processor seconds of a process so far, its threads among them; None if gone."""
    try:
        words = (PROC / str(pid) / 'stat').read_text().rpartition(')')[2].split()
    except OSError:
        return None
    return (int(words[11]) + int(words[12])) / TICKS_A_SECOND


def resident_bytes(pid: int) -> tuple[int, int] | None:
    """Return the resident bytes of a process, and how many of them are its own; None if gone.

    The others are of files, and of shared memory: also what a publisher over DDS has made, which
    counts for each process that has read it.
    """
    try:
        words = (PROC / str(pid) / 'statm').read_text().split()
    except OSError:
        return None
    resident, shared = int(words[1]), int(words[2])
    return resident * PAGE_BYTES, (resident - shared) * PAGE_BYTES


@dataclass
class ProcessMeter:
    """Samples processes by name. `begin` and `end` frame what the processor time is taken of."""

    pids: Mapping[str, int]
    begun: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    begun_s: float = 0.0
    ended_s: float = 0.0
    samples: dict[str, list[tuple[float, int, int]]] = field(default_factory=dict)

    def begin(self, now_s: float) -> None:
        """Begin to count."""
        self.begun_s = now_s
        self.begun = {name: cpu_s(pid) or 0.0 for name, pid in self.pids.items()}

    def sample(self, now_s: float) -> None:
        """Note processor time and memory; what has ended keeps its last values."""
        self.ended_s = now_s
        for name, pid in self.pids.items():
            spent, memory = cpu_s(pid), resident_bytes(pid)
            if spent is not None and memory and memory[0]:
                self.ended[name] = spent
                self.samples.setdefault(name, []).append((now_s - self.begun_s, *memory))

    def report(self) -> dict[str, dict[str, Any]]:
        """Return of each process cores (CPU s / wall s), CPU seconds, and its memory."""
        wall_s = self.ended_s - self.begun_s
        found = {}
        for name in self.pids:
            spent = self.ended.get(name, 0.0) - self.begun.get(name, 0.0)
            found[name] = {'cpu_s': round(spent, 2), 'cores': round(spent / wall_s, 3),
                           **self._memory(name)}
        return found

    def _memory(self, name: str) -> dict[str, float | None]:
        samples = self.samples.get(name, ())
        own = memory_course([(at_s, own) for at_s, _, own in samples])
        return {**memory_course([(at_s, resident) for at_s, resident, _ in samples]),
                'own_settled_mb': own['settled_mb'], 'own_growth_mb': own['growth_mb']}


def memory_course(samples: Sequence[tuple[float, int]]) -> dict[str, float | None]:
    """Return first, last and highest memory (MB), and the growth of a line from a minute on.

    `growth_mb` is that of the line over its whole length; None where less than 10 s are left of it.
    """
    if not samples:
        return {'rss_mb': None, 'rss_peak_mb': None, 'settled_mb': None, 'growth_mb': None,
                'growth_mb_a_minute': None}
    later = np.array([item for item in samples if item[0] >= SETTLED_S], float).reshape(-1, 2)
    told: dict[str, float | None] = {
        'rss_mb': _mb(samples[-1][1]), 'rss_peak_mb': _mb(max(item[1] for item in samples)),
        'settled_mb': None, 'growth_mb': None, 'growth_mb_a_minute': None}
    if len(later) and later[-1, 0] - later[0, 0] >= 10:
        slope, _ = np.polyfit(later[:, 0], later[:, 1], 1)
        told['settled_mb'] = _mb(later[0, 1])
        told['growth_mb'] = _mb(slope * (later[-1, 0] - later[0, 0]))
        told['growth_mb_a_minute'] = _mb(slope * 60)
    return told


def _mb(count: float) -> float:
    return round(float(count) / 1e6, 2)
