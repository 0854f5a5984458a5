"""What a status tells about the memory itself: what it holds, and how much room is left.

Counting a large memory takes a while, so a thread does it now and then, and no callback waits for
it. That thread stays: each new one may get another arena of the allocator, and what a look leaves
there of SQLite's cache is never given back, so that threads of a moment made a process grow for
ten minutes, by megabytes each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import logging
import shutil
import threading
import time

from sqlalchemy import func, select
from sqlalchemy.engine import make_url
from sqlalchemy.orm import Session

from emv_ros.errors import EmvError
from emv_ros.memory import schema
from emv_ros.memory.database import DATABASE_FILE
from emv_ros.memory.migrate import SCHEMA_VERSION
from emv_ros.memory.retention import AUTHOR as RETENTION
from emv_ros.memory.server import shown_url
from emv_ros.memory.store import MemoryStore
from emv_ros.timeline import SECOND_NS

log = logging.getLogger(__name__)

PERIOD_S = 5.0
# A look counts all rows, and a life may be long: looks take no more of the time than this share,
# with pauses of LONGEST_PAUSE_S at most.
SHARE, LONGEST_PAUSE_S = 0.05, 60.0
MOMENT_S = 0.5
LOW_SPACE_BYTES = 200_000_000


@dataclass(frozen=True, slots=True)
class Findings:
    """What one look found. Stamps are None in an empty memory; sizes in bytes.

    `gone` counts pictures whose file is no more there; `forgettings` what a person had forgotten,
    the latest at `forgotten_ns`. `retained_ns` is when retention dropped something last, and
    `consolidated_ns` the end of the latest consolidation, all by the wall clock.
    """

    memory: str
    schema_version: str
    counts: Mapping[str, int] = field(default_factory=dict)
    start_ns: int | None = None
    end_ns: int | None = None
    unconsolidated: int = 0
    database_bytes: int = 0
    image_bytes: int = 0
    free_bytes: int = 0
    model_tokens: int = 0
    problem: str = ''
    gone: int = 0
    forgettings: int = 0
    forgotten_ns: int | None = None
    consolidated_ns: int | None = None
    retained_ns: int | None = None


class Survey:
    """Looks at a memory now and then, in one thread of its own; safe from any thread.

    That is every PERIOD_S, more rarely where a look takes long. The thread begins with the first
    look, and ends with `close`.
    """

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._latest = Findings(self._where(), SCHEMA_VERSION)
        self._looked_at = -PERIOD_S
        self._pause_s = PERIOD_S  # from the start of a look
        self._changed = threading.Condition()
        self._is_due = False
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def latest(self) -> Findings:
        """Return what was found last, and look again where that is old."""
        with self._changed:
            if time.monotonic() - self._looked_at >= self._pause_s:
                self._ask()
            return self._latest

    def renew(self) -> None:
        """Look now, unless that was done a moment ago, and wait for it."""
        with self._changed:
            self._changed.wait_for(self._is_idle)
            if time.monotonic() - self._looked_at > MOMENT_S:
                self._ask()
                self._changed.wait_for(self._is_idle)

    def close(self) -> None:
        """Look no more, and wait for a look that is under way."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _ask(self) -> None:
        """Let the thread look; with the lock held."""
        if self._is_due or self._is_closed:
            return
        self._looked_at, self._is_due = time.monotonic(), True
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name='emv_survey', daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _is_idle(self) -> bool:
        return not self._is_due

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_due or self._is_closed)
                if not self._is_due:
                    return
            try:
                self._look()
            except Exception:  # a bug must neither end the thread nor keep who waits
                log.exception('cannot look at the memory')
            with self._changed:
                self._is_due = False
                took_s = time.monotonic() - self._looked_at
                self._pause_s = max(PERIOD_S, min(took_s / SHARE, took_s + LONGEST_PAUSE_S))
                self._changed.notify_all()

    def _look(self) -> None:
        try:
            self._latest = self._find()
        except (EmvError, OSError) as error:
            log.warning('cannot look at the memory: %s', error)
            self._latest = Findings(self._where(), SCHEMA_VERSION, problem=str(error))

    def _find(self) -> Findings:
        counts = self._store.counts()
        start_ns, end_ns, pending = None, None, 0
        with self._store.reading() as session:
            for table in (*RECORDED, schema.ObservationRow):
                first, last = session.execute(
                    select(func.min(table.stamp_ns), func.max(table.stamp_ns))).one()
                if first is not None:
                    start_ns = first if start_ns is None else min(start_ns, first)
                    end_ns = last if end_ns is None else max(end_ns, last)
            for table in CONSOLIDATED:
                pending += session.scalar(
                    select(func.count()).select_from(table).where(table.pending)) or 0
            audit = schema.AuditRow
            forgettings, forgotten_ns = session.execute(
                select(func.count(), func.max(audit.stamp_ns)).where(
                    audit.author != RETENTION)).one()
            retained_ns = session.scalar(
                select(func.max(audit.stamp_ns)).where(audit.author == RETENTION))
            gone = session.scalar(select(func.count()).select_from(schema.ImageRow).where(
                schema.ImageRow.gone != '')) or 0
            consolidated_ns = _latest_consolidation(session)
            images = session.scalar(select(func.sum(schema.ImageRow.size_bytes)).where(
                schema.ImageRow.gone == '')) or 0
            call = schema.ModelCallRow
            tokens = session.scalar(
                select(func.sum(call.prompt_tokens + call.completion_tokens))) or 0
        free = shutil.disk_usage(self._store.folder).free
        return Findings(
            self._where(), SCHEMA_VERSION, counts, start_ns, end_ns, int(pending),
            self._database_bytes(), int(images), free, int(tokens),
            f'only {free // 1_000_000} MB are free' if free < LOW_SPACE_BYTES else '',
            int(gone), int(forgettings), forgotten_ns, consolidated_ns, retained_ns)

    def _where(self) -> str:
        url = make_url(self._store.url)
        return str(self._store.folder) if url.get_backend_name() == 'sqlite' else shown_url(url)

    def _database_bytes(self) -> int:
        files = self._store.folder.glob(f'{DATABASE_FILE}*')
        return sum(file.stat().st_size for file in files)


def _latest_consolidation(session: Session) -> int | None:
    row = schema.ConsolidationRow
    latest = session.execute(
        select(row.begun_ns, row.duration_s).order_by(row.begun_ns.desc()).limit(1)).first()
    return None if latest is None else latest.begun_ns + round(latest.duration_s * SECOND_NS)


RECORDED = (schema.ImageRow, schema.JointSampleRow, schema.PoseRow, schema.UtteranceRow,
            schema.SkillEventRow, schema.AnnotationRow, schema.SceneRow)
CONSOLIDATED = (schema.UtteranceRow, schema.SkillEventRow, schema.AnnotationRow, schema.SceneRow)
