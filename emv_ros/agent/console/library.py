"""The functions of the console, on this side of the border, by the names that the sandbox calls.

What the sandbox hands over is checked here and never trusted; what goes back are plain values. Each
row that was handed out is remembered as shown: only such rows are evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from emv_ros.agent.asked_times import asked_times, hull
from emv_ros.agent.console.arguments import number, text_of
from emv_ros.agent.console.choosing import Choosing
from emv_ros.agent.console.exact import ExactRows
from emv_ros.agent.console.meant import MeantRows
from emv_ros.agent.console.other_words import OtherWords
from emv_ros.agent.console.pictures import PictureReader
from emv_ros.agent.console.rows import clean, span_of
from emv_ros.agent.console.same_thing import SameThing
from emv_ros.agent.console.sessions import session_at
from emv_ros.agent.console.shown import Shown
from emv_ros.agent.console.tasks import TaskRows
from emv_ros.agent.console.tree_calls import TreeCalls
from emv_ros.agent.console.tree_state import TreeState
from emv_ros.agent.console.windows import Clock, Windows
from emv_ros.agent.retrieved import without_echo
from emv_ros.errors import EmvError, NotFoundError
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.quoting import plain_line
from emv_ros.retrieval.excerpts import unit_line
from emv_ros.retrieval.finding import NO_NEW, Finder
from emv_ros.retrieval.search import Searcher
from emv_ros.retrieval.terms import squash
from emv_ros.retrieval.units import Unit
from emv_ros.timeline import Interval

MAX_ANSWER_CHARS = 10_000
MAX_IDS = 1000
# Records of one unit whose times a row tells.
OF_ONE_ROW = 8


@dataclass(frozen=True, slots=True)
class Ending:
    """What a command ended the run with: answer(text, ids), or not_recorded(text)."""

    text: str
    ids: tuple[str, ...] = ()
    is_answer: bool = True


class Library:
    """What a model's code can call, over one window of one memory.

    `why_stopped` says why no further call may be made ('' while it may): cancelled, out of time.
    """

    def __init__(self, store: MemoryStore, searcher: Searcher, state: TreeState, window: Window,
                 clock: Clock, pictures: PictureReader, max_calls: int, *,
                 question: str = '', choices: Sequence[str] = (), names_a_time: bool = True,
                 top_level: int = 0, why_stopped: Callable[[], str] = lambda: '',
                 other_words: OtherWords | None = None) -> None:
        self.state = state
        self.store = store
        self.clock = clock
        self.zone = clock.zone
        self.shown = Shown(store, clock.zone, window.before_ns, pictures.path_of)
        self.ending: Ending | None = None
        self.lookups = 0  # calls that came back, with or without rows
        self._searcher = searcher
        self._pictures = pictures
        self._window = window
        self._windows = Windows(window, clock, names_a_time, self.shown.note, self.session,
                                question, hull(asked_times(question, clock)))
        self._calls_left = max_calls
        self._top_level = top_level
        self._question = question
        self.choices = tuple(plain_line(choice) for choice in choices)
        self._why_stopped = why_stopped
        self.other_words = other_words or OtherWords(searcher.similarity)
        meant = MeantRows(store, self._windows, self.shown, self.other_words)
        self.exact = ExactRows(
            store, searcher, self._windows, self.shown, meant, bool(self.choices))
        self.tasks = TaskRows(store, searcher, self._windows, self.shown, meant)
        self.choosing = Choosing(self.exact, searcher, self._windows, self.shown, self.choices)
        self._same = SameThing(store, self._windows, self.shown)
        self._finder = Finder(store, searcher)
        self._read: set[tuple[str, int]] = set()
        self._searched: dict[tuple[str, Window], list[dict[str, Any]]] = {}
        self.tree = TreeCalls(state, searcher.similarity, self._windows, self.shown)

    def session(self, stamp_ns: int) -> Interval:
        """Return the session that begins about or lasts at a stamp."""
        return session_at(self.store, self._window, stamp_ns)

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Return the functions by the names that the prelude calls."""
        exact, tasks, tree, choosing = self.exact, self.tasks, self.tree, self.choosing
        looking: dict[str, Callable[..., Any]] = {
            '_events': exact.events, '_goals': tasks.goals, '_speech': exact.speech,
            '_seen': exact.seen, '_around': tasks.around, '_beside': tasks.beside,
            '_biography': exact.biography, '_days': tree.days, '_children_of': tree.children_of,
            '_expand': tree.expand, '_collapse': tree.collapse, '_records': tree.records,
            '_collapse_all_but': tree.collapse_all_but, '_search_node': tree.search_node,
            '_search': self.search, '_look': self.look, '_moves': choosing.moves,
            '_goals_with': tasks.goals_with, '_request': tasks.request, '_where': exact.where,
            '_still': choosing.still, '_during': choosing.during, '_same': self._same.same}
        ending: dict[str, Callable[..., Any]] = {
            '_answer': self.answer, '_not_recorded': self.not_recorded,
            '_pick': choosing.pick}
        return (self.guarded(looking)
                | {name: _told(function) for name, function in ending.items()})

    @property
    def windows(self) -> Windows:
        """The question's own window, and how words of time narrow it."""
        return self._windows

    def spare(self, calls: int) -> None:
        """Let so many calls be made yet at least: a look of the agent's own needs its few."""
        self._calls_left = max(self._calls_left, calls)

    def guarded(self, looking: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
        """Return functions that look, each of whose calls is counted and tells what is wrong."""
        return {name: _told(self._counted(function)) for name, function in looking.items()}

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            if why := self._why_stopped():
                raise EmvError(why)
            self._calls_left -= 1
            if self._calls_left < 0:
                raise EmvError('too many calls for one question; answer with what you have')
            result = function(*args)
            self.lookups += 1
            return result
        return call

    def search(self, text: Any, start: Any, end: Any, when: Any, k: Any) -> list[dict[str, Any]]:
        """Return what resembles the text, best first: what was not read in an earlier search.

        The same search again gives the same rows, since code may need what was only printed.
        """
        window = self._windows.narrowed(start, end, when)
        wanted, asked = number(8 if k is None else k, 1, 50), text_of(text)
        before = self._searched.get((squash(asked), window), [])
        if before and len(before) >= wanted:
            self.shown.note(NO_NEW)
            return before[:wanted]
        clock = self._windows.clock
        found = self._finder.find(
            asked, window, now_ns=clock.now_ns, zone=clock.zone, limit=wanted, spans=OF_ONE_ROW,
            read=() if before else self._read)
        if found.note:
            self.shown.note(found.note)
        rows = [row for unit in without_echo(found.units, self._question)
                if (row := self._row(unit)) is not None]
        self._searched[squash(asked), window] = rows
        self.shown.found += bool(rows)  # nodes count here: they are what was looked for
        return rows

    def _row(self, unit: Unit) -> dict[str, Any] | None:
        """Return the row of a unit, that of its first record, with the times of all; None if gone.

        All its records are shown, and so are evidence.
        """
        rows = []
        for span in unit.spans:
            try:
                record = self.store.get(unit.kind, span.ref_id)
            except NotFoundError:
                continue  # forgotten since it was indexed
            if self._top_level and unit.kind == 'node' and record.level > self._top_level:
                continue
            rows.append(self.shown.give(unit.kind, record))
            self._read.add((unit.kind, span.ref_id))
        if not rows:
            return None
        if len(unit.spans) > 1:
            rows[0] |= {'count': unit.total, 'line': unit_line(unit, self.zone)}
        return rows[0]

    def look(self, what: Any, question: Any) -> str:
        """Return what the pictures of a shown record show, as far as the question asks for it."""
        _, record = self.shown.record(what)
        return clean(self._pictures.look(record, span_of(record), text_of(question),
                                         self._windows.whole))

    def answer(self, text: Any, ids: Any = ()) -> None:
        """Take the answer; the checks come after the command."""
        listed = ids if isinstance(ids, (list, tuple)) else [ids]
        if self.choices and not listed:
            listed = self.choosing.picked_by
        self.ending = Ending(str(text)[:MAX_ANSWER_CHARS],
                             tuple(str(item)[:200] for item in listed[:MAX_IDS]))

    def not_recorded(self, reason: Any = '') -> None:
        """Take the word that memory holds no answer, unless one was given just before."""
        if self.ending is not None and self.ending.is_answer:
            return  # `if rows: answer(…)` and then not_recorded(…) without an else
        self.ending = Ending(clean(str(reason)), is_answer=False)


def _told(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let what the arguments did wrong reach the model as an error on one line."""
    def call(*args: Any) -> Any:
        try:
            return function(*args)
        except (EmvError, TypeError, ValueError, AttributeError, ArithmeticError,
                LookupError) as error:
            raise ValueError(clean(str(error)) or type(error).__name__) from error
    return call
