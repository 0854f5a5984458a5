"""Which of several like things a description means: 'the mug that I drank from'.

Things are told apart by the identity of their rows: an instance that a source vouches for, or an
entity. A record that is about the description and names one of them decides: by its words, by what
an observation of it tells, or since it was going on when one of them alone was handled. Where no
record is, and the description says that the thing was used, the only one that was. Else all stay.
"""

from __future__ import annotations

from collections.abc import Iterable
import re
from typing import Any

from emv_ros.agent.asked import is_mentioned, things_in
from emv_ros.agent.console.rows import identity_of, parse_id
from emv_ros.agent.console.shown import Shown
from emv_ros.agent.console.windows import Windows
from emv_ros.agent.roots import root_of
from emv_ros.errors import NotFoundError
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Observation
from emv_ros.retrieval.search import Hit, Searcher

DESCRIBING = 8
# A record this near to a description is about it, also in other words.
ABOUT = 0.55
MAX_NAMED = 6
# What is done with a thing by who has it in hand; roots of all forms.
_USES = frozenset(
    root_of(form) for verb in (
        'borrow', 'bring', 'carry', 'drink', 'eat', 'empty', 'fetch', 'fill', 'get', 'give', 'hand',
        'hold', 'lift', 'move', 'pick', 'pour', 'put', 'return', 'serve', 'take', 'touch', 'use',
        'wash')
    for form in (verb, f'{verb}ed', f'{verb}d', f'{verb}ing', f'{verb[:-1]}ing'))
# In the hands of a person, not in those of the robot.
_IN_HAND = re.compile(r'\b(?:held|drunk from|eaten from|used) by (?!robot|gripper)')
_WORD = re.compile(r'\w+')
Rows = list[dict[str, Any]]


class LikeThings:
    """Chooses among the rows of one question."""

    def __init__(self, store: MemoryStore, searcher: Searcher, windows: Windows,
                 shown: Shown) -> None:
        self._store = store
        self._searcher = searcher
        self._windows = windows
        self._shown = shown

    def one_of(self, rows: Rows, name: str, described: str) -> Rows:
        """Of several like things keep the one that is described; all, and a note, if none is."""
        identities = {row['instance'] for row in rows if row['instance']}
        if len(identities) < 2:
            return rows
        chosen = self._by_records(rows, identities, name, described) or (
            self._by_use(rows, identities, described))
        if chosen is None:
            self._shown.note(f'which of {len(identities)} like things is meant is not told: '
                             f'{", ".join(sorted(identities)[:MAX_NAMED])}')
            return rows
        identity, told = chosen
        self._shown.links.append(told['id'])
        self._shown.explained[told['id']] = described
        self._shown.note(f'of {len(identities)} like things {identity!r} is meant, by '
                         f'{told["line"]}')
        return [row for row in rows if row['instance'] == identity]

    def _by_records(self, rows: Rows, identities: set[str], name: str,
                    described: str) -> tuple[str, dict[str, Any]] | None:
        """Return the thing that records about the description name, and the first of these.

        Observations that disagree decide nothing.
        """
        asked = [thing for thing in things_in(described) if not is_mentioned(thing, name)]
        seen: list[tuple[str, Hit]] = []
        for hit in self._searcher.search(described, self._windows.whole, k=DESCRIBING).hits:
            is_said = any(is_mentioned(thing, hit.text) for thing in asked)
            is_near = (hit.similarity or 0) >= ABOUT
            named = [identity for identity in identities if _holds(hit.text, identity)]
            if len(named) == 1 and (is_said or is_near):
                return named[0], self._give(hit)
            # A thing that only stands there is near to any description by its name.
            identity = self._meant_by(hit, rows, is_said)
            if identity in identities and (is_said or is_near):
                seen.append((identity, hit))
        if seen and len({identity for identity, _ in seen}) == 1:
            return seen[0][0], self._give(seen[0][1])
        return None

    def _meant_by(self, hit: Hit, rows: Rows, is_said: bool) -> str:
        """Return the thing that a record is of, or that was handled in its time; '' for none."""
        if hit.kind == 'observation':
            record = self._record(hit)
            is_telling = isinstance(record, Observation) and (is_said or bool(record.event))
            return identity_of(record) if is_telling else ''
        if hit.kind != 'skill_event':
            return ''
        handled = {row['instance'] for row in rows if _is_handled(row)
                   and self._shown.items[row['id']].start_ns < hit.end_ns
                   and self._shown.items[row['id']].end_ns > hit.start_ns}
        return handled.pop() if len(handled) == 1 else ''

    def _by_use(self, rows: Rows, identities: set[str],
                described: str) -> tuple[str, dict[str, Any]] | None:
        if not any(root_of(word) in _USES for word in _WORD.findall(described)):
            return None
        for is_it in (_is_in_hand, _is_handled):
            used = [row for row in rows if row['instance'] in identities and is_it(row)]
            if len({row['instance'] for row in used}) == 1:
                return used[0]['instance'], used[0]
        return None

    def _record(self, hit: Hit) -> Any:
        try:
            return self._shown.as_known(self._store.get(hit.kind, hit.ref_id))
        except NotFoundError:
            return None  # forgotten since it was indexed

    def _give(self, hit: Hit) -> dict[str, Any]:
        return self._shown.give(hit.kind, self._store.get(hit.kind, hit.ref_id))


def of_entity(rows: Iterable[dict[str, Any]]) -> list[int]:
    """Return the entities that rows are of, in the order of the rows."""
    parsed = (parse_id(row['instance']) for row in rows if row['kind'] == 'observation')
    return list(dict.fromkeys(item[1] for item in parsed if item and item[0] == 'entity'))


def _is_in_hand(row: dict[str, Any]) -> bool:
    return row['kind'] == 'observation' and _IN_HAND.search(row['text']) is not None


def _is_handled(row: dict[str, Any]) -> bool:
    return bool(row['kind'] == 'observation' and row['event'])


def _holds(text: str, name: str) -> bool:
    return re.search(rf'(?<!\w){re.escape(name)}(?!\w)', text) is not None
