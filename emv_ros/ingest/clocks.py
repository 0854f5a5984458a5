"""Which session a stamp belongs to: clocks that are reset, and sources that keep different clocks.

A session is one run of one clock. Each source (a topic) is followed by itself. Where its stamps go
back by more than a tolerance, its clock was reset: a new session begins, and the other sources
follow into it as they go back too. A merely late record stays where it is. A source whose stamps
lie days from those of all others keeps another clock (simulated against wall time): it gets a
session of its own, and `notes` says so, instead of one event of fifty years.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from emv_ros.timeline import HOUR_NS, format_rfc3339

# Sources of one clock may start hours apart; more than this apart, they keep different clocks.
CLOCK_GAP_NS = 24 * HOUR_NS
MAX_NOTES = 50  # a bag in a loop goes back for ever


@dataclass
class _Clock:
    session_id: int
    first_ns: int
    latest_ns: int
    next: _Clock | None = None  # the run that followed a reset of this one


@dataclass
class _Source:
    clock: _Clock
    latest_ns: int


class SessionTracker:
    """Gives each record of each source its session; not safe for several threads.

    `open_session` takes the first stamp of a new session and returns its id.
    """

    def __init__(self, late_tolerance_ns: int, open_session: Callable[[int], int]) -> None:
        self.late_tolerance_ns = late_tolerance_ns
        self.notes: list[str] = []
        self._open = open_session
        self._clocks: list[_Clock] = []
        self._sources: dict[str, _Source] = {}

    @property
    def session_ids(self) -> list[int]:
        """The sessions that were opened, in order."""
        return [clock.session_id for clock in self._clocks]

    def session_of(self, source: str, stamp_ns: int) -> int:
        """Return the session of a record."""
        known = self._sources.get(source)
        if known is None:
            known = self._sources[source] = _Source(self._join(source, stamp_ns), stamp_ns)
        else:
            self._follow(source, known, stamp_ns)
        known.latest_ns = max(known.latest_ns, stamp_ns)
        known.clock.latest_ns = max(known.clock.latest_ns, stamp_ns)
        return known.clock.session_id

    def _join(self, source: str, stamp_ns: int) -> _Clock:
        for clock in reversed(self._clocks):
            if clock.first_ns - CLOCK_GAP_NS <= stamp_ns <= clock.latest_ns + CLOCK_GAP_NS:
                return clock
        if self._clocks:
            latest_ns = self._clocks[-1].latest_ns
            self._note(
                f'{source} keeps another clock than the other sources: '
                f'{format_rfc3339(stamp_ns)} against {format_rfc3339(latest_ns)}; it gets a '
                'session of its own')
        return self._begin(stamp_ns)

    def _follow(self, source: str, known: _Source, stamp_ns: int) -> None:
        """Move a source to another session where its clock was reset."""
        is_back = stamp_ns < known.latest_ns - self.late_tolerance_ns
        clock = self._run_since(known.clock, stamp_ns)
        # A source that speaks rarely may be past its own latest stamp, and yet after the reset.
        if clock and (is_back or stamp_ns < known.clock.latest_ns - self.late_tolerance_ns):
            known.clock, known.latest_ns = clock, stamp_ns
        elif is_back:
            self._note(
                f'the clock of {source} went back from {format_rfc3339(known.latest_ns)} to '
                f'{format_rfc3339(stamp_ns)}: a new session')
            clock = self._begin(stamp_ns)
            known.clock.next = known.clock.next or clock
            known.clock, known.latest_ns = clock, stamp_ns

    def _run_since(self, clock: _Clock, stamp_ns: int) -> _Clock | None:
        """Return the latest run after resets by other sources that the stamp fits into."""
        found, run = None, clock.next
        while run is not None:
            if (run.first_ns - self.late_tolerance_ns <= stamp_ns
                    <= run.latest_ns + self.late_tolerance_ns):
                found = run
            run = run.next
        return found

    def _note(self, words: str) -> None:
        if len(self.notes) < MAX_NOTES:
            self.notes.append(words)

    def _begin(self, stamp_ns: int) -> _Clock:
        clock = _Clock(self._open(stamp_ns), stamp_ns, stamp_ns)
        self._clocks.append(clock)
        return clock
