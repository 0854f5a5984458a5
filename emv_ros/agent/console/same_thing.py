"""Whether a thing of a name was the same in two stretches of time: which one was handled in each.

Things are told apart by the identity of their sightings, else by what runs call them, where that is
more than the name of their kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from emv_ros.agent.console.arguments import text_of
from emv_ros.agent.console.exact import ExactRows
from emv_ros.agent.console.rows import local, span_of
from emv_ros.agent.console.shown import Shown
from emv_ros.agent.console.windows import Windows
from emv_ros.errors import EmvError
from emv_ros.memory import queries
from emv_ros.memory.names import squash
from emv_ros.memory.store import MemoryStore

MAX_NAMED = 6


class SameThing:
    """Compares the things of one question's rows."""

    def __init__(self, store: MemoryStore, exact: ExactRows, windows: Windows,
                 shown: Shown) -> None:
        self._store = store
        self._exact = exact
        self._windows = windows
        self._shown = shown

    def same(self, name: Any, one: Any, two: Any) -> str:
        """Return 'Yes' or 'No'; `one` and `two` are ids of shown rows, most often of tasks.

        Raises EmvError where it is not told which thing of the name was handled.
        """
        asked = text_of(name)
        sides = [[self._span_of(item) for item in side] for side in (one, two)]
        if not asked or not all(sides):
            raise EmvError('same() takes the name of a thing and the rows of two tasks: one of '
                           'them has no rows, look with other words')
        for identities in (self._seen_in, self._named_in):
            found = [identities(asked, side) for side in sides]
            if all(found):
                break
        for side in found:
            if len(side) != 1:
                told = f'it may be {", ".join(sorted(side)[:MAX_NAMED])}' if side else (
                    'no record tells')
                raise EmvError(f'which {asked} it was is not told: {told}')
        return 'Yes' if found[0] == found[1] else 'No'

    def _span_of(self, shown_id: Any) -> list[Any]:
        _, record = self._shown.record(shown_id)
        item, zone = span_of(record), self._windows.clock.zone
        return [local(item.start_ns, zone), local(item.end_ns, zone)]

    def _seen_in(self, name: str, spans: Iterable[list[Any]]) -> set[str]:
        return _values(spans, lambda span: [
            row['instance'] for row in self._exact.seen(name, None, None, span, None, None)
            if row['event']])

    def _named_in(self, name: str, spans: Iterable[list[Any]]) -> set[str]:
        whole = self._windows.whole
        kinds = {squash(kind) for kind in queries.known_names(
            self._store, whole.robots, whole.before_ns)['objects']} | {squash(name)}
        return _values(spans, lambda span: [
            row['thing'] for row in self._exact.events(
                None, None, None, name, None, None, span, None)
            if squash(row['thing']) not in kinds])


def _values(spans: Iterable[list[Any]], of: Callable[[list[Any]], list[str]]) -> set[str]:
    return {value for span in spans for value in of(span) if value}
