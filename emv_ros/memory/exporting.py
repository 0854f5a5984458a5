"""A memory, or a part of it, as a folder: `experience.jsonl` and `pictures/`.

Everything is read in one transaction, a page at a time, so that the export is one state of the
memory, however long it takes, and costs little room. It is written under another name, ends with a
line that counts what it holds, and gets its name last: what was cut off is never taken for whole.
What was forgotten is in no export; what is forgotten afterwards stays in those made before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
import os
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.errors import NotFoundError, StoreError
from emv_ros.memory import schema
from emv_ros.memory.export_choice import Choice
from emv_ros.memory.export_format import (
    END,
    FILE,
    FORMAT,
    HEAD,
    KINDS,
    MERGE,
    PICTURES,
    ROBOT,
    SEPARATION,
    VERSION,
    Kind,
    encoded,
    line_of,
)
from emv_ros.memory.export_parts import parts_of
from emv_ros.memory.export_state import state_lines
from emv_ros.memory.new_folder import NewFolder
from emv_ros.memory.node_heads import PREFIX, digests
from emv_ros.memory.pictures import PictureFolder
from emv_ros.memory.queries import ALL, Window
from emv_ros.memory.store import MemoryStore
from emv_ros.timeline import format_rfc3339, parse_zone

PAGE = 500
MAX_TOLD = 200

Progress = Callable[[int], None]  # lines written


@dataclass
class ExportReport:
    """What was written: lines by type, pictures (files) and bytes; and which pictures were not.

    `damaged` tells the first of these, `damaged_count` how many there are.
    """

    path: Path
    lines: Counter[str] = field(default_factory=Counter)
    pictures: int = 0
    size_bytes: int = 0
    damaged: list[str] = field(default_factory=list)
    damaged_count: int = 0

    def miss(self, what: str) -> None:
        """Note a picture that could not be read."""
        self.damaged_count += 1
        if len(self.damaged) < MAX_TOLD:
            self.damaged.append(what)


def export_memory(
        store: MemoryStore, folder: Path, window: Window = ALL, *, now_ns: int,
        with_queries: bool = False, overwrite: bool = False,
        progress: Progress = lambda done: None) -> ExportReport:
    """Write the rows of a window into a new folder; the tree only where the window has no times.

    Questions and their traces, which may quote anything, go along only `with_queries`. Raises
    ExportError where the folder is there (with `overwrite`: and is no export), or cannot be
    written.
    """
    with NewFolder(folder, FILE, overwrite) as partial:
        report = ExportReport(folder)
        partial.mkdir()
        with (partial / FILE).open('wb') as stream, store.reading() as session:
            choice = Choice(store, session, window)
            _Export(store, choice, partial, stream, now_ns, report, progress).write(with_queries)
            stream.flush()
            os.fsync(stream.fileno())
            report.size_bytes += stream.tell()
    return report


class _Export:
    """The writing of one export."""

    def __init__(self, store: MemoryStore, choice: Choice, folder: Path, stream: BinaryIO,
                 now_ns: int, report: ExportReport, progress: Progress) -> None:
        self._from = store.pictures
        self._to = PictureFolder(folder / PICTURES)
        self._choice = choice
        self._session: Session = choice.session
        self._stream = stream
        self._now = format_rfc3339(now_ns)
        self._report = report
        self._progress = progress

    def write(self, with_queries: bool) -> None:
        """Write all lines."""
        self._line({'type': FORMAT, 'version': VERSION, 'has_tree': self._choice.has_tree})
        for name in self._choice.robots.values():
            self._line({'type': ROBOT, 'name': name})
        for kind in KINDS:
            if kind.name != 'query' or with_queries:
                self._rows(kind)
            if kind.name == 'entity':
                self._merges()
            elif kind.name == 'observation':
                self._separations()
        if self._choice.has_tree:
            self._heads()
        for line in state_lines(self._session, self._choice.robots, self._choice.has_tree,
                                lambda ids: self._choice.kept('observation', ids)):
            self._line(line)
        self._line({'type': END, 'counts': dict(self._report.lines)})

    def _line(self, line: dict[str, Any]) -> None:
        # What has no time of its own gets that of the export, which every line needs.
        self._stream.write(encoded({'t': self._now} | line))
        self._report.lines[line['type']] += 1
        if self._report.lines.total() % PAGE == 0:
            self._progress(self._report.lines.total())

    def _pages(self, query: Any) -> Iterator[list[Any]]:
        for page in self._session.execute(query.execution_options(yield_per=PAGE)).partitions():
            yield list(page)

    def _rows(self, kind: Kind) -> None:
        for rows in self._pages(self._choice.query(kind)):
            parts = parts_of(self._choice, kind, [row.id for row in rows])
            links = self._links(kind, rows)
            for row in rows:
                robot = self._choice.robots.get(getattr(row, 'robot_id', 0), '')
                line = line_of(kind, row, robot, parse_zone(self._choice.zone_of(row)), self._now)
                for column in kind.columns:
                    if column.link and line.get(column.field) not in links[column.link]:
                        line.pop(column.field, None)
                if 'pending' in kind.has and not self._choice.has_tree:
                    line['pending'] = True  # the tree of a part is made anew
                line.pop('merged_into', None)
                if kind.name == 'image':
                    line['path'] = self._picture(row)
                self._line({name: value for name, value in line.items() if value is not None}
                           | parts.get(row.id, {}))

    def _links(self, kind: Kind, rows: Collection[Any]) -> dict[str, set[int]]:
        """Return, by kind, the ids that rows name and that are in the export."""
        named: dict[str, set[int]] = {}
        for column in kind.columns:
            if column.link:
                named.setdefault(column.link, set()).update(
                    value for row in rows if (value := getattr(row, column.name)) is not None)
        return {name: self._choice.kept(name, ids) for name, ids in named.items()}

    def _picture(self, row: Any) -> str | None:
        """Copy a picture, and return its path within the export, None where it is gone or lost."""
        if row.gone:
            return None
        target = self._to.path(row.sha256, row.media_type)
        if not target.exists():
            try:
                data = self._from.read(row.sha256, row.media_type)
            except (NotFoundError, StoreError) as error:
                self._report.miss(f'i{row.id}: {error}')
                return None
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            self._report.pictures += 1
            self._report.size_bytes += len(data)
        return str(target.relative_to(self._to.folder.parent))

    def _merges(self) -> None:
        row = schema.EntityRow
        for rows in self._pages(select(row.id, row.merged_into).where(
                row.merged_into.is_not(None)).order_by(row.id)):
            kept = self._choice.kept('entity', {key for item in rows for key in item})
            for item in rows:
                if {item.id, item.merged_into} <= kept:
                    self._line({'type': MERGE, 'entity': item.id, 'into': item.merged_into})

    def _separations(self) -> None:
        for rows in self._pages(self._choice.separations()):
            for item in rows:
                self._line({'type': SEPARATION, 'first': item.first_id, 'second': item.second_id,
                            'shared_frames': item.shared_frames})

    def _heads(self) -> None:
        """Write what was written of the first children of nodes, where that is still true."""
        row, node = schema.StateRow, schema.NodeRow
        for key, value in self._session.execute(select(row.key, row.value).where(
                row.key.startswith(PREFIX, autoescape=True)).order_by(row.key)):
            parent = int(key.removeprefix(PREFIX))
            children = self._session.execute(
                select(node.id, node.summary).where(
                    node.parent_id == parent, node.robot_id.in_(self._choice.robots))
                .order_by(node.start_ns, node.end_ns, node.id)
                .limit(len(value['told']))).all()
            if children and digests((child.id, child.summary) for child in children) == value[
                    'told']:
                self._line({'type': HEAD, 'node': parent, 'text': value['text'],
                            'children': [child.id for child in children]})
