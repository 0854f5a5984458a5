"""Throttles, keyframes, repeated words, sessions and stamps; also on clocks that jump."""

from types import SimpleNamespace

from hypothesis import given, strategies as st
from ingest_parts import SECOND, T0, time
import numpy as np
import pytest

from emv_ros.errors import RecordError
from emv_ros.ingest.clocks import SessionTracker
from emv_ros.ingest.policies import KeyframePolicy, RepeatGuard, Throttle, thumbnail
from emv_ros.ingest.stamps import end_from_time, stamp_of

DAY = 86_400 * SECOND


def test_a_throttle_lets_one_pass_a_period_and_key():
    throttle = Throttle(SECOND)
    stamps = [0, SECOND // 2, SECOND, SECOND + 1, 2 * SECOND]
    assert [throttle.allow('a', stamp) for stamp in stamps] == [True, False, True, False, True]
    assert throttle.allow('b', SECOND // 2)
    assert throttle.left_out == 2


def test_a_clock_from_100_to_50_does_not_wait_for_the_old_time():
    throttle = Throttle(10 * SECOND)
    assert throttle.allow('a', 100 * SECOND)
    assert throttle.allow('a', 50 * SECOND)
    assert not throttle.allow('a', 51 * SECOND)
    assert throttle.allow('a', 60 * SECOND)


@given(st.lists(st.integers(0, 1000), min_size=1))
def test_no_throttle_is_silent_for_longer_than_a_period(stamps):
    throttle, kept = Throttle(100), []
    for stamp in stamps:
        if throttle.allow('a', stamp):
            kept.append(stamp)
        assert min(abs(stamp - other) for other in kept) < 100


def test_keyframes_without_a_threshold_keep_one_a_period_and_decode_nothing():
    policy = KeyframePolicy(SECOND)

    def never():
        raise AssertionError('not to be decoded')

    assert [policy.keep('a', i * SECOND // 2, never) for i in range(4)] == [
        True, False, True, False]
    assert policy.left_out == 2


def test_a_keyframe_must_differ_from_the_one_kept_before():
    policy = KeyframePolicy(SECOND, change=0.1)

    def grey(value):
        return lambda: np.full((24, 32), value, np.uint8)

    # 20 of 255 is less than a tenth, 30 is more; 0.5 s is too early for any change
    assert policy.keep('a', 0, grey(100))
    assert not policy.keep('a', SECOND, grey(120))
    assert not policy.keep('a', SECOND // 2, grey(255))
    assert policy.keep('a', SECOND + 1, grey(130))
    assert policy.keep('b', SECOND, grey(100))
    assert policy.left_out == 2


def test_a_thumbnail_is_grey_and_small_whatever_it_is_made_of():
    white = np.full((480, 640, 3), 255, np.uint8)
    for image in (white, white[..., 0], np.full((480, 640), 65535, np.uint16)):
        small = thumbnail(image)
        assert small.shape == (24, 32)
        assert (small == 255).all()


def test_a_recogniser_that_repeats_itself_in_silence():
    guard = RepeatGuard(limit=3)
    kept = [guard.keep('', 'Thank you for watching!', T0 + i * SECOND) for i in range(20)]
    assert kept == [True] * 3 + [False] * 17
    assert guard.left_out == 17
    assert guard.keep('', 'Bring me the milk.', T0 + 20 * SECOND)
    assert guard.keep('', 'Thank you for watching!', T0 + 21 * SECOND)


def test_repeats_are_counted_by_speaker_and_forgotten_after_a_minute():
    guard = RepeatGuard(limit=1)
    assert guard.keep('user', 'Yes.', T0)
    assert guard.keep('robot', 'Yes.', T0)
    assert not guard.keep('user', 'yes', T0 + 59 * SECOND)
    assert guard.keep('user', 'Yes', T0 + 60 * SECOND)
    assert guard.keep('user', '?!', T0 + 61 * SECOND)


def test_repeats_on_a_clock_that_goes_back():
    guard = RepeatGuard(limit=1)
    assert guard.keep('', 'hello', 1000 * SECOND)
    assert guard.keep('', 'hello', 50 * SECOND)


@pytest.fixture
def tracker():
    opened = []

    def begin(stamp_ns):
        opened.append(stamp_ns)
        return len(opened)

    found = SessionTracker(30 * SECOND, begin)
    found.opened = opened
    return found


def test_a_late_record_stays_in_its_session(tracker):
    stamps = [100, 101, 96, 102, 73]  # 73 is 29 s behind
    assert [tracker.session_of('a', s * SECOND) for s in stamps] == [1] * 5
    assert tracker.notes == []


def test_a_clock_that_goes_back_opens_one_session_for_all_sources(tracker):
    for source in ('camera', 'joints'):
        assert tracker.session_of(source, 100 * SECOND) == 1
    assert tracker.session_of('camera', 50 * SECOND) == 2
    assert tracker.session_of('joints', 101 * SECOND) == 1  # still on its way
    assert tracker.session_of('joints', 51 * SECOND) == 2
    assert tracker.session_of('speech', 52 * SECOND) == 2
    assert tracker.opened == [100 * SECOND, 50 * SECOND]
    assert len(tracker.notes) == 1
    assert 'the clock of camera went back' in tracker.notes[0]


def test_a_source_that_speaks_rarely_follows_a_reset_too(tracker):
    for second in range(100, 200, 10):
        tracker.session_of('camera', second * SECOND)
    tracker.session_of('speech', 120 * SECOND)
    assert tracker.session_of('camera', 100 * SECOND) == 2
    assert tracker.session_of('speech', 125 * SECOND) == 2  # later than its own latest stamp


def test_a_bag_in_a_loop_opens_a_session_each_time(tracker):
    ids = [tracker.session_of(source, (100 + i) * SECOND)
           for _ in range(3) for i in range(0, 60, 10) for source in ('a', 'b')]
    assert ids == [1] * 12 + [2] * 12 + [3] * 12
    assert tracker.session_ids == [1, 2, 3]


def test_simulated_and_wall_time_get_sessions_of_their_own_and_it_is_told(tracker):
    assert tracker.session_of('/joints', 12 * SECOND) == 1
    assert tracker.session_of('/speech', T0) == 2
    assert tracker.session_of('/joints', 13 * SECOND) == 1
    assert tracker.session_of('/speech', T0 + SECOND) == 2
    assert tracker.session_of('/camera', 14 * SECOND) == 1
    assert len(tracker.notes) == 1
    assert '/speech keeps another clock' in tracker.notes[0]


def test_a_night_without_records_is_no_other_clock(tracker):
    assert tracker.session_of('a', T0) == 1
    assert tracker.session_of('a', T0 + 3 * DAY) == 1
    assert tracker.session_of('b', T0 + 3 * DAY + SECOND) == 1


@pytest.mark.parametrize(('sec', 'nanosec', 'expected'), [
    (5, 12, 5_000_000_012), (5, 120_000_000, 5_120_000_000), (0, 1, 1)])
def test_nanoseconds_are_added_as_numbers(sec, nanosec, expected):
    assert stamp_of(sec, nanosec, T0) == (expected, False)


def test_a_zero_stamp_takes_the_time_of_receipt_and_is_flagged():
    assert stamp_of(0, 0, T0) == (T0, True)


def test_the_year_2099_is_refused_on_the_wall_clock_alone():
    sec_2099 = 4_070_908_800
    with pytest.raises(RecordError, match='2099-01-01T00:00:00.* more than a day after'):
        stamp_of(sec_2099, 0, T0, is_wall=True)
    assert stamp_of(sec_2099, 0, T0) == (sec_2099 * SECOND, False)
    ahead = T0 // SECOND + 86_400
    assert stamp_of(ahead, 0, T0, is_wall=True) == (ahead * SECOND, False)


@pytest.mark.parametrize(('sec', 'nanosec'), [(-1, 0), (5, -1), (5, SECOND), (2**33, 0)])
def test_a_time_that_is_none_is_refused(sec, nanosec):
    with pytest.raises(RecordError):
        stamp_of(sec, nanosec, T0)


def test_a_span_that_ends_before_it_starts_is_refused():
    assert end_from_time(time(), T0) is None
    assert end_from_time(time(T0 // SECOND + 2), T0) == T0 + 2 * SECOND
    with pytest.raises(RecordError, match='before it starts'):
        end_from_time(SimpleNamespace(sec=5, nanosec=0), T0)


def test_a_span_does_not_reach_years_ahead_on_the_wall_clock():
    far = SimpleNamespace(sec=2**31 - 1, nanosec=0)
    assert end_from_time(far, T0, T0) == (2**31 - 1) * SECOND  # simulated or recorded time
    with pytest.raises(RecordError, match='2038.*more than a day after its receipt'):
        end_from_time(far, T0, T0, is_wall=True)
    assert end_from_time(time(T0 // SECOND + 3600), T0, T0, is_wall=True) == T0 + 3600 * SECOND
