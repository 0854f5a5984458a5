"""Asks the questions of sets in each way and of each model, and keeps what came out at once.

What a model or memory that fails leaves without an answer is no result: it is counted, and asked
again when the run goes on. Several failures in a row end the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
import threading
import time
from typing import Any

from emv_ros.agent.agent import Agent
from emv_ros.agent.answers import Answer, QueryStatus, Question
from emv_ros.agent.console.rows import parse_id, span_of
from emv_ros.agent.facts import recorded_span
from emv_ros.agent.models.client import ModelClient
from emv_ros.errors import EmvError, NotFoundError
from emv_ros.evaluation.answering.results import Result, ResultsFile
from emv_ros.evaluation.answering.scored import scored
from emv_ros.evaluation.answering.sets import QuestionSet
from emv_ros.evaluation.answering.ways import settings_of
from emv_ros.evaluation.questions import AskedQuestion
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.embedders import TextEmbedder
from emv_ros.retrieval.search import Searcher
from emv_ros.settings import Settings
from emv_ros.timeline import SECOND_NS

# What no answer came of is no fault of the way: it is asked again.
UNDONE = (QueryStatus.RETRIEVED_ONLY, QueryStatus.ERROR, QueryStatus.BUSY)
MAX_UNDONE = 3
# Spans of what was shown that are kept of one question.
MAX_SHOWN = 2000

MakeModel = Callable[[Settings, MemoryStore], ModelClient]


@dataclass
class Stand:
    """How far a run is; `seconds` of the `asked` questions of this run, per way and model."""

    total: int = 0
    done: int = 0
    undone: int = 0
    now: str = ''
    left: dict[tuple[str, str], int] = field(default_factory=dict)
    spent: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def left_s(self) -> float | None:
        """Return the seconds that the rest will take by those asked so far, None before any."""
        known = [sum(times) / len(times) for times in self.spent.values() if times]
        if not known:
            return None
        mean = sum(known) / len(known)
        return sum(count * (sum(times) / len(times) if (times := self.spent.get(key)) else mean)
                   for key, count in self.left.items())


def make_client(settings: Settings, store: MemoryStore) -> ModelClient:
    """Return the client of the model that the settings name; its calls are logged."""
    return ModelClient(settings.model, on_call=store.log_call)


class Asking:
    """One run over sets, ways and models."""

    def __init__(self, settings: Settings, embedder: TextEmbedder | None, results: ResultsFile,
                 on_progress: Callable[[Stand], None] = lambda _: None,
                 tell: Callable[[str], None] = lambda _: None,
                 make_model: MakeModel = make_client, robots: tuple[str, ...] = ()) -> None:
        self._settings = settings
        self._embedder = embedder
        self._results = results
        self._on_progress = on_progress
        self._tell = tell
        self._make_model = make_model
        self._robots = robots
        self._in_a_row = 0
        self.stand = Stand()

    def run(self, sets: Sequence[QuestionSet], ways: Sequence[str], models: Sequence[str],
            cancel: threading.Event | None = None) -> Stand:
        """Ask what has no result yet; ends early, in order, where `cancel` is set.

        Raises EmvError where a way lacks what it needs, where a memory cannot be made or opened,
        or where nothing is answered any more.
        """
        for way in ways:
            needs_vectors = settings_of(way, self._settings).agent.way == 'search_tools'
            if needs_vectors and self._embedder is None:
                raise EmvError(f'the way {way} needs text vectors; retrieval.embedder is none')
        self._plan(sets, ways, models)
        self._check(models)
        for asked in sets:
            for model in models:
                for way in ways:
                    open_ones = [question for question in asked.questions
                                 if (asked.name, way, model, question.id) not in self._results]
                    if open_ones and not _is_set(cancel):
                        self._ask_all(asked, open_ones, way, model, cancel)
        return self.stand

    def _plan(self, sets: Sequence[QuestionSet], ways: Sequence[str],
              models: Sequence[str]) -> None:
        for asked in sets:
            for model in models:
                for way in ways:
                    done = sum((asked.name, way, model, question.id) in self._results
                               for question in asked.questions)
                    self.stand.total += len(asked.questions)
                    self.stand.done += done
                    left = self.stand.left
                    left[way, model] = left.get((way, model), 0) + len(asked.questions) - done

    def _check(self, models: Sequence[str]) -> None:
        """Raise EmvError for a model that has questions left and cannot be asked at all."""
        for model in models:
            if any(count for (_, name), count in self.stand.left.items() if name == model):
                settings = replace(self._settings.model, model=model)
                if reason := ModelClient(settings).why_unavailable('agent'):
                    raise EmvError(f'the model {model} cannot be asked: {reason}')

    def _ask_all(self, asked: QuestionSet, questions: Sequence[AskedQuestion], way: str,
                 model: str, cancel: threading.Event | None) -> None:
        settings = settings_of(way, self._settings)
        settings = replace(settings, model=replace(settings.model, model=model))
        self.stand.now = f'{asked.name}, {way}, {model}'
        self._on_progress(self.stand)
        with asked.open_for(way) as store:
            has_vectors = settings.retrieval.embedder != 'none' and self._embedder is not None
            if not has_vectors:
                settings = replace(settings, retrieval=replace(settings.retrieval,
                                                               embedder='none'))
            client = self._make_model(settings, store)
            if reason := client.why_unavailable('agent'):
                raise EmvError(f'the model {model} cannot be asked: {reason}')
            agent = Agent(store, settings, client, Searcher(
                store, settings.retrieval, self._embedder if has_vectors else None))
            last = recorded_span(store, Window(robots=self._robots))
            for question in questions:
                if _is_set(cancel):
                    return
                now_ns = question.query_time_ns or (last.end_ns + SECOND_NS if last else 0)
                began = time.monotonic()
                answer = agent.ask(Question(text=question.text, query_time_ns=now_ns,
                                            choices=question.choices, robots=self._robots),
                                   cancel=cancel)
                if answer.status is QueryStatus.CANCELED:
                    return
                self._keep(store, asked, question, way, model, now_ns, answer)
                self._count(way, model, time.monotonic() - began)

    def _keep(self, store: MemoryStore, asked: QuestionSet, question: AskedQuestion, way: str,
              model: str, now_ns: int, answer: Answer) -> None:
        """Keep one answer as a result; where it is none, tell why."""
        if answer.status in UNDONE:
            self.stand.undone += 1
            self._in_a_row += 1
            self._tell(f'{asked.name} {question.id} ({way}, {model}) has no result: '
                       f'{answer.status}: {answer.message}')
            if self._in_a_row >= MAX_UNDONE:
                raise EmvError(f'{MAX_UNDONE} questions in a row got no answer, the last: '
                               f'{answer.message}')
            return
        self._in_a_row = 0
        self.stand.done += 1
        found = result_of(store, asked, question, way, model, now_ns, answer)
        self._results.add(scored(replace(found, zone=store.zone_of(self._robots))))

    def _count(self, way: str, model: str, seconds: float) -> None:
        self.stand.left[way, model] -= 1
        self.stand.spent.setdefault((way, model), []).append(seconds)
        self._on_progress(self.stand)


def result_of(store: MemoryStore, asked: QuestionSet, question: AskedQuestion, way: str,
              model: str, now_ns: int, answer: Answer) -> Result:
    """Return the line of one answer, not scored yet."""
    gold = question.gold
    return Result(
        set=asked.name, way=way, model=model, id=question.id, kind=question.kind,
        question=question.text, choices=question.choices,
        gold={} if gold is None else {**asdict(gold), 'kind': str(gold.kind)},
        episodes=asked.episodes, seed=asked.seed, answer=answer.answer, status=str(answer.status),
        message=answer.message, choice=answer.choice, prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens, rounds=answer.rounds,
        seconds=round(answer.duration_s, 3),
        evidence=tuple({'id': item.id, 'start_ns': item.start_ns, 'end_ns': item.end_ns}
                       for item in answer.evidence),
        windows=tuple((span.start_ns, span.end_ns) for span in question.evidence),
        shown=_shown(store, answer.query_id), query_time_ns=now_ns,
        query_id=f'q{answer.query_id}' if answer.query_id else '',
        memory=str(store.folder))


def _shown(store: MemoryStore, query_id: int | None) -> tuple[tuple[int, int], ...]:
    """Return the spans of the records that a question's commands were given; nodes tell nothing."""
    if query_id is None:
        return ()
    trace: Sequence[Any] = store.get('query', query_id).trace
    ids = dict.fromkeys(key for step in trace for key in step.get('shown') or ())
    found: dict[tuple[int, int], None] = {}
    for key in list(ids)[:MAX_SHOWN]:
        parsed = parse_id(key)
        if parsed is None or parsed[0] == 'node':
            continue
        try:
            span = span_of(store.get(*parsed))
        except NotFoundError:  # forgotten meanwhile
            continue
        found[span.start_ns, span.end_ns] = None
    return tuple(found)


def _is_set(cancel: threading.Event | None) -> bool:
    return cancel is not None and cancel.is_set()
