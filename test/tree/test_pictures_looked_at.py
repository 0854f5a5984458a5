"""Pictures that perception looked at are told by what they show, whenever that was."""

from __future__ import annotations

from life_parts import SETTINGS, at, check_whole, open_memory, see
from sqlalchemy import select

from emv_ros.memory import schema
from emv_ros.records import ImageRecord
from emv_ros.tree.consolidate import consolidate


def film(store, seconds):
    return [store.add_image(b'%d' % second, ImageRecord(
        stamp_ns=at(second), camera='head', sha256='', media_type='image/jpeg', width=2, height=2))
        for second in seconds]


def events(store):
    with store.reading() as session:
        row = schema.NodeRow
        return [tuple(item) for item in session.execute(
            select(row.start_ns, row.end_ns, row.summary).where(row.level == 2)
            .order_by(row.start_ns, row.end_ns))]


def scenes(ids):
    """A cup in the first half, a cup and a plate in the second, and nothing in the last."""
    half = len(ids) // 2
    return [see(second, *(('cup',) if second < half else ('cup', 'plate')), camera='head',
                image_id=ref_id) for second, ref_id in enumerate(ids[:-1])]


def test_looked_at_before_or_after_the_tree_is_made(tmp_path):
    with open_memory(tmp_path / 'at once') as store:
        store.add_many(scenes(film(store, range(20))))
        consolidate(store, SETTINGS)
        expected = events(store)
        check_whole(store)
    assert [(start, end) for start, end, _ in expected] == [
        (at(0), at(9)), (at(10), at(18)), (at(19), at(19))]
    assert 'picture' not in expected[0][2] + expected[1][2] and 'picture' in expected[2][2]
    with open_memory(tmp_path / 'later') as store:
        ids = film(store, range(20))
        consolidate(store, SETTINGS)
        assert len(events(store)) == 1
        store.add_many(scenes(ids)[:5])
        consolidate(store, SETTINGS)
        store.add_many(scenes(ids)[5:])
        consolidate(store, SETTINGS)
        assert events(store) == expected
        check_whole(store)
