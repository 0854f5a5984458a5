"""Status reports of skills fold into executions: one row a run of a skill, however often reported.

A report belongs to the run that its source id names; without one, to the latest run of the same
skill, goal stack and parameters into whose course it fits by its stamp, in whatever order reports
arrive. A source that reports only ends makes one run a report, since nothing tells two quick runs
from a repeat. What fits no run begins one.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.memory.forgotten_runs import ForgottenRuns
from emv_ros.memory.schema import SkillEventRow
from emv_ros.memory.values import clean
from emv_ros.records import SkillReport, Status
from emv_ros.timeline import SECOND_NS

# A state repeated after a longer silence tells of a new run: the end of the old one was never
# heard.
REPEAT_GAP_NS = 60 * SECOND_NS
# A report that belongs before the first one known of its run may come this much late.
LATE_NS = 30 * SECOND_NS
CANDIDATES = 16
# Runs of one skill that a transaction loads at once: most reports belong to the last few.
LOADED = 64

ORDER = {Status.UNKNOWN: 0, Status.PREPARING: 1, Status.RUNNING: 2, Status.SUCCEEDED: 3,
         Status.FAILED: 3, Status.ABORTED: 3, Status.CANCELED: 3}

Key = tuple[int, int, str, str]


@dataclass(slots=True)
class _Runs:
    """The latest runs under one key, by goal stack in order of time, and older ones still open.

    Where `is_complete`, there are no others; else every run from `floor_ns` on is here.
    """

    is_complete: bool
    floor_ns: int
    loaded: list[int]
    by_goals: dict[tuple[str, ...], list[SkillEventRow]] = field(default_factory=dict)
    open: list[SkillEventRow] = field(default_factory=list)

    def covers(self, stamp_ns: int) -> bool:
        """Whether the candidates for a report of this time are all here."""
        return self.is_complete or bisect_right(self.loaded, stamp_ns) >= CANDIDATES

    def near(self, goals: tuple[str, ...], stamp_ns: int) -> list[SkillEventRow]:
        """Return the runs that a report may belong to, the likeliest first."""
        rows = self.by_goals.get(goals, [])
        here = bisect_right(rows, stamp_ns, key=_start)
        later = bisect_right(rows, stamp_ns + LATE_NS, key=_start)
        return [*rows[max(0, here - CANDIDATES):here][::-1], *self.open,
                *rows[here:min(later, here + CANDIDATES)]]


class Folding:
    """The folding of the reports of one transaction; each skill's runs are loaded once."""

    def __init__(self, session: Session) -> None:
        """Fold in a write session; whoever ends it flushes, and saves what was forgotten."""
        self.touched: dict[int, SkillEventRow] = {}
        self.forgotten = ForgottenRuns(session)
        self._session = session
        self._runs: dict[Key, _Runs] = {}

    def fold(self, robot_id: int, session_id: int, report: SkillReport) -> SkillEventRow | None:
        """Return the run of the report, changed by it or made by it; None for a forgotten one."""
        key = (robot_id, session_id, report.skill, report.source_id)
        goals = () if report.source_id else tuple(report.goal_stack)
        runs = self._runs.get(key)
        if runs is None:
            # What this transaction holds of a key is loaded already: no row of another one need be
            # written first, which would write each by itself.
            with self._session.no_autoflush:
                runs = self._runs[key] = _load(self._session, key)
        near = (runs.near(goals, report.stamp_ns) if runs.covers(report.stamp_ns)
                else _query(self._session, key, goals, report.stamp_ns))
        for row in near:
            if _same_parameters(row, report) and _belongs(row, report):
                start_ns = row.stamp_ns
                _extend(row, report)
                if row.stamp_ns != start_ns:
                    runs.by_goals.get(goals, []).sort(key=_start)
                break
        else:
            if self._is_forgotten(robot_id, session_id, report):
                return None
            row = _new_row(robot_id, session_id, report)
            self._session.add(row)
            if runs.is_complete or row.stamp_ns >= runs.floor_ns:
                _place(runs.by_goals.setdefault(goals, []), row)
        self.touched[id(row)] = row
        return row

    def _is_forgotten(self, robot_id: int, session_id: int, report: SkillReport) -> bool:
        """Whether a report goes on with a run that was forgotten, which then has its course."""
        if not self.forgotten:
            return False
        for row in self.forgotten.near(robot_id, session_id, report):
            if _belongs(row, report):
                _extend(row, replace(report, narration='', trigger='', parameters={},
                                     goal_stack=(), parent_source_id=''))
                self.forgotten.keep(row)
                return True
        return False


def _start(row: SkillEventRow) -> int:
    return row.stamp_ns


def _place(rows: list[SkillEventRow], row: SkillEventRow) -> None:
    rows.insert(bisect_right(rows, row.stamp_ns, key=_start), row)


def _of_key(key: Key) -> Any:
    robot_id, session_id, skill, source_id = key
    row = SkillEventRow
    return select(row).where(row.robot_id == robot_id, row.skill == skill,
                             row.session_id == session_id, row.source_id == source_id)


def _load(session: Session, key: Key) -> _Runs:
    row = SkillEventRow
    latest = list(session.scalars(_of_key(key).order_by(
        row.stamp_ns.desc(), row.id.desc()).limit(LOADED)))[::-1]
    is_complete = len(latest) < LOADED
    runs = _Runs(is_complete, latest[0].stamp_ns if latest else 0,
                 [item.stamp_ns for item in latest])
    for item in latest:
        _place(runs.by_goals.setdefault(_goals(key, item), []), item)
    if not is_complete:
        # A long run may have begun before many short ones of the same skill.
        runs.open = list(session.scalars(_of_key(key).where(
            row.end_ns.is_(None), row.stamp_ns < runs.floor_ns).order_by(
            row.stamp_ns.desc(), row.id.desc()).limit(CANDIDATES)))
    return runs


def _query(session: Session, key: Key, goals: tuple[str, ...],
           stamp_ns: int) -> list[SkillEventRow]:
    """Return the candidates for a report from before what is loaded."""
    row = SkillEventRow
    before = _of_key(key).where(row.stamp_ns <= stamp_ns).order_by(
        row.stamp_ns.desc(), row.id.desc()).limit(CANDIDATES)
    after = _of_key(key).where(
        row.stamp_ns > stamp_ns, row.stamp_ns <= stamp_ns + LATE_NS).order_by(
        row.stamp_ns).limit(CANDIDATES)
    return [item for item in (*session.scalars(before), *session.scalars(after))
            if _goals(key, item) == goals]


def _goals(key: Key, row: SkillEventRow) -> tuple[str, ...]:
    return () if key[3] else tuple(row.goal_stack)


def _same_parameters(row: SkillEventRow, report: SkillReport) -> bool:
    """Two arms may run the same skill at once; their parameters tell them apart."""
    return bool(report.source_id) or not report.parameters or not row.parameters or (
        row.parameters == clean(dict(report.parameters)))


def _belongs(row: SkillEventRow, report: SkillReport) -> bool:
    if report.end_ns is not None:  # a whole span: only the same span again is a repeat
        return (row.stamp_ns, row.end_ns, row.status) == (
            report.stamp_ns, report.end_ns, report.status)
    changes = [_order(change) for change in row.transitions]
    mine = (report.stamp_ns, ORDER[report.status])
    here = bisect_right(changes, mine)
    if here == len(changes):
        return _continues(row, report)
    if report.source_id:
        return True
    first, following = Status(row.transitions[0][0]), Status(row.transitions[here][0])
    if report.status.is_final:  # an earlier sight of an end is one only where a start is known
        return report.status == following and not first.is_final
    if not here:
        return (mine[1] <= changes[0][1] and row.stamp_ns - report.stamp_ns <= LATE_NS)
    # Of two reports at one instant one may be the end of a run, the other the start of the next.
    is_next = following.is_final and changes[here][0] == report.stamp_ns
    return changes[here - 1][1] <= mine[1] <= changes[here][1] and not is_next


def _continues(row: SkillEventRow, report: SkillReport) -> bool:
    """Whether a report from after the last change known belongs to the run."""
    first, last = Status(row.transitions[0][0]), Status(row.status)
    silence = report.stamp_ns - row.last_report_ns
    if report.source_id:  # a source that counts its runs may begin anew
        is_anew = ORDER[report.status] < ORDER[last]
        return silence <= REPEAT_GAP_NS or not is_anew
    if last.is_final:
        is_repeat = not first.is_final and silence <= REPEAT_GAP_NS
        return report.status == last and (is_repeat or silence == 0)
    if report.status == last:
        return silence <= REPEAT_GAP_NS
    return ORDER[report.status] > ORDER[last]


def _extend(row: SkillEventRow, report: SkillReport) -> None:
    row.reports += 1
    known = {str(status): int(stamp_ns) for status, stamp_ns in row.transitions}
    if report.stamp_ns < known.get(report.status, report.stamp_ns + 1):
        known[str(report.status)] = report.stamp_ns
        _set_course(row, sorted(([status, stamp] for status, stamp in known.items()), key=_order))
    _fill(row, report)
    row.last_report_ns = max(row.last_report_ns, report.stamp_ns)


def _set_course(row: SkillEventRow, changes: list[list[Any]]) -> None:
    """Take the changes of state up to the first end: what is over stays over."""
    ends = [index for index, (status, _) in enumerate(changes) if Status(status).is_final]
    if ends:
        changes = changes[:ends[0] + 1]
    if changes == row.transitions:
        return
    is_span = row.end_ns is not None and row.end_ns != row.transitions[-1][1]
    if row.narration and changes[0][1] < row.stamp_ns:
        row.extra = {'narrated_ns': row.stamp_ns, **row.extra}
    row.transitions = changes
    row.stamp_ns = changes[0][1]
    row.status = changes[-1][0]
    if ends and not is_span:
        row.end_ns = changes[-1][1]
    row.pending = True


def _fill(row: SkillEventRow, report: SkillReport) -> None:
    """Take what the report says that the run lacks, and the latest words."""
    is_latest = report.stamp_ns >= row.last_report_ns
    for name in ('narration', 'trigger'):
        said, known = getattr(report, name), getattr(row, name)
        if said and said != known and (is_latest or not known):
            setattr(row, name, said)
            row.pending = True
            if name == 'narration':
                # A question about an earlier time must not hear it.
                row.extra = {**row.extra, 'narrated_ns': report.stamp_ns}
    for name, value in (('parameters', dict(report.parameters)),
                        ('goal_stack', list(report.goal_stack)),
                        ('parent_source_id', report.parent_source_id)):
        if value and not getattr(row, name):
            setattr(row, name, value)
            row.pending = True


def _order(change: Any) -> tuple[int, int]:
    return int(change[1]), ORDER[Status(change[0])]


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
