"""The agent: answers questions about a memory, with a language model or, without one, by search alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import tzinfo
import logging
import threading
import time
from typing import Any

from emv_ros.agent.answers import Answer, Progress, Question, QueryStatus
from emv_ros.agent.asked import names_a_time
from emv_ros.agent.console.library import Library
from emv_ros.agent.console.pictures import PictureReader
from emv_ros.agent.console.rows import local
from emv_ros.agent.console.sandbox import Sandbox
from emv_ros.agent.console.tree_state import TreeState
from emv_ros.agent.console.windows import Clock
from emv_ros.agent.evidence import with_pictures
from emv_ros.agent.examples import choose
from emv_ros.agent.facts import Facts, describe
from emv_ros.agent.models.client import ModelClient
from emv_ros.agent.recorded import RecordedWords
from emv_ros.agent.retrieved import retrieve
from emv_ros.agent.run import QuestionRun, started
from emv_ros.errors import (
    EmvError, ModelCanceledError, ModelError, ModelTimeoutError)
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.records import QueryRecord
from emv_ros.retrieval.search import Searcher
from emv_ros.settings import Settings
from emv_ros.timeline import parse_zone
from emv_ros.tree.view import TreeView

log = logging.getLogger(__name__)


class Agent:
    """Answers questions about one memory. Safe to share between threads."""

    def __init__(self, store: MemoryStore, settings: Settings, model: ModelClient | None = None,
                 searcher: Searcher | None = None) -> None:
        self._store = store
        self._settings = settings
        self._model = model
        self._searcher = searcher or Searcher(store, settings.retrieval)
        self._free = threading.Semaphore(settings.agent.parallel_questions)

    def ask(self, question: Question, *, cancel: threading.Event | None = None,
            on_progress: Callable[[Progress], None] | None = None) -> Answer:
        """Answer a question; blocks for at most its time limit.

        Never raises for what a model, a memory or a question does wrong: the answer's status and message say it.
        """
        if not self._free.acquire(blocking=False):
            return Answer(status=QueryStatus.BUSY, message='another question is being answered')
        began, trace = time.monotonic(), list[dict[str, Any]]()
        try:
            answer = self._guarded(question, cancel, on_progress or (lambda _: None), trace)
        finally:
            self._free.release()
        name = self._model.name('agent') if self._model else ''
        answer = self._illustrated(answer, question)
        answer = replace(answer, duration_s=time.monotonic() - began, model=name)
        return self._logged(question, answer, trace)

    def _guarded(self, question: Question, cancel: threading.Event | None,
                 on_progress: Callable[[Progress], None], trace: list[dict[str, Any]]) -> Answer:
        if not question.text.strip():
            return Answer(status=QueryStatus.ERROR, message='the question is empty')
        window = Window(robots=question.robots, start_ns=question.start_ns, end_ns=question.end_ns,
                        before_ns=question.query_time_ns)
        try:
            zone = parse_zone(self._store.zone_of(question.robots))
            time_left_s = started(question.time_limit_s or self._settings.agent.time_limit_s)
            on_progress(Progress(phase='searching'))
            facts = describe(self._store, question.text, window, question.query_time_ns, zone,
                             self._searcher.similarity)
            if facts.span is None:
                return Answer(status=QueryStatus.NOT_RECORDED,
                              message='nothing was recorded before the time of the question')
            reason = self._model.why_unavailable() if self._model else 'no model is set'
            if reason:
                return self._retrieved(question, window, zone, reason)
            return self._asked(question, window, zone, facts, time_left_s, cancel, on_progress,
                               trace)
        except EmvError as error:
            return self._failed(question, window, error)

    def _asked(self, question: Question, window: Window, zone: tzinfo, facts: Facts,
               time_left_s: Callable[[], float], cancel: threading.Event | None,
               on_progress: Callable[[Progress], None], trace: list[dict[str, Any]]) -> Answer:
        limits, now_ns = self._settings.agent, question.query_time_ns
        assert self._model is not None and facts.span is not None
        pictures = PictureReader(self._store, self._model, limits.look_calls, cancel, time_left_s)
        state = TreeState(TreeView(self._store, window, zone), zone)
        library = Library(self._store, self._searcher, state, window,
                          Clock(now_ns, zone, facts.span.end_ns), pictures, limits.console_calls,
                          names_a_time(question.text))
        values = {'_root': library.root_row(), '_now': local(now_ns, zone)}
        with Sandbox(library.functions(), values, local(now_ns, zone), time_s=limits.console_time_s,
                     memory_mb=limits.console_memory_mb, calls=limits.console_calls,
                     output_chars=limits.output_chars) as sandbox:
            run = QuestionRun(
                question.text.strip(), library, sandbox, self._model, self._searcher, window,
                RecordedWords(self._store, window), limits,
                examples=choose(question.text, limits.examples, self._searcher.similarity),
                facts=facts.text, max_rounds=question.max_rounds or limits.max_rounds,
                max_tokens=question.max_tokens or limits.max_tokens, time_left_s=time_left_s,
                cancel=cancel, on_progress=on_progress)
            run.trace = trace
            return run.answer()

    def _retrieved(self, question: Question, window: Window, zone: tzinfo, reason: str) -> Answer:
        text, evidence = retrieve(self._store, self._searcher, question.text, window, zone)
        return Answer(status=QueryStatus.RETRIEVED_ONLY, answer=text, evidence=evidence,
                      message=reason)

    def _failed(self, question: Question, window: Window, error: EmvError) -> Answer:
        if isinstance(error, ModelCanceledError):
            return Answer(status=QueryStatus.CANCELED, message=str(error))
        if isinstance(error, ModelTimeoutError):
            return Answer(status=QueryStatus.TIMEOUT, message=str(error))
        if isinstance(error, ModelError):
            try:
                zone = parse_zone(self._store.zone_of(question.robots))
                return self._retrieved(question, window, zone, str(error))
            except EmvError as second:
                error = second
        log.error('a question failed: %s', error)
        return Answer(status=QueryStatus.ERROR, message=str(error))

    def _illustrated(self, answer: Answer, question: Question) -> Answer:
        """Add the pictures of the evidence; an answer goes out also where they cannot be found."""
        window = Window(robots=question.robots, before_ns=question.query_time_ns)
        try:
            return replace(answer, evidence=tuple(
                with_pictures(self._store, answer.evidence, window)))
        except EmvError as error:
            log.error('the pictures of the evidence were not found: %s', error)
            return answer

    def _logged(self, question: Question, answer: Answer, trace: list[dict[str, Any]]) -> Answer:
        record = QueryRecord(
            question=question.text, status=str(answer.status), stamp_ns=time.time_ns(),
            query_time_ns=question.query_time_ns, robots=question.robots, answer=answer.answer,
            message=answer.message, evidence=tuple(item.id for item in answer.evidence),
            trace=tuple(trace), rounds=answer.rounds, prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens, duration_s=answer.duration_s,
            model=answer.model)
        try:
            return replace(answer, query_id=self._store.log_query(record))
        except EmvError as error:
            log.error('the account of a question was not kept: %s', error)
            return answer
