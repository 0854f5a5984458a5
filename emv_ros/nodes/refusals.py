"""Servers of what a later version brings: they refuse with STATUS_UNSUPPORTED and a reason."""

from __future__ import annotations

from typing import Any

from rclpy.action import ActionServer
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node

from emv_ros.action import ForgetMemory
from emv_ros.srv import CorrectEntity

FORGET = 'forget_memory'
CORRECT = 'correct_entity'
NO_FORGETTING = 'this version cannot forget records; nothing was deleted'
NO_CORRECTION = 'this version does not associate entities yet; nothing was changed'


class Refusals:
    """The servers, until they have work to do."""

    def __init__(self, node: Node, group: CallbackGroup) -> None:
        self._node = node
        self._correct = node.create_service(
            CorrectEntity, CORRECT, self._refuse_correction, callback_group=group)
        self._forget = ActionServer(
            node, ForgetMemory, FORGET, self._refuse_to_forget, callback_group=group)

    def close(self) -> None:
        """Serve no more."""
        self._node.destroy_service(self._correct)
        self._forget.destroy()

    @staticmethod
    def _refuse_correction(_request: Any, response: Any) -> Any:
        response.status, response.message = response.STATUS_UNSUPPORTED, NO_CORRECTION
        return response

    @staticmethod
    def _refuse_to_forget(goal: Any) -> Any:
        goal.abort()
        return ForgetMemory.Result(
            status=ForgetMemory.Result.STATUS_UNSUPPORTED, message=NO_FORGETTING)
