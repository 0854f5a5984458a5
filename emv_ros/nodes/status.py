"""The status that each node publishes: latched, and again every second; and its diagnostics.

Both are made of one NodeState.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
import threading
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup

from emv_ros.msg import MemoryStatus
from emv_ros.nodes import diagnostics, qos
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
    model_errors: int = 0
    lag_s: float | None = None
    facts: Mapping[str, object] = field(default_factory=dict)  # what only the diagnostics show


class StatusPublisher:
    """Publishes what `look` returns, while the node is active and at its end."""

    def __init__(self, node: MemoryNode, look: Callable[[], NodeState]) -> None:
        self._node = node
        self._look = look
        self._is_active = True  # the node is, once the transition that made this is over
        # Another thread's turn of the timer may still publish while the node shuts down.
        self._turn = threading.Lock()
        self._is_closed = False
        self.faults = node.faults
        self._publisher = node.create_publisher(MemoryStatus, TOPIC, qos.latched())
        self._diagnostics = node.create_publisher(
            DiagnosticArray, diagnostics.TOPIC, qos.diagnostics())
        # The wall clock drives it: a status must come also while simulated time stands still.
        self._timer = node.create_timer(
            PERIOD_S, self.publish, callback_group=MutuallyExclusiveCallbackGroup(),
            clock=wall_clock())
        self.publish()

    @guarded
    def publish(self) -> None:
        """Publish the state as it is now, unless this is closed."""
        with self._turn:
            if not self._is_closed:
                self._publish()

    def _publish(self) -> None:
        node, state = self._node, self._look()
        common: dict[str, Any] = {
            'stamp_ns': node.get_clock().now().nanoseconds, 'is_active': self._is_active,
            'robot': node.settings.memory.robot, 'node': node.get_fully_qualified_name()}
        self._publisher.publish(status_to_ros(state, **common))
        self._diagnostics.publish(diagnostics.diagnostics_to_ros(state, **common))

    def close(self) -> None:
        """Say that the node is inactive, and end."""
        self._timer.cancel()
        self._node.destroy_timer(self._timer)
        self._is_active = False
        self.publish()
        with self._turn:
            self._is_closed = True
            for publisher in (self._publisher, self._diagnostics):
                self._node.destroy_publisher(publisher)
