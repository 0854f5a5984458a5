"""Runs nodes in a process: executors in threads, signals in the main thread, an orderly end.

SIGINT and SIGTERM end the process with status 0 after everything received is written and the
database is closed; a second signal ends it at once. The main thread only waits, since a signal
must be able to interrupt it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
import logging
import signal
import threading
import time
from typing import Any

import rclpy
from rclpy._rclpy_pybind11 import InvalidHandle, RCLError
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from emv_ros.errors import EmvError
from emv_ros.nodes.lifecycle import MemoryNode
from emv_ros.nodes.logs import forward_logs

log = logging.getLogger(__name__)

CHECK_PERIOD_S = 0.1
ROOM_PERIOD_S = 2.0
Group = tuple[Callable[[], Executor], Sequence[MemoryNode]]


class Spinner:
    """An executor in a thread of its own that outlives broken messages."""

    def __init__(self, executor: Executor, nodes: Iterable[MemoryNode]) -> None:
        self.executor = executor
        self.nodes = list(nodes)
        for node in self.nodes:
            executor.add_node(node)
        # A round of an executor costs more than a message: nodes that take all that waits at once
        # let some come together first.
        self._pace_s = min((node.pace_s for node in self.nodes), default=0.0)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._spin, name='emv_executor')

    def start(self) -> None:
        """Begin to execute callbacks."""
        self._thread.start()

    def stop(self) -> None:
        """Execute no further callback, and wait for those under way."""
        self._ends.set()
        if self._thread.is_alive():
            # A mere wake lets it go on waiting; a task lets it come back.
            self.executor.create_task(lambda: None)
            self._thread.join()
        self.executor.shutdown()

    def _spin(self) -> None:
        while not self._ends.is_set() and self.executor.context.ok():
            try:
                self.executor.spin_once()
            except Exception as error:  # text that is no UTF-8 fails before any callback of ours
                if _tells_of_what_went(error):
                    log.debug('an entity went while its executor was about to wait for it')
                elif not self._ends.is_set():
                    self.nodes[0].faults.add('executor', error)
            if self._pace_s:
                time.sleep(self._pace_s)


def _tells_of_what_went(error: Exception) -> bool:
    """Whether an entity was destroyed while its executor was about to wait for it.

    As when a node is brought down: the next round does without it. rclpy skips a subscription or a
    timer of which it sees so in time, but adds an action server to the wait set all the same, and
    rcl refuses it by words alone.
    """
    return isinstance(error, InvalidHandle) or (
        isinstance(error, RCLError) and 'pointer is invalid' in str(error))


def run(node_class: Callable[[], MemoryNode], args: Sequence[str] | None = None,
        executor: Callable[[], Executor] = SingleThreadedExecutor) -> int:
    """Run one node until a signal comes, and return the exit status."""
    return run_groups(lambda: [(executor, [node_class()])], args)


def run_groups(make: Callable[[], Sequence[Group]], args: Sequence[str] | None = None) -> int:
    """Run groups of nodes, each on its own executor; see `run`.

    The status is 1 where a node could not start, 2 where a parameter is wrong.
    """
    told: list[int] = []  # a list: an Event set by a handler can block the thread that waits for it
    _on_signals(told)
    spinners: list[Spinner] = []
    try:
        rclpy.init(args=None if args is None else list(args),
                   signal_handler_options=SignalHandlerOptions.NO)
        spinners = [Spinner(executor(), nodes) for executor, nodes in make()]
        nodes = [node for spinner in spinners for node in spinner.nodes]
        forward_logs(nodes[0].get_logger())
        if not all(_bring_up(node, told) for node in nodes):
            return 0 if told else 1
        for spinner in spinners:
            spinner.start()
        nodes[0].get_logger().info('running: ' + ', '.join(
            f'{node.get_name()}{"" if node.is_active else " (inactive)"}' for node in nodes))
        while not told and rclpy.ok():
            time.sleep(CHECK_PERIOD_S)
        return 0
    except (EmvError, ParameterException, RCLError) as error:  # RCLError: of the arguments
        rclpy.logging.get_logger('emv_ros').fatal(str(error))
        return 2
    finally:
        _end(spinners)


def _bring_up(node: MemoryNode, told: Sequence[int]) -> bool:
    """Bring a node up, where the disk is full as soon as there is room; False where it cannot be.

    False also where a signal comes meanwhile.
    """
    while not node.bring_up():
        if not node.waits_for_room or told:
            return False
        node.get_logger().warning(
            f'{node.get_name()} waits for room on the disk', once=True)
        end_s = time.monotonic() + ROOM_PERIOD_S
        while not told and time.monotonic() < end_s:
            time.sleep(CHECK_PERIOD_S)
    return True


def _end(spinners: Sequence[Spinner]) -> None:
    for spinner in spinners:
        for node in spinner.nodes:
            node.bring_down()
    for spinner in spinners:
        spinner.stop()
    for spinner in spinners:
        for node in spinner.nodes:
            node.destroy_node()
    rclpy.try_shutdown()


def _on_signals(told: list[int]) -> None:
    def end(number: int, _frame: Any) -> None:
        told.append(number)
        signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
