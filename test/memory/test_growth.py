"""Bytes by kind add up to the file, pictures are counted once, hours are those of recording."""

from databases import is_postgresql
from memory_parts import at, joints, picture, said
import pytest

from emv_ros.memory import schema
from emv_ros.memory.database import DATABASE_FILE
from emv_ros.memory.growth import growth
from emv_ros.records import Observation

pytestmark = pytest.mark.both_databases


def test_bytes_add_up_to_the_file(memory):
    memory.add_many([joints(second, 1.0, 2.0) for second in range(0, 600, 2)])
    memory.add_many([said(second, f'words {second}') for second in range(0, 120, 2)])
    found = growth(memory)
    if is_postgresql():
        assert (found.database, found.free_bytes) == (None, 0)
        return
    memory.fold_log()
    assert sum(sum(parts.values()) for parts in found.database.values()) + found.free_bytes == (
        memory.folder / DATABASE_FILE).stat().st_size
    totals = [sum(parts.values()) for parts in found.database.values()]
    assert totals == sorted(totals, reverse=True)
    # Two names and two positions make some sixty characters of JSON.
    assert found.database['joint_sample']['rows'] > 300 * 60
    assert found.database['full-text index']['rows'] > 0
    assert {'searchable text', 'journal of changes', 'scene', 'vectors of texts'} <= set(
        found.database)
    assert found.hours == 10 / 60 and found.per_hour(1000) == 6000
    assert found.counts['utterance'] == 60


def test_of_pictures_each_file_is_counted_once(memory):
    for second, data in ((0, b'wall'), (1, b'wall'), (2, b'mug!!'), (3, b'gone...')):
        memory.add_image(data, picture(second))
    memory.add_image(b'far', picture(4, is_depth=True))
    memory.add(Observation(stamp_ns=at(2), end_ns=at(3), name='mug'))
    with memory.writing() as session:
        session.get(schema.ImageRow, 4).gone = 'retention'
        session.add(schema.ObservationImageRow(
            observation_id=1, image_id=3, bbox=[0, 0, 1, 1], is_crop=True))
    assert growth(memory).pictures == {'shown by observations': 5, 'others': 4, 'depth': 3}


def test_an_empty_memory_grows_by_nothing(memory):
    found = growth(memory)
    assert (found.hours, found.per_hour(100)) == (0, 0.0)
