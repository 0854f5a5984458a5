"""Status reports of skills fold into executions: one row a run of a skill, however often it was reported.

A report belongs to the run that its source id names; without one, to the latest run of the same skill, goal stack
and parameters that is still open, or that a late report falls into. A source that reports only ends makes one run a
report, since nothing tells two quick runs from a repeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.memory.schema import SkillEventRow
from emv_ros.records import SkillReport, Status
from emv_ros.timeline import SECOND_NS

# A state repeated after a longer silence tells of a new run: the end of the old one was never heard.
REPEAT_GAP_NS = 60 * SECOND_NS
# A report that belongs before the first one known of its run may come this much late.
LATE_START_NS = 10 * SECOND_NS
CANDIDATES = 16

ORDER = {Status.UNKNOWN: 0, Status.PREPARING: 1, Status.RUNNING: 2, Status.SUCCEEDED: 3,
         Status.FAILED: 3, Status.ABORTED: 3, Status.CANCELED: 3}


@dataclass(frozen=True, slots=True)
class Folded:
    """The run that a report belongs to, and whether it is new."""

    row: SkillEventRow
    is_new: bool


def fold(session: Session, robot_id: int, session_id: int, report: SkillReport) -> Folded:
    """Return the run of the report, changed by it or made by it; the caller flushes."""
    for row in _candidates(session, robot_id, session_id, report):
        if _belongs(row, report):
            _extend(row, report)
            return Folded(row, False)
    row = _new_row(robot_id, session_id, report)
    session.add(row)
    return Folded(row, True)


def _candidates(session: Session, robot_id: int, session_id: int,
                report: SkillReport) -> list[SkillEventRow]:
    mine = select(SkillEventRow).where(
        SkillEventRow.robot_id == robot_id, SkillEventRow.skill == report.skill)
    if report.source_id:
        mine = mine.where(SkillEventRow.source_id == report.source_id,
                          SkillEventRow.session_id == session_id)
        return list(session.scalars(mine.order_by(SkillEventRow.stamp_ns.desc()).limit(1)))
    mine = mine.where(SkillEventRow.session_id == session_id, SkillEventRow.source_id == '')
    before = mine.where(SkillEventRow.stamp_ns <= report.stamp_ns).order_by(
        SkillEventRow.stamp_ns.desc(), SkillEventRow.id.desc()).limit(CANDIDATES)
    after = mine.where(
        SkillEventRow.stamp_ns > report.stamp_ns,
        SkillEventRow.stamp_ns <= report.stamp_ns + LATE_START_NS).order_by(
        SkillEventRow.stamp_ns).limit(CANDIDATES)
    return [row for row in (*session.scalars(before), *session.scalars(after))
            if row.goal_stack == list(report.goal_stack) and _same_parameters(row, report)]


def _same_parameters(row: SkillEventRow, report: SkillReport) -> bool:
    """Two arms may run the same skill at once; their parameters tell them apart."""
    return not report.parameters or not row.parameters or row.parameters == dict(report.parameters)


def _belongs(row: SkillEventRow, report: SkillReport) -> bool:
    if report.end_ns is not None:  # a whole span: only the same span again is a repeat
        return (row.stamp_ns, row.end_ns, row.status) == (
            report.stamp_ns, report.end_ns, report.status)
    if report.source_id:
        return True
    first, last = Status(row.transitions[0][0]), Status(row.status)
    if report.stamp_ns < row.stamp_ns:  # late: only an earlier state can come before the first
        return ORDER[report.status] < ORDER[first] and not report.status.is_final
    silence = report.stamp_ns - row.last_report_ns
    if last.is_final:
        if report.status.is_final:
            is_repeat = not first.is_final and silence <= REPEAT_GAP_NS
            return report.status == last and (is_repeat or silence == 0)
        return report.stamp_ns < (row.end_ns or row.stamp_ns)
    if report.status == last:
        return silence <= REPEAT_GAP_NS
    return ORDER[report.status] > ORDER[last]


def _extend(row: SkillEventRow, report: SkillReport) -> None:
    row.reports += 1
    known = [tuple(change) for change in row.transitions]
    is_change = not any(
        status == report.status and stamp <= report.stamp_ns for status, stamp in known)
    is_earlier = any(
        status == report.status and stamp > report.stamp_ns for status, stamp in known)
    if is_earlier:
        known = [change for change in known if change[0] != report.status]
    if is_change or is_earlier:
        known = sorted([*known, (str(report.status), report.stamp_ns)], key=_by_stamp)
        row.transitions = [list(change) for change in known]
        row.stamp_ns = known[0][1]
        row.status = max(known, key=_by_stamp)[0]
        row.pending = True
    if report.status.is_final and row.end_ns is None:
        row.end_ns = report.stamp_ns
        row.status = str(report.status)
        row.pending = True
    row.last_report_ns = max(row.last_report_ns, report.stamp_ns)
    for name in ('narration', 'trigger'):
        said = getattr(report, name)
        if said and said != getattr(row, name):
            setattr(row, name, said)
            row.pending = True
    if report.parameters and not row.parameters:
        row.parameters = dict(report.parameters)


def _by_stamp(change: tuple[Any, ...]) -> tuple[int, int]:
    return change[1], ORDER[Status(change[0])]


def _new_row(robot_id: int, session_id: int, report: SkillReport) -> SkillEventRow:
    end_ns = report.end_ns
    if end_ns is None and report.status.is_final:
        end_ns = report.stamp_ns
    return SkillEventRow(
        robot_id=robot_id, session_id=session_id, stamp_ns=report.stamp_ns,
        stamp_is_receipt=report.stamp_is_receipt, extra=dict(report.extra), pending=True,
        skill=report.skill, status=str(report.status), goal_stack=list(report.goal_stack),
        parameters=dict(report.parameters), trigger=report.trigger, narration=report.narration,
        source_id=report.source_id, parent_source_id=report.parent_source_id, end_ns=end_ns,
        transitions=[[str(report.status), report.stamp_ns]], reports=1,
        last_report_ns=report.end_ns or report.stamp_ns)
