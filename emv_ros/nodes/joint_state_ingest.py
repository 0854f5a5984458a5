"""Remembers joint states by name, thinned to what moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sensor_msgs.msg import JointState

from emv_ros.ingest.cdr import joints_in, stamp_in
from emv_ros.ingest.stamps import stamp_of
from emv_ros.nodes.ingest import IngestNode
from emv_ros.nodes.inputs import TopicInput
from emv_ros.nodes.running import run

MOST_SETS = 256  # of joints whose names are kept


class JointStateIngest(IngestNode):
    """Joints of any number of publishers, also of different joints on one topic."""

    types = {'sensor_msgs/msg/JointState': JointState}
    default_topics = ('joint_states',)
    is_stream = True
    is_raw = True

    def __init__(self, name: str = 'joint_state_ingest', **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self._names: dict[tuple[bytes, ...], tuple[str, ...]] = {}

    def may_keep(self, raw: bytes, source: TopicInput, receipt_ns: int) -> bool:
        """Return False where the joints are those of a moment ago, or have not moved."""
        stamp, joints = stamp_in(raw), joints_in(raw)
        if stamp is None or joints is None:
            return True
        stamp_ns, _ = stamp_of(*stamp, receipt_ns, self.is_wall)
        names = self._names.get(joints.names)
        if names is None:
            names = self._decoded(joints.names)
        return self._thinning.joints.may_keep(names, stamp_ns, joints.position)

    def _decoded(self, names: tuple[bytes, ...]) -> tuple[str, ...]:
        if len(self._names) >= MOST_SETS:
            self._names.clear()
        # As rclpy decodes them: what is no UTF-8 becomes a replacement character.
        found = self._names[names] = tuple(name.decode(errors='replace') for name in names)
        return found


def main(args: Sequence[str] | None = None) -> int:
    """Run the node alone."""
    return run(JointStateIngest, args)
