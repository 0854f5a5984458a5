"""What one question's console has handed out: only such rows are evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import tzinfo
from typing import Any

from emv_ros.agent.answers import EvidenceItem
from emv_ros.agent.console.rows import clean, evidence_item, parse_id, row_of, shown_id, span_of
from emv_ros.errors import EmvError
from emv_ros.memory.activities import is_made
from emv_ros.memory.queries import as_of, seen_as_of
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Node, Observation, SkillEvent
from emv_ros.timeline import Interval

MAX_NOTES = 6


class Shown:
    """The rows that were handed out, by id, and notes for the model.

    `path_of` gives the picture behind a record. `before_ns` is the time of the question: records
    reach up to it.
    """

    def __init__(self, store: MemoryStore, zone: tzinfo, before_ns: int | None,
                 path_of: Callable[[str, Any], str]) -> None:
        self.items: dict[str, EvidenceItem] = {}
        self.records: dict[str, Any] = {}
        self.notes: list[str] = []
        self.links: list[str] = []  # ids that tell which of several like things is meant
        self.explained: dict[str, str] = {}  # the descriptions that such records stand for
        self.found = 0  # rows handed out, other than nodes
        self.store = store
        self.zone = zone
        self._before_ns = before_ns
        self._path_of = path_of

    def give(self, kind: str, record: Any, fields: dict[str, Any] | None = None,
             span: Interval | None = None) -> dict[str, Any]:
        """Remember a record as shown and return its row; a scene may stand for objects in turn.

        A goal that was made of its steps has the id of the first, and stays what the id stands for.
        """
        record = self.as_known(record)
        fields = fields or row_of(kind, record, self.zone)
        self.found += kind != 'node'
        if is_made(self.records.get(fields['id'])) and not is_made(record):
            return fields
        self.records[fields['id']] = record
        self.items[fields['id']] = evidence_item(
            fields, span or span_of(record), self._path_of(kind, record))
        return fields

    def nodes(self, found: list[Node]) -> list[dict[str, Any]]:
        """Remember nodes as shown and return their rows."""
        return [self.give('node', node) for node in found]

    def as_known(self, record: Any) -> Any:
        """Return a record as it stood at the time of the question."""
        return known_at(record, self._before_ns)

    def parsed(self, shown: Any) -> tuple[str, int]:
        """Return (kind, id) of what the sandbox names, or raise where it was never shown."""
        key = shown.strip().lower() if isinstance(shown, str) else ''
        parsed = parse_id(key)
        if parsed is None or key not in self.items:
            raise EmvError(f'{str(shown)[:40]!r} is no id that was shown')
        return parsed

    def record(self, shown: Any) -> tuple[str, Any]:
        """Return (kind, record) of what the sandbox names, read anew."""
        kind, ref_id = self.parsed(shown)
        given = self.records[shown_id(kind, ref_id)]
        if is_made(given):
            return kind, given  # the store holds its steps
        return kind, self.as_known(self.store.get(kind, ref_id))

    def note(self, text: str) -> None:
        """Tell the model something besides the rows, once."""
        text = clean(text)
        if text not in self.notes and len(self.notes) < MAX_NOTES:
            self.notes.append(text)


def known_at(record: Any, before_ns: int | None) -> Any:
    """Return a record as it stood just before `before_ns`; its end is not known before it came."""
    if before_ns is None:
        return record
    if isinstance(record, SkillEvent):
        return as_of(record, before_ns)
    if isinstance(record, Observation):
        return seen_as_of(record, before_ns)
    if getattr(record, 'end_ns', None) is not None and record.end_ns > before_ns:
        return replace(record, end_ns=before_ns)
    return record
