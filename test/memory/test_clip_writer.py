"""A clip is written as a whole or not at all, and once."""

from __future__ import annotations

from dataclasses import replace

from memory_parts import at, picture
import pytest
from sqlalchemy import func, select

from emv_ros.memory import clip_writer, queries, schema
from emv_ros.memory.clip_writer import ClipParts, Mark, Seen, SeenScene, Shown, mark_of, write_clip
from emv_ros.records import Observation, Scene, SceneObject, SceneRelation

pytestmark = pytest.mark.both_databases

BOX = (10.0, 20.0, 30.0, 40.0)
TABLES = (schema.ClipRow, schema.SceneRow, schema.SceneObjectRow, schema.SceneRelationRow,
          schema.ObservationRow, schema.ObservationImageRow, schema.AppearanceRow,
          schema.SeparationRow, schema.DocumentRow)


def counts(memory):
    with memory.reading() as session:
        return [session.scalar(select(func.count()).select_from(table)) for table in TABLES]


@pytest.fixture
def parts(memory) -> ClipParts:
    """Return a clip of two pictures with a cup and a mug in the second one."""
    ids = [memory.add_image(f'picture {second}'.encode(), picture(second)) for second in (0, 1)]
    session_id = memory.get('image', ids[0]).session_id
    cup, mug = (Observation(stamp_ns=at(0), end_ns=at(1) + 1, name=name, made_by='detector',
                            attributes={'colour': 'red'}) for name in ('cup', 'mug'))
    scene = Scene(
        stamp_ns=at(1), camera='head', image_id=ids[1],
        objects=tuple(SceneObject(name=name, bbox=BOX) for name in ('cup', 'mug', 'table')),
        relations=(SceneRelation(subject='cup', predicate='on', object='table'),))
    return ClipParts(
        robot='robot', camera='head', session_id=session_id, start_ns=at(0), end_ns=at(1) + 1,
        image_ids=ids, before=Mark(), after=Mark(at(1), ids[1]),
        scenes=[SeenScene(scene=scene, shows=[0, 1, None])],
        observations=[
            Seen(observation=cup, vector=b'\0' * 8, shown=[
                Shown(image_id=ids[1], bbox=BOX, is_crop=True),
                Shown(image_id=ids[0], bbox=BOX, is_crop=False)]),
            Seen(observation=mug)],
        separations=[(1, 0, 5)], vectors_by='model')


def test_everything_of_a_clip(memory, parts):
    cup, mug = write_clip(memory, parts)
    assert counts(memory) == [1, 1, 3, 1, 2, 2, 1, 1, 2]
    assert {item.clip_id for item in queries.observations(memory)} == {1}
    with memory.reading() as session:
        row = session.scalars(select(schema.SeparationRow)).one()
        assert (row.first_id, row.second_id, row.shared_frames) == (cup, mug, 5)
        assert [(item.name, item.observation_id) for item in session.scalars(
            select(schema.SceneObjectRow).order_by(schema.SceneObjectRow.id))] == [
                ('cup', cup), ('mug', mug), ('table', None)]
        assert session.get(schema.AppearanceRow, (cup, 'model')).vector == b'\0' * 8
        assert mark_of(session, 1, 'head', parts.session_id) == parts.after
    assert [item.id for item in queries.observations(memory, text='red cup')] == [cup]


@pytest.mark.parametrize('step', ['_add_scenes', '_add_separations', 'set_mark'])
def test_a_crash_leaves_nothing_and_the_clip_is_written_once_after_it(
        memory, parts, monkeypatch, step):
    def crash(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(clip_writer, step, crash)
        with pytest.raises(KeyboardInterrupt):
            write_clip(memory, parts)
    assert counts(memory) == [0] * len(TABLES)
    with memory.reading() as session:
        assert mark_of(session, 1, 'head', parts.session_id) == Mark()
    assert write_clip(memory, parts)
    written = counts(memory)
    assert written[0] == 1
    assert write_clip(memory, parts) is None  # another process had the same clip
    assert counts(memory) == written


def test_a_picture_that_was_forgotten_meanwhile(memory, parts):
    with memory.writing() as session:
        session.delete(session.get(schema.ImageRow, parts.image_ids[0]))
    assert write_clip(memory, parts) is None
    assert counts(memory) == [0] * len(TABLES)


def test_the_robots_own_scene_is_completed_and_not_doubled(memory, parts):
    scene = parts.scenes[0].scene
    known = memory.add(replace(scene, relations=(), image_id=None, session_id=parts.session_id))
    with memory.writing() as session:
        session.get(schema.SceneRow, known).pending = False
        objects = list(session.scalars(select(schema.SceneObjectRow.id)))
    write_clip(memory, replace(parts, scenes=[SeenScene(
        scene=replace(scene, id=known, objects=()), shows=[0, 1, None], known_objects=objects)]))
    stored, = queries.scenes(memory)
    assert stored.relations == scene.relations and stored.image_id == parts.image_ids[1]
    with memory.reading() as session:
        assert session.get(schema.SceneRow, known).pending  # its event is made anew
        assert session.get(schema.SceneObjectRow, objects[0]).observation_id == 1
