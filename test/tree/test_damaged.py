"""Rows that cannot be read and stretches that cannot be derived hold nothing else up."""

import logging

from life_parts import (
    DAY_S,
    SETTINGS,
    UTC,
    at,
    below_days,
    check_whole,
    goal,
    narrate,
    notice,
    say,
    see,
    shape,
    span,
    told,
)
import pytest
from sqlalchemy import select, text

from emv_ros.errors import StoreFullError
from emv_ros.memory import schema
from emv_ros.memory.queries import Window
from emv_ros.tree import growth
from emv_ros.tree.consolidate import consolidate, waiting_records
from emv_ros.tree.view import TreeView


def damage(store, table, ref_id, column, value):
    with store.writing() as session:
        session.execute(text(f'UPDATE {table} SET {column} = :value WHERE id = :id'),
                        {'value': value, 'id': ref_id})


def waiting(store):
    return sum(waiting_records(store, 'r2').values())


@pytest.mark.parametrize('column, value, why', [
    ('parameters', '{"name": "mug', 'Unterminated string'),
    ('parameters', '7', 'not iterable|no mapping'),
    ('parameters', '[["a", 1]]', 'no mapping'),
    ('goal_stack', 'null', 'not iterable'),
    ('goal_stack', '[1]', 'holds what is no name'),
    ('transitions', '[["walking", 5]]', "'walking' is not a valid Status"),
    ('transitions', '[["running", "noon"]]', 'no number'),
    ('status', 'exploded', "'exploded' is not a valid Status"),
    ('end_ns', 'noon', 'its time is no number'),
    ('skill', b'\x01\x02', 'its skill is no text'),
    ('transitions', '[["succeeded', 'Unterminated string'),
    ('extra', '{', 'Expecting property name')])
def test_a_damaged_run_is_named_and_has_an_event_of_its_own(store, caplog, column, value, why):
    ids = store.add_many([say(0, 'before'), *span('Fetch', 10, 20, source_id='7')[1:],
                          say(50, 'after')])
    damage(store, 'skill_event', ids[1], column, value)
    with caplog.at_level(logging.WARNING):
        report = consolidate(store, SETTINGS)
    (row,) = report.unread
    assert (row.kind, row.ref_id) == ('skill_event', ids[1])
    assert any(part in row.why for part in why.split('|'))
    assert f'skill event {ids[1]}' in caplog.text
    assert waiting(store) == 0 and report.faults == 0
    assert told(TreeView(store, Window(), UTC)) == (8, 'day 2024-03-04', [
        (2, 'user said "before"'), (2, 'a record of the kind skill event that cannot be read'),
        (2, 'user said "after"')])
    check_whole(store)
    # It is told once, and what comes later finds its place beside it.
    store.add(say(30, 'between'))
    assert consolidate(store, SETTINGS).unread == []
    check_whole(store)


def test_a_row_that_is_mended_becomes_what_it_was(store):
    ids = store.add_many([say(0, 'before'), span('Fetch', 10, 20)[1]])
    damage(store, 'skill_event', ids[1], 'status', 'exploded')
    shape(store)
    with store.writing() as session:
        row = session.get_one(schema.SkillEventRow, ids[1])
        row.status, row.pending = 'failed', True
    assert shape(store) == (8, 'day 2024-03-04', [(2, 'user said "before"'), (2, 'Fetch')])


def test_a_damaged_part_of_a_scene_is_left_out(store):
    ids = store.add_many([see(0, 'mug', 'plate'), see(200, 'cup')])
    with store.reading() as session:
        plate = session.scalar(select(schema.SceneObjectRow.id).where(
            schema.SceneObjectRow.name == 'plate'))
    damage(store, 'scene_object', plate, 'bbox', '[1, 2')
    report = consolidate(store, SETTINGS)
    assert [(row.kind, row.ref_id) for row in report.unread] == [('scene_object', plate)]
    assert [row[5] for row in below_days(store)] == ['saw mug', 'saw cup']
    damage(store, 'scene', ids[1], 'extra', 'nothing')
    with store.writing() as session:
        session.execute(text('UPDATE scene SET pending = 1'))
    assert {row.kind for row in consolidate(store, SETTINGS).unread} == {'scene', 'scene_object'}
    check_whole(store)


def test_a_stamp_that_is_none_blocks_nothing(store, caplog):
    ids = store.add_many([say(0, 'one'), say(10, 'two')])
    damage(store, 'utterance', ids[0], 'stamp_ns', 'noon')
    shape(store)
    assert f'utterance {ids[0]} has no time' in caplog.text
    assert [row[5] for row in below_days(store)] == ['user said "two"']
    assert waiting(store) == 0


def test_half_a_character_from_json_is_replaced(store):
    ids = store.add_many([span('Say', 0, 5)[1]])
    damage(store, 'skill_event', ids[0], 'parameters', '{"text": "good \\ud83d day"}')
    report = consolidate(store, SETTINGS)
    assert (report.faults, report.unread) == (0, [])
    assert [row[5] for row in below_days(store)] == ['Say (good ? day) succeeded']


def a_stretch(day=0):
    return [*span('Fetch', day * DAY_S, day * DAY_S + 60),
            *span('Go', day * DAY_S + 5, day * DAY_S + 20, ['Fetch'], status='failed'),
            say(day * DAY_S + 100, 'say "x"'), see(day * DAY_S + 110, 'mug', 'cup'),
            narrate('pour', day * DAY_S + 120, day * DAY_S + 130),
            goal('Cook', day * DAY_S, day * DAY_S + 90),
            notice('cup', day * DAY_S + 140, day * DAY_S + 150)]


def test_a_stretch_that_cannot_be_derived_gets_plain_events(store, monkeypatch, caplog):
    real = growth.derive

    def broken(stretch, *more):
        if any(item.stamp_ns >= at(DAY_S) for item in stretch.runs):
            raise RecursionError('a bug')
        return real(stretch, *more)
    monkeypatch.setattr(growth, 'derive', broken)
    store.add_many([*a_stretch(), *a_stretch(1)])
    report = consolidate(store, SETTINGS)
    assert (report.faults, report.unread, waiting(store)) == (1, [], 0)
    assert "robot 'r2' around 2024-03-05 09:00:00" in caplog.text and 'a bug' in caplog.text
    check_whole(store)
    rows = below_days(store)
    first = [row for row in rows if row[0] < at(DAY_S)]
    assert {row[3] for row in first if row[2] == 3} == {'Cook', 'Fetch'}
    assert {row[5] for row in rows if row[0] >= at(DAY_S)} == {
        'Fetch succeeded', 'Cook', 'Go failed', 'user said "say \'x\'"', 'saw mug, cup', 'pour',
        'cup moved'}
    # When the bug is gone, what touches the stretch mends it.
    monkeypatch.setattr(growth, 'derive', real)
    shape(store, [say(DAY_S + 160, 'more')])
    assert [row[1:5] for row in below_days(store) if row[2] == 3 and row[0] >= at(DAY_S)] == [
        (row[1] + DAY_S * 10 ** 9, *row[2:5]) for row in first if row[2] == 3]
    check_whole(store)


def test_the_stores_own_trouble_is_not_taken_for_a_fault(store, monkeypatch):
    store.add_many(a_stretch())

    def full(*_):
        raise StoreFullError('the disk is full')
    with monkeypatch.context() as patch:
        patch.setattr(growth, 'settle', full)
        with pytest.raises(StoreFullError):
            consolidate(store, SETTINGS)
    assert waiting(store) == 7
    assert below_days(store) == []
