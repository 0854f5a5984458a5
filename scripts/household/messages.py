"""The messages of the recording: built from plain values, kept in order, written as one bag.

Standard types come with rosbags; ours are registered from the texts in msg/ of the checkout, so
that the bag carries their definitions and opens wherever emv_ros is installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import json
from pathlib import Path
import shutil
from typing import Any

import numpy as np
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

CHECKOUT = Path(__file__).resolve().parents[2]
OURS = ('SkillEvent', 'Utterance')
SECOND_NS = 1_000_000_000
TOPICS = {
    '/camera/image_raw/compressed': 'sensor_msgs/msg/CompressedImage',
    '/joint_states': 'sensor_msgs/msg/JointState',
    '/odom': 'nav_msgs/msg/Odometry',
    '/skill_events': 'emv_ros/msg/SkillEvent',
    '/speech': 'emv_ros/msg/Utterance',
    '/asr': 'std_msgs/msg/String',
}


def typestore() -> Typestore:
    """Return the types of ROS 2 with those of the checkout's msg/ folder."""
    store = get_typestore(Stores.ROS2_KILTED)
    types: dict[str, Any] = {}
    for name in OURS:
        text = (CHECKOUT / 'msg' / f'{name}.msg').read_text(encoding='utf-8')
        types.update(get_types_from_msg(text, f'emv_ros/msg/{name}'))
    store.register(types)
    return store


class Recording:
    """The messages so far. Every `add_…` takes the stamp first, ns since the Unix epoch."""

    def __init__(self) -> None:
        self.messages: list[tuple[int, str, bytes]] = []
        self._store = typestore()

    def add_picture(self, stamp_ns: int, jpeg: bytes) -> None:
        """Add a picture of the camera."""
        self._add(
            stamp_ns, '/camera/image_raw/compressed', format='jpeg',
            header=self._header(stamp_ns, 'camera_optical_frame'),
            data=np.frombuffer(jpeg, np.uint8))

    def add_joints(self, stamp_ns: int, names: Sequence[str], position: Sequence[float],
                   velocity: Sequence[float], effort: Sequence[float]) -> None:
        """Add a state of the joints: rad, rad/s, N m."""
        numbers = {
            key: np.round(np.array(values, np.float64), 5)
            for key, values in (('position', position), ('velocity', velocity), ('effort', effort))}
        self._add(
            stamp_ns, '/joint_states', header=self._header(stamp_ns), name=list(names), **numbers)

    def add_odometry(self, stamp_ns: int, position: Sequence[float], orientation: Sequence[float],
                     speed: float) -> None:
        """Add where the robot is in the map, m and a quaternion, and how fast it drives, m/s."""
        make = self._make
        zero = make('geometry_msgs/msg/Vector3', x=0.0, y=0.0, z=0.0)
        pose = make('geometry_msgs/msg/Pose', position=self._point(position),
                    orientation=make('geometry_msgs/msg/Quaternion',
                                     **dict(zip('xyzw', orientation, strict=True))))
        twist = make('geometry_msgs/msg/Twist', angular=zero,
                     linear=make('geometry_msgs/msg/Vector3', x=speed, y=0.0, z=0.0))
        nothing = np.zeros(36)
        self._add(
            stamp_ns, '/odom', header=self._header(stamp_ns, 'map'), child_frame_id='base_link',
            pose=make('geometry_msgs/msg/PoseWithCovariance', pose=pose, covariance=nothing),
            twist=make('geometry_msgs/msg/TwistWithCovariance', twist=twist, covariance=nothing))

    def add_skill(self, stamp_ns: int, *, skill: str, status: str, goals: Sequence[str],
                  parameters: Mapping[str, Any], trigger: str, narration: str, run: str,
                  parent: str) -> None:
        """Add a report about a run of a skill."""
        kind = self._store.types['emv_ros/msg/SkillEvent']
        pairs = [self._make('diagnostic_msgs/msg/KeyValue', key=key,
                            value=value if isinstance(value, str) else json.dumps(value))
                 for key, value in parameters.items()]
        self._add(stamp_ns, '/skill_events', header=self._header(stamp_ns), robot='', skill=skill,
                  status=int(getattr(kind, f'STATUS_{status.upper()}')), goal_stack=list(goals),
                  parameters=pairs, trigger=trigger, narration=narration, id=run, parent_id=parent,
                  end=self._time(0))

    def add_utterance(self, stamp_ns: int, end_ns: int, speaker: str, text: str,
                      confidence: float) -> None:
        """Add what somebody said, or the robot."""
        self._add(stamp_ns, '/speech', header=self._header(stamp_ns, 'microphone'), robot='',
                  speaker=speaker, text=text, is_own=speaker == 'robot', confidence=confidence,
                  language='en', end=self._time(end_ns))

    def add_recognised(self, stamp_ns: int, text: str) -> None:
        """Add words as a plain recogniser gives them, without speaker and stamp."""
        self._add(stamp_ns, '/asr', data=text)

    def write(self, folder: Path) -> None:
        """Write all as one bag (mcap, zstd) in place of what the folder held."""
        shutil.rmtree(folder, ignore_errors=True)
        writer = Writer(folder, version=8, storage_plugin=StoragePlugin.MCAP)
        writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
        with writer:
            connections = {
                topic: writer.add_connection(topic, kind, typestore=self._store)
                for topic, kind in TOPICS.items()}
            for stamp_ns, topic, data in sorted(self.messages, key=lambda message: message[0]):
                writer.write(connections[topic], stamp_ns, data)

    def _add(self, stamp_ns: int, topic: str, **fields: Any) -> None:
        kind = TOPICS[topic]
        data = self._store.serialize_cdr(self._make(kind, **fields), kind)
        self.messages.append((stamp_ns, topic, bytes(data)))

    def _make(self, kind: str, **fields: Any) -> Any:
        return self._store.types[kind](**fields)

    def _point(self, position: Sequence[float]) -> Any:
        return self._make('geometry_msgs/msg/Point', **dict(zip('xyz', position, strict=True)))

    def _time(self, stamp_ns: int) -> Any:
        seconds, nanoseconds = divmod(stamp_ns, SECOND_NS)
        return self._make('builtin_interfaces/msg/Time', sec=seconds, nanosec=nanoseconds)

    def _header(self, stamp_ns: int, frame: str = '') -> Any:
        return self._make('std_msgs/msg/Header', stamp=self._time(stamp_ns), frame_id=frame)
