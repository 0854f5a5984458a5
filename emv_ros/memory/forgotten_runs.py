"""Runs of skills that were forgotten while their source may still report them.

A later report would make the run anew, with all that it said. So of each such run its course is
kept, without words: a keyed digest tells its reports, which are then left out until its source is
silent about it. What begins a new run of the same skill is stored as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import hashlib
import hmac
import json
import secrets
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.memory.schema import SkillEventRow, StateRow
from emv_ros.records import SkillReport
from emv_ros.timeline import HOUR_NS

KEY = 'forgotten runs'
# A run that ended so long before the latest report of its robot is reported no more; one whose end
# was never told may be, for longer.
ENDED_NS, OPEN_NS = HOUR_NS, 24 * HOUR_NS
MOST = 1000


class ForgottenRuns:
    """The runs that are forgotten, as a transaction finds them; `save` keeps what reports added."""

    def __init__(self, session: Session) -> None:
        self._session = session
        # Not through the session: a report must not cost a lock of this row where there is none.
        value: dict[str, Any] | None = session.scalar(
            select(StateRow.value).where(StateRow.key == KEY))
        self._key = bytes.fromhex(value['key']) if value else b''
        self._runs: list[list[Any]] = [list(run) for run in value['runs']] if value else []
        self._is_changed = False

    def __bool__(self) -> bool:
        return bool(self._runs)

    def near(self, robot_id: int, session_id: int, report: SkillReport) -> list[SkillEventRow]:
        """Return the runs that a report may belong to, as rows of no table, the latest first.

        A whole span goes on with none: whoever tells it again means to.
        """
        if report.end_ns is not None:
            return []
        digest = self._digest(report.skill, report.source_id, report.goal_stack)
        said = self._said(report.parameters)
        return [self._row(run) for run in reversed(self._runs)
                if run[:3] == [robot_id, session_id, digest]
                and (report.source_id or not said or not run[3] or run[3] == said)]

    def keep(self, row: SkillEventRow) -> None:
        """Note what a report added to the course of a run that `near` returned."""
        place = int(row.extra['place'])
        self._runs[place][4:] = _course(row)
        self._is_changed = True

    def add(self, rows: Iterable[SkillEventRow]) -> None:
        """Add runs that are about to go, where their source may still report them."""
        latest: dict[int, int] = {}
        for row in rows:
            if row.robot_id not in latest:
                latest[row.robot_id] = self._session.scalar(
                    select(SkillEventRow.last_report_ns).where(
                        SkillEventRow.robot_id == row.robot_id).order_by(
                        SkillEventRow.stamp_ns.desc()).limit(1)) or 0
            age_ns = latest[row.robot_id] - row.last_report_ns
            if age_ns > (OPEN_NS if row.end_ns is None else ENDED_NS):
                continue
            self._key = self._key or secrets.token_bytes(32)
            self._runs.append([
                row.robot_id, row.session_id,
                self._digest(row.skill, row.source_id, row.goal_stack),
                self._said(row.parameters), *_course(row)])
            self._is_changed = True

    def save(self) -> None:
        """Write them, the latest MOST of them, in the transaction."""
        if self._is_changed:
            self._session.merge(StateRow(key=KEY, value={
                'key': self._key.hex(), 'runs': self._runs[-MOST:]}))
            self._session.flush()

    def _row(self, run: Sequence[Any]) -> SkillEventRow:
        start_ns, end_ns, status, transitions, last_report_ns = run[4:]
        # Its words are not known, and what asks about them is decided here.
        return SkillEventRow(
            stamp_ns=start_ns, end_ns=end_ns, status=status, transitions=transitions,
            last_report_ns=last_report_ns, reports=0, goal_stack=[], parameters={}, narration='',
            trigger='', parent_source_id='', pending=False,
            extra={'place': next(place for place, item in enumerate(self._runs) if item is run)})

    def _digest(self, skill: str, source_id: str, goals: Sequence[str]) -> str:
        return self._of([skill, source_id, [] if source_id else list(goals)])

    def _said(self, parameters: Any) -> str:
        return self._of(dict(parameters)) if parameters else ''

    def _of(self, value: Any) -> str:
        text = json.dumps(value, sort_keys=True, default=str)
        return hmac.new(self._key, text.encode('utf-8', 'surrogatepass'),
                        hashlib.sha256).hexdigest()[:32]


def _course(row: SkillEventRow) -> list[Any]:
    return [row.stamp_ns, row.end_ns, row.status, [list(item) for item in row.transitions],
            row.last_report_ns]
