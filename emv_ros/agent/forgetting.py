"""Forgetting as a whole: rows and pictures, the tree's texts, questions, what search keeps.

The one function for all who forget. All rows go in one transaction, with a note of the files to
delete and the database to write anew, so that a crash in between is made good, see
`memory.clearing`. What the process of a node keeps of search follows the journal of changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
import threading
from typing import Any

from sqlalchemy import delete, make_url, select
from sqlalchemy.orm import Session

from emv_ros.agent.forgetting_beside import forget_beside, is_beside
from emv_ros.agent.forgetting_dropped import forget_dropped, nodes_of_dropped
from emv_ros.agent.forgetting_rows import (
    add_along,
    add_entities,
    drop,
    freed_files,
    named_plan,
    numbers,
)
from emv_ros.agent.forgetting_words import Words, blank_calls, forget_questions
from emv_ros.biography.forgetting import Plan, Ready, fill, is_filled
from emv_ros.biography.holding import held
from emv_ros.errors import ForgettingCanceledError, NotFoundError, RecordError, StoreError
from emv_ros.memory import schema
from emv_ros.memory.choosing import OBJECTS, RECORDS, Choice, choose
from emv_ros.memory.clearing import alone, clear, note_rewrite
from emv_ros.memory.database import DATABASE_FILE
from emv_ros.memory.details import Reference
from emv_ros.memory.entities import standing
from emv_ros.memory.going import Going, going
from emv_ros.memory.imports import check_whole
from emv_ros.memory.memory_size import read_anew
from emv_ros.memory.said_words import Saying
from emv_ros.memory.share_guard import check_share
from emv_ros.memory.store import MemoryStore
from emv_ros.tree.reopening import scrub

# So often a picture that changes meanwhile is prepared again.
ATTEMPTS = 5
# Told of progress: the phase, how many of its steps are done, and how many there are (0: unknown).
Progress = Callable[[str, int, int], None]
COUNTING, PICTURES, RECORDS_GO, SUMMARIES, INDEX = (
    'counting', 'images', 'records', 'summaries', 'index')


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What went, or with `is_preview` would go: numbers by kind, and the robots whose life it was.

    `numbers` has 'utterances', 'images', 'observations', 'entities', 'nodes_rewritten',
    'questions', 'pictures' (that were filled), and more; what is 0 is left out. `bytes` are those
    of picture files, and, once it is done, of the database file. `note` says what could not be done
    yet; `audit_id` is the account of it.
    """

    numbers: Mapping[str, int]
    robots: tuple[str, ...]
    is_preview: bool
    bytes: int = 0
    note: str = ''
    audit_id: int | None = None


def forget(store: MemoryStore, choice: Choice | Sequence[Reference], *, author: str, reason: str,
           stamp_ns: int, max_share: float = 1.0, force: bool = False, dry_run: bool = False,
           progress: Progress = lambda *_: None,
           cancel: threading.Event | None = None) -> Forgotten:
    """Forget what is chosen, or the records of (kind, id), and return what went.

    dry_run: change nothing, and tell what would go. max_share, force: see `check_share`.
    cancel: gives up before the commit; after it all is done to its end.

    Raises NotFoundError for an id or a robot that names nothing, or where nothing fits,
    RecordError for a choice that makes no sense, ShareError, StoreBusyError where another
    forgetting is under way, ForgettingCanceledError, StoreError.
    """
    chosen = choice if isinstance(choice, Choice) else Choice(references=tuple(choice))
    chosen.check()
    if chosen.text and Saying(chosen.text)(reason, author):
        raise RecordError('the reason or the author repeats what is to be forgotten; both are kept')
    work = _Work(store, chosen, max_share, force, progress, cancel)
    if dry_run:
        return work.preview()
    check_whole(store)
    with alone(store.folder):
        clear(store)  # what an earlier one left
        return work.do(author, reason, stamp_ns)


class _Work:
    """One forgetting."""

    def __init__(self, store: MemoryStore, choice: Choice, max_share: float, force: bool,
                 progress: Progress, cancel: threading.Event | None) -> None:
        self._store = store
        self._choice = choice
        self._max_share = max_share
        self._force = force
        self._progress = progress
        self._cancel = cancel
        self._saying = Saying(choice.text) if choice.text else None

    def preview(self) -> Forgotten:
        """Tell what would go."""
        self._progress(COUNTING, 0, 0)
        with self._counting() as session, going(session) as gone:
            plan = self._plan(session, gone)
            counts = numbers(session, plan, gone)
            if questions := gone.count('query'):
                counts['questions'] = questions
            self._check(session, gone, counts)
            freed = sum(size for _, _, size in freed_files(session, gone))
            return Forgotten(numbers=_told(counts), robots=self._robots(session, gone),
                             is_preview=True, bytes=freed)

    def do(self, author: str, reason: str, stamp_ns: int) -> Forgotten:
        """Let it go: the pictures are prepared first, then all rows go at once."""
        before = _file_bytes(self._store.folder)
        ready: Ready = {}
        for _ in range(ATTEMPTS):
            self._prepare(ready)
            with self._store.writing() as session, going(session) as gone:
                plan = self._plan(session, gone)
                if not is_filled(plan, ready):
                    continue
                done = self._drop(session, plan, ready, gone, (author, reason, stamp_ns))
                self._check_canceled()
                break
        else:
            raise StoreError('pictures of what is to be forgotten keep coming: try again')
        self._progress(INDEX, 0, 1)
        note = clear(self._store)
        self._progress(INDEX, 1, 1)
        shrunk = max(0, before - _file_bytes(self._store.folder))
        return Forgotten(numbers=done.numbers, robots=done.robots, is_preview=False, note=note,
                         bytes=done.bytes + shrunk, audit_id=done.audit_id)

    def _prepare(self, ready: Ready) -> None:
        self._progress(COUNTING, 0, 0)
        with self._counting() as session, going(session) as gone:
            plan = self._plan(session, gone)
            self._check(session, gone, numbers(session, plan, gone))
        self._check_canceled()
        self._progress(PICTURES, 0, len(plan.files))
        fill(self._store, plan, ready)
        self._check_canceled()

    def _counting(self) -> AbstractContextManager[Session]:
        """Return a transaction that changes nothing; a server makes no table in one that reads."""
        is_file = make_url(self._store.url).get_backend_name() == 'sqlite'
        return self._store.reading() if is_file else self._store.writing()

    def _plan(self, session: Session, gone: Going) -> Plan:
        entities = choose(self._store, session, self._choice, gone)
        if entities:
            add_entities(session, entities, gone)
            self._check_held(session, entities)
        add_along(session, gone)
        return named_plan(session, gone)

    @staticmethod
    def _check_held(session: Session, entities: set[int]) -> None:
        """Raise NotFoundError for an entity that holds nothing: of such none is left behind."""
        into = standing(session, entities)
        for key in sorted(entities):
            if not held(session, [into[key]])[into[key]]:
                raise NotFoundError(f'there is no entity e{key} with observations')

    def _check(self, session: Session, gone: Going, counts: Mapping[str, int]) -> None:
        """Raise NotFoundError where nothing fits, ShareError where too much does."""
        rows = {kind: gone.count(kind) for kind in RECORDS}
        is_said = self._saying is not None and is_beside(
            self._store, session, self._choice, self._saying)
        if not any(rows.values()) and not gone.count(OBJECTS) and not is_said and (
                not nodes_of_dropped(self._store, session, self._choice)):
            raise NotFoundError('no record fits')
        check_share(session, {**rows, 'entity': counts.get('entities', 0)}, self._max_share,
                    force=self._force)

    def _drop(self, session: Session, plan: Plan, ready: Ready, gone: Going,
              account: tuple[str, str, int]) -> Forgotten:
        rows = {kind: gone.count(kind) for kind in RECORDS}
        check_share(session, rows, self._max_share, force=self._force)
        robots = self._robots(session, gone)
        freed = sum(size for _, _, size in freed_files(session, gone))
        words = Words(session, gone)
        dropped = nodes_of_dropped(self._store, session, self._choice)
        counts = drop(session, plan, ready, gone, self._step,
                      self._saying or (lambda _: False))
        counts['nodes_rewritten'] += forget_dropped(session, dropped)
        self._step(SUMMARIES, 0, 1)
        if self._saying is not None:
            counts.update(forget_beside(
                self._store, session, self._choice, self._saying))
        words.keep_gone(session)
        counts['questions'] = forget_questions(session, gone, words, plan.names)
        counts['model_calls'] = blank_calls(session, words, self._saying)
        session.execute(delete(schema.ModelReplyRow).where(schema.ModelReplyRow.robot_id.in_(
            self._store.robot_ids(session, robots))))
        scrub(session)
        read_anew(session)
        author, reason, stamp_ns = account
        audit = schema.AuditRow(stamp_ns=stamp_ns, author=author, reason=reason,
                                counts=_told(counts))
        session.add(audit)
        note_rewrite(session)
        session.flush()
        return Forgotten(numbers=_told(counts), robots=robots, is_preview=False, bytes=freed,
                         audit_id=audit.id)

    def _step(self, phase: str, done: int, total: int) -> None:
        self._check_canceled()
        self._progress(phase, done, total)

    def _check_canceled(self) -> None:
        if self._cancel is not None and self._cancel.is_set():
            raise ForgettingCanceledError('canceled before anything was forgotten')

    def _robots(self, session: Session, gone: Going) -> tuple[str, ...]:
        names = self._store.robot_ids(session)
        found: set[int] = set()
        for kind in RECORDS:
            row: Any = schema.KINDS[kind]
            if hasattr(row, 'robot_id'):
                found.update(session.scalars(select(row.robot_id).where(
                    row.id.in_(gone.ids(kind))).distinct()))
        part = schema.SceneObjectRow
        found.update(session.scalars(select(part.robot_id).where(
            part.id.in_(gone.ids(OBJECTS))).distinct()))
        return tuple(sorted(names[key] for key in found))


def _file_bytes(folder: Path) -> int:
    """Return the bytes of the database file and its log, 0 for a database on a server."""
    return sum(file.stat().st_size for file in folder.glob(f'{DATABASE_FILE}*') if file.is_file())


def _told(counts: Counter[str]) -> dict[str, int]:
    return {name: number for name, number in counts.items() if number}
