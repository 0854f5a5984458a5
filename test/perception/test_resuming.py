"""A clip begins with the relations of the scene before it."""

from __future__ import annotations

from databases import database_url
import pytest
from sqlalchemy import select

from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.perception.clips import Clip, Picture
from emv_ros.perception.relations import Thing
from emv_ros.perception.resuming import resumed
from emv_ros.records import Scene, SceneObject, SceneRelation
from emv_ros.timeline import SECOND_NS, parse_stamp

pytestmark = pytest.mark.both_databases

NOON_NS = parse_stamp('2024-03-01T12:00:00Z')[0]
SIZE = (640, 480)
TABLE, BOOK = (50, 200, 450, 420), (200, 170, 300, 198)  # barely on it: takes three pictures


def at(seconds):
    return NOON_NS + round(seconds * SECOND_NS)


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / 'memory'
    with MemoryStore(folder, database_url(folder), 'r2') as opened:
        opened.add_many([Scene(
            stamp_ns=at(0), camera='head', objects=(
                SceneObject(name='table', bbox=TABLE), SceneObject(name='book', bbox=BOOK),
                SceneObject(name='key')),
            relations=(SceneRelation(subject='book', predicate='on', object='table'),))])
        yield opened


@pytest.mark.parametrize('begins, camera, expected', [
    (2, 'head', [(1, 'on', 0)]), (2, 'wrist', []), (60, 'head', []), (0, 'head', [])])
def test_only_what_the_same_camera_saw_just_before_goes_on(store, begins, camera, expected):
    with store.reading() as session:
        session_id = session.scalar(select(schema.SceneRow.session_id))
        clip = Clip((Picture(1, session_id, at(begins), '', 'image/jpeg'),))
        begin = resumed(session, 1, camera, clip, 5.0)
    things = [Thing(key=1, name='table', bbox=TABLE), Thing(key=2, name='book', bbox=BOOK)]
    assert begin.relations.update(at(begins), SIZE, things) == expected
    assert (begin.before is not None) == bool(expected)
