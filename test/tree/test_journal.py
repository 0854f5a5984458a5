"""No token is paid for twice, also by a process that is killed; no reply is kept for long."""

from __future__ import annotations

import multiprocessing
import random
import threading
import time

import journal_worker
from journal_worker import WORK, Noted, a_life
from life_parts import SETTINGS, UTC, Scripted, check_whole, listed, open_memory, say
import pytest
from sqlalchemy import select, update

from emv_ros.errors import ModelCanceledError, ModelReplyError, ModelUnavailableError
from emv_ros.memory import schema
from emv_ros.records import ModelCall
from emv_ros.timeline import HOUR_NS
from emv_ros.tree.consolidate import consolidate
from emv_ros.tree.journal import Journal, PaidReply, forget_replies, key_of

pytestmark = pytest.mark.both_databases

# Its processes come from one that has imported all: each is there at once.
WORKERS = multiprocessing.get_context('forkserver')
WORKERS.set_forkserver_preload(['journal_worker'])
LIMIT_S = 60.0


def lines_of(file):
    return file.read_text().splitlines() if file.exists() else []


def run_and_kill(folder, log, after, moment_s):
    """Run the worker; kill it a moment after it asked `after` more questions. True if it was."""
    before = len(lines_of(log))
    process = WORKERS.Process(target=journal_worker.work, args=(folder, log))
    process.start()
    limit = time.monotonic() + LIMIT_S
    while process.is_alive() and len(lines_of(log)) < before + after:
        process.join(0.001)
        assert time.monotonic() < limit
    process.join(moment_s)
    process.kill()  # SIGKILL
    process.join()
    assert process.exitcode in (0, -9)
    return process.exitcode != 0


def upper(store):
    """Return the nodes of the upper tree with their parents' spans, texts and costs, no ids."""
    with store.reading() as session:
        rows = {row.id: row for row in session.scalars(select(schema.NodeRow))}
    return sorted((row.level, row.start_ns, row.end_ns, row.made_by, row.summary, row.model,
                   row.prompt_tokens, row.completion_tokens, row.cost, row.is_open,
                   (above := rows.get(row.parent_id)) and (above.level, above.start_ns))
                  for row in rows.values() if row.level >= 4)


def kept(store):
    with store.reading() as session:
        return sorted(session.scalars(select(schema.ModelReplyRow.text)))


def runs(store):
    with store.reading() as session:
        return list(session.scalars(
            select(schema.ConsolidationRow).order_by(schema.ConsolidationRow.id)))


@pytest.fixture(scope='module')
def uninterrupted(tmp_path_factory):
    """The upper tree as it comes out without a kill, and the questions that it took."""
    folder = tmp_path_factory.mktemp('uninterrupted')
    with open_memory(folder / 'memory') as store:
        store.add_many(a_life())
        consolidate(store, WORK, model=Noted(folder / 'log'))
        check_whole(store)
        assert kept(store) == []
        return upper(store), lines_of(folder / 'log')


@pytest.mark.sqlite_only  # many processes; test_kills.py kills over a server, too
@pytest.mark.parametrize('seed', range(3))
def test_killed_at_any_moment_no_question_is_asked_twice(tmp_path, uninterrupted, seed):
    """But for the one that was under way when the process was killed."""
    chance = random.Random(seed)
    folder, log = tmp_path / 'memory', tmp_path / 'log'
    with open_memory(folder) as store:
        store.add_many(a_life())
    lost = set()
    for _ in range(100):
        if not run_and_kill(folder, log, chance.randint(1, 5), chance.uniform(0.0, 0.03)):
            break
        lost.add(len(lines_of(log)) - 1)  # this one may not have been answered
    asked = lines_of(log)
    with open_memory(folder) as store:
        check_whole(store)
        assert upper(store) == uninterrupted[0]
        assert kept(store) == []
        assert {row.outcome for row in runs(store)} <= {'killed', 'ok'}
    assert len(lost) >= 3
    assert set(asked) == set(uninterrupted[1])
    again = [at for at, key in enumerate(asked) if key in asked[at + 1:]]
    assert set(again) <= lost


def test_a_reply_is_kept_before_it_is_used_and_gone_after(store):
    seen = []

    def reply(messages):
        seen.append(kept(store))
        return 'Bob met Alice.' if len(seen) == 1 else 'All about "w0".'
    store.add_many([say(n, f'w{n}') for n in range(3)])
    consolidate(store, SETTINGS, model=Scripted(reply))
    assert seen == [[], ['Bob met Alice.']]
    assert kept(store) == []


def broken_off(store, second):
    """Consolidate with a first reply that is refused and a second try that ends otherwise."""
    store.add_many([say(n, f'w{n}') for n in range(3)])
    replies = ['Bob met Alice.', second]
    return consolidate(store, SETTINGS, model=Scripted(replies))


def test_a_refused_first_try_is_not_paid_for_again(store):
    """The second try found no server: what the first one cost stands at the text all the same."""
    broken_off(store, ModelUnavailableError('no server'))
    assert kept(store) == ['Bob met Alice.']
    model = Scripted(['All about "w0".'])
    report = consolidate(store, SETTINGS, model=model)
    assert len(model.asked) == 1
    assert 'it says Bob' in model.asked[0][-1]['content']
    assert (report.prompt_tokens, report.completion_tokens) == (10, 5)
    with store.reading() as session:
        day = session.scalars(select(schema.NodeRow).where(schema.NodeRow.level >= 4)).one()
    assert (day.prompt_tokens, day.completion_tokens, day.made_by) == (20, 10, 'model')
    assert kept(store) == []


def test_a_reply_that_is_canceled_in_flight_is_not_kept(store):
    cancel = threading.Event()

    def reply(_):
        cancel.set()
        return ModelCanceledError('canceled')
    store.add_many([say(n, f'w{n}') for n in range(3)])
    assert consolidate(store, SETTINGS, model=Scripted(reply), cancel=cancel).canceled
    assert kept(store) == []


def test_a_canceled_consolidation_leaves_what_it_paid_for_to_the_next(store):
    cancel = threading.Event()

    def reply(_):
        cancel.set()  # while the reply is on its way
        return 'Bob met Alice.'
    store.add_many([say(n, f'w{n}') for n in range(3)])
    consolidate(store, SETTINGS, model=Scripted(reply), cancel=cancel)
    assert kept(store) == ['Bob met Alice.']
    model = Scripted(['All about "w0".'])
    consolidate(store, SETTINGS, model=model)
    assert len(model.asked) == 1


def test_a_consolidation_without_a_model_leaves_the_journal_to_one_with_it(store):
    broken_off(store, ModelUnavailableError('no server'))
    consolidate(store, SETTINGS)
    assert kept(store) == ['Bob met Alice.']


def test_what_serves_no_text_any_more_goes_with_the_next_consolidation(store):
    broken_off(store, ModelUnavailableError('no server'))
    store.add(say(5, 'more'))  # another prompt
    consolidate(store, SETTINGS, model=Scripted(lambda _: 'All about "w0".'))
    assert kept(store) == []


def test_nothing_is_kept_for_more_than_a_day(store):
    broken_off(store, ModelUnavailableError('no server'))
    with store.writing() as session:
        session.execute(update(schema.ModelReplyRow).values(
            stamp_ns=schema.ModelReplyRow.stamp_ns - 25 * HOUR_NS))
    consolidate(store, SETTINGS)
    assert kept(store) == []


def test_the_journal_of_one_robot_can_be_forgotten(store):
    other = Journal(store, 'other')
    journal = Journal(store, 'r2')
    for name in ('a', 'b'):
        journal.keep(name, PaidReply(f'secret {name}', 3, 2, 'm', 0.5))
    other.keep('a', PaidReply('of the other'))
    assert journal.find('a') == PaidReply('secret a', 3, 2, 'm', 0.5)
    assert forget_replies(store, 'r2') == 2
    assert forget_replies(store, 'r2') == forget_replies(store, 'nobody') == 0
    assert (journal.find('a'), kept(store)) == (None, ['of the other'])


def test_an_empty_reply_that_was_paid_for_is_not_asked_for_again(store):
    def reply(messages):
        return ModelReplyError('m: the reply is empty', 7, 0)
    store.add_many([say(n, f'w{n}') for n in range(3)])
    model = Scripted(reply)
    report = consolidate(store, SETTINGS, model=model)
    assert report.fallbacks == 1
    assert report.prompt_tokens == 7 * len(model.asked)
    assert len(model.asked) == 2  # one more try, and then it would say the same again


@pytest.mark.sqlite_only  # no memory
def test_the_key_tells_model_messages_schema_warmth_and_length_apart():
    messages = [{'role': 'user', 'content': 'a'}]
    keys = {key_of('m', messages, None, 0.0, 10), key_of('n', messages, None, 0.0, 10),
            key_of('m', [*messages, *messages], None, 0.0, 10),
            key_of('m', messages, {'a': 1}, 0.0, 10), key_of('m', messages, None, 0.6, 10),
            key_of('m', messages, None, 0.0, 11)}
    assert len(keys) == 6
    assert key_of('m', messages, {'a': 1, 'b': 2}, 0.0, 9) == key_of(
        'm', [dict(messages[0])], {'b': 2, 'a': 1}, 0.0, 9)


def test_the_same_question_of_two_nodes_is_paid_for_once(store):
    """Two days with the same words at the same times."""
    store.add_many([say(day * 86_400 + n, f'w{n}') for day in range(2) for n in range(3)])
    model = Scripted(lambda messages: f'All about {listed(messages)[0].split()[-1]}')
    consolidate(store, SETTINGS, model=model, zone=UTC)
    assert [len(listed(messages)) for messages in model.asked].count(3) == 1
    with store.reading() as session:
        days = list(session.scalars(select(schema.NodeRow).where(schema.NodeRow.level == 8)))
    assert sorted((day.made_by, day.prompt_tokens) for day in days) == [('model', 0), ('model', 10)]


# The log of consolidations

def test_a_consolidation_leaves_a_row_and_one_with_nothing_to_do_none(store):
    store.add_many([say(n, f'w{n}') for n in range(3)])
    model = Scripted(lambda _: 'All about "w0".')
    report = consolidate(store, SETTINGS, model=model)
    row, = runs(store)
    assert (row.records, row.events, row.goals, row.summaries) == (
        3, 3, 0, report.summaries)
    assert (row.model_calls, row.prompt_tokens, row.completion_tokens, row.fallbacks) == (
        1, 10, 5, 0)
    assert (row.up_to_ns, row.outcome) == (say(2, '').stamp_ns, 'ok')
    assert 0 < row.duration_s < 60
    assert abs(row.begun_ns - time.time_ns()) < HOUR_NS
    for used in (model, None, Scripted([], available=False)):
        consolidate(store, SETTINGS, model=used)
    assert len(runs(store)) == 1


def test_each_robot_has_a_row_of_its_own(store):
    store.add_many([say(0, 'a', robot='one'), say(0, 'b', robot='two'), say(9, 'c', robot='two')])
    consolidate(store, SETTINGS)
    assert [row.records for row in runs(store)] == [1, 2]
    store.add(say(20, 'd', robot='two'))
    consolidate(store, SETTINGS)
    assert [row.records for row in runs(store)] == [1, 2, 1]


def test_outcomes_of_trouble(store):
    broken_off(store, ModelUnavailableError('no server'))
    store.add(say(5, 'more'))

    def fail(_):
        raise RuntimeError('a bug')
    with pytest.raises(RuntimeError):
        consolidate(store, SETTINGS, model=Scripted(fail))
    store.add(say(6, 'more'))
    cancel = threading.Event()
    consolidate(store, SETTINGS, cancel=cancel, progress=lambda *_: cancel.set())
    assert [row.outcome for row in runs(store)] == ['stopped', 'failed', 'canceled']


def test_the_row_of_a_killed_consolidation_is_completed_by_the_next(store):
    """From the account of calls: one before it, two of it, one of a question meanwhile."""
    store.add(say(0, 'a'))
    consolidate(store, SETTINGS)
    with store.writing() as session:
        row = session.scalars(select(schema.ConsolidationRow)).one()
        row.outcome, row.duration_s = 'running', 1.0
        begun_ns = row.begun_ns
    for after_s, purpose in ((-5, 'summary'), (1, 'summary'), (2, 'agent'), (3, 'summary')):
        store.log_call(ModelCall(
            purpose=purpose, model='m', stamp_ns=begun_ns + after_s * 10 ** 9, duration_s=2.0,
            prompt_tokens=100, completion_tokens=10, cost=0.5, outcome='ok', detail=''))
    consolidate(store, SETTINGS)
    row, = runs(store)
    assert (row.outcome, row.model_calls, row.prompt_tokens, row.completion_tokens, row.cost) == (
        'killed', 2, 200, 20, 1.0)
    assert row.duration_s == pytest.approx(5.0)


