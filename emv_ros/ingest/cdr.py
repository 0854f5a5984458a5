"""What decides whether a message is worth decoding, read from its bytes as they came over DDS.

Fast streams are mostly left out; of those messages only the stamp, and of joint states the names
and positions, are read. The bytes are CDR (version 1, either byte order) behind four bytes that
name the encoding. Another encoding is None, and bytes that end too early are None too where they
may be a message of another kind: then the message is decoded as a whole, which tells what is wrong.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from emv_ros.errors import RecordError

START = 4  # bytes that name the encoding; alignment counts from behind them
ORDERS = {b'\x00\x00': '>', b'\x00\x01': '<'}
_LENGTHS = {order: struct.Struct(f'{order}I') for order in '<>'}
_STAMPS = {order: struct.Struct(f'{order}iI') for order in '<>'}
_DOUBLES = {order: np.dtype(f'{order}f8') for order in '<>'}
STAMP_BYTES = 8


class JointBytes(NamedTuple):
    """A joint state: its names, not decoded, and the positions (rad or m) as they are."""

    names: tuple[bytes, ...]
    position: NDArray[np.float64]


def stamp_in(raw: bytes) -> tuple[int, int] | None:
    """Return seconds and nanoseconds of a message that begins with a std_msgs/Header.

    Raises RecordError where it is too short to have one.
    """
    order = ORDERS.get(bytes(raw[:2]))
    if order is None:
        return None
    if len(raw) < START + STAMP_BYTES:
        raise RecordError(f'a message of {len(raw)} bytes has no header')
    sec, nanosec = _STAMPS[order].unpack_from(raw, START)
    return sec, nanosec


def joints_in(raw: bytes) -> JointBytes | None:
    """Return names and positions of a sensor_msgs/JointState; None where they cannot be read."""
    order = ORDERS.get(bytes(raw[:2]))
    if order is None:
        return None
    length = _LENGTHS[order].unpack_from
    end = len(raw)
    names: list[bytes] = []
    try:
        at = START + STAMP_BYTES
        at = _aligned(at + 4 + length(raw, at)[0], 4)  # behind the frame
        count, at = length(raw, at)[0], at + 4
        for _ in range(count):
            at = _aligned(at, 4)
            size, at = length(raw, at)[0], at + 4
            if not size or at + size > end or raw[at + size - 1]:  # a string ends with a NUL
                return None
            names.append(raw[at:at + size - 1])
            at += size
        at = _aligned(at, 4)
        count, at = length(raw, at)[0], at + 4
    except struct.error:
        return None
    if count:
        at = _aligned(at, 8)
    if at + 8 * count > end:
        return None
    position = np.frombuffer(raw, _DOUBLES[order], count, at) if count else np.empty(0)
    return JointBytes(tuple(names), position)


def _aligned(at: int, size: int) -> int:
    return at + (START - at) % size
