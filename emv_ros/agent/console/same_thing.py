"""Whether a thing of a name was the same in two stretches of time: which one was handled in each.

Things are told apart by the identity of their sightings, else by what runs call them, where that is
more than the name of their kind. What other robots did meanwhile, or the same one for another task,
tells nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
import itertools
import re
from typing import Any

from emv_ros.agent.console.arguments import text_of
from emv_ros.agent.console.rows import identity_of, span_of, thing_of
from emv_ros.agent.console.shown import Shown
from emv_ros.agent.console.windows import Windows
from emv_ros.agent.roots import roots_of
from emv_ros.errors import EmvError
from emv_ros.memory import queries
from emv_ros.memory.documents import named_values
from emv_ros.memory.names import match_names, squash
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.records import SkillEvent, Status

MAX_NAMED = 6
# 'mug of Ada': the last word of these names no thing.
_DESCRIBED = re.compile(r'\b(?:of|that|which|with|for|from|in|on)\b', re.IGNORECASE)


class SameThing:
    """Compares the things of one question's rows."""

    def __init__(self, store: MemoryStore, windows: Windows, shown: Shown) -> None:
        self._store = store
        self._windows = windows
        self._shown = shown

    def same(self, name: Any, one: Any, two: Any) -> str:
        """Return 'Yes' or 'No'; `one` and `two` are ids of shown rows, most often of tasks.

        Raises EmvError where it is not told which thing of the name was handled.
        """
        asked = text_of(name)
        sides = [[self._shown.record(item)[1] for item in side] for side in (one, two)]
        if not asked or not all(sides):
            raise EmvError('same() takes the name of a thing and the rows of two tasks: one of '
                           'them has no rows, look with other words')
        names = [asked] if _DESCRIBED.search(asked) else [asked, asked.split()[-1]]
        found: list[set[str]] = []
        for identities, wanted in itertools.product((self._seen_in, self._named_in), names):
            found = [identities(wanted, side) for side in sides]
            if all(found):
                break
        for side in found:
            if len(side) != 1:
                told = f'it may be {", ".join(sorted(side)[:MAX_NAMED])}' if side else (
                    'no record tells')
                raise EmvError(f'which {asked} it was is not told: {told}')
        return 'Yes' if found[0] == found[1] else 'No'

    def _window_of(self, record: Any) -> Window:
        """Return the time of a record, of its robot; what still runs lasts until now."""
        span = span_of(record)
        is_on = isinstance(record, SkillEvent) and record.status is Status.RUNNING
        end_ns = self._windows.clock.now_ns if is_on else span.end_ns + 1
        window = self._windows.within(span.start_ns, end_ns)
        return replace(window, robots=(record.robot,)) if record.robot else window

    def _seen_in(self, name: str, records: Iterable[Any]) -> set[str]:
        """Return the things of the name that were handled then."""
        return _values(records, lambda record: [
            identity_of(item) for item in queries.observations(
                self._store, self._window_of(record), name=name)
            if self._shown.as_known(item).event])

    def _named_in(self, name: str, records: Iterable[Any]) -> set[str]:
        """Return what the runs then call the thing, other than by its kind."""
        whole = self._windows.whole
        kinds = {squash(kind) for kind in queries.known_names(
            self._store, whole.robots, whole.before_ns)['objects']} | {squash(name)}
        return {value for value in _values(records, lambda record: [
            called for run in self._runs_of(record, name) for called in _called(run, name)])
            if squash(value) not in kinds}

    def _runs_of(self, record: Any, name: str) -> list[SkillEvent]:
        """Return the runs of a task that mention the name; of no task, those of the time."""
        found = queries.skill_events(self._store, self._window_of(record), text=roots_of(name))
        if not isinstance(record, SkillEvent):
            return found
        task = (*record.goal_stack, record.skill)
        return [run for run in found
                if run.id == record.id or run.goal_stack[:len(task)] == task
                ] or [run for run in found if not run.goal_stack]  # a source without goals


def _called(run: SkillEvent, name: str) -> list[str]:
    """Return what a run calls the thing of a name: of what it handles and where, which is one."""
    values = dict(named_values(run.parameters))
    return match_names(name, [thing_of(values)]) or match_names(name, values.values())


def _values(records: Iterable[Any], of: Callable[[Any], list[str]]) -> set[str]:
    return {value for record in records for value in of(record) if value}
