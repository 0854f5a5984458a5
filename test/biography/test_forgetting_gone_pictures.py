"""Pictures whose rows say that their file is gone: forgetting leaves no file of them either."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update
from test_forgetting import Life, at, life, names, photo, wipe  # noqa: F401 (life is a fixture)

from emv_ros.memory import schema
from emv_ros.memory.dropped_files import drop_pictures
from emv_ros.memory.memory_size import database_bytes, used_bytes
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ImageRecord

pytestmark = pytest.mark.both_databases


def lose(store: MemoryStore, why: str, *ids: int) -> None:
    """Mark pictures as gone. Of what retention drops the file stays, since it is fresh."""
    with store.writing() as session:
        if why == 'retention':
            assert sorted(drop_pictures(session, ids)) == list(ids)
        else:
            session.execute(update(schema.ImageRow).where(schema.ImageRow.id.in_(ids)).values(
                gone=why))
    for key in ids:
        path = store.pictures.path(store.get('image', key).sha256, 'image/jpeg')
        if why == 'missing':
            path.unlink()
        elif why == 'damaged':
            path.write_bytes(path.read_bytes() + b' ')


def files_of(store: MemoryStore, *ids: int) -> set[str]:
    return {f'{store.get("image", key).sha256}.jpg' for key in ids}


@pytest.mark.parametrize('why', ['retention', 'missing', 'damaged'])
def test_a_picture_that_is_gone_is_forgotten_with_its_file(
        life: Life, why: str) -> None:  # noqa: F811
    store = life.store
    first, second = life.images[:2]
    lost = files_of(store, first)
    lose(store, why, first)
    aside = store.pictures.path(store.get('image', first).sha256, 'image/jpeg')
    aside.with_name(f'.{aside.name}.gone').write_bytes(photo(0))  # of a deletion that was cut off
    told = wipe(life, ('image', first), dry_run=True)
    assert told.bytes == 0
    wipe(life, ('image', first))
    assert not lost & names(store.folder) and files_of(store, second) <= names(store.folder)
    assert list(store.pictures.folder.rglob('*.gone')) == []


@pytest.mark.parametrize('why', ['retention', 'missing', 'damaged'])
def test_no_file_is_made_of_a_picture_that_is_gone(life: Life, why: str) -> None:  # noqa: F811
    store = life.store
    lose(store, why, *life.images[:2])
    done = wipe(life, ('observation', life.secret))
    assert done.numbers['pictures'] == 3
    assert names(store.folder) == files_of(store, *life.images[2:])
    gone = [store.get('image', key).gone for key in life.images]
    # What was lost may come back, and then belongs to no picture any more.
    kept = 'retention' if why == 'retention' else 'forgotten'
    assert gone == [kept, kept, '', '', '']


def test_a_file_that_another_picture_has_is_filled_for_both(life: Life) -> None:  # noqa: F811
    store = life.store
    twin = store.add_image(photo(0), ImageRecord(
        stamp_ns=at(500), camera='wrist', sha256='', media_type='image/jpeg', width=160,
        height=120))
    lose(store, 'retention', life.images[0])
    wipe(life, ('observation', life.secret))
    assert store.get('image', life.images[0]).sha256 == store.get('image', twin).sha256
    assert store.get('image', twin).gone == '' and store.picture(twin) != photo(0)


@pytest.mark.parametrize('reference', ['image', 'observation'])
def test_the_size_of_a_memory_is_known_after_forgetting(
        life: Life, reference: Any) -> None:  # noqa: F811
    store = life.store
    used_bytes(store)  # notes what there is
    wipe(life, (reference, life.images[0] if reference == 'image' else life.secret))
    with store.reading() as session:
        database = database_bytes(session)
    assert used_bytes(store) - database == sum(
        file.stat().st_size for file in store.pictures)
