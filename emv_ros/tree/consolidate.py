"""Consolidation: what was recorded since the last time finds its place in the tree.

Of one robot or of all, by one consolidator at a time. It may be stopped anywhere: what was
committed stands, and the next run goes on from there. With nothing new it writes nothing and calls
no model.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
import threading
import time

from emv_ros.errors import NotFoundError
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import Settings, TreeSettings
from emv_ros.timeline import parse_zone
from emv_ros.tree.growth import Growth, waiting_records
from emv_ros.tree.lease import holding
from emv_ros.tree.report import ConsolidationReport
from emv_ros.tree.summaries import Summarizer, SummaryWriter

__all__ = ['ConsolidationReport', 'consolidate', 'waiting_records']


def consolidate(
        store: MemoryStore, settings: TreeSettings | Settings, *, robot: str | None = None,
        zone: tzinfo | str | None = None, model: Summarizer | None = None,
        now_ns: int | None = None, cancel: threading.Event | None = None,
        progress: Callable[[int, int], None] | None = None) -> ConsolidationReport:
    """Bring the tree of one robot, or of all, up to date with what is recorded.

    Days are those of `zone`, by default the robot's own. `now_ns` is the robot's time: what ended
    less than `goal_gap_s` ago keeps template texts until it has come to rest; without it all is
    at rest. `progress` is told (records done, records in all). Raises StoreBusyError where
    another consolidator is at work, NotFoundError for a robot that the memory does not know.
    """
    known = store.robots()
    if robot and robot not in known:
        raise NotFoundError(
            f'this memory knows no robot {robot!r}; it knows: {", ".join(known) or "none"}')
    tree = settings.tree if isinstance(settings, Settings) else settings
    report = ConsolidationReport()
    begun = time.monotonic()
    with holding(store) as lease:
        writer = SummaryWriter(model, tree, cancel, lease.renew)
        for name in [robot] if robot else known:
            own_zone = zone if zone is not None else store.zone_of([name])
            one = Growth(store, name, parse_zone(own_zone) if isinstance(own_zone, str)
                         else own_zone, tree, cancel, progress, lease.renew)
            part = one.run(writer, now_ns)
            report.robots[name] = part
            report.add(part)
    report.canceled = cancel is not None and cancel.is_set()
    report.duration_s = time.monotonic() - begun
    return report
