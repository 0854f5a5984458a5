"""The status that each node publishes: latched, and again every second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup

from emv_ros.msg import MemoryStatus
from emv_ros.nodes import qos
from emv_ros.nodes.clocks import wall_clock
from emv_ros.nodes.conversions import status_to_ros
from emv_ros.nodes.faults import guarded
from emv_ros.nodes.lifecycle import MemoryNode
from emv_ros.nodes.survey import Findings
from emv_ros.nodes.topic_state import TopicState

TOPIC = 'memory_status'
PERIOD_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """What a node says of itself; `problems` in words, the first the gravest."""

    findings: Findings | None = None
    topics: Sequence[TopicState] = ()
    queued: int = 0
    capacity: int = 0
    dropped: int = 0
    refused: int = 0
    problems: Sequence[str] = ()
    is_recording: bool = True
    last_consolidation_ns: int = 0
    model: str = ''
    is_model_ready: bool = False


class StatusPublisher:
    """Publishes what `look` returns, while the node is active and at its end."""

    def __init__(self, node: MemoryNode, look: Callable[[], NodeState]) -> None:
        self._node = node
        self._look = look
        self.faults = node.faults
        self._publisher = node.create_publisher(MemoryStatus, TOPIC, qos.latched())
        # The wall clock drives it: a status must come also while simulated time stands still.
        self._timer = node.create_timer(
            PERIOD_S, self.publish, callback_group=MutuallyExclusiveCallbackGroup(),
            clock=wall_clock())
        self.publish()

    @guarded
    def publish(self) -> None:
        """Publish the state as it is now."""
        node, state = self._node, self._look()
        self._publisher.publish(status_to_ros(
            state, stamp_ns=node.get_clock().now().nanoseconds,
            robot=node.settings.memory.robot, node=node.get_fully_qualified_name(),
            is_active=node.is_active))

    def close(self) -> None:
        """Say that the node is inactive, and end."""
        self._timer.cancel()
        self._node.destroy_timer(self._timer)
        self.publish()
        self._node.destroy_publisher(self._publisher)
