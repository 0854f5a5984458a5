"""Scenes with identities become observations: one for each stay at a place."""

from __future__ import annotations

from dataclasses import replace
import random
import threading
import time

from databases import database_url
import pytest
from sqlalchemy import func, select

from emv_ros.memory import schema
from emv_ros.memory.queries import observations
from emv_ros.memory.store import MemoryStore
from emv_ros.perception.symbolic import observe_scenes
from emv_ros.records import ImageRecord, Observation, Scene, SceneObject, SceneRelation
from emv_ros.settings import Settings, with_values
from emv_ros.timeline import SECOND_NS, parse_stamp

pytestmark = pytest.mark.both_databases

NOON_NS = parse_stamp('2024-03-01T12:00:00Z')[0]
SETTINGS = Settings()


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / 'memory'
    with MemoryStore(folder, database_url(folder), 'r2') as opened:
        yield opened


def at(seconds):
    return NOON_NS + round(seconds * SECOND_NS)


def scene(seconds, place='table', *, instance='mug-1', name='mug', state='', position=None,
          frame='map', predicate='on', **more):
    relations = () if place is None else (
        SceneRelation(subject=instance, predicate=predicate, object=place),)
    return Scene(stamp_ns=at(seconds), relations=relations, objects=(SceneObject(
        name=name, instance=instance, state=state, position=position, frame=frame),), **more)


def seen(store, settings=SETTINGS, finish=False):
    """Return what came of all scenes: (first, last, location) in seconds after noon."""
    observe_scenes(store, settings, 'r2', finish=finish)
    return [((item.stamp_ns - NOON_NS) / SECOND_NS, (item.end_ns - NOON_NS) / SECOND_NS,
             item.location) for item in observations(store)]


def rate(first, last, place='table', hz=10, **more):
    return [scene(first + number / hz, place, **more)
            for number in range(round((last - first) * hz) + 1)]


def test_a_move_ends_one_observation_and_begins_the_next(store):
    store.add_many([*rate(0, 10), *rate(10.1, 12, 'robot', predicate='held_by'),
                    *rate(12.1, 20, 'sink', predicate='in')])
    assert seen(store) == [(0, 10, 'on table'), (10.1, 12, 'held by robot'), (12.1, 20, 'in sink')]
    (mug, *_) = observations(store)
    assert (mug.name, mug.instance, mug.made_by, mug.event, mug.robot) == (
        'mug', 'mug-1', 'rule', '', 'r2')


def test_a_relation_that_flickers_makes_no_move(store):
    rng = random.Random(3)
    store.add_many([scene(number / 10, rng.choice(['table', 'table', 'table', None, 'tray']))
                    for number in range(3000)])
    assert len(seen(store)) == 1


def test_a_pause_ends_an_observation_even_at_the_same_place(store):
    store.add_many([*rate(0, 5), *rate(60, 65), *rate(200, 205)])
    assert seen(store) == [(0, 65, 'on table'), (200, 205, 'on table')]


def test_positions_tell_a_move_where_no_relation_does(store):
    rng = random.Random(5)
    spots = [*([(1.0, 2.0)] * 50), *([(1.0, 2.5)] * 50)]
    store.add_many([scene(number / 2, None, position=(
        x + rng.uniform(-0.1, 0.1), y + rng.uniform(-0.1, 0.1), 0.8))
        for number, (x, y) in enumerate(spots)])
    assert seen(store) == [(0, 24.5, ''), (25, 49.5, '')]


def test_positions_seen_from_the_moving_robot_tell_nothing(store):
    store.add_many([scene(number, None, position=(number * 0.5, 0.0, 0.0),
                          frame='head_camera_optical_frame') for number in range(20)])
    assert seen(store) == [(0, 19, '')]


def test_positions_that_are_none_hold_up_nothing(store):
    odd = [(0.0, 0.0), (0.0, 0.0, 0.0), (float('nan'),) * 3, ()]
    store.add_many([scene(number, None, position=odd[number % 4], frame='map')
                    for number in range(20)])
    store.add_many(rate(100, 110))
    assert seen(store)[-1] == (100, 110, 'on table')


def test_what_walks_about_is_one_observation_not_one_a_step(store):
    store.add_many([scene(number / 10, None, name='person', instance='ann',
                          position=(number * 0.1, 0.0, 0.0)) for number in range(3000)])
    found = seen(store)
    assert len(found) <= 3 and found[0][0] == 0 and found[-1][1] >= 299
    assert all(item.is_person for item in observations(store))


def test_states_are_told_as_they_changed(store):
    store.add_many([*rate(0, 3, state='clean'), *rate(3.1, 6, state='dirty'), *rate(6.1, 9)])
    assert seen(store) == [(0, 9, 'on table')]
    (mug,) = observations(store)
    assert mug.attributes == {'state': 'dirty', 'states before': ['clean']}


def test_a_table_of_the_same_name_is_another_place(store):
    def on(seconds, table):
        return Scene(stamp_ns=at(seconds), objects=(
            SceneObject(name='mug', instance='m'), SceneObject(name='table', instance='t1'),
            SceneObject(name='table', instance='t2')), relations=(
                SceneRelation(subject='m', predicate='on', object=table),))

    store.add_many([on(0, 't1'), on(5, 't1'), on(10, 't2'), on(15, 't2')])
    observe_scenes(store, SETTINGS, 'r2')
    assert [(item.location, item.stamp_ns) for item in observations(store, name='mug')] == [
        ('on table', at(0)), ('on table', at(10))]


def test_scenes_without_identities_make_none(store):
    store.add_many([scene(0, instance=''), scene(1, instance='')])
    assert seen(store) == []


def test_a_pass_at_a_time_gives_what_one_pass_gives(store, tmp_path):
    rng = random.Random(11)
    scenes, place = [], 'table'
    for number in range(900):
        if rng.random() < 0.02:
            place = rng.choice(['table', 'sink', 'shelf'])
        scenes.append(scene(number / 2, place, state=rng.choice(['', '', 'wet'])))
    with MemoryStore(tmp_path / 'b', database_url(tmp_path / 'b'), 'r2') as whole:
        whole.add_many(scenes)
        expected = seen(whole)
    for start in range(0, len(scenes), 37):
        store.add_many(scenes[start:start + 37])
        observe_scenes(store, SETTINGS, 'r2')
    assert seen(store) == expected and len(expected) > 5
    # Each is searchable by its final words.
    with store.reading() as session:
        row = schema.DocumentRow
        assert session.scalar(select(func.count()).select_from(row)) == len(expected)
        assert session.scalars(select(row.end_ns).order_by(row.start_ns)).all() == [
            at(last) for _, last, _ in expected]


def test_a_second_pass_and_a_crash_double_nothing(store, monkeypatch):
    store.add_many(rate(0, 30))
    seen(store)

    def broken(*_args, **_more):
        raise RuntimeError('the power is gone')

    store.add_many(rate(30.1, 40, 'sink', predicate='in'))
    with monkeypatch.context() as patch, pytest.raises(RuntimeError):
        patch.setattr('emv_ros.perception.symbolic._Observer._keep', broken)
        observe_scenes(store, SETTINGS, 'r2')
    assert len(observations(store)) == 1
    assert seen(store) == seen(store) == [(0, 30, 'on table'), (30.1, 40, 'in sink')]


def test_an_observation_that_goes_on_wakes_no_consolidation(store):
    store.add_many(rate(0, 30))
    seen(store)
    with store.writing() as session:
        session.execute(schema.ObservationRow.__table__.update().values(pending=False))
    store.add_many(rate(30.1, 60))
    assert seen(store) == [(0, 60, 'on table')]
    with store.reading() as session:
        assert not session.scalar(select(schema.ObservationRow.pending))


def test_late_scenes_that_fit_tell_nothing_new_and_others_stand_alone(store):
    store.add_many([*rate(0, 10), *rate(1000, 1010)])
    seen(store)
    store.add_many([*rate(3, 5, 'sink', predicate='in'), *rate(500, 505, 'shelf')])
    assert seen(store) == [(0, 10, 'on table'), (500, 505, 'on shelf'), (1000, 1010, 'on table')]


def test_a_move_at_the_very_end_is_told_at_the_end_of_all(store):
    store.add_many([*rate(0, 10), scene(10.1, 'sink', predicate='in')])
    assert seen(store) == [(0, 10, 'on table')]
    assert seen(store, finish=True) == [(0, 10, 'on table'), (10.1, 10.1, 'in sink')]
    assert seen(store, finish=True) == [(0, 10, 'on table'), (10.1, 10.1, 'in sink')]


def test_what_the_source_tells_itself_is_not_told_again(store):
    session_id = store.begin_session('r2', at(0))
    told = Observation(stamp_ns=at(100), end_ns=at(110), name='mug', instance='mug-1',
                       event='moved', session_id=session_id)
    store.add_many([*(replace(item, session_id=session_id) for item in rate(60, 150)), told])
    report = observe_scenes(store, SETTINGS, 'r2')
    assert report.told == 201  # 20 s at 10 Hz: the ten, and five on either side
    found = [(item.made_by, item.stamp_ns, item.end_ns) for item in observations(store)]
    assert found == [('rule', at(60), at(94.9)), ('source', at(100), at(110)),
                     ('rule', at(115.1), at(150))]


def test_boxes_in_scenes_of_stored_pictures_are_left_to_perception(store):
    def boxed(seconds, bbox):
        return Scene(stamp_ns=at(seconds), camera='head', objects=(
            SceneObject(name='mug', instance='mug-1', bbox=bbox),))

    store.add_image(b'picture', ImageRecord(
        stamp_ns=at(0), camera='head', sha256='', media_type='image/jpeg', width=1, height=1))
    store.add_many([boxed(0, (0, 0, 4, 4)), boxed(1, (0, 0, 4, 4)), boxed(2, None)])
    assert seen(store) == [(2, 2, '')]


def test_scenes_with_boxes_among_which_hardly_a_picture_lies_are_read(store):
    """One picture in the middle of ten minutes makes no observation of its own."""
    store.add_image(b'p', ImageRecord(stamp_ns=at(300), camera='head', sha256='',
                                      media_type='image/jpeg', width=64, height=48))
    for second in range(600):
        store.add(Scene(stamp_ns=at(second), camera='head', objects=(
            SceneObject(name='mug', instance='mug-1', bbox=(1.0, 1.0, 30.0, 30.0)),)))
    assert seen(store, finish=True) == [(0, 599, '')]


def test_a_forgotten_observation_does_not_come_back(store):
    store.add_many(rate(0, 10))
    seen(store)
    with store.writing() as session:
        for table in (schema.SceneObjectRow, schema.ObservationRow, schema.DocumentRow):
            session.execute(table.__table__.delete())
    store.add_many(rate(11, 20))
    assert seen(store) == [(11, 20, 'on table')]


def test_a_canceled_pass_goes_on_later(store):
    store.add_many(rate(0, 250))
    cancel = threading.Event()
    cancel.set()
    assert observe_scenes(store, SETTINGS, 'r2', cancel).canceled
    assert observations(store) == []
    assert seen(store) == [(0, 250, 'on table')]
    assert observe_scenes(store, SETTINGS, 'nobody').scenes == 0


def test_the_pause_is_a_setting(store):
    store.add_many([scene(0), scene(100), scene(200)])
    assert len(seen(store, with_values(SETTINGS, {'tree.event_gap_s': 120.0}))) == 1


def test_ten_scenes_a_second_of_thirty_things_are_kept_up_with(store):
    rng = random.Random(1)
    places = dict.fromkeys(range(30), 'table')
    scenes = []
    for frame in range(3000):  # five minutes
        if frame % 200 == 0:
            places[rng.randrange(30)] = rng.choice(['shelf', 'sink'])
        scenes.append(Scene(stamp_ns=at(frame / 10), objects=tuple(
            SceneObject(name='mug', instance=f'm{number}', frame='map',
                        position=(number + rng.uniform(-0.01, 0.01), 0.0, 0.0))
            for number in range(30)), relations=tuple(
                SceneRelation(subject=f'm{number}', predicate='on', object=place)
                for number, place in places.items())))
    store.add_many(scenes)
    started = time.monotonic()
    report = observe_scenes(store, SETTINGS, 'r2')
    took = time.monotonic() - started
    assert report.scenes == 3000 and report.sightings == 90_000
    assert 30 <= len(observations(store)) <= 45
    assert took < 20  # an hour is twelve times that
