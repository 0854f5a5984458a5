"""Plain events: of records that cannot be read, and of a stretch that cannot be derived.

Nothing that is wrong with some records may keep the others out of the tree, nor the records
themselves: each has an event of its own, with a text that nothing in it can break.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from emv_ros.memory.rows import KIND_OF
from emv_ros.records import Annotation, Observation, Record, Scene, SkillEvent, Status, Utterance
from emv_ros.tree.drafts import Draft

MAX_CHARS = 300
# What damaged values raise when a row is made a record, or when such a record is looked at.
UNREADABLE = (ValueError, TypeError, LookupError, AttributeError)


@dataclass(frozen=True, slots=True)
class Unread:
    """A row that cannot be made a record, and why."""

    kind: str
    ref_id: int
    stamp_ns: int
    why: str

    def __str__(self) -> str:
        return f'{self.kind.replace("_", " ")} {self.ref_id}: {self.why}'


@dataclass(eq=False, slots=True)
class UnreadDraft(Draft):
    """The event of a row that cannot be read."""

    unread: Unread | None = None

    @property
    def members(self) -> list[tuple[str, int]]:
        """The (kind, id) of the row."""
        return [(self.unread.kind, self.unread.ref_id)] if self.unread else []


def unread_drafts(rows: Iterable[Unread]) -> list[Draft]:
    """Return an event for each row that has a place in the tree."""
    return [UnreadDraft(
        row.stamp_ns, row.stamp_ns, unread=row,
        summary=f'a record of the kind {row.kind.replace("_", " ")} that cannot be read')
        for row in rows]


def plain_drafts(records: Iterable[Record]) -> list[Draft]:
    """Return an event for each record, in order of time."""
    drafts = []
    for record in records:
        end_ns = getattr(record, 'end_ns', None)
        name, status = (record.skill, str(record.status)) if isinstance(record, SkillEvent) \
            else ('', '')
        drafts.append(Draft(
            start_ns=record.stamp_ns, end_ns=max(record.stamp_ns, end_ns or 0), records=[record],
            summary=plain_text(record), name=name, status=status))
    return sorted(drafts, key=lambda draft: (draft.start_ns, draft.end_ns, draft.members))


def plain_text(record: Record) -> str:
    """Return what a record says, without anything that could fail."""
    match record:
        case SkillEvent():
            text = f'{record.skill} {record.status}'
        case Utterance():
            said = str(record.text).replace('"', "'")
            text = f'{record.speaker or "someone"} said "{said}"'
        case Scene():
            text = f'saw {", ".join(str(item.name) for item in record.objects)}'
        case Annotation():
            text = str(record.text)
        case Observation():
            text = f'{record.name} {record.event}'
        case _:
            text = ''
    text = storable(' '.join(text.split()))[:MAX_CHARS].strip()
    return text or f'a record of the kind {KIND_OF[type(record)].replace("_", " ")}'


def storable(text: str) -> str:
    """Return a text that a database can hold: half a character, from JSON, is replaced."""
    return text.replace('\0', ' ').encode('utf-8', 'replace').decode()


def check_sound(record: Any) -> None:
    """Raise ValueError for a record whose columns hold values of another kind than theirs."""
    stamps = [record.stamp_ns, *([] if getattr(record, 'end_ns', None) is None
                                 else [record.end_ns])]
    if not all(isinstance(stamp, int) for stamp in stamps):
        raise ValueError(f'its time is no number: {stamps[-1]!r}')
    for name in ('parameters', 'attributes'):
        if not isinstance(getattr(record, name, {}), Mapping):
            raise ValueError(f'its {name} are no mapping')
    for name in ('skill', 'text', 'speaker', 'name', 'event', 'narration', 'location'):
        if not isinstance(getattr(record, name, ''), str):
            raise ValueError(f'its {name} is no text')
    if isinstance(record, SkillEvent):
        if not all(isinstance(name, str) for name in record.goal_stack):
            raise ValueError('its goal stack holds what is no name')
        for status, stamp_ns in record.transitions:
            Status(status)
            if not isinstance(stamp_ns, int):
                raise ValueError(f'the time of a change of state is no number: {stamp_ns!r}')
