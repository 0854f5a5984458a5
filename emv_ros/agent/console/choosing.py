"""The console's functions for questions with choices, and about what is moved: pick, moves, still.

They work on rows that were shown; what they return is exact as far as the rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

from emv_ros.agent.console.arguments import text_of
from emv_ros.agent.console.exact import ExactRows
from emv_ros.agent.console.picking import Given, pick
from emv_ros.agent.console.rows import local, span_of
from emv_ros.agent.console.shown import Shown
from emv_ros.agent.console.windows import Windows
from emv_ros.errors import EmvError
from emv_ros.memory.documents import text_of as document_of
from emv_ros.memory.names import squash
from emv_ros.records import Observation, SkillEvent
from emv_ros.retrieval.search import Searcher
from emv_ros.timeline import SECOND_NS, Interval

MAX_GIVEN = 2000
# A thing "seen at" a time was handled or looked at within so long of it.
AT_NS = 60 * SECOND_NS

Rows = list[dict[str, Any]]


class Choosing:
    """Picks among the choices of one question, follows one thing, measures how long it stayed."""

    def __init__(self, exact: ExactRows, searcher: Searcher, windows: Windows, shown: Shown,
                 choices: Sequence[str]) -> None:
        self._exact = exact
        self._searcher = searcher
        self._windows = windows
        self._shown = shown
        self._choices = choices

    def pick(self, given: Any, among: Any, is_missing: Any) -> str:
        """Return the choice that rows or values bear out best; `is_missing`: the least."""
        choices = [str(choice)[:2000] for choice in among] if isinstance(among, (list, tuple)) \
            else self._choices
        items = list(given)[:MAX_GIVEN] if isinstance(given, (list, tuple)) else [given]
        found = Given()
        for item in items:
            self._add(found, item)
        index = pick(choices, found, self._windows.clock, self._searcher.similarity,
                     is_missing is True)
        return choices[index]

    def _add(self, found: Given, item: Any) -> None:
        if isinstance(item, dict):
            key = str(item.get('id', ''))
            self._shown.parsed(key)
            evidence = self._shown.items[key]
            found.texts.append(self._words_of(key))
            found.spans.append(Interval(evidence.start_ns, evidence.end_ns))
        elif isinstance(item, date):  # datetimes, too
            found.moments.append(self._windows.clock.interval_of(item).start_ns)
        elif item is not None:
            found.values.append(item)

    def _words_of(self, key: str) -> str:
        record = self._shown.records[key]
        goals = ' '.join(getattr(record, 'goal_stack', ()))
        return f'{self._shown.items[key].text} {document_of(record) or ""} {goals}'

    def moves(self, name: Any, at: Any, when: Any) -> Rows:
        """Return each time that a thing was moved, in order; `at`: the very thing seen then.

        Where nothing was recorded as moved, each time that it was seen at another place.
        """
        rows = self._exact.seen(name, None, None, when, None, None)
        if at is not None:
            rows = self._of_one(rows, self._windows.clock.interval_of(at), text_of(name))
        handled = [row for row in rows if row['event']]
        if handled:
            return handled
        return [row for before, row in pairwise(rows) if row['place'] != before['place']]

    def _of_one(self, rows: Rows, moment: Interval, name: str) -> Rows:
        """Return the rows of the thing that was seen at a moment, or nearest to it."""
        def apart(row: dict[str, Any]) -> tuple[bool, int]:
            item = self._shown.items[row['id']]
            gap = max(item.start_ns - moment.start_ns, moment.start_ns - item.end_ns, 0)
            return gap, squash(row['name']) != squash(name)
        nearest = min(rows, key=apart, default=None)
        if nearest is None or apart(nearest)[0] > AT_NS:
            raise EmvError(f'no {name!r} was seen within a minute of '
                           f'{local(moment.start_ns, self._windows.clock.zone)}')
        identity = nearest['instance']
        return [row for row in rows if row['instance'] == identity] if identity else [
            row for row in rows if row['name'] == nearest['name']]

    def still(self, rows: Any, seconds: Any) -> list[datetime]:
        """Return the times from which nothing happened for more than `seconds`: the ends of rows.

        The last row counts where nothing follows it in memory for that long.
        """
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float, timedelta)):
            raise EmvError('still(rows, seconds) takes a number of seconds')
        least = seconds.total_seconds() if isinstance(seconds, timedelta) else float(seconds)
        spans = sorted((Interval(item.start_ns, item.end_ns) for item in (
            self._shown.items[self._key(row)] for row in rows)), key=lambda span: span.start_ns)
        if not spans:
            raise EmvError('still() got no rows: look with other words or without a filter')
        stops = [(one.end_ns, other.start_ns) for one, other in pairwise(spans)]
        stops.append((spans[-1].end_ns, self._windows.session(spans[-1].end_ns).end_ns))
        return [local(end_ns, self._windows.clock.zone) for end_ns, next_ns in stops
                if (next_ns - end_ns) / SECOND_NS > least]

    def during(self, rows: Any) -> Rows:
        """Return the goals and runs that went on while rows did, those that share most first."""
        keys = [self._key(row) for row in rows]
        spans = [Interval(self._shown.items[key].start_ns, self._shown.items[key].end_ns)
                 for key in keys]
        if not spans:
            raise EmvError('during() got no rows: look with other words or without a filter')
        found = self._exact.within(min(span.start_ns for span in spans),
                                   max(span.end_ns for span in spans) + 1)
        def shared(row: dict[str, Any]) -> int:
            item = self._shown.items[row['id']]
            return sum(max(0, min(item.end_ns, span.end_ns) - max(item.start_ns, span.start_ns))
                       for span in spans)
        names = {self._shown.items[key].id for key in keys}
        others = [row for row in found if row['id'] not in names and shared(row) > 0]
        return sorted(others, key=lambda row: -shared(row))

    def _key(self, row: Any) -> str:
        key = str(row.get('id', '')) if isinstance(row, dict) else str(row)
        self._shown.parsed(key)
        return key
