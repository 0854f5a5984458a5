"""Which type of message becomes which kind of record, for bags and nodes alike.

The messages may be rclpy's or those of a bag: only their fields are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emv_ros.ingest.compressed import compressed_from_ros
from emv_ros.ingest.detections import detections_from_ros
from emv_ros.ingest.images import camera_of, image_from_ros
from emv_ros.ingest.joints import joint_sample_from_ros
from emv_ros.ingest.poses import pose_from_ros
from emv_ros.ingest.scenes import scene_from_ros
from emv_ros.ingest.skills import ActionStatusReader, skill_report_from_ros
from emv_ros.ingest.speech import utterance_from_ros, utterance_from_string
from emv_ros.records import Record
from emv_ros.settings import IngestSettings

# By type, the kind under which its records are counted. What is not here is skipped: tf among
# it, since a transform is no pose of the robot until someone says which.
KINDS: Mapping[str, str] = {
    'sensor_msgs/msg/Image': 'image',
    'sensor_msgs/msg/CompressedImage': 'image',
    'sensor_msgs/msg/JointState': 'joints',
    'std_msgs/msg/String': 'speech',
    'emv_ros/msg/Utterance': 'speech',
    'emv_ros/msg/SkillEvent': 'skill',
    'action_msgs/msg/GoalStatusArray': 'skill',
    'emv_ros/msg/SceneGraph': 'scene',
    'vision_msgs/msg/Detection2DArray': 'scene',
    'vision_msgs/msg/Detection3DArray': 'scene',
    'nav_msgs/msg/Odometry': 'pose',
    'geometry_msgs/msg/PoseStamped': 'pose',
    'geometry_msgs/msg/PoseWithCovarianceStamped': 'pose',
}

Converted = tuple[Record, bytes | None]  # with the bytes of a picture


class Converter:
    """Turns messages of the kinds above into records. Not safe for several threads."""

    def __init__(self, settings: IngestSettings, is_wall: bool = False) -> None:
        self._settings = settings
        self._is_wall = is_wall
        self._actions = ActionStatusReader()

    def convert(self, kind: str, message: Any, topic: str, receipt_ns: int) -> list[Converted]:
        """Return the records of a message, for most kinds one. Raises RecordError."""
        is_wall = self._is_wall
        if kind == 'image':
            read = compressed_from_ros if hasattr(message, 'format') else image_from_ros
            data, record = read(message, camera_of(topic), self._settings, receipt_ns, is_wall)
            return [(record, data)]
        if kind == 'joints':
            return [(joint_sample_from_ros(message, receipt_ns, is_wall), None)]
        if kind == 'pose':
            return [(pose_from_ros(message, receipt_ns, is_wall), None)]
        if kind == 'scene':
            if hasattr(message, 'detections'):
                return [(detections_from_ros(message, topic, receipt_ns, is_wall), None)]
            return [(scene_from_ros(message, receipt_ns, is_wall), None)]
        if kind == 'speech':
            if hasattr(message, 'header'):
                return [(utterance_from_ros(message, receipt_ns, is_wall), None)]
            return [(utterance_from_string(message, receipt_ns), None)]
        if hasattr(message, 'status_list'):
            return [(report, None) for report in self._actions.reports(message, topic, receipt_ns)]
        return [(skill_report_from_ros(message, receipt_ns, is_wall), None)]
