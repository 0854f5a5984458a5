"""The fields of vision_msgs 4, for bags that come without their definitions.

Written out because the package is on no registry of Python packages; a bag's own definitions, of
whichever version, come first.
"""

from __future__ import annotations

# By type: its fields, as in a .msg file.
VISION_TYPES = {
    'vision_msgs/msg/Point2D': 'float64 x\nfloat64 y\n',
    'vision_msgs/msg/Pose2D': 'vision_msgs/Point2D position\nfloat64 theta\n',
    'vision_msgs/msg/BoundingBox2D':
        'vision_msgs/Pose2D center\nfloat64 size_x\nfloat64 size_y\n',
    'vision_msgs/msg/BoundingBox3D':
        'geometry_msgs/Pose center\ngeometry_msgs/Vector3 size\n',
    'vision_msgs/msg/ObjectHypothesis': 'string class_id\nfloat64 score\n',
    'vision_msgs/msg/ObjectHypothesisWithPose':
        'vision_msgs/ObjectHypothesis hypothesis\ngeometry_msgs/PoseWithCovariance pose\n',
    'vision_msgs/msg/Detection2D':
        'std_msgs/Header header\nvision_msgs/ObjectHypothesisWithPose[] results\n'
        'vision_msgs/BoundingBox2D bbox\nstring id\n',
    'vision_msgs/msg/Detection2DArray':
        'std_msgs/Header header\nvision_msgs/Detection2D[] detections\n',
    'vision_msgs/msg/Detection3D':
        'std_msgs/Header header\nvision_msgs/ObjectHypothesisWithPose[] results\n'
        'vision_msgs/BoundingBox3D bbox\nstring id\n',
    'vision_msgs/msg/Detection3DArray':
        'std_msgs/Header header\nvision_msgs/Detection3D[] detections\n',
}
