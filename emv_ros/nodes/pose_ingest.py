"""Remembers where the robot is: from odometry, poses, or tf where tf2_ros is installed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Odometry

from emv_ros.nodes.ingest import IngestNode
from emv_ros.nodes.parameters import declare
from emv_ros.nodes.running import run
from emv_ros.nodes.status import NodeState
from emv_ros.nodes.tf_poses import TfPoses


class PoseIngest(IngestNode):
    """Poses from topics, and of `tf_child` in `tf_frame` where both are named."""

    types = {'nav_msgs/msg/Odometry': Odometry, 'geometry_msgs/msg/PoseStamped': PoseStamped,
             'geometry_msgs/msg/PoseWithCovarianceStamped': PoseWithCovarianceStamped}
    default_topics = ('odom',)
    is_stream = True

    def __init__(self, name: str = 'pose_ingest', **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self.tf_frame: str = declare(
            self, 'tf_frame', '', 'frame in which tf gives the pose, such as map; empty: no tf')
        self.tf_child: str = declare(self, 'tf_child', 'base_link', "the robot's frame in tf")
        self._tf: TfPoses | None = None

    def start(self) -> None:
        """Listen to topics, and to tf."""
        if self.tf_frame:
            self._tf = TfPoses(self, self.tf_frame, self.tf_child,
                               self.settings.ingest.pose_period_s, self.take_pose)
        super().start()

    def stop(self) -> None:
        """Listen no more."""
        if self._tf is not None:
            self._tf.close()
            self._tf = None
        super().stop()

    def take_pose(self, pose: Any) -> None:
        """Remember a pose that tf gave."""
        if self._thinning.keep('tf', pose):
            self._intake.add(pose, 'tf')

    def state(self) -> NodeState:
        """Return what the status tells; a tf that gives nothing is told too."""
        state = super().state()
        if self._tf is not None and self._tf.problem:
            return replace(state, problems=[*state.problems, self._tf.problem])
        return state


def main(args: Sequence[str] | None = None) -> int:
    """Run the node alone."""
    return run(PoseIngest, args)
