"""The exact functions of the console for runs, speech, and what was seen.

They find what fits, all of it: counts, firsts and lasts come from them.
"""

from __future__ import annotations

from collections.abc import Iterable
import re
from typing import Any

from emv_ros.agent.asked import described_things, description_in, is_asked_of
from emv_ros.agent.console.arguments import statuses, text_of
from emv_ros.agent.console.found_rows import MAX_ROWS, FoundRows, Rows
from emv_ros.agent.console.like_things import LikeThings, of_entity
from emv_ros.agent.console.meant import MeantRows
from emv_ros.agent.console.rows import identity_of, parse_id
from emv_ros.agent.console.shown import Shown
from emv_ros.agent.console.sightings import sighting_rows
from emv_ros.agent.console.windows import Windows
from emv_ros.agent.roots import roots_of
from emv_ros.errors import EmvError
from emv_ros.memory import queries
from emv_ros.memory.lives import SEEN_APART, TOLD_APART, namesakes
from emv_ros.memory.names import squash
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Observation
from emv_ros.retrieval.search import Searcher

# Where a name ends and a description begins: 'mug that I drank from'.
_DESCRIPTION = re.compile(
    r',| (?:that|which|who|where|from|of|with|I|we|you|he|she|they|used|for)\b')
# A text of so many words was copied: a row that holds most of them is meant.
LONG_WORDS = 6
# Beside another of its name: why it is another, '' where nobody can tell.
BESIDE_IT = {SEEN_APART: 'a different one, seen apart',
             TOLD_APART: 'a different one, as a person told', '': 'unresolved'}


class ExactRows(FoundRows):
    """Exact rows of one question's window, other than tasks."""

    def __init__(self, store: MemoryStore, searcher: Searcher, windows: Windows,
                 shown: Shown, meant: MeantRows, has_choices: bool = False) -> None:
        super().__init__(store, searcher, windows, shown, meant)
        self._has_choices = has_choices
        self._like_things = LikeThings(store, searcher, windows, shown)

    def events(self, skill: Any, status: Any, goal: Any, text: Any, start: Any, end: Any,
               when: Any, limit: Any) -> Rows:
        """Return runs of skills, and narrations where only text or time is asked."""
        window = self._windows.narrowed(start, end, when)
        rows = self._runs(window, skill=text_of(skill), status=statuses(status),
                          goal=text_of(goal), text=roots_of(text_of(text)))
        if not (skill or status or goal):
            rows += self._annotations(window, text, '')
        if not rows and len(roots_of(text_of(text)).split()) >= LONG_WORDS:
            rows = self._meant.mostly(text_of(text), self._runs(
                window, skill=text_of(skill), status=statuses(status), goal=text_of(goal)))
        if not rows and self._has_choices:
            rows = self._loosened(window, text_of(skill), text_of(goal), text_of(text))
        if not rows and skill:
            self._note_names('skills', text_of(skill))
        return self._ordered(rows, limit)

    def _loosened(self, window: Window, skill: str, goal: str, text: str) -> Rows:
        """Return the runs that fit with a like skill, any skill, or most words of the text.

        Only where one of some choices is the answer: elsewhere what does not fit is not recorded.
        """
        for name in dict.fromkeys((self._like_skill(skill), '')) if skill else ():
            if rows := self._runs(window, skill=name, goal=goal, text=roots_of(text)):
                self._shown.note(f'no run of {skill!r} fits; these are of {name or "any skill"!r}')
                return rows
        if text and (rows := self._meant.mostly(text, self._runs(window, goal=goal))):
            return rows
        if goal and text:
            return self._runs(window, text=roots_of(text))
        return self._within_like_goal(window, goal) if goal else []

    def _within_like_goal(self, window: Window, goal: str) -> Rows:
        """Return the runs within the goal of the nearest name; all where none is near nor asked."""
        names = {name for row in self._runs(window) for name in row['goal'].split(' > ')} - {''}
        near = self._names.nearest(goal, sorted(names))
        if not near and squash(goal) in squash(self._windows.question):
            return []
        self._shown.note(f'nothing was done for {goal!r}; these are of {near or "any goal"!r}')
        return self._runs(window, goal=near)

    def within(self, start_ns: int, end_ns: int) -> Rows:
        """Return the runs and goals that went on between two stamps."""
        window = self._windows.within(start_ns, end_ns)
        return self._ordered(self._runs(window) + self._annotations(window, None, ''), None)

    def speech(self, text: Any, speaker: Any, start: Any, end: Any, when: Any,
               limit: Any) -> Rows:
        """Return what was said.

        Where a speaker that the question does not name said nothing of it, it is what others said:
        small models copy a name from elsewhere.
        """
        window, who = self._windows.narrowed(start, end, when), text_of(speaker)
        rows = self._said(window, text_of(text), who)
        if not rows and who:
            question = self._windows.question
            if text and question and not is_asked_of(who, question):
                rows = self._said(window, text_of(text), '')
                self._shown.note(f'the question names no {who}: this is what anybody said')
            else:
                self._note_names('speakers', who)
        return self._ordered(rows, limit)

    def _said(self, window: Window, text: str, speaker: str) -> Rows:
        return [self._shown.give('utterance', words) for words in self._both_ends(
            lambda page: queries.utterances(self._store, window, text=roots_of(text),
                                            speaker=speaker, page=page))]

    def where(self, name: Any, at: Any) -> Rows:
        """Return the last time that a thing was seen up to a time; of like things one row each."""
        end = None if at is None else self._windows.clock.interval_of(at)
        rows = self._seen(self._windows.whole, '', text_of(name)) if text_of(name) else []
        rows = self._ordered(rows, None) or self.seen(name, None, None, None, None, None)
        latest = {row['instance'] or row['name']: row for row in rows
                  if end is None or self._start_of(row) < end.end_ns}
        return self._ordered(list(latest.values()), None)

    def seen(self, name: Any, start: Any, end: Any, when: Any, instance: Any,
             limit: Any) -> Rows:
        """Return when and where an object was seen or handled, in stretches of the same place."""
        window = self._windows.narrowed(start, end, when)
        asked = text_of(name)
        rows: Rows = []
        for wanted in dict.fromkeys((asked, *_shorter_names(_DESCRIPTION.split(asked)[0]))):
            rows = self._seen(window, wanted, text_of(instance))
            if rows:
                if wanted != asked:
                    self._shown.note(f'nothing is called {asked!r}; these are called {wanted!r}')
                    rows = self._like_things.one_of(rows, wanted, asked)
                break
        if not rows and asked:
            self._note_names('objects', asked)
        return self._ordered(rows, limit)

    def described(self, question: str) -> Rows:
        """Return where the thing was that a question describes ('the mug I drank from'), if any.

        Only where records tell which of several like things it is, or there is but one.
        """
        for described in described_things(question):
            rows = self.seen(described, None, None, None, None, None)
            if rows and len({row['instance'] for row in rows}) == 1:
                return rows
        return []

    def mistaken_for(self, question: str, ids: Iterable[str]) -> str:
        """Return why records are of another thing than the question describes, or ''.

        What describes it there (`the mug I drank from`) is looked up for what the records are of.
        """
        meant: dict[str, set[str]] = {}  # by name: evidence may be hundreds of records of one
        for key in ids:
            record = self._shown.records.get(key)
            if not isinstance(record, Observation):
                continue
            identity, name = identity_of(record), record.name
            described = description_in(question, name) if identity else ''
            if not described:
                continue
            if name not in meant:
                rows = self._seen(self._windows.whole, name, '')
                meant[name] = {
                    row['instance'] for row in self._like_things.one_of(rows, name, described)}
            if identity not in meant[name]:
                return (f'{key} is of {identity}, but {described!r} is '
                        f'{", ".join(sorted(meant[name]))}: use seen({described!r})')
        return ''

    def biography(self, entity: Any) -> list[str]:
        """Return the dated record of a thing, by entity (e3), instance or name, as lines.

        Of several entities of a name each has its lines together, the first that was seen first;
        notes say which of them are known to be different things.
        """
        asked = text_of(entity)
        if not asked:
            raise EmvError('biography() takes the name or the instance of a thing')
        whole = self._windows.whole
        parsed = parse_id(asked)
        if parsed and parsed[0] == 'observation':
            record = self._store.get(*parsed)
            asked = identity_of(record) or record.name
        rows = self._ordered(self._seen(whole, '', asked) or self._seen(whole, asked, ''), None)
        if not rows:
            self._note_names('objects', asked)
        entities = of_entity(rows)
        if len(entities) > 1:
            self._note_verdicts(entities)
            places = {f'e{key}': place for place, key in enumerate(entities)}
            rows.sort(key=lambda row: places.get(row['instance'], len(places)))
        return [row['line'] for row in rows]

    def _note_verdicts(self, entities: list[int]) -> None:
        with self._store.reading() as session:
            others = namesakes(session, entities, self._windows.whole.before_ns)
        for key in entities:
            told = ', '.join(f'e{other} {BESIDE_IT[reason]}'
                             for other, reason in others[key] if other in entities)
            if told:
                self._shown.note(f'beside e{key}: {told}')

    def _seen(self, window: Window, name: str, instance: str) -> Rows:
        """Return rows by name, and of one instance or entity (e3) where that is given."""
        parsed = parse_id(instance)
        entity_id = parsed[1] if parsed and parsed[0] == 'entity' else None
        rows = [self._shown.give('scene', scene, fields, span) for scene, span, fields in
                _halves(list(sighting_rows(self._store, window, name, instance,
                                           self._windows.clock.zone)))]
        found = self._both_ends(lambda page: queries.observations(
            self._store, window, name=name, entity_id=entity_id,
            instance='' if entity_id is not None else instance, page=page))
        return rows + [self._shown.give('observation', item) for item in found]

    def _note_names(self, kind: str, asked: str) -> None:
        whole = self._windows.whole
        known = queries.known_names(self._store, whole.robots, whole.before_ns)[kind]
        if asked.lower() in (name.lower() for name in known):
            return  # it is known, only nothing fits
        best = self._searcher.similarity.best(asked, known, k=6)
        near = ', '.join(known[index] for index, _ in best)
        self._shown.note(f'no {kind} are called {asked!r}'
                         + (f'; the nearest are: {near}' if near else ''))


def _halves(found: list[Any]) -> list[Any]:
    half = MAX_ROWS // 2
    return found if len(found) <= MAX_ROWS else found[:half] + found[-half:]


def _shorter_names(name: str) -> list[str]:
    """Return the name, then without its first words: 'red mug', 'mug'."""
    words = name.split()[:8]
    return [' '.join(words[index:]) for index in range(len(words))] or ['']


