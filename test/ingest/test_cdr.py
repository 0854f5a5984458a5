"""What is read from the bytes of a message is what decoding it as a whole tells."""

from __future__ import annotations

import struct

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

from emv_ros.errors import RecordError
from emv_ros.ingest.bag_types import standard_types
from emv_ros.ingest.cdr import joints_in, stamp_in
from emv_ros.ingest.joints import JointThinning, joint_sample

TYPE = 'sensor_msgs/msg/JointState'
NS = 1_000_000_000


def state(names: list[str], position: list[float], frame: str = '', sec: int = 5,
          nanosec: int = 7) -> object:
    types = standard_types().types
    return types[TYPE](
        header=types['std_msgs/msg/Header'](
            stamp=types['builtin_interfaces/msg/Time'](sec=sec, nanosec=nanosec), frame_id=frame),
        name=names, position=np.array(position), velocity=np.array([0.5] * len(names)),
        effort=np.empty(0))


def serialized(message: object, is_little: bool = True) -> bytes:
    # By rosbags, which knows nothing of the code under test.
    return bytes(standard_types().serialize_cdr(message, TYPE, little_endian=is_little))


NUMBERS = st.floats(width=64)
WORDS = st.text(st.characters(exclude_categories=('Cs',), exclude_characters='\0'), max_size=9)


@settings(max_examples=150, deadline=None)
@given(st.lists(WORDS, max_size=6), st.lists(NUMBERS, max_size=6), WORDS, st.booleans(),
       st.integers(-2**31, 2**31 - 1), st.integers(0, 2**32 - 1))
def test_bytes_tell_what_decoding_tells(
        names: list[str], position: list[float], frame: str, is_little: bool, sec: int,
        nanosec: int) -> None:
    raw = serialized(state(names, position, frame, sec, nanosec), is_little)
    assert stamp_in(raw) == (sec, nanosec)
    found = joints_in(raw)
    assert found is not None
    assert [name.decode() for name in found.names] == names
    np.testing.assert_array_equal(found.position, np.array(position))


def test_a_message_cut_anywhere_is_read_as_no_joints() -> None:
    raw = serialized(state(['left', 'right'], [1.0, 2.0], 'base'))
    behind_position = raw.index(struct.pack('<d', 2.0)) + 8
    for length in range(len(raw)):
        found = joints_in(raw[:length])
        assert (found is None) == (length < behind_position), length
    with pytest.raises(RecordError, match='8 bytes has no header'):
        stamp_in(raw[:8])


@pytest.mark.parametrize('at', [12, 20, 24])  # lengths of the frame, the names, the first name
def test_lengths_beyond_the_end_are_read_as_no_joints(at: int) -> None:
    raw = bytearray(serialized(state(['left'], [1.0], 'ab')))
    raw[at:at + 4] = b'\xff\xff\xff\x7f'
    assert joints_in(bytes(raw)) is None


def test_a_name_without_its_end_is_left_to_decoding() -> None:
    raw = serialized(state(['lefty'], [1.0]))
    assert joints_in(raw.replace(b'lefty\0', b'leftys')) is None


def test_another_encoding_is_left_to_decoding() -> None:
    raw = serialized(state(['left'], [1.0]))
    for name in (b'\x00\x07', b'\x00\x03'):  # XCDR2, parameter lists
        assert stamp_in(name + raw[2:]) is None
        assert joints_in(name + raw[2:]) is None


VALUES = st.one_of(st.sampled_from((0.0, 0.0005, 0.002, 1.0, float('nan'), float('inf'))), NUMBERS)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 400_000_000), st.lists(VALUES, min_size=1, max_size=3)),
                max_size=12))
def test_what_need_not_be_decoded_is_what_would_be_left_out(
        steps: list[tuple[int, list[float]]]) -> None:
    thinning, alone = JointThinning(100_000_000, 0.001), JointThinning(100_000_000, 0.001)
    stamp_ns = NS
    for step_ns, position in steps:
        stamp_ns += step_ns
        names = ['a', 'b', 'c'][:len(position)]
        try:
            sample = joint_sample(stamp_ns, names, position, [0.5] * len(names))
        except RecordError:
            continue
        may_keep = thinning.may_keep(tuple(names), stamp_ns, np.array(position))
        is_kept = may_keep and thinning.keep(sample)
        assert is_kept == alone.keep(sample)
    assert thinning.left_out == alone.left_out


def test_a_robot_at_rest_need_not_be_decoded() -> None:
    thinning = JointThinning(100_000_000, 0.001)
    assert thinning.keep(joint_sample(NS, ['a', 'b'], [1.0, float('nan')]))
    for number in range(1, 50):
        still = np.array([1.0005, np.nan])
        assert not thinning.may_keep(('a', 'b'), NS + number * NS, still)
    assert thinning.may_keep(('a', 'b'), 60 * NS, np.array([1.002, np.nan]))
    assert thinning.may_keep(('a', 'b'), 60 * NS, np.array([1.0, 0.0]))  # now it is known
