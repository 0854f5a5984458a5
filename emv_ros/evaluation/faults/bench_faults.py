"""Every fault, repeated: how often, what was acknowledged and lost, and what mended it.

The moments are random with a fixed seed; what a process has done at such a moment is not, so that
two runs differ in detail. What cannot be done on this machine is named, and counted as nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
import time
from typing import Any

from emv_ros.evaluation.faults import damage, kills, node_kills, power_cut, resources
from emv_ros.evaluation.faults.outcome import Outcome, table_of
from emv_ros.evaluation.faults.prepared import Prepared

LOCKED_S = 30.0
Fault = Callable[[Prepared, Random], Outcome | None]

# Of each fault: its share of the repetitions.
FAULTS: dict[str, tuple[int, Fault]] = {
    'kill -9 in writes': (30, kills.in_writes),
    'kill -9 of an ingest node': (5, node_kills.in_nodes),
    'kill -9 in a migration': (30, kills.in_migration),
    'kill -9 in consolidation': (25, kills.in_consolidation),
    'kill -9 in forgetting': (25, kills.in_forgetting),
    'kill -9 in an import': (12, kills.in_import),
    'kill -9 of the clip writer': (15, kills.in_clips),
    'power cut': (40, power_cut.cut),
    'full disk in writes': (4, resources.full_in_writes),
    'full disk in consolidation': (4, resources.full_in_consolidation),
    'full disk in a migration': (4, resources.full_in_migration),
    'database locked': (2, resources.locked),
    'missing pictures': (8, damage.missing_pictures),
    'damaged pictures': (8, damage.damaged_pictures),
    'cut last page': (10, damage.cut_last_pages),
    'damaged page': (12, damage.damaged_page),
    'deleted write-ahead log': (8, damage.deleted_log),
}


def bench_faults(root: Path, runs: int, seed: int, tell: Callable[[str], None],
                 locked_s: float = LOCKED_S) -> dict[str, Any]:
    """Repeat all faults about `runs` times in all below a folder; each at least once."""
    began = time.monotonic()
    prepared = Prepared(root)
    total = sum(share for share, _ in FAULTS.values())
    outcomes: dict[str, list[Outcome]] = {}
    left_out = []
    for name, (share, fault) in FAULTS.items():
        if fault is resources.locked:
            fault = partial(resources.locked, seconds=locked_s)
        for number in range(max(1, -(-share * runs // total))):
            outcome = fault(prepared, Random(f'{seed} {name} {number}'))
            if outcome is None:
                left_out.append(name)
                break
            outcomes.setdefault(name, []).append(outcome)
            if outcome.wrong:
                tell(f'{name}, {number}: {"; ".join(outcome.wrong[:3])}')
        if name in outcomes:
            row, = table_of({name: outcomes[name]})
            tell(f'{name}: {row["times"]} times, {row["lost"]} of {row["acknowledged"]} lost '
                 f'({row["lost_untold"]} of them untold), {row["opened_by_itself"]} opened by '
                 f'themselves, {row["repaired"]} repaired')
    rows = table_of(outcomes)
    return {
        'faults': rows, 'times': sum(row['times'] for row in rows), 'left_out': left_out,
        'lost_untold': sum(row['lost_untold'] for row in rows),
        'is_whole': not any(row['wrong'] for row in rows), 'seed': seed,
        'seconds': round(time.monotonic() - began, 1)}
