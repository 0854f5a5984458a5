"""Recorded logs beside the checkout: their lines as they stand, and the tree grown from them.

The lines are read here without any code of the project, so that what a test works out from them
stands on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
import json
from pathlib import Path
from typing import Any

from life_parts import SETTINGS, open_memory
from sqlalchemy import select

from emv_ros.ingest.importing import import_path
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.memory.writer import BatchWriter
from emv_ros.settings import TreeSettings
from emv_ros.tree.consolidate import consolidate

DATA = Path(__file__).resolve().parents[3] / 'shared' / 'data'
SECOND = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Return the lines with `start` and `end` in ns, in order of time; a line given twice once."""
    found = {}
    for text in path.read_text(encoding='utf-8').splitlines():
        line = json.loads(text)
        line['start'] = nanoseconds(line['t'])
        line['end'] = nanoseconds(line.get('t_end', line['t']))
        found.setdefault(json.dumps(line, sort_keys=True), line)
    return sorted(found.values(), key=lambda line: line['start'])


def nanoseconds(stamp: str) -> int:
    """Return an RFC 3339 stamp as ns since the epoch, exactly."""
    since = datetime.fromisoformat(stamp) - _EPOCH
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1000


def grow(path: Path, folder: Path, zone: str = 'UTC',
         settings: TreeSettings = SETTINGS) -> MemoryStore:
    """Return a memory with the file imported and consolidated without a model."""
    store = open_memory(folder, 'robot', zone)
    writer = BatchWriter(store)
    import_path(path, writer, robot='robot', zone=zone)
    writer.close()
    consolidate(store, settings)
    return store


@dataclass
class Grown:
    """A node of level 2 or 3. `records` are its own, each (kind, start, name or words)."""

    level: int
    name: str
    status: str
    start: int
    end: int
    text: str
    records: list[tuple[str, int, str]] = field(default_factory=list)
    parent: Grown | None = None
    children: list[Grown] = field(default_factory=list)

    def all_records(self) -> list[tuple[str, int, str]]:
        """Return its records and those of all below it."""
        return sorted([*self.records, *(record for child in self.children
                                        for record in child.all_records())])


def nodes_of(store: MemoryStore) -> list[Grown]:
    """Return the events and goals of a memory, in order of time."""
    row, member = schema.NodeRow, schema.NodeMemberRow
    words = {'skill_event': 'skill', 'utterance': 'text', 'annotation': 'text',
             'observation': 'name', 'scene': 'camera'}
    with store.reading() as session:
        rows = list(session.scalars(select(row).where(row.level <= 3).order_by(
            row.start_ns, row.level.desc(), row.id)))
        nodes = {node.id: Grown(node.level, node.name, node.status, node.start_ns, node.end_ns,
                                node.summary) for node in rows}
        records = {(kind, found.id): (kind, found.stamp_ns, getattr(found, words[kind]))
                   for kind in words for found in session.scalars(select(schema.KINDS[kind]))}
        for item in session.scalars(select(member)):
            nodes[item.node_id].records.append(records[item.kind, item.ref_id])
        for node in rows:
            if node.parent_id in nodes:
                nodes[node.id].parent = nodes[node.parent_id]
                nodes[node.parent_id].children.append(nodes[node.id])
    return list(nodes.values())


def one_line(text: str) -> str:
    """Return a text as a node quotes it: on one line, its double quotes single."""
    return ' '.join(text.replace('"', "'").split())


def share(found: Sequence[bool]) -> float:
    """Return the share that is true; 1 of nothing."""
    return sum(found) / len(found) if found else 1.0
