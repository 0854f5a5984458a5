"""What scenes show of a clip: pictures a second apart, things at places that are written down."""

import pytest

from emv_ros.perception.detections import Detection
from emv_ros.perception.presence import Before, shown
from emv_ros.perception.regrouping import Track
from emv_ros.timeline import SECOND_NS

PICTURES = 20
STAMPS = [place * SECOND_NS for place in range(PICTURES)]
SOFA, MUG, ELSEWHERE = (10, 100, 200, 200), (220, 80, 240, 100), (280, 80, 300, 100)
ALWAYS = range(PICTURES)


def track(name, places, bbox=MUG, confidence=0.8, **more):
    return Track([name], {place: Detection(name=name, bbox=bbox, confidence=confidence, **more)
                          for place in places})


def scenes(*tracks, told_of=(), stamps=STAMPS, before=None):
    return shown([track('sofa', range(len(stamps)), SOFA), *tracks], stamps, told_of,
                 2 * SECOND_NS, before)


def places(found, name='mug'):
    """Return in which scenes a thing stands; none holds it twice."""
    there = [[part.detection.name for part in scene].count(name) for scene in found]
    assert set(there) <= {0, 1}
    return [place for place, count in enumerate(there) if count]


def test_what_is_missed_in_one_picture_is_filled_in():
    seen = track('mug', [place for place in ALWAYS if place != 7], state='full')
    seen.seen[8] = Detection(name='mug', bbox=(224, 80, 244, 100), confidence=0.8)
    found = scenes(seen)
    assert places(found) == list(ALWAYS)
    part = next(part for part in found[7] if part.detection.name == 'mug')
    assert part.is_filled and part.track == 1
    assert part.detection == Detection(name='mug', bbox=(222, 80, 242, 100), state='full')
    assert 7 not in seen.seen  # what was detected stays what it is


@pytest.mark.parametrize(('hidden', 'is_filled'), [(2, True), (3, False), (10, False)])
def test_somebody_passes_in_front(hidden, is_filled):
    away = range(5, 5 + hidden)
    found = scenes(track('mug', [place for place in ALWAYS if place not in away]),
                   track('person', away, (210, 20, 260, 200)))
    assert places(found) == [
        place for place in ALWAYS if is_filled or place not in away]
    assert places(found, 'person') == list(away)


def test_a_pause_counts_by_time_and_not_by_pictures():
    stamps = [place * SECOND_NS // 5 for place in range(100)]
    found = scenes(track('mug', [*range(30), *range(44, 100)]), stamps=stamps)
    assert places(found) == list(range(100))  # 14 pictures of a fifth of a second
    found = scenes(track('mug', [*range(30), *range(60, 100)]), stamps=stamps)
    assert places(found) == [*range(30), *range(60, 100)]


def test_what_was_taken_away_and_put_back_is_not_filled_in():
    seen = track('mug', [*range(6), *range(15, 20)])
    assert places(scenes(seen)) == [*range(6), *range(15, 20)]
    moved = track('mug', range(6))
    moved.seen |= track('mug', range(8, 20), ELSEWHERE).seen
    assert places(scenes(moved)) == [*range(6), *range(8, 20)]


def test_two_like_things_that_change_places_are_two():
    one = track('mug', range(0, 20, 2))
    one.seen |= track('mug', range(1, 20, 2), ELSEWHERE).seen
    other = track('mug', range(0, 20, 2), (120, 10, 140, 30))
    other.seen |= track('mug', range(1, 20, 2), (150, 10, 170, 30)).seen
    found = scenes(one, other, told_of=[1, 2])
    assert [len(scene) for scene in found] == [3] * PICTURES
    assert not any(part.is_filled for scene in found for part in scene)


def test_what_the_tracker_split_goes_on():
    found = scenes(track('mug', range(9)), track('mug', range(11, 20)))
    assert places(found) == list(ALWAYS)
    assert len({part.key for scene in found for part in scene}) == 2
    assert [part.track for scene in found[8:12] for part in scene if part.key] == [1, 1, 1, 2]


def test_what_appears_for_a_moment_was_not_there():
    assert places(scenes(track('mug', [7]))) == []
    assert places(scenes(track('mug', [7, 8]))) == []
    assert places(scenes(track('mug', [7, 8, 9]))) == [7, 8, 9]


def test_people_and_what_is_vouched_for_or_told_of_are_never_left_out():
    assert places(scenes(track('person', [7])), 'person') == [7]
    assert places(scenes(track('mug', [7], instance='mug-1'))) == [7]
    assert places(scenes(track('mug', [7, 15]), told_of=[1])) == [7, 15]


def test_what_moves_is_there_from_its_first_picture():
    found = scenes(track('mug', [7]), track('mug', range(8, 15), ELSEWHERE))
    assert places(found) == list(range(7, 15))


def test_a_glimpse_while_the_camera_turns_is_kept():
    tracks = [track('mug', [7]), *(track(name, range(7)) for name in ('shelf', 'table')),
              *(track(name, range(8, 20)) for name in ('door', 'lamp'))]
    assert places(scenes(*tracks)) == [7]


def test_what_was_found_twice_counts_once():
    can, around = (222, 86, 261, 110), (190, 87, 296, 113)
    found = scenes(track('can', ALWAYS, can), track('can', [3, 4], around, 0.38),
                   track('can', range(8, 20), around, 0.38))
    assert places(found, 'can') == list(ALWAYS)
    assert {part.detection.bbox for scene in found for part in scene} == {SOFA, can}


def test_one_thing_that_is_called_by_two_names_bears_the_surer():
    found = scenes(track('glass', ALWAYS, (41, 12, 56, 37)),
                   track('bottle', range(5, 20), (40, 11, 57, 38), 0.4))
    assert places(found, 'bottle') == []
    assert places(found, 'glass') == list(ALWAYS)


def test_things_one_before_the_other_are_two():
    behind, before = (100, 20, 200, 220), (130, 90, 180, 220)
    found = scenes(track('person', ALWAYS, behind), track('person', ALWAYS, before, 0.4))
    assert all(len(scene) == 3 for scene in found)
    found = scenes(track('plant', ALWAYS, behind), track('plant', ALWAYS, before, 0.7))
    assert all(len(scene) == 3 for scene in found)


def test_where_clips_meet():
    # Begin and end may go on in the neighbour.
    assert places(scenes(track('mug', [0]))) == [0]
    assert places(scenes(track('mug', [19]))) == [19]
    sofa, mug = (Detection(name=name, bbox=bbox) for name, bbox in (('sofa', SOFA), ('mug', MUG)))
    # What was there before the clip, and is missed in its first picture.
    found = scenes(track('mug', range(1, 20)), before=Before(-SECOND_NS, [sofa, mug]))
    assert places(found) == list(ALWAYS)
    assert [part.track for part in found[0]] == [0, 1]
    # Its last picture, and one that is known not to go on.
    assert places(scenes(track('mug', [0]), before=Before(-SECOND_NS, [sofa, mug]))) == [0]
    assert places(scenes(track('mug', [0]), before=Before(-SECOND_NS, [sofa]))) == []


def test_a_clip_of_nothing():
    assert shown([], [], (), SECOND_NS) == []
    assert shown([], [0], (), SECOND_NS) == [[]]
