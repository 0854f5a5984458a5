"""Boxes that stay put from one clip to the next, and what an association makes of them."""

from __future__ import annotations

from entity_parts import NOON_NS, apart, held, look, see
import numpy as np
import pytest

from emv_ros.biography.association import associate
from emv_ros.biography.carrying import carried, overlap
from emv_ros.biography.rules import Rules
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import BiographySettings
from emv_ros.timeline import SECOND_NS

LEFT, RIGHT = (10.0, 10.0, 50.0, 50.0), (60.0, 10.0, 100.0, 50.0)
THRESHOLDS = 0.75, 0.60


def clip(store: MemoryStore, start_s: float, end_s: float, camera: str = 'head') -> int:
    with store.writing() as session:
        row = schema.ClipRow(
            robot_id=store.robot_id(session, 'r1'), camera=camera,
            start_ns=NOON_NS + round(start_s * SECOND_NS),
            end_ns=NOON_NS + round(end_s * SECOND_NS))
        session.add(row)
        session.flush()
        return int(row.id)


def put(store: MemoryStore, start_s: float, clip_id: int, first: object, last: object = None,
        **fields: object) -> int:
    """See something for four seconds that goes from its first box to its last."""
    return see(store, start_s, clip_id=clip_id, first_bbox=first,  # type: ignore[arg-type]
               last_bbox=last or first, **fields)


def stayed(store: MemoryStore, clip_id: int) -> dict[int, int]:
    with store.reading() as session:
        return carried(session, clip_id, Rules())


def groups(store: MemoryStore, **settings: object) -> list[list[int]]:
    associate(store, BiographySettings(**settings), 'r1', THRESHOLDS)  # type: ignore[arg-type]
    return sorted(ids for key, ids in held(store).items() if key is not None)


def test_overlap_is_what_is_shared_of_what_is_covered() -> None:
    """Two squares of 40: shifted by 10, 1200 of 2000; beside each other; of no size."""
    boxes = np.array([LEFT, (20.0, 10.0, 60.0, 50.0), RIGHT, (0.0, 0.0, 0.0, 0.0)])
    assert overlap(boxes[:1], boxes).tolist() == [[1.0, 0.6, 0.0, 0.0]]


def test_a_box_that_stays_is_carried_over_the_cut(memory: MemoryStore) -> None:
    first, second = clip(memory, 0, 30), clip(memory, 32, 60)
    left, right = put(memory, 26, first, LEFT), put(memory, 26, first, RIGHT)
    later = put(memory, 32, second, RIGHT), put(memory, 32, second, LEFT)
    assert stayed(memory, second) == {later[0]: right, later[1]: left}
    assert stayed(memory, first) == {}


@pytest.mark.parametrize('start_s, camera', [(36, 'head'), (32, 'hand'), (20, 'head')])
def test_no_cut_no_carrying(memory: MemoryStore, start_s: float, camera: str) -> None:
    """A pause of more than 5 s, another camera, and a thing that was gone long before."""
    first, second = clip(memory, 0, 30), clip(memory, max(start_s, 32), 60, camera)
    put(memory, 26 if start_s != 20 else 0, first, LEFT)
    put(memory, max(start_s, 32), second, LEFT)
    assert stayed(memory, second) == {}


def test_only_the_best_of_both_are_carried(memory: MemoryStore) -> None:
    """Of two boxes near the old place one is nearer; the other is no second best."""
    first, second = clip(memory, 0, 30), clip(memory, 31, 60)
    old = put(memory, 26, first, LEFT)
    put(memory, 31, second, (14.0, 10.0, 54.0, 50.0))
    near = put(memory, 31, second, (11.0, 10.0, 51.0, 50.0))
    assert stayed(memory, second) == {near: old}


def test_what_moves_too_far_is_not_carried(memory: MemoryStore) -> None:
    first, second = clip(memory, 0, 30), clip(memory, 31, 60)
    put(memory, 26, first, LEFT)
    put(memory, 31, second, (24.0, 10.0, 64.0, 50.0))  # 26 of 54: 0.48
    assert stayed(memory, second) == {}


def test_boxes_that_are_none_carry_nothing(memory: MemoryStore) -> None:
    first, second = clip(memory, 0, 30), clip(memory, 31, 60)
    put(memory, 26, first, LEFT, (1.0, float('nan'), 2.0, 3.0))
    put(memory, 31, second, LEFT)
    assert stayed(memory, second) == {}


def test_staying_put_serves_as_the_match(memory: MemoryStore) -> None:
    """Cosine 0.65: consistent, and no match by itself."""
    first, second = clip(memory, 0, 30), clip(memory, 31, 60)
    ids = [look(memory, 26, 0, clip_id=first, first_bbox=LEFT, last_bbox=LEFT),
           look(memory, 31, 0, 0.76, clip_id=second, first_bbox=LEFT, last_bbox=LEFT)]
    assert groups(memory) == [ids]


def test_staying_put_is_no_match_for_what_looks_quite_different(memory: MemoryStore) -> None:
    first, second = clip(memory, 0, 30), clip(memory, 31, 60)
    ids = [look(memory, 26, 0, clip_id=first, first_bbox=LEFT, last_bbox=LEFT),
           look(memory, 31, 5, clip_id=second, first_bbox=LEFT, last_bbox=LEFT)]
    assert groups(memory) == [ids[:1], ids[1:]]


def test_of_two_alike_each_stays_itself(memory: MemoryStore) -> None:
    """The one on the right looks more like what the left one was: it stays the right one."""
    first, second = clip(memory, 0, 30), clip(memory, 31, 60)
    left = look(memory, 26, 0, clip_id=first, first_bbox=LEFT, last_bbox=LEFT)
    right = look(memory, 26, 0, 0.3, clip_id=first, first_bbox=RIGHT, last_bbox=RIGHT)
    apart(memory, left, right)
    then = [look(memory, 31, 0, 0.3, clip_id=second, first_bbox=LEFT, last_bbox=LEFT),
            look(memory, 31, 0, clip_id=second, first_bbox=RIGHT, last_bbox=RIGHT)]
    apart(memory, *then)
    assert groups(memory) == [[left, then[0]], [right, then[1]]]


def test_without_looks_what_stays_put_needs_the_same_name(memory: MemoryStore) -> None:
    first, second = clip(memory, 0, 30), clip(memory, 31, 60)
    old = [put(memory, 26, first, LEFT, instance='1'),
           put(memory, 26, first, RIGHT, instance='2')]
    new = [put(memory, 31, second, LEFT), put(memory, 31, second, RIGHT, name='vase')]
    assert groups(memory) == [[old[0], new[0]], [old[1]]]


def test_apart_beats_staying_put(memory: MemoryStore) -> None:
    first, second = clip(memory, 0, 30), clip(memory, 29, 60)
    ids = [look(memory, 26, 0, clip_id=first, first_bbox=LEFT, last_bbox=LEFT),
           look(memory, 29, 0, clip_id=second, first_bbox=LEFT, last_bbox=LEFT)]
    apart(memory, *ids)
    assert groups(memory) == [ids[:1], ids[1:]]
