"""What a run of the consolidation node tells: budgets, limits, a turn that never comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
import threading

import numpy as np
from slow_model import SlowModel, serving

from emv_ros.errors import ModelError
from emv_ros.memory.store import MemoryStore
from emv_ros.nodes.consolidation_run import Consolidation, Outcome, Request
from emv_ros.nodes.consolidation_runs import Runs
from emv_ros.records import Utterance
from emv_ros.retrieval.embedders import Vectors
from emv_ros.settings import Settings, with_values
from emv_ros.timeline import HOUR_NS, SECOND_NS

NOON_NS = 1_750_000_000 * SECOND_NS


@contextmanager
def consolidation(folder: Path, reply: str = 'The user said hello.', **tree: object) -> Iterator[
        tuple[Consolidation, SlowModel]]:
    """Yield a consolidation of words in three hours: a text for each, and one for the day."""
    from emv_ros.agent.models.client import ModelClient

    model = SlowModel(reply, 0.0)
    with serving(model) as url, MemoryStore.open(Settings().memory, folder) as store:
        settings = with_values(Settings(), {
            'model.model': 'openai/gpt-4o-mini', 'model.api_base': url,
            'retrieval.embedder': 'none',
            **{f'tree.{name}': value for name, value in tree.items()}})
        store.add_many([
            Utterance(stamp_ns=NOON_NS + hour * HOUR_NS + second * SECOND_NS, speaker='user',
                      text='hello') for hour in range(3) for second in range(4)])
        client = ModelClient(settings.model, on_call=store.log_call)
        yield Consolidation(store, settings, client), model


def run(work: Consolidation, **request: object) -> Outcome:
    return work.run(Request(**request), threading.Event(), lambda _: None)  # type: ignore[arg-type]


def test_a_spent_hour_is_told_in_the_outcome_and_the_status(tmp_path: Path) -> None:
    with consolidation(tmp_path, hourly_calls=1) as (work, model):
        outcome = run(work)
        assert (outcome.status, outcome.unconsolidated, outcome.tokens) == ('ok', 0, 15)
        words = 'some texts are templates for now: the model calls for summaries in an '\
            'hour (1) are made'
        assert words in outcome.message
        assert '; it goes on after ' in outcome.message
        assert words in work.note
        assert run(work).message == outcome.message  # the next run of the timer asks nothing
        assert model.calls == 1


def test_a_price_that_is_known_counts_against_the_money_of_an_hour(tmp_path: Path) -> None:
    """The tokens of one call of this model cost more than the millionth of a dollar."""
    with consolidation(tmp_path, hourly_cost=1e-6) as (work, model):
        assert 'summaries in an hour' in run(work).message
        assert model.calls == 1


def test_within_its_budget_it_has_nothing_to_tell(tmp_path: Path) -> None:
    with consolidation(tmp_path) as (work, _):
        outcome = run(work)
        assert (outcome.status, outcome.message, work.note) == ('ok', '', '')


def test_the_tokens_of_a_request_are_a_limit_that_is_told(tmp_path: Path) -> None:
    with consolidation(tmp_path) as (work, model):
        outcome = run(work, max_tokens=20)
        assert (outcome.tokens, model.calls) == (30, 2)
        assert outcome.message == 'the limit of 20 tokens is reached'


def test_a_run_that_is_canceled_before_its_turn_says_so(tmp_path: Path) -> None:
    with consolidation(tmp_path, 'x') as (work, model):
        runs = Runs(work)
        runs.note('goal')
        runs.cancel('goal')
        with runs._turn:  # another run is under way
            outcome = runs.run('goal', Request())
        assert (outcome.status, outcome.message) == ('canceled', 'canceled before its turn')
        assert model.calls == 0


def test_the_runs_of_a_timer_share_a_thread_that_no_fault_ends() -> None:
    threads, ends = [], threading.Semaphore(0)

    class Failing:
        def run(self, *_: object) -> Outcome:
            threads.append(threading.current_thread())
            if len(threads) == 2:
                raise ValueError('a bug')
            return Outcome()

    outcomes: list[Outcome] = []

    def finished(outcome: Outcome) -> None:
        outcomes.append(outcome)
        ends.release()
        if len(outcomes) == 1:
            raise ValueError('a bug')

    runs = Runs(Failing())  # type: ignore[arg-type]
    for _ in range(4):
        runs.begin(Request(), finished)
        assert ends.acquire(timeout=30)
    assert [outcome.status for outcome in outcomes] == ['ok', 'error', 'ok', 'ok']
    assert len(set(threads)) == 1 and threads[0] is not threading.current_thread()
    assert runs.close(30)
    threads[0].join(30)
    assert not threads[0].is_alive()
    runs.begin(Request(), finished)  # of a timer that was quicker than the end of its node
    assert runs.close(0) and len(threads) == 4


def test_old_records_make_room_after_a_run_and_what_is_refused_is_told(tmp_path: Path) -> None:
    from emv_ros.agent.models.client import ModelClient

    settings = with_values(Settings(), {
        'model.model': 'none', 'retrieval.embedder': 'none', 'retention.utterance_days': 2})
    later_ns = NOON_NS + 30 * 24 * HOUR_NS
    with MemoryStore.open(Settings().memory, tmp_path) as store:
        def work() -> Consolidation:
            return Consolidation(store, settings, ModelClient(settings.model))

        store.add_many([Utterance(stamp_ns=NOON_NS + second * SECOND_NS, speaker='user',
                                  text=f'hello {second}') for second in range(5)])
        assert run(work()).status == 'ok' and store.counts()['utterance'] == 5  # no time, no age
        assert run(work(), now_ns=later_ns).message == ''
        assert store.counts()['utterance'] == 0
        store.add_many([Utterance(stamp_ns=NOON_NS + second * SECOND_NS, speaker='user',
                                  text=f'more {second}') for second in range(30)])
        outcome = run(work(), now_ns=later_ns + 24 * HOUR_NS)
        assert outcome.status == 'ok' and store.counts()['utterance'] == 30
        assert 'retention is refused: 30 of 30 rows of the kind utterance' in outcome.message


class Alike:
    """Gives all texts one vector, and does something first each time."""

    name, dimension = 'alike', 4

    def __init__(self, before: Callable[[], object]) -> None:
        self.texts: list[str] = []
        self.before = before

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.before()
        self.texts += texts
        return np.full((len(texts), 4), 0.5, np.float32)


def test_vectors_give_way_to_records_that_wait(tmp_path: Path) -> None:
    from emv_ros.agent.models.client import ModelClient

    settings = with_values(Settings(), {'model.model': 'none'})
    with MemoryStore.open(settings.memory, tmp_path) as store:
        said = iter(range(10_000))

        def say(count: int) -> None:
            store.add_many([
                Utterance(stamp_ns=NOON_NS + number * SECOND_NS, speaker='user',
                          text=f'sentence {number}') for number in islice(said, count)])

        say(150)
        work = Consolidation(store, settings, ModelClient(settings.model))
        assert work.without_vector is None
        # One more is heard while texts get their vectors: after a batch the tree comes first.
        work._embedder = embedder = Alike(lambda: say(1))
        outcome = run(work, vectors_s=1e-9)
        assert outcome.status == 'ok' and outcome.unconsolidated == 1
        assert embedder.texts == [f'user: sentence {number}' for number in range(64)]
        assert work.without_vector == 151 - 64 + store.counts()['node']
        # Where nothing waits for the tree, all get theirs, however long it takes.
        embedder.before = lambda: None
        outcome = run(work, vectors_s=1e-9)
        assert (outcome.unconsolidated, work.without_vector) == (0, 0)
        # And a request without a limit takes all in any case.
        say(100)
        heard = iter(range(2))
        embedder.before = lambda: say(next(heard, 0))
        outcome = run(work)
        assert (outcome.unconsolidated, work.without_vector) == (1, 0)


def test_what_waits_for_vectors_is_told_where_the_embedder_fails(tmp_path: Path) -> None:
    from emv_ros.agent.models.client import ModelClient

    def fail() -> None:
        raise ModelError('no power')

    settings = with_values(Settings(), {'model.model': 'none'})
    with MemoryStore.open(settings.memory, tmp_path) as store:
        store.add_many([Utterance(stamp_ns=NOON_NS + number, speaker='user', text=f'word {number}')
                        for number in range(3)])
        work = Consolidation(store, settings, ModelClient(settings.model))
        work._embedder = Alike(fail)
        outcome = run(work)
        assert outcome.status == 'ok' and 'no power' in outcome.message
        assert work.without_vector == 3 + store.counts()['node']
