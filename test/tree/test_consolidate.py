"""Consolidation: the calendar, late records, resumption, several robots, one worker."""

from dataclasses import replace
import threading

from life_parts import (
    DAY_S,
    SETTINGS,
    UTC,
    at,
    below_days,
    check_whole,
    goal,
    notice,
    open_memory,
    say,
    see,
    shape,
    span,
    told,
)
import pytest
from sqlalchemy import select

from emv_ros.errors import NotFoundError, StoreBusyError
from emv_ros.memory import schema
from emv_ros.memory.queries import Window
from emv_ros.records import SkillReport, Status
from emv_ros.timeline import HOUR_NS
from emv_ros.tree import growth as module
from emv_ros.tree.consolidate import consolidate
from emv_ros.tree.lease import Lease, holding
from emv_ros.tree.summaries import SummaryWriter
from emv_ros.tree.tidy import Tidy
from emv_ros.tree.view import TreeView

pytestmark = pytest.mark.both_databases


def node_ids(store):
    with store.reading() as session:
        return {(row.level, row.name, row.start_ns): row.id
                for row in session.scalars(select(schema.NodeRow))}


def a_life(days=3):
    """A few days with goals, words, scenes and pauses; day 1 (from 0) is empty."""
    records = []
    for day in range(days):
        if day == 1:
            continue
        begin = day * DAY_S
        for hour in range(4):
            start = begin + hour * 3600
            status = 'failed' if hour == 2 else 'succeeded'
            records += [*span('Fetch', start, start + 60, status=status),
                        *span('Go', start + 5, start + 20, ['Fetch']),
                        *span('Grasp', start + 25, start + 30, ['Fetch']),
                        see(start + 40, 'mug'), see(start + 45, 'mug', 'plate'),
                        say(start + 100, f'number {hour}'), notice('cup', start + 110, start + 120)]
    return records


def test_an_empty_memory_has_no_tree(store):
    report = consolidate(store, SETTINGS)
    assert (report.events, report.goals, report.summaries) == (0, 0, 0)
    assert TreeView(store, Window(), UTC).root.summary == 'nothing is remembered here'


def test_one_event_makes_one_day(store):
    assert shape(store, [say(0, 'hello')]) == (8, 'day 2024-03-04', [(2, 'user said "hello"')])


def test_days_weeks_months_and_years_stack_where_there_are_two(store):
    store.add_many([say(day * DAY_S, f'day {day}') for day in (0, 2, 8, 40, 400)])
    tree = shape(store)
    assert tree == (12, 'life', [
        (11, 'year 2024', [
            (10, 'month 2024-03', [
                (9, 'week 2024-03 W10', [
                    (8, 'day 2024-03-04', [(2, 'user said "day 0"')]),
                    (8, 'day 2024-03-06', [(2, 'user said "day 2"')])]),
                (8, 'day 2024-03-12', [(2, 'user said "day 8"')])]),
            (8, 'day 2024-04-13', [(2, 'user said "day 40"')])]),
        (8, 'day 2025-04-08', [(2, 'user said "day 400"')])])
    check_whole(store)


def test_the_tree_of_days_is_the_same_in_any_order_of_arrival(store, tmp_path):
    days = [0, 2, 8, 40, 400, 1, 39]
    store.add_many([say(day * DAY_S, f'day {day}') for day in days])
    whole = shape(store)
    with open_memory(tmp_path / 'other') as other:
        for day in (400, 39, 0, 8, 1, 40, 2):
            shape(other, [say(day * DAY_S, f'day {day}')])
            check_whole(other)
        assert told(TreeView(other, Window(), UTC)) == whole


def test_a_day_groups_its_goals_at_pauses(store):
    tree = shape(store, a_life(1))
    (level, name, groups) = tree
    assert (level, name) == (8, 'day 2024-03-04')
    assert [group[0] for group in groups] == [4, 4, 4, 4]
    assert [child[1] for child in groups[0][2]] == ['Fetch', 'user said "number 0"', 'cup moved']
    check_whole(store)


def test_a_busy_day_gets_parts(store):
    shape(store, [say(n, f'word {n}') for n in range(400)])
    check_whole(store)
    view = TreeView(store, Window(), UTC)
    waiting = [view.root]
    while waiting:
        node = waiting.pop()
        children = view.children(node.id)
        assert len(children) <= 3 * SETTINGS.fan_out
        waiting += children


def test_nothing_new_changes_nothing(store):
    shape(store, a_life())
    before = node_ids(store)
    report = consolidate(store, SETTINGS)
    assert (report.events, report.goals, report.summaries, report.model_calls) == (0, 0, 0, 0)
    assert node_ids(store) == before


def test_bit_by_bit_is_as_at_once(store, tmp_path):
    records = a_life()
    shape(store, records)
    with open_memory(tmp_path / 'other') as other:
        ordered = sorted(records, key=lambda record: record.stamp_ns)
        for start in range(0, len(ordered), 5):
            shape(other, ordered[start:start + 5])
            check_whole(other)
        assert [row[:6] for row in below_days(other)] == [row[:6] for row in below_days(store)]


def test_small_chunks_are_as_one(store, tmp_path, monkeypatch):
    records = a_life()
    shape(store, records)
    with open_memory(tmp_path / 'other') as other:
        monkeypatch.setattr('emv_ros.tree.stretch.CHUNK', 3)
        shape(other, records)
        assert below_days(other) == below_days(store)
        check_whole(other)


def test_a_late_record_opens_only_the_path_above_it(store):
    shape(store, a_life())
    before = node_ids(store)
    shape(store, [*span('Late', 2 * 3600 + 70, 2 * 3600 + 80)])
    after = node_ids(store)
    check_whole(store)
    assert {key: after[key] for key in before} == before
    assert {key[1] for key in set(after) - set(before)} == {'Late'}
    path = TreeView(store, Window(), UTC).path(after[2, 'Late', at(2 * 3600 + 70)])
    late = next(node for node in path if node.level == 4)
    assert 'Late' in late.summary


def test_a_late_record_fills_an_empty_day(store):
    shape(store, a_life())
    tree = shape(store, [say(DAY_S + 60, 'I was here')])
    assert [child[1] for child in tree[2]] == ['day 2024-03-04', 'day 2024-03-05', 'day 2024-03-06']
    check_whole(store)


def test_a_late_goal_takes_its_children_in(store):
    shape(store, [*span('Go', 10, 20, ['Fetch']), say(30, 'here you are')])
    assert shape(store, [*span('Fetch', 5, 40)]) == (
        8, 'day 2024-03-04', [(3, 'Fetch', [(2, 'Go'), (2, 'user said "here you are"')])])
    check_whole(store)


def test_an_annotated_goal_that_comes_last_takes_what_lies_in_it(store):
    shape(store, [*span('Stir', 10, 20), say(300, 'enough')])
    assert shape(store, [goal('Cook', 0, 200)]) == (
        8, 'day 2024-03-04', [(3, 'Cook', [(2, 'Stir')]), (2, 'user said "enough"')])


def test_ids_stay_while_a_goal_goes_on(store):
    shape(store, [SkillReport(stamp_ns=at(0), skill='Cook', status=Status.RUNNING)])
    first = node_ids(store)
    shape(store, [*span('Stir', 10, 20, ['Cook'])])
    shape(store, [SkillReport(stamp_ns=at(60), skill='Cook', status=Status.FAILED)])
    after = node_ids(store)
    assert after[3, 'Cook', at(0)] == first[2, 'Cook', at(0)]
    assert after[8, 'day 2024-03-04', at(0)] == first[8, 'day 2024-03-04', at(0)]


def test_a_clock_that_jumps_back_makes_no_negative_span(store):
    store.begin_session('r2', at(100))
    store.add_many([*span('Go', 100, 110), see(105, 'mug'), see(120, 'mug')])
    store.begin_session('r2', at(50))
    store.add_many([*span('Go', 50, 60), *span('Turn', 55, 58, ['Go']),
                    see(52, 'mug'), see(107, 'mug')])
    shape(store)
    check_whole(store)
    assert [(row[3], row[0], row[1]) for row in below_days(store) if row[3]] == [
        ('Go', at(50), at(60)), ('Turn', at(55), at(58)), ('Go', at(100), at(110))]


def test_a_recording_that_is_looped_nests_in_its_own_session(store):
    for _ in range(2):
        store.begin_session('r2', at(0))
        store.add_many([*span('Home', 0, 10), *span('Move', 2, 8, ['Home'])])
    assert shape(store) == (8, 'day 2024-03-04', [(3, 'Home', [(2, 'Move')])] * 2)


def test_each_robot_has_its_tree(store):
    records = a_life(1)
    store.add_many(records)
    store.add_many([replace(record, robot='r3') for record in records[:9]])
    report = consolidate(store, SETTINGS)
    check_whole(store)
    assert set(report.robots) == {'r2', 'r3'}
    assert report.events == report.robots['r2'].events + report.robots['r3'].events
    assert consolidate(store, SETTINGS, robot='r3').events == 0


@pytest.mark.sqlite_only  # test_kills.py does it over a server
@pytest.mark.parametrize('kill_at', range(8))
def test_killed_anywhere_it_goes_on(store, tmp_path, monkeypatch, kill_at):
    """Power fails before the n-th commit: what was committed is a whole tree, the rest follows."""
    records = a_life()
    shape(store, records)
    with open_memory(tmp_path / 'other') as other:
        monkeypatch.setattr('emv_ros.tree.stretch.CHUNK', 10)
        other.add_many(records)
        done = 0
        real = Lease.renew

        def renew(lease):
            nonlocal done
            done += 1
            if done > kill_at + 1:
                raise KeyboardInterrupt
            real(lease)
        with monkeypatch.context() as patch:
            patch.setattr(Lease, 'renew', renew)
            with pytest.raises(KeyboardInterrupt):
                consolidate(other, SETTINGS)
        if node_ids(other):
            check_whole(other)
        shape(other)
        check_whole(other)
        assert below_days(other) == below_days(store)


def test_a_failure_within_a_transaction_leaves_all_waiting(store, monkeypatch):
    store.add_many(a_life(1))

    def fail(*_):
        raise RuntimeError('power')
    with monkeypatch.context() as patch:
        patch.setattr(module, 'settle', fail)
        with pytest.raises(RuntimeError):
            consolidate(store, SETTINGS)
    assert node_ids(store) == {}
    assert sum(module.waiting_records(store, 'r2').values()) > 0
    shape(store)
    check_whole(store)


def test_cancel_stops_between_steps(store):
    store.add_many(a_life())
    cancel = threading.Event()
    cancel.set()
    assert consolidate(store, SETTINGS, cancel=cancel).canceled
    shape(store)
    check_whole(store)


def test_progress_tells_how_many_records_are_done(store):
    store.add_many(a_life())
    told_progress = []
    consolidate(store, SETTINGS, progress=lambda done, total: told_progress.append((done, total)))
    total = told_progress[-1][1]
    assert told_progress[-1] == (total, total)


def test_one_consolidator_at_a_time(store):
    with holding(store), pytest.raises(StoreBusyError, match='another process consolidates'):
        consolidate(store, SETTINGS)
    consolidate(store, SETTINGS)


def test_a_corrected_stamp_leaves_no_node_behind(store):
    shape(store, [say(0, 'one'), say(6 * 3600, 'two')])
    with store.writing() as session:
        row = session.scalars(select(schema.UtteranceRow)).first()
        row.stamp_ns, row.pending = row.stamp_ns + 12 * HOUR_NS, True
    shape(store)
    check_whole(store)


def test_a_robot_that_the_memory_does_not_know_is_refused_and_not_made(store):
    store.add_many(span('Fetch', 0, 60))
    known = store.robots()
    with pytest.raises(NotFoundError, match=f"no robot 'r2d3'; it knows: {known[0]}"):
        consolidate(store, SETTINGS, robot='r2d3')
    assert store.robots() == known


def test_tidying_needs_no_write_lock_to_find_that_there_is_nothing(store):
    tidy = Tidy(store, 'r2d3', UTC, SETTINGS, SummaryWriter(None, SETTINGS))
    tidy.run()
    assert store.robots() == []


def test_no_text_is_longer_than_the_shortest_limit(store):
    settings = replace(SETTINGS, max_summary_chars=50)
    september_s = 205 * DAY_S  # Wednesday 25 September 2024, whose date alone is as long
    shape(store, [*span('Go', september_s, september_s + 86_000), say(9, 'a word ' * 30),
                  *span('Go', DAY_S, DAY_S + 5)], settings=settings)
    with store.reading() as session:
        texts = list(session.scalars(select(schema.NodeRow.summary)))
    assert max(map(len, texts)) <= 50
