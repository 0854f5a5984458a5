"""What was observed is forgotten: rows, words of others, the tree, pictures; and stays so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
from databases import database_url, files_with
import numpy as np
import pytest
from sqlalchemy import select

from emv_ros.agent.forgetting import forget
from emv_ros.biography.corrections import merge, split
from emv_ros.biography.rebuild import rebuild
from emv_ros.biography.shown_in import files_showing
from emv_ros.biography.upkeep import keep
from emv_ros.errors import NotFoundError, StoreError
from emv_ros.memory import schema
from emv_ros.memory.clearing import clear_files, is_noted
from emv_ros.memory.clip_writer import ClipParts, Mark, Seen, SeenScene, Shown, write_clip
from emv_ros.memory.queries import observations
from emv_ros.memory.redaction import redact
from emv_ros.memory.stay_state import key_of
from emv_ros.memory.store import MemoryStore
from emv_ros.perception.detections import Detection
from emv_ros.perception.perceive import perceive
from emv_ros.perception.symbolic import observe_scenes
from emv_ros.records import (
    ImageRecord,
    Observation,
    QueryRecord,
    Scene,
    SceneObject,
    SceneRelation,
    Utterance,
)
from emv_ros.settings import Settings, TreeSettings
from emv_ros.timeline import SECOND_NS, parse_stamp
from emv_ros.tree.consolidate import consolidate

NOON_NS = parse_stamp('2024-03-01T12:00:00Z')[0]
SECRET = 'zanzibar'
WHERE = (20.0, 20.0, 60.0, 60.0)
ELSEWHERE = (100.0, 20.0, 140.0, 60.0)

pytestmark = pytest.mark.both_databases


def at(seconds: float) -> int:
    return NOON_NS + round(seconds * SECOND_NS)


def photo(seed: int) -> bytes:
    """A picture of noise, in which any part is told from any other."""
    pixels = np.random.default_rng(seed).integers(0, 255, (120, 160, 3), np.uint8)
    return cv2.imencode('.jpg', pixels, [cv2.IMWRITE_JPEG_QUALITY, 95])[1].tobytes()


def pixels_of(store: MemoryStore, image_id: int) -> Any:
    return cv2.imdecode(np.frombuffer(store.picture(image_id), np.uint8), cv2.IMREAD_COLOR)


@dataclass
class Life:
    """A memory with a secret thing and a mug beside it, seen in three pictures of one clip."""

    store: MemoryStore
    images: list[int]
    secret: int  # observations
    mug: int
    entity: int
    mug_entity: int


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    folder = tmp_path / 'memory'
    with MemoryStore(folder, database_url(folder), 'r2', busy_timeout_s=5.0) as store:
        yield a_life(store)


def a_life(store: MemoryStore) -> Life:
    session_id = store.begin_session('r2', at(0))
    images = [store.add_image(photo(number), ImageRecord(
        stamp_ns=at(number), camera='head', sha256='', media_type='image/jpeg', width=160,
        height=120, session_id=session_id)) for number in range(5)]
    seen = [Observation(stamp_ns=at(0), end_ns=at(4), name=name, made_by='detector',
                        first_bbox=box, last_bbox=box) for name, box in (
        (SECRET, WHERE), ('mug', ELSEWHERE))]
    looks = np.eye(2, 8, dtype='<f4')
    # Picture 3 was not looked at.
    scenes = [SeenScene(scene=Scene(
        stamp_ns=at(number), camera='head', image_id=images[number], objects=(
            SceneObject(name=SECRET, bbox=WHERE), SceneObject(name='mug', bbox=ELSEWHERE)),
        relations=(SceneRelation(subject='mug', predicate='next to', object=SECRET),
                   SceneRelation(subject='mug', predicate='on', object='shelf'))),
        shows=(0, 1)) for number in (0, 1, 2, 4)]
    made = write_clip(store, ClipParts(
        robot='r2', camera='head', session_id=session_id, start_ns=at(0), end_ns=at(4) + 1,
        image_ids=images, before=Mark(), after=Mark(at(4), images[-1]), scenes=scenes,
        observations=[Seen(observation=item, vector=looks[place].tobytes(), shown=[
            Shown(image_id=images[0], bbox=box, is_crop=True),
            Shown(image_id=images[4], bbox=box, is_crop=False)])
            for place, (item, box) in enumerate(zip(seen, (WHERE, ELSEWHERE), strict=True))],
        separations=[(0, 1, 4)], vectors_by='looks'))
    assert made is not None
    with store.writing() as session:
        row = schema.ObservationRow
        entities = [schema.EntityRow(robot_id=1, name=name, is_person=False, attributes={})
                    for name in (SECRET, 'mug')]
        session.add_all(entities)
        session.flush()
        session.add(schema.EntityRow(robot_id=1, name=f'{SECRET} of old', is_person=False,
                                     attributes={}, merged_into=entities[0].id))
        for key, entity in zip(made, entities, strict=True):
            session.get_one(row, key).entity_id = entity.id
        beside = session.get_one(row, made[1])
        beside.made_by, beside.location, beside.text = 'rule', f'on the shelf by the {SECRET}', 'x'
        session.add(schema.NamingRow(observation_id=made[0], name=f'the {SECRET}', author='ann',
                                     stamp_ns=1))
        session.add(schema.PictureEmbeddingRow(image_id=images[0], model='m', vector=b'1234'))
    store.add_many([Utterance(stamp_ns=at(1), speaker='user', text='what a nice shelf')])
    store.log_query(QueryRecord(
        question='what was there?', status='ANSWERED', stamp_ns=at(9), query_time_ns=at(9),
        answer=f'a {SECRET}', evidence=(f'o{made[0]}',)))
    store.log_query(QueryRecord(question='which mug?', status='ANSWERED', stamp_ns=at(9),
                                query_time_ns=at(9), answer='the mug', evidence=('o2',)))
    consolidate(store, TreeSettings())
    return Life(store, images, made[0], made[1], entities[0].id, entities[1].id)


def wipe(life: Life, *references: tuple[str, int], **more: Any) -> Any:
    return forget(life.store, references, author='ann', reason='asked to', stamp_ns=at(100),
                  **more)


def names(folder: Path) -> set[str]:
    return {file.name for file in (folder / 'pictures').rglob('*') if file.is_file()}


def test_a_forgotten_entity_leaves_no_trace_and_its_neighbours_stay(life: Life) -> None:
    store, folder = life.store, life.store.folder
    (folder / 'cache').mkdir()
    (folder / 'cache' / 'vectors').write_bytes(SECRET.encode())
    before = [pixels_of(store, key) for key in life.images]
    hashes, old = names(folder), observations(store, name='mug')
    assert files_with(folder, SECRET)
    done = wipe(life, ('entity', life.entity))
    assert done.numbers['observations'] == 1 and done.numbers['entities'] == 2
    assert done.numbers['pictures'] == 5  # four with a box, and the one between them
    assert files_with(folder, SECRET) == []
    consolidate(store, TreeSettings())
    store.fold_log()
    assert files_with(folder, SECRET) == []
    # The pictures: no file of before is left, the box is grey, the mug beside it is as it was.
    assert not names(folder) & hashes and len(names(folder)) == 5
    for key, was in zip(life.images, before, strict=True):
        now = pixels_of(store, key).astype(int)
        assert abs(now[20:61, 20:61] - 128).max() < 12
        assert abs(now[20:60, 100:140] - was[20:60, 100:140]).mean() < 12
    mug, = observations(store, name='mug')
    assert (mug.id, mug.entity_id, mug.location, mug.made_by) == (
        old[0].id, life.mug_entity, '', 'detector')
    with store.reading() as session:
        assert [(item.subject, item.object) for item in session.scalars(
            select(schema.SceneRelationRow))] == [('mug', 'shelf')] * 4
        assert set(session.scalars(select(schema.SceneObjectRow.name))) == {'mug'}
        assert session.scalars(select(schema.QueryRow.answer)).all() == ['the mug']
        assert session.scalars(select(schema.AppearanceRow.observation_id)).all() == [life.mug]
        assert session.scalars(select(schema.PictureEmbeddingRow.image_id)).all() == []
        assert session.scalars(select(schema.StateRow.key).where(
            schema.StateRow.key == 'forgetting:files')).all() == []


def test_what_others_that_stay_say_of_it_goes_from_the_tree_at_once(life: Life) -> None:
    store = life.store
    store.add_many([
        Observation(stamp_ns=at(90), end_ns=at(95), name='plate', made_by='rule',
                    event=f'A plate stood beside the {SECRET}.'),
        Utterance(stamp_ns=at(89), speaker='user', text='look at this plate')])
    consolidate(store, TreeSettings())
    wipe(life, ('entity', life.entity))
    assert files_with(store.folder, SECRET) == []


@pytest.mark.parametrize(('name', 'words'), [
    ('samovar', 'it was:\nsamovar'), ('"Anna" cup', 'the "Anna" cup'), ('blue  cup', 'a blue\ncup'),
    ('杯子', '我的杯子在桌上'), ('Anna', '是Anna吗'), ('back\\slash', 'a back\\slash here')])
def test_questions_that_tell_a_forgotten_name_go_however_they_write_it(
        life: Life, name: str, words: str) -> None:
    store = life.store
    key = store.add(Observation(stamp_ns=at(200), end_ns=at(204), name=name))
    store.log_query(QueryRecord(
        question='x', status='ANSWERED', stamp_ns=at(9), query_time_ns=at(9),
        trace=({'output': words},)))
    store.log_query(QueryRecord(
        question='y', status='ANSWERED', stamp_ns=at(9), query_time_ns=at(9),
        trace=({'output': f'first\no{key} 12:00'},)))
    wipe(life, ('observation', key))
    with store.reading() as session:
        left = set(session.scalars(select(schema.QueryRow.question)))
    assert not left & {'x', 'y'}


def test_names_that_are_parts_of_others_or_no_words_take_nothing_along(life: Life) -> None:
    store = life.store
    key = store.add(Observation(stamp_ns=at(200), end_ns=at(204), name='cup', instance='7'))
    store.log_query(QueryRecord(
        question='the cupboard?', status='ANSWERED', stamp_ns=at(9), query_time_ns=at(9),
        rounds=7, answer='7 cupboards at 12:07'))
    stay = [1, 2, 3, None, [], None, 'on the cupboard', None, '', False]
    with store.writing() as session:
        robot_id = store.robot_id(session, 'r2')
        session.add(schema.StateRow(key=key_of(robot_id), value={'scene': 1, 'open': [
            [1, name, {'name': name, 'now': stay}] for name in ('cupboard', 'cup', 'bar')]}))
    wipe(life, ('observation', key))
    with store.reading() as session:
        left = session.get_one(schema.StateRow, key_of(robot_id)).value['open']
        assert [item[1] for item in left] == ['cupboard', 'bar']
        assert 'the cupboard?' in set(session.scalars(select(schema.QueryRow.question)))


def test_what_was_once_merged_by_mistake_keeps_no_name_of_it(life: Life) -> None:
    store, told = life.store, {'author': 'ann', 'stamp_ns': at(50)}
    with store.writing() as session:
        session.execute(schema.NamingRow.__table__.delete())
    merge(store, [life.mug_entity, life.entity], force=True, **told)
    _, fresh = split(store, life.mug_entity, [life.secret], **told).entities
    wipe(life, ('entity', fresh))
    assert files_with(store.folder, SECRET) == []
    with store.reading() as session:
        assert session.get_one(schema.EntityRow, life.mug_entity).name == 'mug'
        assert session.scalars(select(schema.QueryRow.answer)).all() == ['the mug']


def test_it_cannot_be_forgotten_twice_and_its_account_tells_numbers(life: Life) -> None:
    wipe(life, ('entity', life.entity))
    for reference in (('entity', life.entity), ('observation', life.secret)):
        with pytest.raises(NotFoundError, match='there is no'):
            wipe(life, reference)
    with life.store.reading() as session:
        audit, = session.scalars(select(schema.AuditRow))
    assert (audit.author, audit.reason, audit.stamp_ns) == ('ann', 'asked to', at(100))
    assert audit.counts['observations'] == 1
    assert all(isinstance(number, int) for number in audit.counts.values())


def test_a_preview_changes_nothing_and_tells_what_would_go(life: Life) -> None:
    def rows() -> dict[str, int]:
        return life.store.counts()

    before, files = rows(), names(life.store.folder)
    told = wipe(life, ('entity', life.entity), dry_run=True)
    assert told.is_preview and rows() == before and names(life.store.folder) == files
    done = wipe(life, ('entity', life.entity))
    assert {name: done.numbers.get(name) for name in told.numbers} == dict(told.numbers)


def test_one_of_two_observations_leaves_its_entity_with_the_name_of_the_other(life: Life) -> None:
    store = life.store
    with store.writing() as session:
        session.get_one(schema.ObservationRow, life.mug).entity_id = life.entity
        session.execute(schema.NamingRow.__table__.delete())
    wipe(life, ('observation', life.secret))
    assert files_with(store.folder, SECRET) == []
    with store.reading() as session:
        assert session.get_one(schema.EntityRow, life.entity).name == 'mug'


def test_an_unknown_id_forgets_nothing(life: Life) -> None:
    with pytest.raises(NotFoundError, match='o99'):
        wipe(life, ('observation', life.secret), ('observation', 99))
    with pytest.raises(NotFoundError, match='u99'):
        wipe(life, ('observation', life.secret), ('utterance', 99))
    assert len(observations(life.store, name=SECRET)) == 1


def test_a_crash_before_the_old_files_are_gone_is_made_good(
        life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    store, old = life.store, names(life.store.folder)

    def stop(_store: MemoryStore) -> str:
        if is_noted(_store):
            raise KeyboardInterrupt
        return ''

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr('emv_ros.agent.forgetting.clear', stop)
        wipe(life, ('observation', life.secret))
    assert old <= names(store.folder)
    keep(store, Settings(), 'r2')  # as each consolidation does
    assert not old & names(store.folder)
    assert clear_files(store) == 0


def test_a_file_that_cannot_be_removed_is_told_and_stops_nothing_else(
        life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    store = life.store
    cache = store.folder / 'cache' / 'x'
    cache.parent.mkdir()
    cache.write_bytes(b'x')

    def fail(*_: object) -> None:
        raise StoreError('cannot remove it')

    with monkeypatch.context() as patch:
        patch.setattr(store.pictures, 'delete', fail)
        with pytest.raises(StoreError, match='cannot remove it'):
            wipe(life, ('observation', life.secret))
        assert files_with(store.folder, SECRET) == [] and not cache.exists()
        keep(store, Settings(), 'r2')
    assert clear_files(store) == 5


def test_a_damaged_picture_becomes_grey_and_stops_nothing(life: Life) -> None:
    store = life.store
    image = store.get('image', life.images[1])
    store.pictures.path(image.sha256, image.media_type).write_bytes(b'not a picture')
    wipe(life, ('observation', life.secret))
    assert abs(pixels_of(store, life.images[1]).astype(int) - 128).max() < 3


def test_pictures_of_equal_bytes_are_all_filled(life: Life) -> None:
    store = life.store
    twin = store.add_image(photo(0), ImageRecord(
        stamp_ns=at(500), camera='wrist', sha256='', media_type='image/jpeg', width=160,
        height=120))
    wipe(life, ('observation', life.secret))
    assert store.get('image', twin).sha256 == store.get('image', life.images[0]).sha256
    assert abs(pixels_of(store, twin).astype(int)[30:50, 30:50] - 128).max() < 12


def test_what_scenes_showed_by_instance_goes_and_does_not_come_back(tmp_path: Path) -> None:
    folder = tmp_path / 'memory'
    with MemoryStore(folder, database_url(folder), 'r2', busy_timeout_s=5.0) as store:
        def scene(seconds: float) -> Scene:
            return Scene(stamp_ns=at(seconds), objects=(
                SceneObject(name=SECRET, instance=f'{SECRET}-1'),
                SceneObject(name='cup', instance='c1')), relations=(
                    SceneRelation(subject=f'{SECRET}-1', predicate='on', object='shelf'),
                    SceneRelation(subject='c1', predicate='in', object=f'{SECRET}-1')))

        store.add_many([scene(second) for second in range(20)])
        observe_scenes(store, Settings(), 'r2')
        consolidate(store, TreeSettings())
        secret, = observations(store, name=SECRET)
        forget(store, [('observation', secret.id or 0)], author='', reason='r', stamp_ns=1)
        assert files_with(folder, SECRET) == []
        for _ in range(2):
            observe_scenes(store, Settings(), 'r2')
            consolidate(store, TreeSettings())
        cup, = observations(store)
        assert (cup.name, cup.location, cup.end_ns) == ('cup', '', at(19))
        store.fold_log()
        assert files_with(folder, SECRET) == []


def test_a_box_of_a_picture_of_another_size_is_filled_where_it_lies(tmp_path: Path) -> None:
    """The robot saw the picture of 160 × 120 at twice its size, and says so in its scene."""
    folder = tmp_path / 'memory'
    with MemoryStore(folder, database_url(folder), 'r2', busy_timeout_s=5.0) as store:
        store.add_image(photo(1), ImageRecord(
            stamp_ns=at(0), camera='head', sha256='', media_type='image/jpeg', width=160,
            height=120))
        store.add(Scene(stamp_ns=at(0), camera='head', objects=(
            SceneObject(name=SECRET, bbox=(2 * WHERE[0], 2 * WHERE[1], 2 * WHERE[2],
                                           2 * WHERE[3])),),
            extra={'image_width': 320, 'image_height': 240}))
        with store.reading() as session:
            shown, = files_showing(session, [], [1]).values()
        assert shown.boxes == {WHERE}


def test_an_instance_that_was_two_things_leaves_what_is_of_the_other(memory: MemoryStore) -> None:
    ids = memory.add_many([Observation(
        stamp_ns=at(start), end_ns=at(start + 4), name='mug', instance='1') for start in (0, 100)])
    memory.add_many([Scene(stamp_ns=at(second), objects=(
        SceneObject(name='mug', instance='1'), SceneObject(name='shelf')))
        for second in (1, 50, 101)])
    with memory.writing() as session:
        for key in ids:
            entity = schema.EntityRow(robot_id=1, name='mug', is_person=False, attributes={})
            session.add(entity)
            session.flush()
            session.get_one(schema.ObservationRow, key).entity_id = entity.id
    forget(memory, [('entity', 1)], author='', reason='r', stamp_ns=1)
    with memory.reading() as session:
        part = schema.SceneObjectRow
        assert session.scalars(select(part.stamp_ns).where(part.name == 'mug')).all() == [at(101)]


@pytest.mark.parametrize('suffix, dtype', [('.jpg', np.uint8), ('.png', np.uint8),
                                           ('.png', np.uint16)])
def test_only_the_box_is_filled(suffix: str, dtype: Any) -> None:
    pixels = np.full((60, 80), 200, dtype)
    kind = 'image/jpeg' if suffix == '.jpg' else 'image/png'
    data = cv2.imencode(suffix, pixels)[1].tobytes()
    done = redact(data, kind, [(10, 10, 30, 30), (-50, 50, 500, 500)], (80, 60))
    now = cv2.imdecode(np.frombuffer(done.data, np.uint8), cv2.IMREAD_UNCHANGED).astype(int)
    fill = 0 if dtype == np.uint16 else 128
    assert (done.width, done.height) == (80, 60)
    assert abs(now[6:35, 6:35] - fill).max() <= 12 and abs(now[47:, :] - fill).max() <= 12
    assert abs(now[:40, 45:] - 200).max() <= 12
    assert redact(data, kind, [None], (80, 60)).data != data


class SeesItEverywhere:
    """A detector that would find the secret again in any picture."""

    name = 'sees'

    def detect(self, pixels: Any) -> list[Detection]:
        return [Detection(name=SECRET, bbox=WHERE, confidence=0.9)]


def test_neither_a_rebuild_nor_another_look_brings_it_back(life: Life) -> None:
    store = life.store
    wipe(life, ('entity', life.entity))
    report = perceive(store, Settings(), detector=SeesItEverywhere(), finish=True)
    assert report.pictures == report.observations == 0
    rebuild(store, Settings().biography, 'r2', (0.7, 0.6))
    consolidate(store, TreeSettings())
    store.fold_log()
    assert files_with(store.folder, SECRET) == []
    assert [(item.id, item.entity_id) for item in observations(store)] == [
        (life.mug, life.mug_entity)]


def test_a_reader_in_the_way_is_told(life: Life) -> None:
    store = life.store
    with MemoryStore(store.folder, database_url(store.folder), 'r2', busy_timeout_s=0.1) as other:
        with store.reading() as session:
            session.scalars(select(schema.ObservationRow.id)).all()
            told = forget(other, [('entity', life.entity)], author='', reason='r', stamp_ns=1)
            assert 'somebody reads in it' in told.note
        assert other.rewrite()
    assert files_with(store.folder, SECRET) == []


def test_ids_are_never_used_again_and_what_comes_later_is_found(life: Life) -> None:
    store = life.store
    wipe(life, ('entity', life.entity))
    new = store.add_many([Observation(stamp_ns=at(500), end_ns=at(501), name='cup')])
    assert new[0] > max(life.secret, life.mug)
    with pytest.raises(NotFoundError):
        wipe(life, ('observation', life.secret))
    with store.reading() as session:
        row = schema.DocumentRow
        assert {ref_id: text.strip() for ref_id, text in session.execute(
            select(row.ref_id, row.text).where(row.kind == 'observation'))} == {
            life.mug: 'mug', new[0]: 'cup'}


def test_what_told_for_others_is_told_anew(life: Life) -> None:
    with life.store.writing() as session:
        row = session.get_one(schema.ObservationRow, life.mug)
        row.location, row.text = '', ''
        row.extra = {'told_by': {'id': life.secret, 'since_ns': at(0)}}
    wipe(life, ('observation', life.secret))
    mug, = observations(life.store)
    assert (mug.made_by, dict(mug.extra)) == ('detector', {})


def test_a_judgement_about_another_of_the_entity_is_handed_on(life: Life) -> None:
    store = life.store
    third, fourth = store.add_many([
        Observation(stamp_ns=at(50), end_ns=at(51), name='mug', entity_id=life.mug_entity),
        Observation(stamp_ns=at(60), end_ns=at(61), name='mug', entity_id=life.mug_entity)])
    with store.writing() as session:
        session.add(schema.VerdictRow(first_id=life.mug, second_id=fourth, verdict='same',
                                      author='ann', stamp_ns=1))
    done = wipe(life, ('observation', life.mug))
    assert done.numbers['observations'] == 1 and 'entities' not in done.numbers
    with store.reading() as session:
        assert {(row.first_id, row.second_id, row.verdict) for row in session.scalars(
            select(schema.VerdictRow))} == {
                (third, fourth, 'same'), (life.secret, third, 'different')}  # as the mug was seen
