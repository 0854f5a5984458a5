"""The memory: one database and one folder of pictures, opened by any number of processes.

Writes are short transactions that wait their turn; reads see a consistent state. Whoever writes at a rate uses
`emv_ros.memory.writer.BatchWriter`, which commits in batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
import os
from pathlib import Path
import threading
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session as OrmSession

from emv_ros.errors import NotFoundError, RecordError, StoreError
from emv_ros.memory import schema
from emv_ros.memory.database import open_engine, sqlite_url, transaction
from emv_ros.memory.documents import text_of
from emv_ros.memory.folding import fold
from emv_ros.memory.migrate import migrate
from emv_ros.memory.pictures import PictureFolder
from emv_ros.memory.rows import KIND_OF, record_of, row_of, scene_rows
from emv_ros.records import (
    ImageRecord, ModelCall, Node, QueryRecord, Record, Scene, Session, SkillReport)
from emv_ros.settings import MemorySettings
from emv_ros.timeline import MAX_NS, MIN_NS


class MemoryStore:
    """An open memory. Safe to share between threads; each call is a transaction of its own."""

    def __init__(self, folder: Path, url: str, robot: str, zone: str = 'UTC',
                 busy_timeout_s: float = 30.0) -> None:
        """Open the memory, migrating an older one. Use `open` with settings.

        Raises StoreError, SchemaError or StoreFullError, each with the folder and the reason.
        """
        self.folder = folder
        self.url = url
        self.robot = robot
        self.zone = zone
        self.pictures = PictureFolder(folder / 'pictures')
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot make the memory's folder {folder}: {error}") from error
        self._engine = open_engine(url, busy_timeout_s)
        self._lock = threading.Lock()
        self._robots: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._sessions: dict[int, int] = {}
        migrate(self._engine, folder)

    @classmethod
    def open(cls, settings: MemorySettings, folder: Path | None = None) -> MemoryStore:
        """Open the memory that the settings name, in `folder` where given."""
        where = folder or Path(
            settings.folder or os.environ.get('EMV_MEMORY') or '~/.emv').expanduser()
        return cls(where, settings.url or sqlite_url(where), settings.robot,
                   settings.time_zone or 'UTC', settings.busy_timeout_s)

    def close(self) -> None:
        """Give all connections back; the write-ahead log is folded into the file."""
        self._engine.dispose()

    def __enter__(self) -> MemoryStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Transactions

    def reading(self) -> AbstractContextManager[OrmSession]:
        """Return a transaction that only reads."""
        return transaction(self._engine, write=False)

    def writing(self) -> AbstractContextManager[OrmSession]:
        """Return a transaction that holds the write lock from its start."""
        return transaction(self._engine, write=True)

    # Robots and sessions

    def robot_id(self, session: OrmSession, name: str) -> int:
        """Return the id of a robot, made where it is new."""
        if name not in self._robots:
            found = session.scalar(select(schema.RobotRow.id).where(schema.RobotRow.name == name))
            if found is None:
                row = schema.RobotRow(name=name)
                session.add(row)
                session.flush()
                return row.id  # not cached: the transaction may yet be rolled back
            self._robots[name] = found
        return self._robots[name]

    def robot_ids(self, session: OrmSession, names: Iterable[str] = ()) -> dict[int, str]:
        """Return {id: name} of the named robots that exist, or of all."""
        rows = session.execute(select(schema.RobotRow.id, schema.RobotRow.name))
        wanted = set(names)
        return {key: name for key, name in rows if not wanted or name in wanted}

    def robots(self) -> list[str]:
        """Return the names of all robots."""
        with self.reading() as session:
            return sorted(self.robot_ids(session).values())

    def begin_session(self, robot: str = '', start_ns: int = 0, clock_source: str = 'wall',
                      zone: str = '', source: str = '') -> int:
        """Begin a run of a robot's clock and return its id; records that name none join it."""
        with self.writing() as session:
            return self._begin(session, Session(
                robot=robot or self.robot, start_ns=start_ns, clock_source=clock_source,
                zone=zone or self.zone, source=source))

    def _begin(self, session: OrmSession, run: Session) -> int:
        row = schema.SessionRow(
            robot_id=self.robot_id(session, run.robot), start_ns=run.start_ns,
            clock_source=run.clock_source, zone=run.zone, source=run.source)
        session.add(row)
        session.flush()
        self._sessions[row.robot_id] = row.id
        return row.id

    def _session_id(self, session: OrmSession, record: Record, robot_id: int) -> int:
        if record.session_id is not None:
            return record.session_id
        if robot_id not in self._sessions:
            return self._begin(session, Session(
                robot=record.robot or self.robot, start_ns=record.stamp_ns, zone=self.zone))
        return self._sessions[robot_id]

    def zone_of(self, robots: Iterable[str] = ()) -> str:
        """Return the zone of the latest session of the robots (of all, if none is named)."""
        with self.reading() as session:
            ids = self.robot_ids(session, robots)
            zone = session.scalar(
                select(schema.SessionRow.zone).where(schema.SessionRow.robot_id.in_(ids))
                .order_by(schema.SessionRow.id.desc()).limit(1))
        return zone or self.zone

    # Writing

    def add(self, record: Record) -> int:
        """Store one record and return the id of its row."""
        return self.add_many([record])[0]

    def add_many(self, records: Iterable[Record]) -> list[int]:
        """Store records in one transaction: all or none. Return the ids of their rows in order.

        A SkillReport folds into the row of its run. Raises RecordError for a stamp outside 1970–2200.
        """
        with self.writing() as session:
            return [self._add(session, record) for record in records]

    def add_image(self, data: bytes, record: ImageRecord) -> int:
        """Store a picture's bytes, then its row; return the row's id."""
        return self.add(self.keep_picture(data, record))

    def keep_picture(self, data: bytes, record: ImageRecord) -> ImageRecord:
        """Write the bytes and return the record that names them; its row is still to be added."""
        sha256 = self.pictures.write(data, record.media_type)
        return replace(record, sha256=sha256, size_bytes=len(data))

    def _add(self, session: OrmSession, record: Record) -> int:
        if not MIN_NS <= record.stamp_ns < MAX_NS:
            raise RecordError(f'{type(record).__name__}: the stamp {record.stamp_ns} ns lies '
                              'outside the years 1970 to 2200')
        robot_id = self.robot_id(session, record.robot or self.robot)
        session_id = self._session_id(session, record, robot_id)
        if isinstance(record, SkillReport):
            row = fold(session, robot_id, session_id, record).row
            kind = 'skill_event'
        else:
            kind = KIND_OF[type(record)]
            row = row_of(record, robot_id)
            row.session_id = session_id
            session.add(row)
        session.flush()
        if isinstance(record, Scene):
            session.add_all(scene_rows(record, row.id, robot_id))
        self.put_document(session, kind, row)
        return int(row.id)

    def put_document(self, session: OrmSession, kind: str, row: Any) -> None:
        """Make or renew the searchable text of a row; a text that is unchanged keeps its vector."""
        start_ns = getattr(row, 'stamp_ns', None)
        if start_ns is None:
            start_ns = row.start_ns if kind == 'node' else None
        if kind not in ('node', 'utterance', 'skill_event', 'annotation', 'observation'):
            return
        text = text_of(record_of(kind, row, ''))
        end_ns = getattr(row, 'end_ns', None) or start_ns
        found = session.scalar(select(schema.DocumentRow).where(
            schema.DocumentRow.kind == kind, schema.DocumentRow.ref_id == row.id))
        if found is None:
            if text:
                session.add(schema.DocumentRow(
                    kind=kind, ref_id=row.id, robot_id=row.robot_id, start_ns=start_ns,
                    end_ns=end_ns, text=text))
            return
        found.start_ns, found.end_ns = start_ns, end_ns
        if found.text != text:
            found.text = text or ''
            session.execute(delete(schema.EmbeddingRow).where(
                schema.EmbeddingRow.document_id == found.id))

    def log_call(self, call: ModelCall) -> None:
        """Keep the account of one call to a model."""
        with self.writing() as session:
            session.add(schema.ModelCallRow(**{
                name: getattr(call, name) for name in call.__slots__ if name != 'id'}))

    def log_query(self, query: QueryRecord) -> int:
        """Keep a question with its answer and trace; return its id."""
        with self.writing() as session:
            row = row_of(query, None)
            session.add(row)
            session.flush()
            return int(row.id)

    # Reading

    def get(self, kind: str, ref_id: int) -> Any:
        """Return the record of a kind ('skill_event', 'node', ...) and id, or raise NotFoundError."""
        with self.reading() as session:
            row = session.get(schema.KINDS[kind], ref_id)
            if row is None:
                raise NotFoundError(f'there is no {kind.replace("_", " ")} {ref_id}')
            robot = ''
            if hasattr(row, 'robot_id'):
                robot = self.robot_ids(session).get(row.robot_id, '')
            return record_of(kind, row, robot)

    def picture(self, ref_id: int) -> bytes:
        """Return the bytes of image `ref_id`."""
        image: ImageRecord = self.get('image', ref_id)
        return self.pictures.read(image.sha256, image.media_type)

    def counts(self) -> dict[str, int]:
        """Return the number of rows by kind, and of the status reports that were folded."""
        with self.reading() as session:
            counts = {kind: int(session.scalar(select(func.count()).select_from(table)) or 0)
                      for kind, table in schema.KINDS.items()}
            counts['skill_report'] = int(session.scalar(
                select(func.coalesce(func.sum(schema.SkillEventRow.reports), 0))) or 0)
            counts['session'] = int(session.scalar(
                select(func.count()).select_from(schema.SessionRow)) or 0)
            return counts

    # Small values shared by processes

    def state(self, key: str) -> dict[str, Any] | None:
        """Return a shared value, or None."""
        with self.reading() as session:
            row = session.get(schema.StateRow, key)
            return dict(row.value) if row else None

    def set_state(self, key: str, value: dict[str, Any]) -> None:
        """Set a shared value."""
        with self.writing() as session:
            session.merge(schema.StateRow(key=key, value=value))

    @contextmanager
    def node_writer(self) -> Iterator[NodeWriter]:
        """Yield a writer of tree nodes inside one write transaction."""
        with self.writing() as session:
            yield NodeWriter(self, session)


class NodeWriter:
    """Writes of the tree within one transaction; documents follow the nodes."""

    def __init__(self, store: MemoryStore, session: OrmSession) -> None:
        self.store = store
        self.session = session

    def add(self, node: Node, members: Iterable[tuple[str, int]] = (),
            children: Iterable[int] = ()) -> int:
        """Add a node over members (kind, id) or over child nodes, and return its id.

        Members that belonged to another node move here.
        """
        row = row_of(node, self.store.robot_id(self.session, node.robot))
        self.session.add(row)
        self.session.flush()
        for kind, ref_id in members:
            self.session.merge(schema.NodeMemberRow(kind=kind, ref_id=ref_id, node_id=row.id))
        for ordinal, child_id in enumerate(children):
            child = self.session.get_one(schema.NodeRow, child_id)
            child.parent_id, child.ordinal = row.id, ordinal
        self.store.put_document(self.session, 'node', row)
        return int(row.id)

    def update(self, node_id: int, **values: Any) -> None:
        """Change columns of a node."""
        row = self.session.get_one(schema.NodeRow, node_id)
        for name, value in values.items():
            setattr(row, name, value)
        self.session.flush()
        self.store.put_document(self.session, 'node', row)

    def remove(self, node_ids: Iterable[int]) -> None:
        """Remove nodes with their documents; children lose their parent, members become free."""
        ids = list(node_ids)
        for table, column in ((schema.DocumentRow, schema.DocumentRow.ref_id),
                              (schema.NodeRow, schema.NodeRow.id)):
            query = delete(table).where(column.in_(ids))
            if table is schema.DocumentRow:
                query = query.where(schema.DocumentRow.kind == 'node')
            self.session.execute(query)
        self.session.expire_all()

    def settle(self, kind: str, ref_ids: Iterable[int]) -> None:
        """Mark records as consolidated."""
        table = schema.KINDS[kind]
        for row in self.session.scalars(select(table).where(table.id.in_(list(ref_ids)))):
            row.pending = False
