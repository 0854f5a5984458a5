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
from emv_ros.agent.console.rows import local, parse_id, row_of
from emv_ros.agent.console.shown import Shown
from emv_ros.agent.console.windows import Windows
from emv_ros.errors import EmvError
from emv_ros.memory.documents import text_of as document_of
from emv_ros.memory.names import squash
from emv_ros.retrieval.search import Searcher
from emv_ros.timeline import SECOND_NS, Interval

MAX_GIVEN = 2000
# A thing "seen at" a time was handled or looked at within so long of it.
AT_S = 60

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
        self.picked_by: tuple[str, ...] = ()  # the rows that the latest pick() went by

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
        self.picked_by = tuple(str(item['id']) for item in items if isinstance(item, dict))
        return choices[index]

    def _add(self, found: Given, item: Any) -> None:
        if isinstance(item, dict):
            key = str(item.get('id', ''))
            self._shown.parsed(key)
            evidence = self._shown.items[key]
            words, facts = self._words_of(key)
            goals = tuple(getattr(self._shown.records[key], 'goal_stack', ()))
            found.texts.append(' '.join((words, *goals)))
            found.facts.append((*goals, *facts))
            found.goals.append(goals)
            found.told.append(words)
            found.spans.append(Interval(evidence.start_ns, evidence.end_ns))
        elif isinstance(item, (date, list, tuple)):  # datetimes, too, and stretches of still()
            first, last = (item[0], item[-1]) if isinstance(item, (list, tuple)) and item else (
                item, item)
            clock = self._windows.clock
            found.moments.append(Interval(
                clock.interval_of(first).start_ns, clock.interval_of(last).end_ns))
        elif item is not None:
            found.values.append(item)

    def _words_of(self, key: str) -> tuple[str, tuple[str, ...]]:
        """Return all words of a row besides its goals, and its single values: names, amounts."""
        record = self._shown.records[key]
        row = row_of(parsed[0], record, self._windows.clock.zone) if (
            parsed := parse_id(key)) else {}
        facts = [*row['parameters'].values(), row['name'], row['place'], row['state'],
                 row['speaker'], row['text'], row['status']]
        words = f'{row["name"]} {row["text"]} {document_of(record) or ""}'
        return ' '.join((words, *facts)), tuple(fact for fact in facts if fact)

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
        """Return the rows of the thing that was seen at a moment.

        Of several of the name it is the one whose movement begins or ends next to it.
        """
        def apart(row: dict[str, Any]) -> tuple[int, int]:
            item, at_ns = self._shown.items[row['id']], moment.start_ns
            ends = (item.start_ns // SECOND_NS, item.end_ns // SECOND_NS)
            return (max(ends[0] - at_ns // SECOND_NS, at_ns // SECOND_NS - ends[1], 0),
                    min(abs(end - at_ns // SECOND_NS) for end in ends))
        near = [row for row in rows if apart(row)[0] <= AT_S]
        called = [row for row in near if squash(row['name']) == squash(name)]
        nearest = min(called or near, key=apart, default=None)
        if nearest is None:
            raise EmvError(f'no {name!r} was seen within a minute of '
                           f'{local(moment.start_ns, self._windows.clock.zone)}')
        identity = nearest['instance']
        return [row for row in rows if row['instance'] == identity] if identity else [
            row for row in rows if row['name'] == nearest['name']]

    def still(self, rows: Any, seconds: Any) -> list[list[datetime]]:
        """Return [first, last] of the moments after which no row begins for more than `seconds`.

        Each stretch begins with the end of a row: from any moment in it the thing stays put so
        long. What comes after the last row counts up to the end of the session.
        """
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float, timedelta)):
            raise EmvError('still(rows, seconds) takes a number of seconds')
        least_s = seconds.total_seconds() if isinstance(seconds, timedelta) else float(seconds)
        spans = sorted((Interval(item.start_ns, item.end_ns) for item in (
            self._shown.items[self._key(row)] for row in rows)), key=lambda span: span.start_ns)
        if not spans:
            raise EmvError('still() got no rows: look with other words or without a filter')
        stops = [(one.end_ns, other.start_ns) for one, other in pairwise(spans)]
        stops.append((spans[-1].end_ns, self._windows.session(spans[-1].end_ns).end_ns))
        zone, least_ns = self._windows.clock.zone, round(least_s * SECOND_NS)
        return [[local(end_ns, zone), local(next_ns - least_ns, zone)]
                for end_ns, next_ns in stops if next_ns - end_ns > least_ns]

    def during(self, rows: Any) -> Rows:
        """Return the goals and runs that went on while rows did, those that share most first.

        Those that share less than half as much as another of their kind are left out.
        """
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
        most = {row['kind']: max(shared(other) for other in others
                                 if other['kind'] == row['kind']) for row in others}
        return sorted((row for row in others if 2 * shared(row) >= most[row['kind']]),
                      key=lambda row: -shared(row))

    def _key(self, row: Any) -> str:
        key = str(row.get('id', '')) if isinstance(row, dict) else str(row)
        self._shown.parsed(key)
        return key
