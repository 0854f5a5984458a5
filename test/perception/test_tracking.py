"""Tracks: which boxes of a clip are one thing, on drawn pictures with known answers."""

import random

import numpy as np
import pytest

from emv_ros.perception.detections import Detection
from emv_ros.perception.raw_boxes import overlaps
from emv_ros.perception.tracking import Tracker

BLACK = np.zeros((240, 320, 3), np.uint8)
SECOND = 1_000_000_000


def thing(x: float, y: float = 100, name: str = 'cup', size: float = 40, **more) -> Detection:
    return Detection(name=name, bbox=(x, y, x + size, y + size), **more)


def texture(seed: int = 1, edge: int = 600) -> np.ndarray:
    """A wall with patches of many sizes, to cut views from."""
    random_numbers = np.random.default_rng(seed)
    wall = np.full((edge, edge, 3), 128, np.uint8)
    for _ in range(300):
        x, y = random_numbers.integers(0, edge, 2)
        width, height = random_numbers.integers(8, 60, 2)
        wall[y:y + height, x:x + width] = random_numbers.integers(0, 255, 3)
    return wall


def test_overlaps_by_hand() -> None:
    first = np.array([[0, 0, 10, 10], [5, 5, 5, 5]], np.float64)
    second = np.array([[5, 0, 15, 10], [20, 20, 30, 30]], np.float64)
    assert overlaps(first, second).tolist() == [[pytest.approx(1 / 3), 0], [0, 0]]


def test_what_stays_or_drifts_keeps_its_number() -> None:
    tracker = Tracker()
    for step in range(20):
        assert tracker.update(BLACK, [thing(20), thing(100 + 4 * step), thing(
            20, 100, 'plate')], stamp_ns=step * SECOND) == [1, 2, 3]


def test_a_black_first_picture_and_pictures_without_detections() -> None:
    tracker = Tracker()
    wall = texture()
    assert tracker.update(BLACK, []) == []
    assert tracker.update(wall[:240, :320], []) == []
    assert tracker.update(wall[:240, :320], [thing(20)]) == [1]
    assert tracker.update(BLACK, []) == []
    assert tracker.update(wall[:240, :320], [thing(21)]) == [1]
    assert tracker.update(None, [thing(22)]) == [1]


def test_what_was_away_for_long_is_a_track_of_its_own() -> None:
    tracker = Tracker(lost_s=2.0)
    assert tracker.update(BLACK, [thing(20)], stamp_ns=0) == [1]
    assert tracker.update(BLACK, [], stamp_ns=SECOND) == []
    assert tracker.update(BLACK, [thing(20)], stamp_ns=2 * SECOND) == [1]
    assert tracker.update(BLACK, [], stamp_ns=4 * SECOND) == []
    assert tracker.update(BLACK, [thing(20)], stamp_ns=5 * SECOND) == [2]


def test_a_name_must_be_the_same() -> None:
    tracker = Tracker()
    assert tracker.update(BLACK, [thing(20, name='cup')]) == [1]
    assert tracker.update(BLACK, [thing(20, name='bowl')]) == [2]
    assert tracker.update(BLACK, [thing(20, name='cup')]) == [1]


def test_like_cups_that_stand_close_keep_their_numbers() -> None:
    tracker = Tracker()
    jitter = random.Random(4)
    for _ in range(30):
        cups = [thing(100 + 22 * place + jitter.uniform(-1.5, 1.5)) for place in range(4)]
        assert tracker.update(BLACK, cups) == [1, 2, 3, 4]


def test_like_cups_that_cross_are_never_mixed() -> None:
    """Ten pictures a second; behind one another, one of them is not seen."""
    tracker = Tracker()
    cups: dict[int, set[str]] = {}
    for step in range(31):
        left, right = 40 + 6 * step, 220 - 6 * step
        seen = [('first', thing(left)), ('second', thing(right, 104))]
        if abs(left - right) < 20:
            seen.pop()
        numbers = tracker.update(BLACK, [cup for _, cup in seen], stamp_ns=step * SECOND // 10)
        assert len(set(numbers)) == len(seen)
        for number, (which, _) in zip(numbers, seen, strict=True):
            cups.setdefault(number, set()).add(which)
    assert all(len(which) == 1 for which in cups.values()), cups


def test_after_a_pause_like_cups_may_have_changed_places() -> None:
    """A second apart: one that stayed is known, one that moved among others like it is not."""
    tracker = Tracker()
    assert tracker.update(BLACK, [thing(20), thing(80), thing(200)], stamp_ns=0) == [1, 2, 3]
    assert tracker.update(
        BLACK, [thing(20), thing(90), thing(200)], stamp_ns=SECOND) == [1, 4, 3]
    alone = Tracker()
    assert alone.update(BLACK, [thing(80)], stamp_ns=0) == [1]
    assert alone.update(BLACK, [thing(90)], stamp_ns=SECOND) == [1]


def test_a_moving_camera_is_taken_out() -> None:
    """Half a box further from picture to picture, and another way each time."""
    tracker = Tracker()
    wall = texture()
    for step, (x, y) in enumerate([(100, 100), (140, 90), (90, 130), (150, 160), (60, 100)]):
        view = np.ascontiguousarray(wall[y:y + 240, x:x + 320])
        detections = [Detection(name='cup', bbox=(left - x, top - y, left - x + 30, top - y + 30))
                      for left, top in ((200, 200), (300, 180))]
        assert tracker.update(view, detections) == [1, 2], step


def test_pictures_of_changing_size() -> None:
    tracker = Tracker()
    wall = texture()[:480]
    for scale in (1.0, 0.5, 1.0, 0.25):
        size = round(480 * scale)
        view = np.ascontiguousarray(wall[::round(1 / scale), ::round(1 / scale)][:size])
        box = tuple(scale * edge for edge in (200, 100, 260, 180))
        assert tracker.update(view, [Detection(name='cup', bbox=box)]) == [1]
    assert len(tracker.update(wall[:100, :300].copy(), [thing(0)])) == 1
    assert len(tracker.update(wall[:3, :2].copy(), [thing(0, 0, size=2)])) == 1


def test_an_instance_decides() -> None:
    tracker = Tracker()
    first, second = thing(20, instance='a'), thing(200, instance='b')
    assert tracker.update(BLACK, [first, second]) == [1, 2]
    crossed = [thing(200, instance='a'), thing(20, instance='b'), thing(200)]
    assert tracker.update(BLACK, crossed) == [1, 2, 3]
    assert tracker.update(BLACK, [thing(20, instance='b', name='bowl')]) == [2]


def test_an_instance_given_twice_counts_once() -> None:
    tracker = Tracker()
    for _ in range(2):
        numbers = tracker.update(BLACK, [thing(20, instance='a'), thing(200, instance='a')])
        assert numbers[0] == 1
        assert numbers[1] != 1


def test_a_new_instance_in_each_picture() -> None:
    tracker = Tracker()
    numbers = [tracker.update(BLACK, [thing(20, instance=str(step))])[0] for step in range(50)]
    assert numbers == list(range(1, 51))


def test_a_tracker_counts_from_one() -> None:
    assert [Tracker().update(BLACK, [thing(20), thing(90)]) for _ in range(2)] == [[1, 2], [1, 2]]


def test_looks_find_what_moved_its_own_width() -> None:
    red, green = np.eye(2, dtype=np.float32)
    with_looks, without = Tracker(), Tracker()
    for tracker in (with_looks, without):
        looks = np.array([red, green]) if tracker is with_looks else None
        assert tracker.update(BLACK, [thing(20), thing(200)], looks) == [1, 2]
    moved = [thing(70), thing(200)]
    assert with_looks.update(BLACK, moved, np.array([red, green])) == [1, 2]
    assert without.update(BLACK, moved) == [3, 2]


def test_another_thing_in_the_same_place_is_another_track() -> None:
    red, green = np.eye(2, dtype=np.float32)
    tracker = Tracker()
    assert tracker.update(BLACK, [thing(20)], red[None]) == [1]
    assert tracker.update(BLACK, [thing(20)], green[None]) == [2]


def test_looks_that_are_no_numbers_are_passed_over() -> None:
    tracker = Tracker()
    assert tracker.update(BLACK, [thing(20)], np.full((1, 4), np.nan, np.float32)) == [1]
    assert tracker.update(BLACK, [thing(20)], np.zeros((1, 4), np.float32)) == [1]
    with pytest.raises(ValueError, match='1 detections'):
        tracker.update(BLACK, [thing(20)], np.zeros((2, 4), np.float32))


def test_faint_detections_take_what_is_left() -> None:
    tracker = Tracker()
    assert tracker.update(BLACK, [thing(20, confidence=0.9)]) == [1]
    both = [thing(22, confidence=0.4), thing(28, confidence=0.9)]
    numbers = tracker.update(BLACK, both)
    assert len(set(numbers)) == 2


@pytest.mark.parametrize('stamps', [[5, 5, 5], [5, 3, 4], [None, 2, None]])
def test_stamps_that_do_not_go_on(stamps: list[int | None]) -> None:
    tracker = Tracker()
    for stamp in stamps:
        assert tracker.update(
            BLACK, [thing(20)], stamp_ns=None if stamp is None else stamp * SECOND) == [1]


def test_no_two_of_one_picture_share_a_number() -> None:
    chance = random.Random(5)
    tracker = Tracker()
    for step in range(60):
        found = [thing(chance.uniform(0, 280), chance.uniform(0, 200),
                       chance.choice(['cup', 'bowl']), chance.uniform(5, 90),
                       confidence=chance.random(),
                       instance=chance.choice(['', '', '', 'a', 'b'])) for _ in range(12)]
        numbers = tracker.update(BLACK, found, stamp_ns=step * SECOND // 5)
        assert len(set(numbers)) == len(found)
        assert min(numbers) >= 1
