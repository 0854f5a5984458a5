"""Words are forgotten wherever a memory holds them, and in whatever form they are written."""

from __future__ import annotations

from dataclasses import replace
import threading
import time
from typing import Any

from databases import files_with
import pytest
from sqlalchemy import select
from test_forgetting_kinds import (
    SECRET,
    at,
    ids,
    picture,
    show,
    store,  # noqa: F401 (a fixture)
    wipe,
)

from emv_ros.errors import NotFoundError
from emv_ros.memory import schema
from emv_ros.memory.clearing import is_noted
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ImageRecord, JointSample, Observation, Pose, Utterance

pytestmark = pytest.mark.both_databases

SEEN = Observation(stamp_ns=at(0), end_ns=at(5), name='cup')


def put(memory: MemoryStore, *rows: Any) -> None:
    with memory.writing() as session:
        session.add_all(rows)


def named(memory: MemoryStore, seen: int, into: int | None = None, **values: Any) -> int:
    """Add an entity that holds an observation, or that was merged into another; return its id."""
    with memory.writing() as session:
        row = schema.EntityRow(robot_id=memory.robot_id(session, 'r2'), is_person=False,
                               merged_into=into, **({'name': 'cup', 'attributes': {}} | values))
        session.add(row)
        session.flush()
        if into is None:
            session.get_one(schema.ObservationRow, seen).entity_id = row.id
        return row.id


def test_words_go_from_wherever_they_stand(store: MemoryStore) -> None:  # noqa: F811
    """Each place has a word of its own; those that are left tell which place was passed over."""
    def word(place: str) -> str:
        return f'the {SECRET} of {place}'

    seen = [store.add(replace(SEEN, stamp_ns=at(n), end_ns=at(n + 1))) for n in range(6)]
    store.add_many([
        Pose(stamp_ns=at(0), frame='map', position=(0., 0., 0.), extra={'a': word('poses')}),
        JointSample(stamp_ns=at(0), names=('a',), position=(0.,), extra={'a': word('joints')}),
        Pose(stamp_ns=at(1), frame='map', position=(0., 0., 0.), extra={'a': 'b'}),
        replace(SEEN, made_by='model', extra={'note': word('notes'), 'kept': 1}),
        replace(SEEN, made_by='rule', attributes={'a': {'b': [word('attributes')]}, 'c': 1})])
    store.add_image(picture(), ImageRecord(
        stamp_ns=at(0), camera='h', sha256='', media_type='image/jpeg', width=1, height=1,
        extra={'a': word('pictures')}))
    show(store, 5, seed=1)
    named(store, seen[0], name=word('entities'))
    named(store, seen[1], attributes={'aliases': [word('aliases'), 'mug']})
    into = named(store, seen[2], attributes={'owner': word('owners'), 'named_by': word('givers')})
    named(store, seen[2], into, name=word('merged'))
    kept = {'stamp_ns': 1, 'author': word('authors'), 'reason': word('reasons')}
    put(store, schema.NamingRow(observation_id=seen[3], name='mug', **kept),
        schema.VerdictRow(first_id=seen[3], second_id=seen[4], verdict='same', **kept),
        schema.AuditRow(counts={}, **kept))
    with store.writing() as session:
        session.add(schema.ConsolidationRow(
            robot_id=store.robot_id(session, 'r2'), outcome='stopped', **dict.fromkeys((
                'begun_ns', 'duration_s', 'records', 'events', 'goals', 'summaries', 'model_calls',
                'prompt_tokens', 'completion_tokens', 'cost', 'fallbacks'), 0)))

    wipe(store, text=SECRET)
    with store.reading() as session:
        left = [str(value) for table in schema.Base.metadata.sorted_tables
                for row in session.execute(select(table)) for value in row if SECRET in str(value)]
        assert left == []
        assert session.scalars(select(schema.EntityRow.name).order_by(
            schema.EntityRow.id)).all() == ['cup', 'cup', 'cup', '']
        assert session.get_one(schema.EntityRow, 2).attributes == {'aliases': ['mug']}
        assert [row.name for row in session.scalars(select(schema.NamingRow))] == ['mug']
    assert files_with(store.folder, SECRET) == []
    assert ids(store, 'pose') == [2] and ids(store, 'image') == [2]
    assert ids(store, 'joint_sample') == [] and len(ids(store, 'observation')) == 8
    told = store.get('observation', 7), store.get('observation', 8)
    assert [dict(item.extra) for item in told] == [{'kept': 1}, {}]
    assert dict(told[1].attributes) == {'c': 1}
    with pytest.raises(NotFoundError):
        wipe(store, text=SECRET)


def test_words_in_an_account_alone_can_be_forgotten(store: MemoryStore) -> None:  # noqa: F811
    store.add(Utterance(stamp_ns=at(0), speaker='', text='hello'))
    put(store, schema.AuditRow(stamp_ns=at(5), author='ann', reason=f'of {SECRET}', counts={}))
    with pytest.raises(NotFoundError):
        wipe(store, text=SECRET, end_ns=at(5))
    wipe(store, text=SECRET, start_ns=at(5))
    assert files_with(store.folder, SECRET) == [] and ids(store, 'utterance') == [1]


def test_a_cache_that_a_reader_writes_meanwhile_goes_too(store: MemoryStore) -> None:  # noqa: F811
    """A reader that began before keeps what it read, while the forgetting waits for its end."""
    key = store.add(Utterance(stamp_ns=at(0), speaker='', text=SECRET))
    cache = store.folder / 'cache'
    cache.mkdir()
    (cache / 'old.bin').write_bytes(b'old')
    is_reading = threading.Event()

    def read() -> None:
        with store.reading() as session:
            told = session.scalars(select(schema.UtteranceRow.text)).one()
            is_reading.set()
            until = time.monotonic() + 20
            while (cache / 'old.bin').exists() and time.monotonic() < until:
                time.sleep(0.01)
            (cache / 'new.bin').write_bytes(told.encode())

    reader = threading.Thread(target=read)
    reader.start()
    assert is_reading.wait(20)
    assert wipe(store, ('utterance', key)).numbers['utterances'] == 1
    reader.join(20)
    assert not is_noted(store) and list(cache.iterdir()) == []
