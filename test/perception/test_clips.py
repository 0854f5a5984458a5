"""Where clips are cut, and which of their pictures are looked at."""

from __future__ import annotations

from film import at

from emv_ros.perception.clips import Clip, Picture, chosen, cut, stride_for


def picture(seconds: float, session_id: int = 1, id: int = 0) -> Picture:
    return Picture(id or round(seconds * 10), session_id, at(seconds), '', 'image/jpeg')


def seconds(clip: Clip) -> list[float]:
    return [(item.stamp_ns - at(0)) / 1e9 for item in clip.pictures]


def test_a_clip_is_shorter_than_the_limit():
    clips = cut([picture(second) for second in range(65)], 30.0, 5.0)
    assert [(min(seconds(clip)), max(seconds(clip))) for clip in clips] == [
        (0, 29), (30, 59), (60, 64)]
    assert clips[0].start_ns == at(0) and clips[0].end_ns == at(29) + 1


def test_a_pause_and_a_new_session_cut():
    clips = cut([picture(0), picture(5), picture(10.1), picture(11, 2), picture(12, 2)], 30.0, 5.0)
    assert [seconds(clip) for clip in clips] == [[0, 5], [10.1], [11, 12]]


def test_time_that_goes_back_is_a_session_of_its_own_and_order_of_arrival_is_no_matter():
    clips = cut([picture(2, 2), picture(100), picture(1, 2), picture(101)], 30.0, 5.0)
    assert [(clip.session_id, seconds(clip)) for clip in clips] == [
        (1, [100, 101]), (2, [1, 2])]


def test_nothing_makes_no_clip():
    assert cut([], 30.0, 5.0) == []


def test_thinned_by_period_and_by_stride():
    clip, = cut([picture(tenth / 10) for tenth in range(300)], 30.0, 5.0)
    assert len(chosen(clip, 0.0)) == 300
    assert len(chosen(clip, 1.0)) == 30
    assert [item.stamp_ns for item in chosen(clip, 1.0, 3)] == [
        at(second) for second in range(0, 30, 3)]
    # However many wait, something is seen of each clip.
    assert len(chosen(clip, 1.0, 1000)) == 10


def test_of_two_pictures_with_one_stamp_one_is_looked_at():
    clip, = cut([picture(1, id=5), picture(1, id=4), picture(2, id=6)], 30.0, 5.0)
    assert [item.id for item in chosen(clip, 0.0)] == [4, 6]


def test_the_stride_brings_the_backlog_down():
    assert [stride_for(waiting, 600) for waiting in (0, 600, 601, 1800)] == [1, 1, 2, 3]
