"""Joint states: incomplete ones, impossible ones, and what thinning keeps."""

from ingest_parts import SECOND, T0, joint_state
import numpy as np
import pytest

from emv_ros.errors import RecordError
from emv_ros.ingest.joints import JointThinning, joint_sample, joint_sample_from_ros

NAN, INF = float('nan'), float('inf')


def test_values_stand_by_their_names():
    sample = joint_sample_from_ros(
        joint_state(['a', 'b'], [1, 2], [3, 4], [5, 6], nanosec=7), receipt_ns=5)
    assert sample.stamp_ns == T0 + 7
    assert (sample.names, sample.position) == (('a', 'b'), (1.0, 2.0))
    assert (sample.velocity, sample.effort) == ((3.0, 4.0), (5.0, 6.0))
    assert (sample.extra, sample.stamp_is_receipt) == ({}, False)


@pytest.mark.parametrize(('arrays', 'position', 'velocity', 'extra'), [
    # more names than positions
    ({'names': ['a', 'b', 'c'], 'position': [1]}, (1.0, None, None), (), {}),
    # more positions than names
    ({'names': ['a'], 'position': [1, 2, 3]}, (1.0,), (), {'unnamed_position': 2}),
    # velocities alone
    ({'names': ['a', 'b'], 'velocity': [1, 2]}, (None, None), (1.0, 2.0), {}),
    # no numbers among numbers
    ({'names': ['a', 'b', 'c', 'd'], 'position': [NAN, INF, -INF, 0]},
     (None, None, None, 0.0), (), {}),
    # NaN throughout beside known velocities
    ({'names': ['a'], 'position': [NAN], 'velocity': [2]}, (None,), (2.0,), {}),
])
def test_what_is_missing_is_none(arrays, position, velocity, extra):
    sample = joint_sample_from_ros(joint_state(**arrays), 5)
    assert sample.position == position
    assert sample.velocity == velocity
    assert sample.extra == extra


def test_of_duplicate_names_the_first_is_kept_and_empty_ones_are_not():
    sample = joint_sample_from_ros(
        joint_state(['a', '', 'b', 'a', ''], [1, 2, 3, 4, 5], [6, 7, 8]), 5)
    assert (sample.names, sample.position, sample.velocity) == (('a', 'b'), (1.0, 3.0), (6.0, 8.0))
    assert sample.extra == {'repeated_names': ['a'], 'empty_names': 2}


@pytest.mark.parametrize(('names', 'position', 'told'), [
    ([], [], 'names no joint'), ([], [1.0], 'names no joint'), (['', ''], [1, 2], 'names no joint'),
    (['a', 'b'], [], 'no value for any of its 2 joints'),
    (['a'], [NAN], 'no value for any of its 1 joints')])
def test_a_state_that_says_nothing_is_refused(names, position, told):
    with pytest.raises(RecordError, match=told):
        joint_sample_from_ros(joint_state(names, position), 5)


@pytest.mark.parametrize('value', ['1.0', True, [1.0]])
def test_a_value_that_is_no_number_is_refused(value):
    with pytest.raises(RecordError, match='no number'):
        joint_sample(T0, ['a'], [value])


def test_arrays_of_a_bag_and_null_of_a_file():
    assert joint_sample(T0, ['a', 'b'], np.array([1.5, NAN])).position == (1.5, None)
    assert joint_sample(T0, ['a', 'b'], [None, 10**400], [1.0]).position == (None, None)


def test_two_publishers_with_different_joints_interleaved_are_thinned_apart():
    thinning = JointThinning(SECOND // 10, 0.001)
    arm = [joint_sample(T0 + i * SECOND // 100, ['arm'], [i * 0.01]) for i in range(41)]
    head = [joint_sample(T0 + i * SECOND // 100 + 1, ['head'], [0.5]) for i in range(41)]
    kept = [sample.names[0] for pair in zip(arm, head, strict=True) for sample in pair
            if thinning.keep(sample)]
    assert kept.count('arm') == 5  # at 0, 0.1, 0.2, 0.3 and 0.4 s
    assert kept.count('head') == 1  # it never moves
    assert thinning.left_out == 82 - 6


def test_a_change_must_exceed_the_threshold_and_losing_a_value_is_a_change():
    thinning = JointThinning(0, 0.5)
    keep = [thinning.keep(joint_sample(T0 + i, ['a', 'b'], [value, 0.0]))
            for i, value in enumerate([0.0, 0.5, 0.75, 1.0, NAN, NAN, 1.0])]
    assert keep == [True, False, True, False, True, False, True]


def test_efforts_do_not_count_while_positions_are_known():
    thinning = JointThinning(0, 0.001)
    assert thinning.keep(joint_sample(T0, ['a'], [1.0], (), [1.0]))
    assert not thinning.keep(joint_sample(T0 + 1, ['a'], [1.0], (), [9.0]))
    assert thinning.keep(joint_sample(T0, ['v'], (), [1.0]))
    assert thinning.keep(joint_sample(T0 + 1, ['v'], (), [2.0]))


def test_a_clock_that_goes_back_does_not_silence_the_joints():
    thinning = JointThinning(SECOND, 0.001)
    assert thinning.keep(joint_sample(100 * SECOND, ['a'], [1.0]))
    assert thinning.keep(joint_sample(50 * SECOND, ['a'], [2.0]))
    assert thinning.keep(joint_sample(51 * SECOND, ['a'], [3.0]))
