"""Servers of what a later version brings: they refuse with STATUS_UNSUPPORTED and a reason."""

from __future__ import annotations

from typing import Any

from rclpy.action import ActionServer
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node

from emv_ros.action import ForgetMemory

FORGET = 'forget_memory'
NO_FORGETTING = 'this version cannot forget records; nothing was deleted'


class Refusals:
    """The servers, until they have work to do."""

    def __init__(self, node: Node, group: CallbackGroup) -> None:
        self._forget = ActionServer(
            node, ForgetMemory, FORGET, self._refuse_to_forget, callback_group=group)

    def close(self) -> None:
        """Serve no more."""
        self._forget.destroy()

    @staticmethod
    def _refuse_to_forget(goal: Any) -> Any:
        goal.abort()
        return ForgetMemory.Result(
            status=ForgetMemory.Result.STATUS_UNSUPPORTED, message=NO_FORGETTING)
