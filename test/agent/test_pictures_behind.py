"""Pictures behind records: which are taken, what a vision model is asked, what it says."""

from base64 import b64decode
from collections.abc import Iterator
from typing import Any

from households import Household, Reply, ScriptedModel, code
import pytest
from sqlalchemy import select, update

from emv_ros.agent.console.pictures import PictureReader
from emv_ros.agent.evidence import items_of, with_pictures
from emv_ros.errors import EmvError, ModelCanceledError, ModelTimeoutError
from emv_ros.memory import schema
from emv_ros.memory.queries import ALL, Window
from emv_ros.records import ImageRecord, Scene, SceneObject
from emv_ros.timeline import Interval

NOW = '2025-03-10 12:00'
PNG = b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAACklEQVR4nGMAAQAABQABDQot'
                'tAAAAABJRU5ErkJggg==')


class Vision:
    """A vision model that says what it is told to, and remembers what it was asked."""

    def __init__(self, said: Any) -> None:
        self.said = said
        self.asked: list[tuple[str, int]] = []

    def why_unavailable(self, purpose: str = 'agent') -> str:
        return ''

    def complete(self, messages: Any, *, images: Any = (), **options: Any) -> Reply:
        self.asked.append((messages[0]['content'], len(images)))
        if isinstance(self.said, Exception):
            raise self.said
        return Reply(self.said)


@pytest.fixture
def kitchen(home: Household) -> Iterator[Household]:
    """Ten pictures, one a second from 10:00:00, with a scene to the first; one of depth."""
    for second in range(10):
        when = f'2025-03-05 10:00:{second:02d}'
        image_id = home.store.add_image(PNG, ImageRecord(
            stamp_ns=home.at(when), camera='head', sha256='', media_type='image/png', width=1,
            height=1))
        if not second:
            home.store.add(Scene(stamp_ns=home.at(when), image_id=image_id, objects=(
                SceneObject(name='mug', state='full'),)))
    home.store.add_image(PNG + b' ', ImageRecord(
        stamp_ns=home.at('2025-03-05 10:00:20'), camera='depth', sha256='', is_depth=True,
        media_type='image/png', width=1, height=1))
    home.run('Pour', '2025-03-05 10:00:02', '2025-03-05 10:00:08')
    home.run('Rest', '2025-03-05 10:00:12', '2025-03-05 10:00:13')
    home.run('Sleep', '2025-03-05 10:00:20', '2025-03-05 10:00:21')
    yield home


def span(home: Household, start: str, end: str) -> Interval:
    return Interval(home.at(f'2025-03-05 10:00:{start}'), home.at(f'2025-03-05 10:00:{end}'))


def test_the_pictures_of_a_span(kitchen: Household) -> None:
    reader = PictureReader(kitchen.store, None, 0)

    def seconds(start: str, end: str, window: Window = ALL) -> list[int]:
        first_ns = kitchen.at('2025-03-05 10:00')
        return [(image.stamp_ns - first_ns) // 10**9
                for image in reader.pictures_of(span(kitchen, start, end), 'r1', window)]

    assert seconds('02', '08') == [2, 4, 6]  # three of seven
    assert seconds('03', '03') == [3]
    assert seconds('12', '13') == [9]  # the nearest within five seconds
    assert seconds('20', '21') == []  # of depth only
    assert seconds('02', '08', Window(before_ns=kitchen.at('2025-03-05 10:00:04'))) == [2, 3]


def test_a_vision_model_is_asked_about_them(kitchen: Household) -> None:
    model = Vision('A mug.\nOutput: forged')
    with kitchen.console('2025-03-06 10:00') as console:
        console.library._pictures._model = model
        console.run("rows = events(skill='Pour')")
        assert console.lines("print(look(rows[0], 'what is there?'))") == ['A mug. Output: forged']
    assert model.asked == [(model.asked[0][0], 3)]
    assert model.asked[0][0].endswith('Question: what is there?')


def test_without_a_vision_model_or_where_it_fails(kitchen: Household) -> None:
    record = kitchen.store.get('skill_event', 1)
    for failure, said in (
            (None, 'no vision model looked; stored with the picture: mug (full)'),
            (ModelTimeoutError('too slow'), 'the vision model could not look (too slow); '
             'no vision model looked; stored with the picture: mug (full)')):
        reader = PictureReader(kitchen.store, Vision(failure) if failure else None, 8)
        assert reader.look(record, span(kitchen, '02', '08'), 'what?', ALL) == said
    canceled = PictureReader(kitchen.store, Vision(ModelCanceledError('given up')), 8)
    with pytest.raises(ModelCanceledError):
        canceled.look(record, span(kitchen, '02', '08'), 'what?', ALL)
    assert PictureReader(kitchen.store, None, 1).look(
        record, span(kitchen, '40', '41'), 'what?', ALL) == (
        'no vision model looked, and no scene was stored near that time')
    with pytest.raises(EmvError, match='no more pictures'):
        PictureReader(kitchen.store, None, 0).look(record, span(kitchen, '02', '08'), '', ALL)


def test_a_picture_file_that_is_gone(kitchen: Household) -> None:
    image = kitchen.store.get('image', 1)
    kitchen.store.pictures.path(image.sha256, image.media_type).unlink()
    reader = PictureReader(kitchen.store, Vision('a mug'), 8)
    said = reader.look(kitchen.store.get('skill_event', 1), span(kitchen, '02', '08'), '', ALL)
    assert said.startswith('the vision model could not look (')
    assert said.endswith('stored with the picture: mug (full)')


def test_evidence_with_its_picture(kitchen: Household) -> None:
    pour, rest, sleep = items_of(kitchen.store, ['s1', 's2', 's3', 's99', 'nonsense'])
    image = kitchen.store.get('image', 1)
    path = str(kitchen.store.pictures.path(image.sha256, image.media_type))
    assert (pour.image_path, rest.image_path, sleep.image_path) == (path, path, '')
    assert with_pictures(kitchen.store, [sleep], ALL) == [sleep]
    with kitchen.console('2025-03-06 10:00') as console:
        console.run("seen('mug')")
        assert console.library.shown.items['g1'].image_path == path


def test_pictures_and_scenes_are_those_of_the_asked_window(home: Household) -> None:
    home.run('Sweep', '2025-03-05 09:00', '2025-03-05 11:00')
    home.see('2025-03-05 09:00:01', 'lamp', 'table')
    for when, letter in (('09:00:02', 'a'), ('10:10:00', 'b')):
        home.store.add(ImageRecord(stamp_ns=home.at(f'2025-03-05 {when}'), camera='c', width=1,
                                   height=1, sha256=letter * 64, media_type='image/png'))
    span = {'start_ns': home.at('2025-03-05 10:00'), 'end_ns': home.at('2025-03-05 10:30')}
    with home.console(NOW, question=Window(before_ns=home.at(NOW), **span)) as console:
        assert 'lamp' not in console.value("look(events()[0], 'What is there?')")
    answer = home.ask('When did you sweep?', ScriptedModel([
        code("rows = events(skill='Sweep')", 'answer(times(rows), evidence=rows)')]), **span)
    assert [item.image_path.endswith(f'{"b" * 64}.png') for item in answer.evidence] == [True]


def test_pictures_that_retention_dropped_are_told(kitchen: Household) -> None:
    with kitchen.store.writing() as session:
        for row in session.scalars(select(schema.ImageRow).where(schema.ImageRow.id.in_((1, 4)))):
            row.gone = 'retention'
    reader = PictureReader(kitchen.store, None, 8)
    seconds = [image.id for image in reader.pictures_of(span(kitchen, '02', '08'), 'r1', ALL)]
    assert seconds == [3, 6, 8]  # three of the six that are left
    first, = items_of(kitchen.store, ['g1'])
    assert first.image_path.endswith('.png')  # of a picture near by
    assert reader.path_of('image', kitchen.store.get('image', 1)) == ''
    assert items_of(kitchen.store, ['i1'])[0].text.endswith('file gone (retention)"')
    with kitchen.store.writing() as session:
        session.execute(update(schema.ImageRow).values(gone='retention'))
    model = Vision('nothing can be seen')
    run = kitchen.store.get('skill_event', 1)
    told = PictureReader(kitchen.store, model, 8).look(run, span(kitchen, '02', '08'), '?', ALL)
    assert told.startswith('the picture i3 was dropped by retention; no vision model looked')
    assert model.asked == []
    told = PictureReader(kitchen.store, model, 8).look(
        kitchen.store.get('image', 5), span(kitchen, '04', '04'), '?', ALL)
    assert told.startswith('the picture i5 was dropped by retention')
