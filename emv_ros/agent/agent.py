"""The agent: answers questions about a memory, by a language model or else by search alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import tzinfo
import logging
import threading
import time
from typing import Any

from emv_ros.agent import choices
from emv_ros.agent.answers import Answer, Progress, QueryStatus, Question
from emv_ros.agent.asked import names_a_time
from emv_ros.agent.console.library import Library
from emv_ros.agent.console.other_words import OtherWords
from emv_ros.agent.console.pictures import PictureReader
from emv_ros.agent.console.rows import local
from emv_ros.agent.console.sandbox import Sandbox
from emv_ros.agent.console.tree_state import TreeState
from emv_ros.agent.console.windows import Clock
from emv_ros.agent.endings import Endings
from emv_ros.agent.evidence import with_pictures
from emv_ros.agent.examples import choose
from emv_ros.agent.facts import Facts, describe
from emv_ros.agent.forms import form_of
from emv_ros.agent.limits import Limits, started
from emv_ros.agent.low_tree import LowTree
from emv_ros.agent.models.client import ModelClient
from emv_ros.agent.recorded import RecordedWords
from emv_ros.agent.retrieved import retrieve
from emv_ros.agent.run import QuestionRun
from emv_ros.errors import EmvError, StoreReadOnlyError
from emv_ros.ingest.privacy import WordFilter
from emv_ros.memory.clearing import times_forgotten
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.quoting import plain_line
from emv_ros.records import QueryRecord
from emv_ros.retrieval.search import Searcher
from emv_ros.settings import Settings
from emv_ros.timeline import parse_zone
from emv_ros.tree.view import TreeView

MAX_QUESTION_CHARS = 2000
# Kept free of the context for the chat template and for what the count of tokens may be off.
SPARE_TOKENS = 200
LEAST_TOKENS = 600

log = logging.getLogger(__name__)


class Agent:
    """Answers questions about one memory. Safe to share between threads."""

    def __init__(self, store: MemoryStore, settings: Settings, model: ModelClient | None = None,
                 searcher: Searcher | None = None) -> None:
        self._store = store
        self._settings = settings
        self._model = model
        self._searcher = searcher or Searcher(store, settings.retrieval)
        self._words = WordFilter(settings.privacy)
        self._free = threading.Semaphore(settings.agent.parallel_questions)

    def ask(self, question: Question, *, cancel: threading.Event | None = None,
            on_progress: Callable[[Progress], None] | None = None) -> Answer:
        """Answer a question; blocks for at most its time limit.

        Never raises for what a model, a memory or a question does wrong: the answer's status and
        message say it.
        """
        if not self._free.acquire(blocking=False):
            return Answer(status=QueryStatus.BUSY, message='another question is being answered')
        began, trace = time.monotonic(), list[dict[str, Any]]()
        forgotten = self._times_forgotten()
        # What is no text at all (half of a pair of code units) cannot be stored.
        # What must not be kept must not be asked either: a model and the log would get it.
        question = replace(question, text=self._words.text(
            question.text.encode('utf-8', 'replace').decode()),
            choices=tuple(self._words.text(choice.encode('utf-8', 'replace').decode())
                          for choice in question.choices))
        try:
            answer = self._guarded(question, cancel, on_progress or (lambda _: None), trace)
        finally:
            self._free.release()
        name = self._model.name('agent') if self._model else ''
        answer = self._illustrated(answer, question)
        answer = replace(answer, duration_s=time.monotonic() - began, model=name)
        return self._logged(question, answer, trace, forgotten)

    def _guarded(self, question: Question, cancel: threading.Event | None,
                 on_progress: Callable[[Progress], None], trace: list[dict[str, Any]]) -> Answer:
        if problem := _problem_of(question.text) or choices.problem_of(question.choices):
            return Answer(status=QueryStatus.ERROR, message=problem)
        question = replace(question, text=' '.join(question.text.split()))
        window = Window(robots=question.robots, start_ns=question.start_ns,
                        end_ns=question.end_ns, before_ns=question.query_time_ns)
        try:
            time_left_s = started(_asked_or(question.time_limit_s,
                                            self._settings.agent.time_limit_s))
            zone = parse_zone(self._store.zone_of(question.robots))
            on_progress(Progress(phase='searching'))
            facts = describe(self._store, question.text, window, question.query_time_ns, zone,
                             self._searcher.similarity)
            if facts.span is None:
                return Answer(status=QueryStatus.NOT_RECORDED, message=_nothing(question))
            reason = self._model.why_unavailable() if self._model else 'no model is set'
            if self._model is None or reason:
                text, evidence = retrieve(
                    self._store, self._searcher, question.text, window, zone)
                return Answer(status=QueryStatus.RETRIEVED_ONLY, answer=text, evidence=evidence,
                              message=reason)
            return self._asked(question, window, zone, facts, self._model,
                               self._limits(question, time_left_s, cancel), on_progress, trace)
        except EmvError as error:
            log.error('a question failed: %s', error)
            return Answer(status=QueryStatus.ERROR, message=str(error))

    def _limits(self, question: Question, time_left_s: Callable[[], float],
                cancel: threading.Event | None) -> Limits:
        settings = self._settings.agent
        # Only the embedded model's context is ours to know; the others' are larger.
        room = self._settings.model.context_tokens - settings.reply_tokens - SPARE_TOKENS
        return Limits(rounds=int(_asked_or(question.max_rounds, settings.max_rounds)),
                      tokens=int(_asked_or(question.max_tokens, settings.max_tokens)),
                      prompt_tokens=max(room, LEAST_TOKENS), time_left_s=time_left_s,
                      cancel=cancel)

    def _asked(self, question: Question, window: Window, zone: tzinfo, facts: Facts,
               model: ModelClient, limits: Limits, on_progress: Callable[[Progress], None],
               trace: list[dict[str, Any]]) -> Answer:
        settings, now_ns = self._settings.agent, question.query_time_ns
        last_ns = facts.span.end_ns if facts.span else now_ns
        form = form_of(settings)
        view = (LowTree(self._store, window, zone, settings.top_level) if settings.top_level else
                TreeView(self._store, window, zone))
        library = Library(
            self._store, self._searcher, TreeState(view, zone), window,
            Clock(now_ns, zone, last_ns),
            PictureReader(self._store, model, settings.look_calls, limits.cancel,
                          limits.time_left_s),
            settings.console_calls, question=question.text,
            names_a_time=names_a_time(question.text), top_level=settings.top_level,
            why_stopped=limits.why_stopped, choices=question.choices,
            other_words=OtherWords(self._searcher.similarity, model, limits.cancel,
                                   limits.time_left_s))
        values = {'_root': library.tree.root(), '_now': local(now_ns, zone),
                  'choices': list(library.choices)}
        with Sandbox(form.functions(library, self._searcher), values, local(now_ns, zone),
                     time_s=settings.console_time_s, memory_mb=settings.console_memory_mb,
                     calls=settings.console_calls, output_chars=settings.output_chars,
                     prelude=form.prelude) as sandbox:
            endings = Endings(
                question=plain_line(question.text), library=library, searcher=self._searcher,
                facts=form.facts(facts.text, library, limits.prompt_tokens, model.count_tokens),
                window=window, words=RecordedWords(self._store, window),
                has_exact=form.has_exact)
            examples = form.fitting(
                choose(question.text, settings.examples, self._searcher.similarity,
                       bool(library.choices)))
            return QuestionRun(endings, examples, sandbox, model, settings, limits, on_progress,
                               trace).answer()

    def _illustrated(self, answer: Answer, question: Question) -> Answer:
        """Add the pictures of the evidence; an answer goes out also where they cannot be found."""
        window = Window(robots=question.robots, start_ns=question.start_ns,
                        end_ns=question.end_ns, before_ns=question.query_time_ns)
        try:
            return replace(answer, evidence=tuple(
                with_pictures(self._store, answer.evidence, window)))
        except EmvError as error:
            log.error('the pictures of the evidence were not found: %s', error)
            return answer

    def _times_forgotten(self) -> int | None:
        try:
            with self._store.reading() as session:
                return times_forgotten(session)
        except EmvError:  # the question tells what is wrong with the memory
            return None

    def _logged(self, question: Question, answer: Answer, trace: list[dict[str, Any]],
                forgotten: int | None) -> Answer:
        if question.choices:
            trace.append({'choices': list(question.choices), 'choice': answer.choice})
        record = QueryRecord(
            question=question.text, status=str(answer.status), stamp_ns=time.time_ns(),
            query_time_ns=question.query_time_ns, robots=question.robots, answer=answer.answer,
            message=answer.message, evidence=tuple(item.id for item in answer.evidence),
            trace=tuple(trace), rounds=answer.rounds, prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens, duration_s=answer.duration_s,
            model=answer.model)
        try:
            return replace(answer, query_id=self._store.log_query(record, forgotten))
        except StoreReadOnlyError as error:  # a memory may be asked by who cannot write it
            log.info('the account of a question was not kept: %s', error)
            return answer
        except EmvError as error:
            log.error('the account of a question was not kept: %s', error)
            return answer


def _problem_of(text: str) -> str:
    """Return why a question cannot be asked, or ''."""
    if not text.strip():
        return 'the question is empty'
    if len(text) > MAX_QUESTION_CHARS:
        return (f'the question has {len(text)} characters; at most {MAX_QUESTION_CHARS} are '
                'allowed')
    return ''


def _asked_or(limit: float, setting: float) -> float:
    """Return the limit that a question asks for; what is no limit takes the setting."""
    return limit if limit > 0 else setting


def _nothing(question: Question) -> str:
    whose = f' by {", ".join(question.robots)}' if question.robots else ''
    return f'nothing was recorded{whose} before the time of the question'
