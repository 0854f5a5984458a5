"""The functions of the console, on this side of the border: exact rows, search, the tree, pictures, the answer.

What the sandbox hands over is checked here and never trusted; what goes back are plain values. Each row that was
handed out is remembered as shown: only such rows are evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from emv_ros.agent.answers import EvidenceItem
from emv_ros.agent.console.pictures import PictureReader
from emv_ros.agent.console.rows import (
    annotation_row, clean, evidence_item, node_row, observation_row, parse_id, row_of, skill_row,
    span_of, speech_row)
from emv_ros.agent.console.sightings import sighting_rows
from emv_ros.agent.console.tree_state import TreeState
from emv_ros.agent.console.windows import Clock, narrowed
from emv_ros.errors import EmvError, NotFoundError
from emv_ros.memory import queries
from emv_ros.memory.queries import Page, Window
from emv_ros.memory.rows import KIND_OF
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Node, Status
from emv_ros.retrieval.search import Searcher
from emv_ros.timeline import HOUR_NS, MINUTE_NS, Interval

MAX_ROWS = 1000
BESIDE = 500

STATUSES = {'fail': 'failed', 'failure': 'failed', 'success': 'succeeded', 'done': 'succeeded',
            'completed': 'succeeded', 'abort': 'aborted', 'cancelled': 'canceled',
            'cancel': 'canceled', 'started': 'running'}


class Library:
    """What a model's code can call, over one window of one memory."""

    def __init__(self, store: MemoryStore, searcher: Searcher, state: TreeState, window: Window,
                 clock: Clock, pictures: PictureReader, max_calls: int,
                 names_a_time: bool = True) -> None:
        self.shown: dict[str, EvidenceItem] = {}
        self.notes: list[str] = []
        self.final: tuple[str, str, list[str]] | None = None  # kind, text, evidence ids
        self.state = state
        self.found = 0  # records handed out, other than nodes
        self.store = store
        self._searcher = searcher
        self._window = window
        self._clock = clock
        self.zone = clock.zone
        self._pictures = pictures
        self._calls_left = max_calls
        self._names_a_time = names_a_time

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Return the functions by the names that the prelude calls."""
        table: dict[str, Callable[..., Any]] = {
            '_events': self.events, '_goals': self.goals, '_speech': self.speech,
            '_seen': self.seen, '_search': self.search, '_days': self.days,
            '_around': self.around, '_beside': self.beside, '_biography': self.biography, '_look': self.look,
            '_children_of': self.children_of, '_expand': self.expand, '_collapse': self.collapse,
            '_collapse_all_but': self.collapse_all_but, '_search_node': self.search_node,
            '_records': self.records, '_answer': self.answer, '_not_recorded': self.not_recorded}
        return {name: self._counted(function) for name, function in table.items()}

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            self._calls_left -= 1
            if self._calls_left < 0:
                raise RuntimeError('too many calls for one question; answer with what you have')
            try:
                return function(*args)
            except (EmvError, TypeError, AttributeError) as error:
                raise ValueError(str(error)) from error
        return call

    # Exact rows

    def events(self, skill: Any, status: Any, goal: Any, text: Any, start: Any, end: Any,
               when: Any, limit: Any) -> list[dict[str, Any]]:
        """Return runs of skills, and narrations where only text or time is asked."""
        window = self._narrow(start, end, when)
        found = queries.skill_events(
            self.store, window, skill=_text(skill), status=_statuses(status), goal=_text(goal),
            text=_text(text), page=Page(limit=MAX_ROWS))
        rows = [self._give('skill_event', event, skill_row(event, self.zone)) for event in found]
        if not (skill or status or goal):
            rows += self._annotations(window, text, '')
        if not rows and skill:
            self._note_names('skills', _text(skill))
        return self._limited(rows, limit, 'events')

    def goals(self, text: Any, status: Any, start: Any, end: Any, when: Any,
              limit: Any) -> list[dict[str, Any]]:
        """Return what was done at the top: runs within no goal, and goals that a source named."""
        window = self._narrow(start, end, when)
        found = queries.skill_events(self.store, window, status=_statuses(status),
                                     text=_text(text), top_only=True, page=Page(limit=MAX_ROWS))
        rows = [self._give('skill_event', event, skill_row(event, self.zone)) for event in found]
        if not status:
            rows += self._annotations(window, text, 'goal')
        return self._limited(rows, limit, 'goals')

    def around(self, when: Any, minutes: Any) -> list[dict[str, Any]]:
        """Return what was done at about a time: from half the minutes before it to all after it."""
        span = self._clock.interval_of(when)
        if span.end_ns - span.start_ns > 12 * HOUR_NS:
            raise EmvError(f'around() takes a moment; for {when!r} use days(when=…) or goals(when=…)')
        margin = max(1, min(int(minutes), 24 * 60)) * MINUTE_NS
        near = queries.skill_events(
            self.store, self._within(span.start_ns - margin // 2, span.end_ns + margin),
            top_only=True, page=Page(limit=MAX_ROWS))
        rows = [self._give('skill_event', event, skill_row(event, self.zone)) for event in near]
        rows += self._annotations(
            self._within(span.start_ns - margin // 2, span.end_ns + margin), None, 'goal')
        return self._limited(rows, None, 'around')

    def _annotations(self, window: Window, text: Any, kind: str) -> list[dict[str, Any]]:
        found = queries.annotations(self.store, window, kind=kind, text=_text(text),
                                    page=Page(limit=MAX_ROWS))
        return [self._give('annotation', item, annotation_row(item, self.zone)) for item in found]

    def speech(self, text: Any, speaker: Any, start: Any, end: Any, when: Any,
               limit: Any) -> list[dict[str, Any]]:
        """Return what was said."""
        found = queries.utterances(self.store, self._narrow(start, end, when), text=_text(text),
                                   speaker=_text(speaker), page=Page(limit=MAX_ROWS))
        rows = [self._give('utterance', words, speech_row(words, self.zone)) for words in found]
        if not rows and speaker:
            self._note_names('speakers', _text(speaker))
        return self._limited(rows, limit, 'speech')

    def seen(self, name: Any, start: Any, end: Any, when: Any, instance: Any,
             limit: Any) -> list[dict[str, Any]]:
        """Return when and where an object was seen or handled, in stretches of the same place."""
        window = self._narrow(start, end, when)
        asked = _text(name)
        rows: list[dict[str, Any]] = []
        for wanted in _shorter_names(asked):
            rows = self._seen(window, wanted, _text(instance))
            if rows or not wanted:
                if rows and wanted != asked:
                    self.notes.append(f'nothing is called {asked!r}; these are called {wanted!r}')
                break
        if not rows and asked:
            self._note_names('objects', asked)
        return self._limited(rows, limit, 'seen')

    def _seen(self, window: Window, name: str, instance: str) -> list[dict[str, Any]]:
        rows = []
        for scene, span, fields in sighting_rows(
                self.store, window, name, instance, self.zone):
            rows.append(self._give('scene', scene, fields, span))
        for item in queries.observations(self.store, window, name=name, page=Page(limit=MAX_ROWS)):
            if not instance or item.instance == instance:
                rows.append(self._give('observation', item, observation_row(item, self.zone)))
        return rows

    def beside(self, shown: Any, count: Any) -> list[dict[str, Any]]:
        """Return the runs or goals just before (count < 0) or after a shown record, nearest first."""
        kind, ref_id = self._parsed(shown)
        record = self.store.get(kind, ref_id)
        span, wanted = span_of(record), max(1, min(abs(int(count)), 20))
        is_before = int(count) < 0
        window = replace(self._window, robots=(record.robot,))
        if is_before:
            window = replace(window, end_ns=min(span.start_ns, window.end_ns or span.start_ns))
        else:
            first = max(span.start_ns, window.start_ns or 0)
            window = replace(window, start_ns=first)
        stack = getattr(record, 'goal_stack', ())
        events = [event for event in queries.skill_events(
                      self.store, window, page=Page(limit=BESIDE, newest_first=is_before))
                  if event.goal_stack == stack and event.id != record.id
                  and (is_before or event.stamp_ns >= span.start_ns)]
        rows = [self._give('skill_event', event, skill_row(event, self.zone)) for event in events]
        if kind != 'skill_event' or not stack:
            rows += [row for row in self._annotations(window, None, 'goal')
                     if row['id'] != shown]
        rows.sort(key=lambda row: self.shown[row['id']].start_ns, reverse=is_before)
        return rows[:wanted]

    # Search, biographies, pictures

    def search(self, text: Any, start: Any, end: Any, when: Any, k: Any) -> list[dict[str, Any]]:
        """Return what resembles the text, best first."""
        window = self._narrow(start, end, when)
        result = self._searcher.search(_text(text), window, k=max(1, min(int(k or 8), 50)))
        if result.note:
            self.notes.append(result.note)
        rows = []
        for hit in result.hits:
            try:
                record = self.store.get(hit.kind, hit.ref_id)
            except NotFoundError:
                continue  # forgotten since it was indexed
            rows.append(self._give(hit.kind, record, row_of(hit.kind, record, self.zone)))
        return rows

    def biography(self, entity: Any) -> list[str]:
        """Return the dated record of one thing, by instance or name, as lines."""
        asked = _text(entity)
        rows = (self.seen(None, None, None, None, asked, None) if asked else [])
        rows = rows or self.seen(asked, None, None, None, None, None)
        return [row['line'] for row in rows]

    def look(self, what: Any, question: Any) -> str:
        """Return what the pictures of a shown record show, as far as the question asks for it."""
        kind, ref_id = self._parsed(what)
        record = self.store.get(kind, ref_id)
        return clean(self._pictures.look(record, span_of(record), _text(question), self._window))

    # The tree

    def children_of(self, shown: Any) -> list[dict[str, Any]]:
        """Return the children of a node."""
        return [self._node(node) for node in self.state.view.children(self._node_id(shown))]

    def expand(self, shown: Any, which: Any) -> list[dict[str, Any]]:
        """Show the children of a node, of its i-th child, of children i to j, or a stretch of time."""
        node_id = self._node_id(shown)
        which = list(which or ())
        if not which:
            self.state.expand(node_id)
            return self.children_of(shown)
        if all(isinstance(item, int) and not isinstance(item, bool) for item in which):
            return [self._node(node) for node in self._expand_indices(node_id, which)]
        first = self._clock.interval_of(which[0])
        last = self._clock.interval_of(which[-1])
        end_ns = last.end_ns if len(which) == 1 else max(last.start_ns, first.end_ns)
        window = Interval(first.start_ns, max(end_ns, first.start_ns + 1))
        found = self.state.expand_window(node_id, window)
        if not found:
            self.notes.append('nothing is recorded in that time')
        return [self._node(node) for node in found]

    def _expand_indices(self, node_id: int, which: list[int]) -> list[Node]:
        children = self.state.view.children(node_id)
        if len(which) == 1:
            if not -len(children) <= which[0] < len(children):
                raise EmvError(f'there is no child {which[0]}: this node has {len(children)}')
            chosen = [children[which[0]]]
        else:
            chosen = children[which[0]:which[1]]
        self.state.expand(node_id)
        for child in chosen:
            self.state.expand(child.id or 0)
        return chosen

    def collapse(self, shown: Any) -> None:
        """Hide what is below a node."""
        self.state.collapse(self._node_id(shown))

    def collapse_all_but(self, shown: Any, keep: Any) -> None:
        """Collapse what is below a node except the given nodes."""
        self.state.collapse_all_but(self._node_id(shown), {self._node_id(item) for item in keep})

    def search_node(self, shown: Any, text: Any, k: Any) -> list[dict[str, Any]]:
        """Show only the children that match a text; where none does, nothing changes."""
        node_id = self._node_id(shown)
        children = self.state.view.children(node_id)
        matches = self._searcher.similarity.best(
            _text(text), [child.summary for child in children], k=max(1, min(int(k or 5), 50)))
        chosen = [children[index] for index, _ in sorted(matches)]
        if not chosen:
            self.notes.append('no child of this node matches')
            return []
        self.state.expand(node_id, [child.id or 0 for child in chosen])
        return [self._node(node) for node in chosen]

    def records(self, shown: Any) -> list[dict[str, Any]]:
        """Return the records that a node was made of."""
        rows = []
        for record in self.state.view.records(self._node_id(shown)):
            kind = KIND_OF[type(record)]
            rows.append(self._give(kind, record, row_of(kind, record, self.zone)))
        return rows[:MAX_ROWS]

    def days(self, when: Any, start: Any, end: Any) -> list[dict[str, Any]]:
        """Return the nodes of the days that hold records."""
        window = self._narrow(start, end, when)
        return [self._node(node) for node in self.state.view.days(window.start_ns, window.end_ns)]

    def covered_days(self, most: int = 20) -> tuple[EvidenceItem, ...]:
        """Return the days of the question's window that hold records, the latest `most` of them."""
        rows = self.days(None, None, None)[-most:]
        return tuple(self.shown[row['id']] for row in rows)

    # The end

    def answer(self, text: Any, ids: Any) -> None:
        """Take the answer; the checks come after the command."""
        self.final = ('answer', _text(text), [str(item) for item in list(ids or ())[:200]])

    def not_recorded(self, reason: Any) -> None:
        """Take the word that memory holds no answer."""
        self.final = ('not_recorded', _text(reason), [])

    # Inside

    def root_row(self) -> dict[str, Any]:
        """Return the root of the tree for the console."""
        return self._node(self.state.view.root)

    def _within(self, start_ns: int, end_ns: int) -> Window:
        known = self._window
        return replace(known, start_ns=max(start_ns, known.start_ns or start_ns),
                       end_ns=min(end_ns, known.end_ns or end_ns))

    def _narrow(self, start: Any, end: Any, when: Any) -> Window:
        # Small models copy a time from an example into a question that names none.
        if not self._names_a_time and any(isinstance(item, str) for item in (start, end, when)):
            self.notes.append('the question names no time, so the time was left out')
            start, end, when = (None if isinstance(item, str) else item
                                for item in (start, end, when))
        return narrowed(self._window, start, end, when, self._clock)

    def _give(self, kind: str, record: Any, fields: dict[str, Any],
              span: Interval | None = None) -> dict[str, Any]:
        """Remember a row as shown and return it; one scene may stand for several objects in turn."""
        self.found += kind != 'node'
        self.shown[fields['id']] = evidence_item(
            fields, span or span_of(record), self._pictures.path_of(kind, record))
        return fields

    def _node(self, node: Node) -> dict[str, Any]:
        return self._give('node', node, node_row(node, self.zone))

    def _node_id(self, shown: Any) -> int:
        kind, ref_id = self._parsed(shown)
        if kind != 'node':
            raise EmvError(f'{shown} is no node of the tree')
        return ref_id

    def _parsed(self, shown: Any) -> tuple[str, int]:
        parsed = parse_id(str(shown))
        if parsed is None or str(shown) not in self.shown:
            raise EmvError(f'{clean(str(shown))[:40]} is no id that was shown')
        return parsed

    def _limited(self, rows: list[dict[str, Any]], limit: Any, what: str) -> list[dict[str, Any]]:
        rows.sort(key=lambda row: (self.shown[row['id']].start_ns, row['id']))
        if len(rows) >= MAX_ROWS:
            self.notes.append(f'{what} found more than {MAX_ROWS} rows: narrow the time or the name')
        if isinstance(limit, int) and limit:
            return rows[:limit] if limit > 0 else rows[limit:]
        return rows

    def _note_names(self, kind: str, asked: str) -> None:
        known = queries.known_names(self.store, self._window.robots)[kind]
        best = self._searcher.similarity.best(asked, known, k=6)
        near = ', '.join(clean(known[index]) for index, _ in best)
        self.notes.append(f'no {kind} are called {clean(asked)!r}'
                          + (f'; the nearest are: {near}' if near else ''))


def _text(value: Any) -> str:
    """Return a name or text argument; None is ''. Raises for what is neither."""
    if value is None:
        return ''
    if not isinstance(value, str):
        raise EmvError(f'a text is needed, not {str(value)[:40]!r}')
    return value[:500]


def _statuses(value: Any) -> list[str]:
    asked = [value] if isinstance(value, str) else list(value or ())
    known = {str(status) for status in Status}
    statuses = [STATUSES.get(str(item).lower(), str(item).lower()) for item in asked]
    for status in statuses:
        if status not in known:
            raise EmvError(f'no status {status!r}; use one of {", ".join(sorted(known))}')
    return statuses


def _shorter_names(name: str) -> list[str]:
    """Return the name, then without its first words: 'red mug', 'mug'."""
    words = name.split()
    return [' '.join(words[index:]) for index in range(len(words))] or ['']
