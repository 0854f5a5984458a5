"""What summaries may use in an hour: reckoned from the store, told in words, gone on with later."""

from __future__ import annotations

from dataclasses import replace
import re
import time

from life_parts import SETTINGS as DEFAULTS, Said, Scripted, check_whole, listed, say
import pytest
from sqlalchemy import select, update

from emv_ros.errors import ModelTimeoutError, ModelUnavailableError
from emv_ros.memory import schema
from emv_ros.records import ModelCall
from emv_ros.timeline import HOUR_NS, SECOND_NS
from emv_ros.tree.budget import HourlyBudget, estimate
from emv_ros.tree.consolidate import consolidate

NO_LIMIT = replace(DEFAULTS, hourly_calls=0, hourly_tokens=0, hourly_cost=0.0)


class Logged(Scripted):
    """A model whose calls are in the account of the store, as a client puts them there."""

    def __init__(self, store, replies, cost=0.0, tokens=100):
        super().__init__(replies)
        self.store, self.cost, self.tokens = store, cost, tokens

    def complete(self, messages, **more):
        reply = super().complete(messages, **more)
        call(self.store, tokens=self.tokens, cost=self.cost)
        return replace(reply, prompt_tokens=self.tokens, completion_tokens=0, cost=self.cost)


def call(store, ago_s=0.0, tokens=0, cost=0.0, outcome='ok', purpose='summary'):
    store.log_call(ModelCall(
        purpose=purpose, model='m', stamp_ns=time.time_ns() - round(ago_s * SECOND_NS),
        duration_s=1.0, prompt_tokens=tokens, completion_tokens=0, cost=cost, outcome=outcome,
        detail=''))


def about(messages):
    return f'All about {listed(messages)[0].split()[-1]}'


def hours(count):
    """Return words of an episode each hour: a text to write for each, and one for the day."""
    return [say(hour * 3600 + second, f'w{hour}x{second}') for hour in range(count)
            for second in (0, 10, 20, 30)]


def made_by(store):
    with store.reading() as session:
        return sorted(session.scalars(select(schema.NodeRow.made_by).where(
            schema.NodeRow.level >= 4)))


def an_hour_later(store):
    """Put all calls an hour into the past, as the passing of that hour does."""
    with store.writing() as session:
        session.execute(update(schema.ModelCallRow).values(
            stamp_ns=schema.ModelCallRow.stamp_ns - HOUR_NS))


def test_without_a_limit_nothing_is_reckoned(store):
    call(store, tokens=10 ** 9, cost=10 ** 6)
    assert HourlyBudget(store, NO_LIMIT).refusal(10 ** 6) is None


@pytest.mark.parametrize(('limits', 'prompt', 'reason'), [
    ({'hourly_calls': 3}, 0, r'the model calls for summaries in an hour \(3\) are made'),
    ({'hourly_tokens': 700}, 101,
     'of the 700 tokens for summaries in an hour 600 are spent, and the next prompt takes about '
     '101'),
    # 600 tokens cost $0.60, so 500 are about to cost $0.50.
    ({'hourly_cost': 1.0}, 500, r'of the \$1.00 for summaries in an hour \$0.6000 are spent, and '
                                r'the next call costs about \$0.5000'),
    ({'hourly_cost': 0.6}, 0, r'of the \$0.60'),
])
def test_what_is_spent_waits_until_enough_of_it_is_an_hour_old(store, limits, prompt, reason):
    for ago_s in (3000, 2000, 1000):
        call(store, ago_s, tokens=200, cost=0.2)
    refusal = HourlyBudget(store, replace(NO_LIMIT, **limits)).refusal(prompt)
    assert refusal is not None
    assert re.search(reason, refusal.reason), refusal.reason
    assert (refusal.until_ns - time.time_ns()) / SECOND_NS == pytest.approx(600, abs=5)


@pytest.mark.parametrize(('limits', 'prompt'), [
    ({'hourly_calls': 4}, 10 ** 6), ({'hourly_tokens': 700}, 100), ({'hourly_cost': 1.0}, 390)])
def test_what_fits_goes_on(store, limits, prompt):
    for ago_s in (3000, 2000, 1000):
        call(store, ago_s, tokens=200, cost=0.2)
    assert HourlyBudget(store, replace(NO_LIMIT, **limits)).refusal(prompt) is None


def test_two_calls_have_to_be_an_hour_old_for_a_long_prompt(store):
    for ago_s in (3000, 2000, 1000):
        call(store, ago_s, tokens=200)
    refusal = HourlyBudget(store, replace(NO_LIMIT, hourly_tokens=700)).refusal(500)
    assert (refusal.until_ns - time.time_ns()) / SECOND_NS == pytest.approx(1600, abs=5)


def test_a_prompt_that_never_fits_is_told_without_a_time(store):
    refusal = HourlyBudget(store, replace(NO_LIMIT, hourly_tokens=700)).refusal(800)
    assert refusal.until_ns is None
    assert 'the next prompt takes about 800' in refusal.reason


def test_questions_old_calls_and_calls_that_were_not_served_do_not_count(store):
    limits = replace(NO_LIMIT, hourly_calls=1, hourly_tokens=100)
    call(store, 3601, tokens=1000)
    call(store, purpose='agent', tokens=1000)
    call(store, outcome='ModelUnavailableError')
    call(store, outcome='PassingError')
    assert HourlyBudget(store, limits).refusal(50) is None
    call(store, outcome='ModelTimeoutError')
    assert 'in an hour (1) are made' in HourlyBudget(store, limits).refusal(50).reason


def test_after_a_clock_was_set_back_it_waits_an_hour_at_most_for_what_was_before(store):
    limits = replace(NO_LIMIT, hourly_calls=1)
    call(store, ago_s=-86_400)
    assert HourlyBudget(store, limits).refusal(50) is None
    call(store, ago_s=-60)
    assert HourlyBudget(store, limits).refusal(50) is not None


def test_a_prompt_is_estimated_by_its_bytes():
    # 70 bytes are about 20 tokens, and each message has a frame of 4.
    assert estimate([{'role': 'user', 'content': 'x' * 70}]) == 24
    assert estimate([{'role': 'user', 'content': 'x'}, {'role': 'user', 'content': 'ä' * 35}]) == 29


def test_a_spent_hour_leaves_templates_is_told_and_gone_on_with(store):
    """Four texts, two calls an hour: the tree is always whole, and done in the second hour."""
    settings = replace(NO_LIMIT, hourly_calls=2)
    store.add_many(hours(3))
    report = consolidate(store, settings, model=Logged(store, about), zone='UTC')
    check_whole(store)
    assert report.model_calls == 2
    assert made_by(store) == ['calendar', 'calendar', 'model', 'model']
    assert report.stopped.startswith('the model calls for summaries in an hour (2) are made; it '
                                     'goes on after ')
    assert report.resumes_ns is not None
    assert (report.resumes_ns - time.time_ns()) / SECOND_NS == pytest.approx(3600, abs=10)
    again = consolidate(store, settings, model=Logged(store, about))  # another process, say
    assert (again.model_calls, bool(again.stopped)) == (0, True)
    an_hour_later(store)
    done = consolidate(store, settings, model=Logged(store, about))
    assert (done.model_calls, done.stopped, made_by(store)) == (2, '', ['model'] * 4)
    assert not consolidate(store, settings, model=Logged(store, about)).stopped


def test_money_is_spent_up_to_the_limit_and_not_beyond(store):
    model = Logged(store, about, cost=0.04)
    store.add_many(hours(6))
    report = consolidate(store, replace(NO_LIMIT, hourly_cost=0.1), model=model)
    assert 1 <= len(model.asked) <= 2
    assert report.cost == pytest.approx(0.04 * len(model.asked))
    assert 'of the $0.10 for summaries in an hour' in report.stopped


def test_the_calls_of_one_consolidation_are_told_when_something_is_left(store):
    store.add_many(hours(3))
    settings = replace(NO_LIMIT, call_budget=2)
    assert consolidate(store, settings, model=Scripted(about)).stopped == (
        'the model calls of one consolidation (2) are made; the next one goes on')
    assert consolidate(store, settings, model=Scripted(about)).stopped == ''


def test_a_model_that_is_gone_is_told_in_its_words_and_asked_once(store):
    store.add_many(hours(3))
    model = Scripted(lambda _: ModelUnavailableError('m: rate limited (given up after 3 tries)'))
    report = consolidate(store, NO_LIMIT, model=model)
    assert report.stopped == 'm: rate limited (given up after 3 tries)'
    assert len(model.asked) == 1


def test_one_slow_reply_costs_one_text_alone(store):
    store.add_many(hours(4))
    model = Scripted(lambda messages: ModelTimeoutError('too slow') if 'w1x' in str(
        listed(messages)) else about(messages))
    report = consolidate(store, NO_LIMIT, model=model)
    assert (len(model.asked), report.stopped) == (4, '')
    # The one that it was too slow for, and the day above it, have templates.
    assert made_by(store) == ['calendar', 'calendar', 'model', 'model', 'model']


def test_several_slow_replies_in_a_row_are_enough(store):
    store.add_many(hours(6))
    model = Scripted(lambda _: ModelTimeoutError('too slow'))
    report = consolidate(store, NO_LIMIT, model=model)
    assert len(model.asked) == 3
    assert report.stopped == 'the model was too slow 3 times in a row: too slow'


def test_tokens_and_cost_of_a_text_are_those_of_all_its_tries(store):
    store.add_many(hours(1))
    replies = ['Bob met Alice.', 'Bob was there.', 'All about "w0x0".']
    model = Scripted(lambda _: replies.pop(0))
    costs = [Said('', 11, 3, cost=0.5), Said('', 13, 4, cost=0.25), Said('', 17, 5, cost=0.125)]
    complete = model.complete

    def priced(messages, **more):
        cost = costs[len(model.asked)]
        return replace(cost, text=complete(messages, **more).text)
    model.complete = priced
    report = consolidate(store, NO_LIMIT, model=model)
    with store.reading() as session:
        day = session.scalars(select(schema.NodeRow).where(schema.NodeRow.level >= 4)).one()
        row = session.scalars(select(schema.ConsolidationRow)).one()
    assert (day.made_by, day.prompt_tokens, day.completion_tokens, day.cost) == (
        'model', 41, 12, 0.875)
    assert (report.prompt_tokens, report.completion_tokens, report.cost) == (41, 12, 0.875)
    assert (row.prompt_tokens, row.completion_tokens, row.cost, row.model_calls) == (
        41, 12, 0.875, 3)
