"""Spoken words: from our Utterance, from std_msgs/String, and from plain values.

Whether words are the robot's own is what the source says, or follows from its speaker. Repeated
words are thinned by policies.RepeatGuard, not here.
"""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any

from emv_ros.errors import RecordError
from emv_ros.ingest.stamps import end_from_time, stamp_from_header
from emv_ros.records import Utterance

OWN_SPEAKER = 'robot'


def utterance_from_ros(message: Any, receipt_ns: int, is_wall: bool = False) -> Utterance:
    """Return the utterance of an emv_ros/Utterance; RecordError where it has no words."""
    stamp_ns, is_receipt = stamp_from_header(message, receipt_ns, is_wall)
    return utterance(
        stamp_ns, message.text, message.speaker, is_own=message.is_own, robot=message.robot,
        # 0 is a field that nobody set.
        confidence=confidence_of(message.confidence or None), language=message.language,
        end_ns=end_from_time(message.end, stamp_ns, receipt_ns, is_wall),
        stamp_is_receipt=is_receipt)


def utterance_from_string(
        message: Any, receipt_ns: int, speaker: str = '', is_own: bool = False) -> Utterance:
    """Return the utterance of a std_msgs/String, whose only time is that of its receipt."""
    return utterance(
        receipt_ns, message.data, speaker, is_own=is_own, stamp_is_receipt=True)


def utterance(
        stamp_ns: int, text: str, speaker: str = '', *, is_own: bool = False, robot: str = '',
        confidence: float | None = None, language: str = '', end_ns: int | None = None,
        stamp_is_receipt: bool = False, extra: Mapping[str, Any] | None = None) -> Utterance:
    """Return an utterance; the speaker 'robot', or the robot's name, makes it the robot's own."""
    if not text.strip():
        raise RecordError('the utterance has no words')
    own_names = {OWN_SPEAKER, robot.casefold()} - {''}
    return Utterance(
        stamp_ns=stamp_ns, text=text, speaker=speaker, robot=robot,
        is_own=is_own or speaker.casefold() in own_names, confidence=confidence,
        language=language, end_ns=end_ns, stamp_is_receipt=stamp_is_receipt, extra=extra or {})


def confidence_of(value: float | None) -> float | None:
    """Return a confidence within 0..1; None where it is unknown, NaN or out of range."""
    if value is None or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if not math.isnan(value) and 0 <= value <= 1 else None
