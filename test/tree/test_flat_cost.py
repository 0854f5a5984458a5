"""What a day costs does not depend on how many came before it, nor on the periods it lies in."""

from dataclasses import replace

from life_parts import (
    DAY_S,
    SETTINGS,
    UTC,
    Scripted,
    at,
    check_whole,
    is_plain,
    listed,
    open_memory,
    say,
    see,
    shape,
    span,
)
import pytest
from sqlalchemy import select

from emv_ros.memory import schema
from emv_ros.memory.queries import Window
from emv_ros.tree.consolidate import consolidate
from emv_ros.tree.levels import DAY, MONTH, WEEK
from emv_ros.tree.rest import Rest
from emv_ros.tree.view import TreeView

HOUR_S = 3600


class Named(Scripted):
    """A model that tells its name."""

    def __init__(self, replies, called='scripted'):
        super().__init__(replies)
        self.called = called

    def name(self, purpose):
        assert purpose == 'summary'
        return self.called

    def complete(self, messages, **more):
        return replace(super().complete(messages, **more), model=self.called)


def about(messages):
    """Tell of the first line's last word, in quotes or not."""
    assert is_plain(messages)
    words = listed(messages)[0].replace('"', ' ').replace('.', ' ').split()
    return f'The robot spoke of {words[-1]}.'


def a_day(day):
    """Two hours of words and deeds, from nine."""
    return [record for hour in range(2) for record in (
        say(day * DAY_S + hour * HOUR_S, f'word{day}x{hour}'),
        *span('Fetch', day * DAY_S + hour * HOUR_S + 30, day * DAY_S + hour * HOUR_S + 60),
        say(day * DAY_S + hour * HOUR_S + 90, f'thanks{day}x{hour}'),
        *(see(day * DAY_S + hour * HOUR_S + 200 + n, f'thing{n}') for n in range(7)))]


def live(store, days, model, zone=None):
    """Live some days, consolidated at the end of each; return the calls of each."""
    calls = []
    for day in days:
        store.add_many(a_day(day))
        calls.append(consolidate(store, SETTINGS, model=model, zone=zone,
                                 now_ns=at(day * DAY_S + 15 * HOUR_S)).model_calls)
    return calls


def periods(store):
    with store.reading() as session:
        return {row.name: row for row in session.scalars(select(schema.NodeRow).where(
            schema.NodeRow.level >= WEEK))}


@pytest.fixture(scope='module')
def life(tmp_path_factory):
    """Sixty days, and the calls of each."""
    with open_memory(tmp_path_factory.mktemp('memory')) as memory:
        yield memory, live(memory, range(60), Named(about))


def test_sixty_days_cost_the_same_from_first_to_last(life):
    store, calls = life
    early, late = calls[7:30], calls[30:]
    assert sum(late) / len(late) == pytest.approx(sum(early) / len(early), rel=0.05)
    # Two episodes and the day; about a third of a call for all periods above it.
    assert sum(calls) / len(calls) - 3 == pytest.approx(0.35, abs=0.08)
    check_whole(store)


def test_a_late_record_in_the_second_week_asks_for_its_path_alone(life):
    store, _ = life
    model = Named(about)
    store.add(say(9 * DAY_S + HOUR_S + 100, 'wait'))
    consolidate(store, SETTINGS, model=model, now_ns=at(59 * DAY_S + 16 * HOUR_S))
    # Its group, its day, its week and its month, and the year's text of March and April.
    assert len(model.asked) == 5
    check_whole(store)


def test_what_is_over_has_a_models_text_and_what_goes_on_quotes_it(store):
    live(store, range(18), Named(about))  # to Thursday of the third week
    found = periods(store)
    assert {name: row.made_by for name, row in found.items()} == {
        'week 2024-03 W10': 'model', 'week 2024-03 W11': 'model', 'week 2024-03 W12': 'calendar',
        'month 2024-03': 'calendar'}
    month = found['month 2024-03']
    # The text of the two weeks that are over, and a part of the one that goes on.
    head, _, rest = month.summary.partition(' | ')
    assert head == 'The robot spoke of word0x0.'
    assert rest.startswith('week from 2024-03-18: Monday 18 March: The robot spoke of word14x0.')
    assert month.is_open
    # Without the model's text nothing was lost: the same memory, seen again, costs nothing.
    assert consolidate(store, SETTINGS, model=Named([]),
                       now_ns=at(17 * DAY_S + 16 * HOUR_S)).summaries == 0


def test_a_week_is_written_when_it_is_over_without_anything_new(store):
    live(store, range(3), Named(about))
    assert periods(store)['week 2024-03 W10'].made_by == 'calendar'
    model = Named(about)
    consolidate(store, SETTINGS, model=model, now_ns=at(7 * DAY_S - 9 * HOUR_S - 1))
    assert model.asked == []  # a second before Monday
    consolidate(store, SETTINGS, model=model, now_ns=at(7 * DAY_S - 9 * HOUR_S))
    assert len(model.asked) == 1
    assert periods(store)['week 2024-03 W10'].made_by == 'model'


@pytest.mark.parametrize('zone, hour', [
    ('America/Los_Angeles', 7), ('Pacific/Auckland', -13), ('Asia/Kathmandu', -5.75)])
def test_a_week_is_over_by_the_robots_own_clock(store, zone, hour):
    live(store, range(2), Named(about), zone)
    model = Named(about)
    midnight = 7 * DAY_S - 9 * HOUR_S + round(hour * HOUR_S)
    for now, calls in ((midnight - 1, 0), (midnight, 1)):
        consolidate(store, SETTINGS, model=model, zone=zone, now_ns=at(now))
        assert len(model.asked) == calls


def test_without_a_time_all_is_written(store):
    store.add_many([record for day in range(9) for record in a_day(day)])
    consolidate(store, SETTINGS, model=Named(about))
    consolidate(store, SETTINGS, model=Named(about))
    consolidate(store, SETTINGS, model=Named(about))
    assert {row.made_by for row in periods(store).values()} == {'model'}


def test_a_year_that_is_lived_one_day_a_month_is_told_by_its_months(store):
    """Lone days stand for their weeks and months: the year tells of those that are over."""
    model = Named(about)
    live(store, (0, 31, 62, 93), model)
    year = periods(store)['year 2024']
    assert year.summary.startswith('The robot spoke of word0x0. | Wednesday 05 June')
    view = TreeView(store, Window(), UTC)
    assert [child.level for child in view.children(view.root.id)] == [DAY] * 4


def test_what_is_over_is_judged_by_the_calendar(store):
    live(store, range(18), None)
    month = periods(store)['month 2024-03']
    view = TreeView(store, Window(), UTC)
    rows = [periods(store)[child.name] for child in view.children(view.root.id)]
    for now, over in ((0, 0), (6, 0), (7, 1), (17, 2), (21, 3), (400, 3)):
        rest = Rest(at(now * DAY_S), UTC, 0)
        assert month.level == MONTH
        assert (rest.over_in(month, rows), rest.goes_on(month)) == (
            3 if now == 0 and not rest.goes_on(month) else over, now < 28)
    assert not Rest(None, UTC, 0).goes_on(month)


def test_what_one_model_failed_at_another_is_asked_for_once(store):
    store.add_many([record for day in range(2) for record in a_day(day)])
    consolidate(store, SETTINGS, model=Named(lambda messages: 'No.', 'weak'))
    with store.reading() as session:
        made = [row.made_by for row in session.scalars(
            select(schema.NodeRow).where(schema.NodeRow.level >= 4))]
    assert set(made) == {'rule'}
    assert consolidate(store, SETTINGS, model=Named([], 'weak')).model_calls == 0
    model = Named(about, 'strong')
    assert consolidate(store, SETTINGS, model=model).model_calls == len(made)
    with store.reading() as session:
        assert {(row.made_by, row.model) for row in session.scalars(
            select(schema.NodeRow).where(schema.NodeRow.level >= 4))} == {('model', 'strong')}
    assert consolidate(store, SETTINGS, model=Named([], 'strong')).model_calls == 0
    check_whole(store)
    assert shape(store) is not None
