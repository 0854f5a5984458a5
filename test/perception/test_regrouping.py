"""Split tracks become one by their looks; what one picture shows twice never does."""

from __future__ import annotations

import math

import numpy as np

from emv_ros.perception.detections import Detection
from emv_ros.perception.regrouping import Track, regrouped
from emv_ros.perception.separations import separations
from emv_ros.settings import BiographySettings

LEFT, RIGHT = (10., 10., 60., 60.), (200., 10., 250., 60.)


def seen(*places: int, name: str = 'cup', bbox=LEFT, instance: str = ''):
    return {place: Detection(name=name, bbox=bbox, confidence=0.8, instance=instance)
            for place in places}


def towards(degrees: float) -> np.ndarray:
    """Return one vector of length 1: the cosine of two is that of the angle between them."""
    angle = math.radians(degrees)
    return np.array([[math.cos(angle), math.sin(angle)]], np.float32)


def keys(tracks):
    return sorted((sorted(track.keys) for track in tracks), key=str)


def test_alike_tracks_are_joined_and_others_are_not():
    tracks = [Track([1], seen(0, 1), towards(0)), Track([2], seen(3, 4), towards(10)),
              Track([3], seen(5), towards(80))]
    joined = regrouped(tracks, 0.9)
    assert keys(joined) == [[1, 2], [3]]
    assert sorted(joined[0].seen) == [0, 1, 3, 4] and len(joined[0].vectors) == 2


def test_two_in_one_picture_are_two_however_alike():
    tracks = [Track([1], seen(0, 1), towards(0)),
              Track([2], seen(1, 2, bbox=RIGHT), towards(0))]
    assert keys(regrouped(tracks, 0.5)) == [[1], [2]]


def test_what_was_joined_keeps_apart_from_what_a_part_of_it_was_seen_with():
    # 1 and 2 are most alike, and then 3, which looks like both, stood beside 2.
    tracks = [Track([1], seen(0), towards(0)), Track([2], seen(2), towards(4)),
              Track([3], seen(2, 3, bbox=RIGHT), towards(7))]
    assert keys(regrouped(tracks, 0.9)) == [[1, 2], [3]]


def test_looks_do_not_tell_which_of_two_alike_it_is_unless_it_stayed():
    far = (100., 150., 150., 200.)
    pair = [Track([1], seen(0, 1), towards(0)), Track([2], seen(0, 1, bbox=RIGHT), towards(0))]
    assert keys(regrouped([*pair, Track([3], seen(4, 5, bbox=far), towards(0))], 0.9)) == [
        [1], [2], [3]]
    assert keys(regrouped([*pair, Track([3], seen(4, 5, bbox=RIGHT), towards(0))], 0.9)) == [
        [1], [2, 3]]
    # Seen beside both parts, the second is no rival.
    both = Track([2], seen(0, 1, 4, 5, bbox=RIGHT), towards(0))
    assert keys(regrouped([pair[0], both, Track([3], seen(4, 5, bbox=far), towards(0))], 0.9)) == [
        [1, 3], [2]]


def test_between_two_that_look_alike_the_place_decides():
    # 3 is more like 2, but 2 stands where 1 stood, and 1 was seen beside 3.
    tracks = [Track([1], seen(0, 9), towards(0)), Track([2], seen(1), towards(20)),
              Track([3], seen(9, bbox=RIGHT), towards(30))]
    assert keys(regrouped(tracks, 0.9)) == [[1, 2], [3]]


def test_names_must_have_one_in_common():
    flickers = {**seen(3), **seen(4, name='bowl')}
    tracks = [Track([1], seen(0), towards(0)), Track([2], seen(1, name='bowl'), towards(0))]
    assert keys(regrouped(tracks, 0.9)) == [[1], [2]]
    assert keys(regrouped([*tracks, Track([3], flickers, towards(0))], 0.9))[0][-1] == 3


def test_an_instance_counts_alone_and_no_looks_join_nothing():
    tracks = [Track(['m1'], seen(0, instance='m1'), towards(0)),
              Track(['m2'], seen(1, instance='m2'), towards(0)),
              Track([1], seen(2), towards(0)), Track([2], seen(3))]
    assert keys(regrouped(tracks, 0.5)) == [['m1'], ['m2'], [1], [2]]


def test_a_new_id_in_each_picture():
    """One thing under twenty numbers, beside another under twenty: two things."""
    tracks = [Track([(thing, place)], seen(place, bbox=bbox), towards(angle + place % 3))
              for thing, bbox, angle in (('a', LEFT, 0), ('b', RIGHT, 60)) for place in range(20)]
    assert [len(track.keys) for track in regrouped(tracks, 0.9)] == [20, 20]


def test_two_alike_under_new_ids_never_share_a_picture_within_a_group():
    tracks = [Track([(thing, place)], seen(place, bbox=bbox), towards(0))
              for thing, bbox in (('a', LEFT), ('b', RIGHT)) for place in range(10)]
    for group in regrouped(tracks, 0.9):
        places = [place for _, place in group.keys]
        assert len(places) == len(set(places))


def test_how_long_a_thing_was_visible():
    stamps = [second * 10**9 for second in range(30)]
    assert Track([1], seen(0, 1, 2)).visible_ns(stamps) == 2 * 10**9
    assert Track([1], seen(0, 2, 4)).visible_ns(stamps) == 4 * 10**9  # missed once, twice
    assert Track([1], seen(0, 20)).visible_ns(stamps) == 0
    assert Track([1], seen(0, 1, 20, 21)).visible_ns(stamps) == 2 * 10**9
    assert Track([1], seen(7)).visible_ns(stamps) == 0
    fast = [tenth * 10**8 for tenth in range(30)]
    assert Track([1], seen(0, 8, 16)).visible_ns(fast) == 16 * 10**8
    assert Track([1], seen(0, 11)).visible_ns(fast) == 0


def test_the_name_is_the_most_frequent_and_sure():
    assert Track([1], {**seen(0, 1), **seen(2, name='bowl')}).name == 'cup'


def test_seen_apart_in_three_pictures():
    limits = BiographySettings()
    one, other = Track([1], seen(0, 1, 2, 3)), Track([2], seen(1, 2, 3, bbox=RIGHT))
    assert separations([one, other], limits) == [(0, 1, 3)]
    assert separations([one, Track([2], seen(5, 6, 7, bbox=RIGHT))], limits) == []


def test_two_boxes_of_one_thing_are_no_two_things():
    limits = BiographySettings()
    near = (12., 10., 62., 60.)  # IoU 48/52
    one = Track([1], seen(0, 1, 2))
    assert separations([one, Track([2], seen(0, 1, 2, name='mug', bbox=near))], limits) == []
    # Apart in two of three is 0.666…, which is enough; in one of three it is not.
    some = {**seen(0, 1, bbox=RIGHT), **seen(2, bbox=near)}
    assert separations([one, Track([2], some)], limits) == [(0, 1, 3)]
    few = {**seen(0, bbox=RIGHT), **seen(1, 2, bbox=near)}
    assert separations([one, Track([2], few)], limits) == []


def test_things_of_one_name_apart_in_one_picture_are_two():
    limits = BiographySettings()
    one = Track([1], seen(0, 1, 2))
    assert separations([one, Track([2], seen(2, 3, bbox=RIGHT))], limits) == [(0, 1, 1)]
    near = (12., 10., 62., 60.)  # IoU 48/52: two boxes of one thing
    assert separations([one, Track([2], seen(2, 3, bbox=near))], limits) == []
    both = {**seen(1, bbox=near), **seen(2, 3, bbox=RIGHT)}
    assert separations([one, Track([2], both)], limits) == []
    assert separations([one, Track([2], seen(2, name='box', bbox=RIGHT))], limits) == []
