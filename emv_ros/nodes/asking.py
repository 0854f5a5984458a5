"""Asks the query action one question at a time, and never waits for ever."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any

from rclpy.action import ActionClient

from emv_ros.action import QueryEpisodicMemory
from emv_ros.nodes.faults import guarded
from emv_ros.nodes.lifecycle import MemoryNode


class Asker:
    """A client of the action. `take` gets each result, None where there was none in time."""

    def __init__(self, node: MemoryNode, name: str, limit_s: float,
                 take: Callable[[Any], None]) -> None:
        self.faults = node.faults
        self._client = ActionClient(node, QueryEpisodicMemory, name)
        self._limit_s = limit_s
        self._take = take
        self._turn = 0  # which question is open: what comes late belongs to an earlier one
        self._goal: Any = None
        self._asked_s: float | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a question is open."""
        return self._asked_s is not None

    @property
    def is_reachable(self) -> bool:
        """Whether somebody serves the action."""
        return bool(self._client.server_is_ready())

    def ask(self, goal: QueryEpisodicMemory.Goal) -> None:
        """Ask; only where no question is open."""
        self._turn += 1
        self._asked_s = time.monotonic()
        turn = self._turn
        self._client.send_goal_async(goal).add_done_callback(
            lambda future: self._accepted(turn, future))

    def look(self) -> None:
        """Give up a question that takes too long, or whose server is gone."""
        if self._asked_s is not None and (
                time.monotonic() - self._asked_s > self._limit_s or not self.is_reachable):
            self._give_up()
            self._take(None)

    def close(self) -> None:
        """Give up an open question."""
        self._give_up()
        self._client.destroy()

    @guarded
    def _accepted(self, turn: int, future: Any) -> None:
        goal = future.result()
        if turn != self._turn or self._asked_s is None:
            if goal.accepted:
                goal.cancel_goal_async()
            return
        self._goal = goal
        if goal.accepted:
            goal.get_result_async().add_done_callback(lambda result: self._answered(turn, result))
        else:
            self._over(None)

    @guarded
    def _answered(self, turn: int, future: Any) -> None:
        if turn == self._turn and self._asked_s is not None:
            self._over(future.result().result)

    def _over(self, result: Any) -> None:
        self._goal = self._asked_s = None
        self._take(result)

    def _give_up(self) -> None:
        if self._goal is not None and self._goal.accepted:
            self._goal.cancel_goal_async()
        self._goal = self._asked_s = None
