"""Rows that a text means in other words: by most of its words, by what was done and said within.

Words are compared by their roots; by meaning goes only what a model says of other words.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from emv_ros.agent.console.other_words import OtherWords
from emv_ros.agent.console.shown import Shown
from emv_ros.agent.console.windows import Windows
from emv_ros.agent.roots import roots_of
from emv_ros.memory import queries
from emv_ros.memory.documents import text_of as document_of
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.records import SkillEvent, Status

# Of a text that was copied a row must hold most words.
MOST_WORDS = 0.7
# An activity is meant by words of which most are its name, its parameters or its request.
MEANT_WORDS = 0.6
# By what was done and said within it, nearly all must fit.
MEANT_WITHIN = 0.75
VAGUE = frozenset(('something', 'someth', 'somebody', 'someone', 'person'))

Rows = list[dict[str, Any]]


class MeantRows:
    """Chooses among rows that were shown."""

    def __init__(self, store: MemoryStore, windows: Windows, shown: Shown,
                 other_words: OtherWords) -> None:
        self._store = store
        self._windows = windows
        self._shown = shown
        self._other_words = other_words

    def activities(self, text: str, rows: Rows) -> Rows:
        """Return the activities that a text in other words means: by what was asked for, too."""
        asked = set(roots_of(text).split())
        def share(row: dict[str, Any]) -> float:
            record = self._shown.records[row['id']]
            words = f'{row["told"]} {document_of(record) or ""} {getattr(record, "trigger", "")}'
            said = set(roots_of(words.replace('_', ' ')).split())
            return len(asked & said) / max(1, len(asked))
        best = max(map(share, rows), default=0.0)
        return [row for row in rows if share(row) >= best - 1e-9] if best >= MEANT_WORDS else []

    def activities_by_parts(self, text: str, rows: Rows) -> Rows:
        """Return the activities that a text means by what was done and said within them."""
        asked = set(roots_of(text).split()) - VAGUE
        shares = {row['id']: len(asked & self._roots_within(row)) / len(asked) for row in rows
                  } if len(asked) > 1 else {}
        best = max(shares.values(), default=0.0)
        return [row for row in rows if best >= MEANT_WITHIN and shares[row['id']] >= best - 1e-9]

    def activities_in_other_words(self, text: str, rows: Rows) -> Rows:
        """Return the activities that a model takes a text to mean, with a note that says so."""
        names = self._other_words.meant(text, sorted({row['name'] for row in rows}))
        if names:
            self._shown.note(f'no task is called {text!r}; taken for it: {", ".join(names)}')
        return [row for row in rows if row['name'] in names]

    def besides_reasons(self, text: str, rows: Rows) -> Rows:
        """Return the runs that hold a text otherwise than in why they failed.

        'The coffee machine is broken' may be why no chocolate was brought; who asks how often
        coffee was brought means other runs. Where no run at all is called so, the reason is meant.
        """
        asked = roots_of(text)
        called = [row for row in rows if not _is_by_reason(self._shown.records[row['id']], asked)]
        if len(called) == len(rows) or not all(
                _is_by_reason(event, asked) for event in queries.skill_events(
                    self._store, self._windows.whole, text=asked)):
            return called
        return rows

    def mostly(self, text: str, rows: Rows) -> Rows:
        """Return the runs that hold the most words of a long text, at least most of them."""
        asked = set(roots_of(text).split())
        def share(row: dict[str, Any]) -> float:
            said = set(roots_of(document_of(self._shown.records[row['id']]) or '').split())
            return len(asked & said) / max(1, len(asked))
        best = max(map(share, rows), default=0.0)
        if best < MOST_WORDS:
            return []
        self._shown.note('no row holds all these words; these hold most of them')
        return [row for row in rows if share(row) >= best - 1e-9]

    def _roots_within(self, row: dict[str, Any]) -> set[str]:
        item = self._shown.items[row['id']]
        window = self._windows.within(item.start_ns, item.end_ns)
        task = self._shown.records[row['id']].skill
        parts = [row['told'], *done_within(self._store, window, task),
                 *(words.text for words in queries.utterances(self._store, window))]
        return set(roots_of(' '.join(parts).replace('_', ' ')).split())


def _is_by_reason(event: SkillEvent, asked: str) -> bool:
    return event.status.is_final and event.status is not Status.SUCCEEDED and not queries.says(
        replace(event, narration=''), asked)


def done_within(store: MemoryStore, window: Window, task: str) -> list[str]:
    """Return in words what was done in a window for a task of a name."""
    return [document_of(event) or '' for event in queries.skill_events(store, window)
            if event.goal_stack[:1] == (task,)]


def words_around(store: MemoryStore, window: Window, task: str) -> list[str]:
    """Return in words the tasks of a name that went on in a window, and what asked for them."""
    return [f'{document_of(event) or ""} {event.trigger}' for event in queries.skill_events(
        store, window, skill=task, top_only=True)]
