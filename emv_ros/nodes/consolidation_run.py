"""One consolidation as a node runs it: within limits, with progress, and an account of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
import logging
import math
import threading
import time
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from emv_ros.errors import EmvError, ModelError, StoreBusyError
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import Settings

if TYPE_CHECKING:
    from emv_ros.agent.models.client import ModelClient
    from emv_ros.biography.upkeep import Upkeep
    from emv_ros.retrieval.embedders import TextEmbedder
    from emv_ros.retrieval.picture_vectors import PictureEmbedder
    from emv_ros.tree.consolidate import ConsolidationReport

log = logging.getLogger(__name__)

EVENT_LEVEL, SUMMARY_LEVEL = 2, 4


@dataclass(frozen=True, slots=True)
class Request:
    """What to consolidate; no robots are all. Limits of 0 are none; `now_ns` None is at rest.

    `vectors_s` is how long texts get their vectors before they give way to records that wait.
    """

    robots: tuple[str, ...] = ()
    without_model: bool = False
    max_tokens: int = 0
    time_limit_s: float = 0.0
    now_ns: int | None = None
    vectors_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Step:
    """Where a run stands: phase 'biographies', 'events', 'summaries' or 'index'.

    `total` 0 is unknown.
    """

    phase: str
    level: int
    done: int
    total: int
    tokens: int
    elapsed_s: float


@dataclass(slots=True)
class Outcome:
    """What a run did. `status` is 'ok', 'canceled', 'limit', 'busy' or 'error'."""

    status: str = 'ok'
    message: str = ''
    made: int = 0
    changed: int = 0
    removed: int = 0
    tokens: int = 0
    unconsolidated: int = 0
    duration_s: float = 0.0


class Consolidation:
    """Consolidates one memory. One run at a time, see Runs."""

    def __init__(self, store: MemoryStore, settings: Settings, model: ModelClient) -> None:
        self.note = ''  # what the latest run could not do, for the status
        self.without_vector: int | None = None  # texts, after the latest run; None: not known
        self._store = store
        self._settings = settings
        self._model = model
        self._embedder: TextEmbedder | None = None
        self._pictures: PictureEmbedder | None = None
        self._upkeep: Upkeep | None = None

    def run(self, request: Request, canceled: threading.Event,
            report: Callable[[Step], None]) -> Outcome:
        """Run, and return what came of it; what a model or the store does wrong is in there."""
        began = time.monotonic()
        outcome, before = Outcome(), self._nodes()
        run = _Run(self._store, self._settings, self._model, request, canceled, report)
        try:
            with run.limited():
                self._keep_biographies(run)
                run.make_trees()
                self._embed(run)
                self._embed_pictures(run)
                self._retain(run)
        except StoreBusyError as error:
            outcome.status, outcome.message = 'busy', str(error)
        except EmvError as error:
            log.error('a consolidation failed: %s', error)
            outcome.status, outcome.message = 'error', str(error)
        if outcome.status == 'ok' and run.is_cut:
            outcome.status, outcome.message = 'limit', 'the time limit came first'
        elif outcome.status == 'ok' and canceled.is_set():
            outcome.status, outcome.message = 'canceled', 'canceled; what was done stays'
        outcome.message = outcome.message or '; '.join(run.notes)
        self.note = outcome.message if outcome.status != 'canceled' else ''
        self._account(outcome, run, before)
        outcome.duration_s = time.monotonic() - began
        return outcome

    def _keep_biographies(self, run: _Run) -> None:
        """Say what was seen, and whose it was: before the tree, which tells of it."""
        from emv_ros.biography.upkeep import Upkeep
        from emv_ros.perception.symbolic import observe_scenes

        self._upkeep = self._upkeep or Upkeep(self._store, self._settings)
        for robot in run.request.robots or self._store.robots():
            if run.stops.is_set():
                return
            run.tell('biographies', 0)
            observe_scenes(self._store, self._settings, robot, run.stops,
                           finish=run.request.now_ns is None)
            done = self._upkeep.keep(
                robot, vision=None if run.request.without_model else self._model,
                cancel=run.stops)
            run.tokens += done.described.prompt_tokens + done.described.completion_tokens
            for line in done.lines():
                log.info('%s: %s', robot, line)

    def _embed(self, run: _Run) -> None:
        """Give vectors to texts that have none, the oldest first: searches take the newest.

        Without them search goes by words. At a high rate this takes longer than the tree by far,
        which must not wait for it.
        """
        from emv_ros.retrieval.embedders import make_embedder
        from emv_ros.retrieval.index import count_missing, embed_missing

        run.tell('index', 0)
        try:
            self._embedder = self._embedder or make_embedder(self._settings.retrieval)
            if self._embedder is None:
                return
            ends_s = time.monotonic() + (run.request.vectors_s or math.inf)
            try:
                embed_missing(self._store, self._embedder, cancel=lambda: run.stops.is_set() or (
                    time.monotonic() > ends_s and run.waiting() > 0))
            finally:  # what waits is told, too, where the embedder fails
                with self._store.reading() as session:
                    self.without_vector = count_missing(session, self._embedder)
        except ModelError as error:
            run.notes.append(f'new texts get no vectors: {error}')

    def _embed_pictures(self, run: _Run) -> None:
        """Give vectors to the newest pictures that have none, where the settings name a model."""
        from emv_ros.retrieval.picture_vectors import embed_pictures, make_picture_embedder

        settings = self._settings.retrieval
        try:
            self._pictures = self._pictures or make_picture_embedder(settings)
        except ModelError as error:
            run.notes.append(f'pictures get no vectors: {error}')
        if self._pictures is not None:
            done = embed_pictures(
                self._store, self._pictures, settings.pictures_a_run, run.stops.is_set)
            run.notes += [done.problem] if done.problem else []

    def _retain(self, run: _Run) -> None:
        """Let old records make room, for a while; the next run goes on."""
        from emv_ros.memory.retention import retain

        now_ns = run.request.now_ns
        if now_ns is None or run.request.robots or run.stops.is_set():
            return
        done = retain(self._store, self._settings, now_ns=now_ns, cancel=run.stops)
        run.notes += [*done.refused, *done.notes]
        for line in done.lines():
            log.info('retention: %s', line)

    def _account(self, outcome: Outcome, run: _Run, before: tuple[int, int]) -> None:
        count, last = self._nodes()
        with self._store.reading() as session:
            outcome.made = int(session.scalar(select(func.count()).select_from(
                schema.NodeRow).where(schema.NodeRow.id > before[1])) or 0)
        outcome.removed = max(0, before[0] + outcome.made - count)
        outcome.changed = max(0, run.touched - outcome.made)
        outcome.tokens = run.tokens
        outcome.unconsolidated = run.waiting()

    def _nodes(self) -> tuple[int, int]:
        """Return the number of nodes and the highest id."""
        with self._store.reading() as session:
            count, last = session.execute(
                select(func.count(), func.max(schema.NodeRow.id))).one()
        return int(count), int(last or 0)


@dataclass
class _Run:
    """One run under way; to the tree it is the model, which it counts and limits."""

    store: MemoryStore
    settings: Settings
    model: ModelClient
    request: Request
    stops: threading.Event
    report: Callable[[Step], None]
    notes: list[str] = field(default_factory=list)
    is_cut: bool = False
    tokens: int = 0
    touched: int = 0
    began: float = field(default_factory=time.monotonic)

    def make_trees(self) -> None:
        """Consolidate the robots of the request."""
        from emv_ros.tree.consolidate import consolidate

        for robot in self.request.robots or self.store.robots():
            if self.stops.is_set():
                return
            done: ConsolidationReport = consolidate(
                self.store, self.settings, robot=robot, now_ns=self.request.now_ns,
                model=None if self.request.without_model else self, cancel=self.stops,
                progress=lambda done, total: self.tell('events', EVENT_LEVEL, done, total))
            self.touched += done.events + done.goals + done.summaries
            if done.stopped and not done.canceled:
                self._tell_once(f'some texts are templates for now: {done.stopped}')
        if self._is_spent and not self.stops.is_set():
            self._tell_once(f'the limit of {self.request.max_tokens} tokens is reached')

    def _tell_once(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def waiting(self) -> int:
        """Return how many records wait for consolidation still."""
        from emv_ros.tree.consolidate import waiting_records

        return sum(sum(waiting_records(self.store, robot).values())
                   for robot in self.request.robots or self.store.robots())

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Stop the run at its time limit."""
        if not self.request.time_limit_s:
            yield
            return
        timer = threading.Timer(self.request.time_limit_s, self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _cut(self) -> None:
        if not self.stops.is_set():
            self.is_cut = True
            self.stops.set()

    def tell(self, phase: str, level: int, done: int = 0, total: int = 0) -> None:
        """Report progress."""
        self.report(Step(phase, level, done, total, self.tokens, time.monotonic() - self.began))

    # As the model of the tree

    @property
    def available(self) -> bool:
        """Whether the model may be asked."""
        return not self._is_spent and self.model.is_available('summary')

    @property
    def _is_spent(self) -> bool:
        return 0 < self.request.max_tokens <= self.tokens

    def name(self, purpose: str) -> str:
        """Return the name of the model for a purpose."""
        return self.model.name(purpose)

    def complete(self, messages: list[dict[str, Any]], **arguments: Any) -> Any:
        """Ask the model, and count."""
        self.tell('summaries', SUMMARY_LEVEL)
        reply = self.model.complete(messages, **arguments)
        self.tokens += reply.prompt_tokens + reply.completion_tokens
        return reply
