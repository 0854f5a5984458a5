"""Observations that were made of scenes change no text of the tree and cut no event."""

from __future__ import annotations

from life_parts import SETTINGS, at, check_whole, open_memory, say, span
import pytest
from sqlalchemy import select

from emv_ros.memory import schema
from emv_ros.memory.queries import observations
from emv_ros.perception.symbolic import observe_scenes
from emv_ros.records import Observation, Scene, SceneObject, SceneRelation
from emv_ros.settings import Settings
from emv_ros.tree.consolidate import consolidate
from emv_ros.tree.texts import words_of_observation


def placed(seconds, place, *more):
    return Scene(stamp_ns=at(seconds), objects=(
        SceneObject(name='mug', instance='mug-1'), SceneObject(name=place, instance=f'{place}-1'),
        *more), relations=(SceneRelation(subject='mug-1', predicate='on', object=f'{place}-1'),))


def a_morning():
    """Sights alone, then within a run, a move among them, and one while words are said."""
    return [
        *(placed(second, 'table') for second in range(30)), say(12, 'good morning'),
        *span('Fetch', 40, 70, ['tidy']), *(placed(second, 'table') for second in range(41, 60)),
        *span('Wipe', 80, 120, ['tidy']), *(placed(second, 'table') for second in range(81, 100)),
        *(placed(second, 'shelf') for second in range(100, 115)),
        *(placed(second, 'shelf', SceneObject(name='cup', instance='c')) for second in (900, 901))]


def nodes(store):
    with store.reading() as session:
        row = schema.NodeRow
        return session.execute(select(
            row.level, row.start_ns, row.end_ns, row.name, row.summary, row.status).order_by(
            row.level, row.start_ns, row.id)).all()


@pytest.mark.parametrize('step', [1000, 23])
def test_the_tree_is_the_same_with_and_without_them(tmp_path, step):
    with open_memory(tmp_path / 'plain') as plain:
        plain.add_many(a_morning())
        consolidate(plain, SETTINGS)
        expected = nodes(plain)
    records = sorted(a_morning(), key=lambda record: record.stamp_ns)
    with open_memory(tmp_path / 'seen') as store:
        for start in range(0, len(records), step):
            store.add_many(records[start:start + step])
            observe_scenes(store, Settings(), 'r2')
            consolidate(store, SETTINGS)
        moves = [(item.name, item.location) for item in observations(store, name='mug')]
        assert moves == [('mug', 'on table'), ('mug', 'on shelf'), ('mug', 'on shelf')]
        assert nodes(store) == expected
        check_whole(store)
        with store.reading() as session:
            row = schema.NodeMemberRow
            placed_ids = set(session.scalars(select(row.ref_id).where(row.kind == 'observation')))
        assert placed_ids == {item.id for item in observations(store)}


def test_where_the_scenes_are_gone_the_observation_is_told(tmp_path):
    with open_memory(tmp_path / 'memory') as store:
        store.add_many([placed(0, 'table'), placed(5, 'table')])
        observe_scenes(store, Settings(), 'r2')
        with store.writing() as session:
            session.execute(schema.SceneRow.__table__.delete())
        consolidate(store, SETTINGS)
        assert any(summary == 'mug, on table' for *_, summary, _ in nodes(store))


@pytest.mark.parametrize('location, told', [
    ('on table', 'mug, on table'), ('in the sink', 'mug, in the sink'),
    ('counter', 'mug, at counter'), ('office', 'mug, at office'), ('', 'mug')])
def test_a_place_is_told_as_it_is_said(location, told):
    assert words_of_observation(Observation(
        stamp_ns=0, end_ns=0, name='mug', location=location)) == told
