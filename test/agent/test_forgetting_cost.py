"""What a forgetting costs grows as what goes, not with its square."""

from __future__ import annotations

import random
import sqlite3
from typing import Any

import pytest
from sqlalchemy import insert, select, update
from sqlalchemy.event import listen
from test_forgetting_kinds import at, open_store, wipe

from emv_ros.agent.forgetting_rows import add_along
from emv_ros.biography.scene_parts import _Spans, objects_showing
from emv_ros.errors import NotFoundError
from emv_ros.memory import schema
from emv_ros.memory.going import going
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Observation, Utterance

STEPS = 1000  # of SQLite's machine, between two looks


def live(store: MemoryStore, count: int) -> None:
    """One thing in so many scenes of one session, with an observation of every tenth of them."""
    run = store.begin_session('r2', at(0))
    common = {'robot_id': 1, 'session_id': run, 'extra': {}, 'pending': False}
    words = dict.fromkeys(('event', 'text', 'location', 'frame', 'state', 'camera'), '')
    with store.writing() as session:
        for table, step, values in (
                (schema.ObservationRow, 10, {'attributes': {}, 'is_person': False,
                                             'made_by': 'rule'}),
                (schema.SceneRow, 1, {}), (schema.SceneObjectRow, 1, {})):
            row: Any = table
            names = {column.name for column in row.__table__.columns}
            session.execute(insert(row), [
                {key: value for key, value in (common | words | values | {
                    'stamp_ns': at(number * 10), 'end_ns': at(number * 10 + 50), 'name': 'cup',
                    'instance': 'c1', 'scene_id': number + 1}).items() if key in names}
                for number in range(0, count, step)])


def cost(store: MemoryStore) -> tuple[int, int]:
    """Return the steps of the database to find what goes with all scenes, and how much that is."""
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    with store.reading() as session, going(session) as gone:
        gone.add_from('scene', select(schema.SceneRow.id))
        raw: Any = session.connection().connection.driver_connection
        raw.set_progress_handler(count, STEPS)
        add_along(session, gone)
        raw.set_progress_handler(None, 0)
        return steps, gone.count('observation')


def test_observations_of_scenes_are_found_by_their_time(tmp_path: Any) -> None:
    told = []
    for count in (2000, 4000):
        with open_store(tmp_path / str(count)) as store:
            live(store, count)
            told.append(cost(store))
    assert [number for _, number in told] == [200, 400]
    assert told[1][0] < 3 * told[0][0]


def test_objects_are_found_in_the_spans_of_what_goes_and_outside_of_what_stays(
        tmp_path: Any) -> None:
    with open_store(tmp_path) as store:
        live(store, 300)
        with store.reading() as session:
            row = schema.ObservationRow
            rows = session.scalars(select(row).where(row.id % 2 == 0)).all()
            of_spans = {number + 1 for number in range(300) if number // 10 % 2 == 1
                        and number % 10 <= 5}
            of_others = {number + 1 for number in range(300) if number // 10 % 2 == 0
                         and number % 10 <= 5}
            assert objects_showing(session, rows, False) == of_spans
            assert objects_showing(session, rows, True) == set(range(1, 301)) - of_others


def test_a_stamp_lies_in_spans_as_each_of_them_tells() -> None:
    draw = random.Random(7)
    for _ in range(50):
        spans = [(first, first + draw.randrange(12))
                 for first in (draw.randrange(100) for _ in range(draw.randrange(12)))]
        told = _Spans(spans)
        assert [stamp for stamp in range(-2, 120) if stamp in told] == [
            stamp for stamp in range(-2, 120)
            if any(first <= stamp <= last for first, last in spans)]


def test_statements_stay_small_however_much_goes(tmp_path: Any) -> None:
    """As on databases that take few parameters a statement: each takes a thousand here."""
    count = 1500
    with open_store(tmp_path) as store:
        keys = store.add_many(Observation(
            stamp_ns=at(number), end_ns=at(number), name=f'thing {number}',
            instance=f'thing_{number}') for number in range(count))
        with store.writing() as session:
            session.execute(insert(schema.EntityRow), [
                {'robot_id': 1, 'name': f'thing {number}', 'is_person': False, 'attributes': {}}
                for number in range(count)])
            session.execute(update(schema.ObservationRow).values(
                entity_id=schema.ObservationRow.id))
        store.close()
        listen(store._engine, 'connect', lambda raw, _: raw.setlimit(
            sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 1010))
        done = wipe(store, *(('observation', key) for key in keys))
        assert (done.numbers['observations'], done.numbers['entities']) == (count, count)
        with pytest.raises(NotFoundError, match=r'o1, o2, .* and 1,490 more$'):
            wipe(store, *(('observation', key) for key in keys))


def test_words_of_any_length_can_be_looked_for(tmp_path: Any) -> None:
    with open_store(tmp_path) as store:
        store.add(Utterance(stamp_ns=at(0), speaker='', text='a' * 100_000))
        assert wipe(store, text='A' * 60_000).numbers['utterances'] == 1
