"""The exact functions of the console that find tasks: what was done at the top, and beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from emv_ros.agent.console.arguments import number, statuses, text_of
from emv_ros.agent.console.found_rows import FoundRows, Rows
from emv_ros.agent.console.rows import shown_id, span_of
from emv_ros.agent.roots import roots_of
from emv_ros.errors import EmvError
from emv_ros.memory import queries
from emv_ros.memory.activities import activities
from emv_ros.memory.names import squash
from emv_ros.memory.queries import Page, Window
from emv_ros.timeline import HOUR_NS, MINUTE_NS

BESIDE = 500
MAX_BESIDE = 20


class TaskRows(FoundRows):
    """Exact rows of the tasks of one question's window."""

    def goals(self, text: Any, status: Any, start: Any, end: Any, when: Any, limit: Any) -> Rows:
        """Return what was done at the top: runs within no goal, and goals that a source named.

        A goal of which only the steps were reported is told by these.
        """
        window, asked = self._windows.narrowed(start, end, when), text_of(text)
        status = statuses(status)
        rows = self._tops(window, status, roots_of(asked))
        called = self._meant.besides_reasons(asked, rows)
        others = [row['id'] for row in rows if row not in called]
        rows = called
        if not status:
            rows += self._annotations(window, text, 'goal')
        if not rows and asked:
            tops = [row for row in self._tops(window, status) if row['id'] not in others]
            rows = self._meant.activities(asked, tops) or self._within(asked, tops)
        return self._ordered(rows, limit)

    def goals_with(self, text: Any, status: Any, when: Any) -> Rows:
        """Return the activities at the top that fit a text themselves, or by a run within them."""
        window, asked = self._windows.narrowed(None, None, when), text_of(text)
        tops = self._tops(window, statuses(status))
        parts = self._meant.besides_reasons(asked, self._runs(window, text=roots_of(asked)))
        parts = parts or self._meant.mostly(asked, self._runs(window)) or self._of_like_skill(
            asked, window)
        fitting = {row['id'] for row in parts} | {row['id'] for row in tops if any(
            self._is_part(part, row) for part in parts)}
        found = [row for row in tops if row['id'] in fitting]
        self._explain(found, asked)
        found = found or self._meant.activities(asked, tops) or self._within(asked, tops)
        return self._ordered(found, None)

    def _of_like_skill(self, asked: str, window: Window) -> Rows:
        """Return the runs of the skill whose name is nearest to a text in meaning, if near."""
        name = self._like_skill(asked)
        if not name:
            return []
        self._shown.note(f'no run is called {asked!r}; these are runs of {name!r}')
        return self._runs(window, skill=name)

    def _is_part(self, part: dict[str, Any], top: dict[str, Any]) -> bool:
        one, whole = self._shown.items[part['id']], self._shown.items[top['id']]
        # By what was recorded: what is shown of a name may be less than all of it.
        goals = self._shown.records[part['id']].goal_stack
        return bool(goals and goals[0] == self._shown.records[top['id']].skill
                    and one.robot == whole.robot
                    and whole.start_ns <= one.start_ns <= whole.end_ns)

    def request(self, shown: Any) -> Rows:
        """Return the words just before an activity that asked for it: its trigger, if any."""
        _, record = self._shown.record(shown)
        start_ns = span_of(record).start_ns
        window = self._windows.within(start_ns - 2 * MINUTE_NS, start_ns + 1)
        heard = [words for words in queries.utterances(self._store, window) if not words.is_own]
        trigger = getattr(record, 'trigger', '')
        told = [words for words in heard if trigger and squash(words.text) == squash(trigger)]
        return [self._shown.give('utterance', words) for words in (told or heard)[-1:]]

    def around(self, when: Any, minutes: Any) -> Rows:
        """Return what was done at about a time: from half the minutes before it to all after it.

        Of a day, which is about nothing, that is what was done on it.
        """
        span = self._windows.clock.interval_of(when)
        length_ns = span.end_ns - span.start_ns
        if length_ns > 36 * HOUR_NS:
            raise EmvError(f'around() takes a moment; for {str(when)[:60]!r} use days(when=…) or '
                           'goals(when=…)')
        margin = number(minutes, 1, 24 * 60) * MINUTE_NS if length_ns <= 12 * HOUR_NS else 0
        window = self._windows.within(span.start_ns - margin // 2, span.end_ns + margin)
        rows = self._tops(window) + self._annotations(window, None, 'goal')
        return self._ordered(rows, None)

    def beside(self, shown: Any, count: Any) -> Rows:
        """Return the runs or goals just before (count < 0) or after a shown record, nearest first.

        For a run these are its neighbours within the same goal; for all else those at the top.
        """
        kind, record = self._shown.record(shown)
        is_before = number(count, -MAX_BESIDE, MAX_BESIDE) < 0
        wanted = abs(number(count, -MAX_BESIDE, MAX_BESIDE)) or 1
        start_ns, whole = span_of(record).start_ns, self._windows.whole
        window = replace(whole, robots=(record.robot,) if record.robot else whole.robots)
        if is_before:
            window = replace(window, end_ns=min(
                start_ns, start_ns if whole.end_ns is None else whole.end_ns))
        else:
            window = replace(window, start_ns=max(start_ns, whole.start_ns or start_ns))
        page = Page(limit=BESIDE, newest_first=is_before)
        given = self._shown.records[shown_id(kind, record.id)]
        stack = getattr(given, 'goal_stack', ())
        runs = queries.skill_events(self._store, window, page=page) if stack else activities(
            self._store, window)
        found: list[tuple[str, Any]] = [
            ('skill_event', event) for event in runs if event.goal_stack == stack]
        if not stack:
            found += [('annotation', item) for item in queries.annotations(
                          self._store, window, kind='goal', page=page)
                      if not (is_before and item.end_ns > start_ns)]
        found = [(what, item) for what, item in found
                 if (what, item.id) != (kind, record.id)
                 and (is_before or item.stamp_ns >= start_ns)]
        found.sort(key=lambda pair: (pair[1].stamp_ns, pair[1].id), reverse=is_before)
        return [self._shown.give(what, item) for what, item in found[:wanted]]

    def _tops(self, window: Window, status: Iterable[str] = (), text: str = '') -> Rows:
        found = activities(self._store, window, status=status, text=text)
        return [self._shown.give('skill_event', event) for event in self._both_ends(
            lambda page: (found[::-1] if page.newest_first else found)[:page.limit])]

    def _within(self, text: str, rows: Rows) -> Rows:
        """Return the activities that a text means by what they hold, or in other words."""
        found = (self._meant.activities_by_parts(text, rows)
                 or self._meant.activities_in_other_words(text, rows))
        self._explain(found, text)
        return found

    def _explain(self, rows: Rows, asked: str) -> None:
        """Remember the words that rows were found by: they stand for them in the checks."""
        for row in rows:
            before = self._shown.explained.get(row['id'], '')
            self._shown.explained[row['id']] = f'{before} {asked}'.strip()
