"""Rows of a memory as messages of ROS 2, the other way round than the converters of ingest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import json
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emv_ros.errors import RecordError
from emv_ros.ingest.bag_types import standard_types
from emv_ros.ingest.skills import STATUSES
from emv_ros.records import Status
from emv_ros.timeline import SECOND_NS, format_rfc3339

LOG_TYPE = 'rcl_interfaces/msg/Log'
# The seconds of a message are 32 bits with a sign.
MAX_STAMP_NS = 2**31 * SECOND_NS
# In front of the PNG of a depth picture: format and quantisation, which 16UC1 does not need.
_DEPTH_HEADER = bytes(12)


class Outgoing(NamedTuple):
    """A message that is to be written: when, where, of which type, and what."""

    stamp_ns: int
    topic: str
    type: str
    content: Any


class BagMessages:
    """Makes messages. Raises RecordError for a time that no message can tell: after 2038."""

    def __init__(self) -> None:
        self._types = standard_types().types

    def of(self, kind: str, **fields: Any) -> Any:
        """Return a message of a type."""
        return self._types[kind](**fields)

    def image(self, row: Any, data: bytes, topic: str) -> Outgoing:
        """Return a picture as a CompressedImage: a JPEG, a PNG, or depth in millimetres."""
        form = 'png' if row.media_type == 'image/png' else 'jpeg'
        if row.is_depth:
            form, data = '16UC1; compressedDepth png', _DEPTH_HEADER + data
        elif row.encoding not in ('', form):
            form = f'{row.encoding}; {form} compressed {row.encoding}'
        return self._message(row, topic, 'sensor_msgs/msg/CompressedImage', row.frame, format=form,
                             data=np.frombuffer(data, np.uint8))

    def joints(self, row: Any, topic: str) -> Outgoing:
        """Return a sample as a JointState; NaN where a value is unknown."""
        return self._message(
            row, topic, 'sensor_msgs/msg/JointState', name=list(row.names),
            position=_numbers(row.position), velocity=_numbers(row.velocity),
            effort=_numbers(row.effort))

    def pose(self, row: Any, topic: str) -> Outgoing:
        """Return a pose as a PoseStamped; an orientation of zeros is unknown."""
        turn = row.orientation or (0.0, 0.0, 0.0, 0.0)
        return self._message(
            row, topic, 'geometry_msgs/msg/PoseStamped', row.frame, pose=self.of(
                'geometry_msgs/msg/Pose', position=self._point(row.position), orientation=self.of(
                    'geometry_msgs/msg/Quaternion', **dict(zip('xyzw', map(float, turn),
                                                               strict=True)))))

    def utterance(self, row: Any, topic: str, robot: str) -> Outgoing:
        """Return words as an Utterance."""
        return self._message(
            row, topic, 'emv_ros/msg/Utterance', robot=robot, speaker=row.speaker, text=row.text,
            is_own=row.is_own, confidence=_known(row.confidence), language=row.language,
            end=as_time(self, row.end_ns or 0))

    def skill(self, row: Any, topic: str, robot: str) -> Iterator[Outgoing]:
        """Yield a run as a SkillEvent for each change of its state."""
        pairs = [self.of('diagnostic_msgs/msg/KeyValue', key=key, value=_parameter(value))
                 for key, value in row.parameters.items()]
        is_span = len(row.transitions) == 1 and row.end_ns not in (None, row.stamp_ns)
        for place, (status, stamp_ns) in enumerate(row.transitions, 1):
            is_last = place == len(row.transitions)
            yield Outgoing(int(stamp_ns), topic, 'emv_ros/msg/SkillEvent', self.of(
                'emv_ros/msg/SkillEvent', header=self._header(int(stamp_ns)), robot=robot,
                skill=row.skill, status=STATUSES.index(Status(status)),
                goal_stack=list(row.goal_stack), parameters=pairs, trigger=row.trigger,
                narration=row.narration if is_last else '', id=row.source_id,
                parent_id=row.parent_source_id, end=as_time(self, row.end_ns if is_span else 0)))

    def scene(self, row: Any, parts: Mapping[str, list[Any]], topic: str,
              robot: str) -> Outgoing:
        """Return a scene as a SceneGraph, whose places are all in the frame of the first."""
        objects = parts.get('objects', [])
        frame = next((item.get('frame', '') for item in objects if item.get('position')), '')
        width, height = (row.extra.get(name, 0) for name in ('image_width', 'image_height'))
        return self._message(
            row, topic, 'emv_ros/msg/SceneGraph', frame, robot=robot, camera=row.camera,
            image_width=width, image_height=height,
            objects=[self._object(item, frame) for item in objects],
            relations=[self.of('emv_ros/msg/SceneRelation', **item)
                       for item in parts.get('relations', ())])

    def _object(self, item: Mapping[str, Any], frame: str) -> Any:
        box, place = item.get('bbox'), item.get('position')
        is_here = place is not None and item.get('frame', '') == frame
        return self.of(
            'emv_ros/msg/SceneObject', name=item.get('name', ''),
            instance=item.get('instance', ''), has_bbox=box is not None,
            bbox=np.array(box or (0, 0, 0, 0), np.float32), has_position=is_here,
            position=self._point(place if place is not None and is_here else (0, 0, 0)),
            confidence=_known(item.get('confidence')), state=item.get('state', ''))

    def _message(self, row: Any, topic: str, kind: str, frame: str = '',
                 **fields: Any) -> Outgoing:
        # Where the source gave no time, the message has none either: it was the recording's.
        header = self._header(0 if row.stamp_is_receipt else row.stamp_ns, frame)
        return Outgoing(row.stamp_ns, topic, kind, self.of(kind, header=header, **fields))

    def _header(self, stamp_ns: int, frame: str = '') -> Any:
        return self.of('std_msgs/msg/Header', stamp=as_time(self, stamp_ns), frame_id=frame)

    def _point(self, place: Any) -> Any:
        return self.of('geometry_msgs/msg/Point',
                       **dict(zip('xyz', map(float, place), strict=True)))


def as_time(messages: BagMessages, stamp_ns: int) -> Any:
    """Return a stamp as a message."""
    if stamp_ns >= MAX_STAMP_NS:
        raise RecordError(f'no message can tell {format_rfc3339(stamp_ns)}: it is after 2038')
    seconds, nanoseconds = divmod(stamp_ns, SECOND_NS)
    return messages.of('builtin_interfaces/msg/Time', sec=seconds, nanosec=nanoseconds)


def _numbers(values: Any) -> NDArray[np.float64]:
    return np.array([math.nan if value is None else value for value in values], np.float64)


def _known(confidence: float | None) -> float:
    return math.nan if confidence is None else confidence


def _parameter(value: Any) -> str:
    """Return a value as a text that reads as itself: JSON, unless it is a text that is none."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except ValueError:
            return value
    return json.dumps(value, ensure_ascii=False)
