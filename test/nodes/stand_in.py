"""A stand-in for a robot's own nodes: it publishes, listens to the status, calls services."""

from __future__ import annotations

import threading
import time
from typing import Any

import rclpy
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from emv_ros.action import QueryEpisodicMemory
from emv_ros.msg import MemoryStatus

LIMIT_S = 20.0


def qos(reliable: bool = True, latched: bool = False, depth: int = 1000) -> QoSProfile:
    return QoSProfile(
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE)


class Statuses(dict[str, MemoryStatus]):
    """The latest status by node; an empty one of who has told none yet."""

    def __missing__(self, node: str) -> MemoryStatus:
        return MemoryStatus()


class Robot:
    """Spins in a thread of its own."""

    def __init__(self) -> None:
        self.node = rclpy.create_node('robot_under_test')
        self.statuses = Statuses()
        self.heard: list[Any] = []
        self.node.create_subscription(
            MemoryStatus, 'memory_status', self._note, qos(latched=True, depth=50))
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._ends = False
        self._thread = threading.Thread(target=self._spin)
        self._thread.start()

    def _spin(self) -> None:
        while not self._ends:
            self._executor.spin_once(timeout_sec=0.1)

    def close(self) -> None:
        self._ends = True
        self._thread.join()
        self._executor.shutdown()
        self.node.destroy_node()

    def _note(self, status: MemoryStatus) -> None:
        self.statuses[status.node.rsplit('/', 1)[-1]] = status

    def topic(self, node: str, topic: str) -> Any:
        """Return the latest status of a topic of a node, or None."""
        status = self.statuses.get(node)
        return next((item for item in status.topics if item.topic == topic), None) if (
            status) else None

    def publisher(self, kind: type, topic: str, *, wait: bool = True, **how: bool) -> Any:
        """Return a publisher that a subscriber has found."""
        publisher = self.node.create_publisher(kind, topic, qos(**how))
        if wait:
            wait_until(publisher.get_subscription_count, f'a subscriber of {topic}')
        return publisher

    def action_client(self, kind: type, name: str) -> ActionClient:
        """Return a client of an action that is there."""
        # In the thread that spins: rclpy shows a client to its executor before it is complete.
        made = self._executor.create_task(lambda: ActionClient(self.node, kind, name))
        wait_until(made.done, f'a client of {name}')
        assert made.result().wait_for_server(LIMIT_S), f'no action {name}'
        return made.result()

    def end(self, client: ActionClient) -> None:
        """Destroy a client of an action."""
        wait_until(self._executor.create_task(client.destroy).done, 'the end of a client')

    def listen(self, kind: type, topic: str) -> list[Any]:
        """Return a list that messages go into."""
        heard: list[Any] = []
        self.node.create_subscription(kind, topic, heard.append, qos())
        return heard

    def look_up(self, kind: type, service: str, **fields: Any) -> Any:
        """Call a service that changes nothing; DDS may lose a response to a client just found."""
        for _ in range(3):
            try:
                return self.call(kind, service, LIMIT_S / 4, **fields)
            except AssertionError as error:
                if 'a response' not in str(error):
                    raise
        return self.call(kind, service, **fields)

    def call(self, kind: type, service: str, limit_s: float = LIMIT_S, **fields: Any) -> Any:
        """Call a service and return its response."""
        client = self.node.create_client(kind, service)
        try:
            assert client.wait_for_service(limit_s), f'no service {service}'
            future = client.call_async(kind.Request(**fields))
            wait_until(future.done, f'a response of {service}', limit_s)
            return future.result()
        finally:
            self.node.destroy_client(client)


def wait_until(condition: Any, what: str, limit_s: float = LIMIT_S) -> Any:
    ends = time.monotonic() + limit_s
    while not (found := condition()):
        if time.monotonic() > ends:
            raise AssertionError(f'not within {limit_s} s: {what}')
        time.sleep(0.01)
    return found


def sent(client: Any, goal: Any, feedback: Any = None) -> Any:
    """Send a goal and return its handle."""
    future = client.send_goal_async(goal, feedback_callback=feedback)
    wait_until(future.done, 'acceptance')
    return future.result()


def result_of(handle: Any, limit_s: float = LIMIT_S) -> Any:
    """Return the terminal state of a goal with its result."""
    future = handle.get_result_async()
    wait_until(future.done, 'a result', limit_s)
    return future.result()


def asking(robot: Robot) -> ActionClient:
    """Return a client of the action that answers questions."""
    return robot.action_client(QueryEpisodicMemory, 'query_episodic_memory')
