"""From the time fields of messages to stamps.

The clock of the receiver is an argument: nothing here reads one. A message without a time gets the
time of receipt and is flagged; a time that no clock of this century shows is refused.
"""

from __future__ import annotations

from typing import Any

from emv_ros.errors import RecordError
from emv_ros.timeline import HOUR_NS, MAX_NS, SECOND_NS, format_rfc3339

# On the wall clock, a stamp from further ahead than this is that of a wrong clock.
MAX_AHEAD_NS = 24 * HOUR_NS


def stamp_of(sec: int, nanosec: int, receipt_ns: int, is_wall: bool = False) -> tuple[int, bool]:
    """Return the stamp and whether it is the time of receipt, which stands in for a zero stamp.

    With `is_wall` the receipt is wall time, and a stamp more than a day ahead of it is refused;
    under simulated or recorded time any stamp is accepted that lies within 1970..2200. Raises
    RecordError.
    """
    if not sec and not nanosec:
        return receipt_ns, True
    stamp_ns = exact_stamp(sec, nanosec)
    if is_wall and stamp_ns > receipt_ns + MAX_AHEAD_NS:
        raise RecordError(
            f'the stamp {format_rfc3339(stamp_ns)} lies more than a day after its receipt at '
            f'{format_rfc3339(receipt_ns)}')
    return stamp_ns, False


def exact_stamp(sec: int, nanosec: int) -> int:
    """Return seconds and nanoseconds as one stamp; RecordError where they are none."""
    if not 0 <= nanosec < SECOND_NS:
        raise RecordError(f'nanosec is {nanosec}, not within 0..999999999')
    stamp_ns = int(sec) * SECOND_NS + int(nanosec)
    if not 0 <= stamp_ns < MAX_NS:
        raise RecordError(f'the stamp {sec} s is outside the years 1970 to 2200')
    return stamp_ns


def stamp_from_header(message: Any, receipt_ns: int, is_wall: bool = False) -> tuple[int, bool]:
    """Return stamp_of for the header of a message."""
    stamp = message.header.stamp
    return stamp_of(stamp.sec, stamp.nanosec, receipt_ns, is_wall)


def end_from_time(time: Any, start_ns: int, receipt_ns: int = 0,
                  is_wall: bool = False) -> int | None:
    """Return the stamp of a builtin_interfaces/Time that ends a span; None where it is zero.

    Raises RecordError where the span would end before it starts, or, with `is_wall`, more than a
    day after the receipt.
    """
    if not time.sec and not time.nanosec:
        return None
    end_ns = exact_stamp(time.sec, time.nanosec)
    if end_ns < start_ns:
        raise RecordError(
            f'it ends at {format_rfc3339(end_ns)}, before it starts at {format_rfc3339(start_ns)}')
    if is_wall and end_ns > receipt_ns + MAX_AHEAD_NS:
        raise RecordError(f'it ends at {format_rfc3339(end_ns)}, more than a day after its receipt '
                          f'at {format_rfc3339(receipt_ns)}')
    return end_ns
