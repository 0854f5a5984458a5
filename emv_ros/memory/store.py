"""The memory: one database and one folder of pictures, opened by any number of processes.

Writes are short transactions that wait their turn; reads see a consistent state. Whoever writes at
a rate uses `emv_ros.memory.writer.BatchWriter`, which commits in batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
import os
from pathlib import Path
from typing import Any

from sqlalchemy import URL, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session as OrmSession

from emv_ros.errors import NotFoundError, RecordError, StoreReadOnlyError
from emv_ros.memory import schema
from emv_ros.memory.adding import add_records, renew_documents
from emv_ros.memory.clearing import clear_what_is_left, times_forgotten
from emv_ros.memory.database import (
    disk_error,
    fold_log,
    is_read_only,
    open_engine,
    place_of,
    rewrite,
    sqlite_url,
    transaction,
)
from emv_ros.memory.gone_pictures import check_kept
from emv_ros.memory.migrate import migrate
from emv_ros.memory.node_writer import NodeWriter
from emv_ros.memory.page_cache import limit_cache
from emv_ros.memory.pictures import PictureFolder
from emv_ros.memory.receipts import Receipt, drop, sessions_of, sign
from emv_ros.memory.rows import RECORD_OF, record_of, row_of
from emv_ros.records import ImageRecord, ModelCall, QueryRecord, Record, Session
from emv_ros.settings import MemorySettings
from emv_ros.timeline import parse_zone, system_zone


class MemoryStore:
    """An open memory. Safe to share between threads; each call is a transaction of its own.

    `is_read_only` tells that its files cannot be written: what would write then raises
    StoreReadOnlyError.
    """

    def __init__(self, folder: Path, url: str | URL, robot: str, zone: str = 'UTC',
                 busy_timeout_s: float = 30.0) -> None:
        """Open the memory, migrating an older one. Use `open` with settings.

        Raises StoreError, SchemaError or StoreFullError, each with the folder and the reason.
        """
        parse_zone(zone)
        self.folder = folder
        self.url = url
        self.robot = robot
        self.zone = zone
        self.pictures = PictureFolder(folder / 'pictures')
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise disk_error(f"cannot make the memory's folder {folder}", error) from error
        self._engine = open_engine(url, busy_timeout_s)
        self.is_read_only = is_read_only(url)
        # The session that records join which name none, by robot.
        self._sessions: dict[int, int] = {}
        try:
            migrate(self._engine, folder, self.is_read_only)
            clear_what_is_left(self)
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, settings: MemorySettings, folder: Path | None = None) -> MemoryStore:
        """Open the memory that the settings name, in `folder` where given."""
        where = folder or Path(
            settings.folder or os.environ.get('EMV_MEMORY') or '~/.emv').expanduser()
        return cls(where, settings.url or sqlite_url(where), settings.robot,
                   settings.time_zone or system_zone(), settings.busy_timeout_s)

    def close(self) -> None:
        """Give all connections back; the write-ahead log is folded into the file."""
        self._engine.dispose()

    def limit_cache(self, kilobytes: int) -> None:
        """Keep little of the file in memory: for who appends and does not search."""
        limit_cache(self._engine, kilobytes)

    def fold_log(self) -> bool:
        """Fold the write-ahead log into the file and empty it.

        False where somebody reads or writes, or the database is on a server.
        """
        return fold_log(self._engine)

    def rewrite(self) -> bool:
        """Write the database file anew and empty the log, so that nothing deleted is left in them.

        Writers wait for it. False where it could not be done, or the database is on a server.
        """
        return rewrite(self._engine)

    def __enter__(self) -> MemoryStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Transactions

    def reading(self) -> AbstractContextManager[OrmSession]:
        """Return a transaction that only reads."""
        return transaction(self._engine, write=False)

    @contextmanager
    def writing(self) -> Iterator[OrmSession]:
        """Yield a transaction that holds the write lock from its start."""
        if self.is_read_only:
            raise StoreReadOnlyError(f'the memory {place_of(self.url)} is open for reading alone: '
                                     'its files cannot be written by this user')
        replaced: dict[int, int | None] = {}
        try:
            with transaction(self._engine, write=True) as session:
                session.info['replaced'] = replaced
                yield session
        except BaseException:
            for robot_id, earlier in replaced.items():
                if earlier is None:
                    self._sessions.pop(robot_id, None)
                else:
                    self._sessions[robot_id] = earlier
            raise

    # Robots and sessions

    def robot_id(self, session: OrmSession, name: str) -> int:
        """Return the id of a robot, made where it is new."""
        known: dict[str, int] = session.info.setdefault('robots', {})
        if name not in known:
            query = select(schema.RobotRow.id).where(schema.RobotRow.name == name)
            found = session.scalar(query)
            if found is None:
                try:
                    with session.begin_nested():
                        session.add(schema.RobotRow(name=name))
                    session.info.pop('robot_names', None)
                except IntegrityError:
                    pass  # another process was quicker: the database is a server's
                found = session.scalars(query).one()
            known[name] = found
        return known[name]

    def robot_ids(self, session: OrmSession, names: Iterable[str] = ()) -> dict[int, str]:
        """Return {id: name} of the named robots that exist, or of all."""
        known: dict[int, str] | None = session.info.get('robot_names')
        if known is None:
            row = schema.RobotRow
            rows = session.execute(select(row.id, row.name).order_by(row.id))
            known = session.info['robot_names'] = {item.id: item.name for item in rows}
        wanted = set(names)
        return {key: name for key, name in known.items() if not wanted or name in wanted}

    def robots(self) -> list[str]:
        """Return the names of all robots."""
        with self.reading() as session:
            return sorted(self.robot_ids(session).values())

    def begin_session(self, robot: str = '', start_ns: int = 0, clock_source: str = 'wall',
                      zone: str = '', source: str = '', receipt: Receipt | None = None) -> int:
        """Begin a run of a robot's clock and return its id; records that name none join it.

        One with a receipt that began already does not begin again.
        """
        with self.writing() as session:
            begun = None if receipt is None else sessions_of(session, receipt)
            if begun:
                self._sessions.update(begun)
                return next(iter(begun.values()))
            run = self._begin(session, Session(
                robot=robot or self.robot, start_ns=start_ns, clock_source=clock_source,
                zone=zone or self.zone, source=source))
            if receipt is not None:
                sign(session, receipt, dict.fromkeys(session.info['replaced'], run))
            return run

    def _begin(self, session: OrmSession, run: Session) -> int:
        try:
            parse_zone(run.zone)
        except ValueError as error:
            raise RecordError(f'a session of {run.robot}: {error}') from error
        row = schema.SessionRow(
            robot_id=self.robot_id(session, run.robot), start_ns=run.start_ns,
            clock_source=run.clock_source, zone=run.zone, source=run.source)
        session.add(row)
        session.flush()
        session.info['replaced'].setdefault(row.robot_id, self._sessions.get(row.robot_id))
        self._sessions[row.robot_id] = row.id
        return row.id

    def _place(self, session: OrmSession, record: Record) -> tuple[int, int]:
        """Return the ids of a record's robot and session, which are made where they are new."""
        robot_id = self.robot_id(session, record.robot or self.robot)
        if record.session_id is not None:
            return robot_id, record.session_id
        current: dict[int, int] = session.info.setdefault('current', {})
        if robot_id not in current:
            known = session.get(schema.SessionRow, self._sessions.get(robot_id, 0))
            # It may have been forgotten since it was begun.
            current[robot_id] = known.id if known and known.robot_id == robot_id else self._begin(
                session, Session(robot=record.robot or self.robot, start_ns=record.stamp_ns,
                                 zone=self.zone))
        return robot_id, current[robot_id]

    def zone_of(self, robots: Iterable[str] = ()) -> str:
        """Return the zone of the latest session of the robots (of all, if none is named)."""
        with self.reading() as session:
            ids = list(self.robot_ids(session, robots))
            zone = session.scalar(
                select(schema.SessionRow.zone).where(schema.SessionRow.robot_id.in_(ids))
                .order_by(schema.SessionRow.id.desc()).limit(1))
        return zone or self.zone

    # Writing

    def add(self, record: Record) -> int:
        """Store one record and return the id of its row."""
        return self.add_many([record])[0]

    def add_many(self, records: Iterable[Record], receipt: Receipt | None = None) -> list[int]:
        """Store records in one transaction: all or none. Return the ids of their rows in order.

        A SkillReport folds into the row of its run. A batch with a receipt that is stored already
        is not stored again: none are returned. Raises RecordError for one without a time in
        1970–2200, that ends before it starts, or that holds what no database can.
        """
        with self.writing() as session:
            if receipt is None:
                return add_records(session, records, self._place)
            begun = sessions_of(session, receipt)
            if begun is not None:
                self._sessions.update(begun)
                return []
            ids = add_records(session, records, self._place)
            sign(session, receipt, {key: self._sessions[key] for key in session.info['replaced']})
            return ids

    def drop_receipt(self, receipt: Receipt) -> None:
        """Forget a receipt: its writer ends."""
        if self._engine.dialect.name != 'sqlite':
            with self.writing() as session:
                drop(session, receipt)

    def add_image(self, data: bytes, record: ImageRecord) -> int:
        """Store a picture's bytes, then its row; return the row's id."""
        return self.add(self.keep_picture(data, record))

    def keep_picture(self, data: bytes, record: ImageRecord) -> ImageRecord:
        """Write the bytes and return the record that names them; its row is still to be added."""
        sha256 = self.pictures.write(data, record.media_type)
        return replace(record, sha256=sha256, size_bytes=len(data))

    def put_document(self, session: OrmSession, kind: str, row: Any) -> None:
        """Make or renew the searchable text of a row."""
        renew_documents(session, kind, [row])

    @contextmanager
    def node_writer(self) -> Iterator[NodeWriter]:
        """Yield a writer of tree nodes inside one write transaction."""
        with self.writing() as session:
            yield NodeWriter(self, session)

    def log_call(self, call: ModelCall) -> None:
        """Keep the account of one call to a model."""
        with self.writing() as session:
            session.add(schema.ModelCallRow(**{
                name: getattr(call, name) for name in call.__slots__ if name != 'id'}))

    def log_query(self, query: QueryRecord, forgotten: int | None = None) -> int | None:
        """Keep a question with its answer and trace; return its id.

        forgotten: `times_forgotten` as it was when the question was asked. Where something was
        forgotten since, the question may show it, and is not kept: None.
        """
        with self.writing() as session:
            if forgotten is not None and times_forgotten(session) != forgotten:
                return None
            row = row_of(query, None)
            session.add(row)
            session.flush()
            return int(row.id)

    # Reading

    def get(self, kind: str, ref_id: int) -> Any:
        """Return the record of a kind ('skill_event', 'node', ...) and id.

        Raises NotFoundError.
        """
        if kind not in RECORD_OF:
            raise NotFoundError(f'there are no records of the kind {kind!r}')
        with self.reading() as session:
            row = session.get(schema.KINDS[kind], ref_id)
            if row is None:
                raise NotFoundError(f'there is no {kind.replace("_", " ")} {ref_id}')
            robot = ''
            if hasattr(row, 'robot_id'):
                robot = self.robot_ids(session).get(row.robot_id, '')
            return record_of(kind, row, robot)

    def picture(self, ref_id: int) -> bytes:
        """Return the bytes of image `ref_id`, see `read_picture`."""
        return self.read_picture(self.get('image', ref_id))

    def read_picture(self, image: ImageRecord) -> bytes:
        """Return the bytes of a stored picture.

        Raises PictureGoneError where its row says why they are gone, NotFoundError where the file
        is lost, StoreError where it is damaged.
        """
        check_kept(image)
        try:
            return self.pictures.read(image.sha256, image.media_type)
        except NotFoundError:
            if image.id is None:
                raise
            # It may have been dropped, or named anew, since its row was read.
            now: ImageRecord = self.get('image', image.id)
            check_kept(now)
            return self.pictures.read(now.sha256, now.media_type)

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
