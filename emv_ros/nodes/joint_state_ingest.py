"""Remembers joint states by name, thinned to what moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sensor_msgs.msg import JointState

from emv_ros.nodes.ingest import IngestNode
from emv_ros.nodes.running import run


class JointStateIngest(IngestNode):
    """Joints of any number of publishers, also of different joints on one topic."""

    types = {'sensor_msgs/msg/JointState': JointState}
    default_topics = ('joint_states',)
    is_stream = True

    def __init__(self, name: str = 'joint_state_ingest', **kwargs: Any) -> None:
        super().__init__(name, **kwargs)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node alone."""
    return run(JointStateIngest, args)
