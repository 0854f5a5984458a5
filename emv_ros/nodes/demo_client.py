"""The part of the demonstration that a robot's operator plays: consolidate, ask, speak, listen.

It reaches the memory over services, an action and topics only, as any other node would.
"""

from __future__ import annotations

from collections.abc import Callable
import time
from types import TracebackType
from typing import Any

import rclpy
from rclpy.action import ActionClient
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import String

from emv_ros.action import Consolidate
from emv_ros.errors import EmvError
from emv_ros.msg import Utterance
from emv_ros.nodes import qos
from emv_ros.srv import QueryEpisodicMemory

POLL_S = 0.1


class DemoClient:
    """A node that asks; a context manager. `check` is called while it waits, and may raise."""

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check

    def __enter__(self) -> DemoClient:
        rclpy.init(args=[])
        self._node = Node('demo_client')
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._query = self._node.create_client(QueryEpisodicMemory, 'query_episodic_memory')
        self._consolidate = ActionClient(self._node, Consolidate, 'consolidate')
        self._heard: list[str] = []
        self._node.create_subscription(
            String, 'say', lambda message: self._heard.append(message.data), qos.events())
        self._speech = self._node.create_publisher(Utterance, 'microphone', qos.events())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._executor.shutdown()
        self._consolidate.destroy()
        self._node.destroy_node()
        rclpy.try_shutdown()

    def wait_for_nodes(self, limit_s: float) -> None:
        """Wait until the services are there and somebody listens to the microphone."""
        self._wait(lambda: (
            self._query.service_is_ready() and self._consolidate.server_is_ready()
            and self._speech.get_subscription_count() > 0), limit_s, 'the nodes')

    def consolidate(self, limit_s: float, goal: Any) -> Any:
        """Have the history tree brought up to date, and return the action's result."""
        accepted = self._result(self._consolidate.send_goal_async(goal), limit_s, 'consolidation')
        if not accepted.accepted:
            raise EmvError('the consolidation was not accepted')
        return self._result(accepted.get_result_async(), limit_s, 'consolidation').result

    def ask(self, question: str, limit_s: float) -> Any:
        """Ask the service and return its response."""
        request = QueryEpisodicMemory.Request(question=question)
        return self._result(self._query.call_async(request), limit_s, 'the answer')

    def speak(self, words: str, limit_s: float) -> str:
        """Say something to the robot and return what it has spoken in return."""
        self._heard.clear()
        self._speech.publish(Utterance(speaker='user', text=words))
        self._wait(lambda: bool(self._heard), limit_s, 'a spoken answer')
        return self._heard[0]

    def _result(self, future: Any, limit_s: float, what: str) -> Any:
        self._wait(future.done, limit_s, what)
        return future.result()

    def _wait(self, is_done: Callable[[], bool], limit_s: float, what: str) -> None:
        ends = time.monotonic() + limit_s
        while not is_done():
            self._check()
            if time.monotonic() > ends:
                raise EmvError(f'waited {limit_s:.0f} s for {what} in vain')
            try:
                self._executor.spin_once(timeout_sec=POLL_S)
            except ExternalShutdownException as error:
                raise KeyboardInterrupt from error  # a signal came: rclpy took it

