"""The log of consolidations: a row of each that found something to do, also of a killed one.

The row is made when the first records are taken or the first call is made, and completed at the
end: `outcome` is 'running' until then, and afterwards 'ok', 'stopped' (the model was asked no
more: budget or trouble), 'canceled', 'failed', or 'killed', which the next consolidation notes.
Reads the wall clock for when a consolidation began.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from sqlalchemy import func, select

from emv_ros.errors import StoreError
from emv_ros.memory.schema import ConsolidationRow, ModelCallRow
from emv_ros.memory.store import MemoryStore
from emv_ros.timeline import SECOND_NS
from emv_ros.tree.report import ConsolidationReport

log = logging.getLogger(__name__)

COUNTS = ('records', 'up_to_ns', 'events', 'goals', 'summaries', 'model_calls', 'prompt_tokens',
          'completion_tokens', 'cost', 'fallbacks', 'duration_s')
# How often the row of a consolidation under way is brought up to date.
PERIOD_S = 10.0


class RunLog:
    """The row of one consolidation of one robot."""

    def __init__(self, store: MemoryStore, robot: str) -> None:
        self.store = store
        self.robot = robot
        self.begun_ns = time.time_ns()
        self._id: int | None = None
        self._noted = 0.0

    def note(self, report: ConsolidationReport) -> None:
        """Note what was done so far, now and then."""
        if self._id is None or time.monotonic() - self._noted > PERIOD_S:
            self._write(report, 'running')

    def end(self, report: ConsolidationReport, outcome: str) -> None:
        """Complete the row; there is none of a consolidation that did nothing."""
        has_done = any(getattr(report, name) for name in COUNTS
                       if name not in ('duration_s', 'model_calls'))
        if has_done:
            self._write(report, outcome)
        elif self._id is not None:
            with self.store.writing() as session:
                row = session.get(ConsolidationRow, self._id)
                if row is not None:
                    session.delete(row)

    def _write(self, report: ConsolidationReport, outcome: str) -> None:
        values = {name: getattr(report, name) for name in COUNTS}
        try:
            with self.store.writing() as session:
                row = session.get(ConsolidationRow, self._id) if self._id is not None else None
                if row is None:
                    row = ConsolidationRow(
                        robot_id=self.store.robot_id(session, self.robot), begun_ns=self.begun_ns)
                    session.add(row)
                for name, value in {**values, 'outcome': outcome}.items():
                    setattr(row, name, value)
                session.flush()
                self._id = row.id
        except StoreError as error:  # the log must not cost the work
            log.error('a consolidation cannot be logged: %s', error)
        self._noted = time.monotonic()


def end_killed(store: MemoryStore) -> None:
    """Complete the row of a killed consolidation, from the account of calls.

    Only for the one consolidator: if the newest row says 'running', it is not any more.
    """
    row, call = ConsolidationRow, ModelCallRow
    newest = select(row).order_by(row.id.desc()).limit(1)
    with store.reading() as session:
        killed = session.scalar(newest)
        if killed is None or killed.outcome != 'running':
            return
    with store.writing() as session:
        killed = session.scalars(newest).one()
        made: Any = session.execute(select(
            func.count(), func.sum(call.prompt_tokens), func.sum(call.completion_tokens),
            func.sum(call.cost), func.max(call.stamp_ns + call.duration_s * SECOND_NS))
            .where(call.purpose == 'summary', call.stamp_ns >= killed.begun_ns)).one()
        killed.outcome = 'killed'
        if made[0]:
            killed.model_calls, killed.prompt_tokens = made[0], int(made[1])
            killed.completion_tokens, killed.cost = int(made[2]), float(made[3])
            killed.duration_s = max(
                killed.duration_s, (float(made[4]) - killed.begun_ns) / SECOND_NS)
