"""The action server of questions: progress as feedback, and cancel at any time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import CallbackGroup

from emv_ros.action import QueryEpisodicMemory
from emv_ros.agent.answers import Answer, QueryStatus, Question
from emv_ros.errors import RecordError
from emv_ros.nodes import conversions
from emv_ros.nodes.cancelling import is_canceling
from emv_ros.nodes.faults import guarded, in_words
from emv_ros.nodes.lifecycle import MemoryNode
from emv_ros.nodes.questions import Questions

ANSWERED = (QueryStatus.ANSWERED, QueryStatus.NOT_RECORDED, QueryStatus.RETRIEVED_ONLY)


class QuestionAction:
    """Answers goals; `read` makes the question of a goal's request."""

    def __init__(self, node: MemoryNode, name: str, questions: Questions,
                 read: Callable[[Any], Question], group: CallbackGroup) -> None:
        self.faults = node.faults
        self._node = node
        self._questions = questions
        self._read = read
        self._server = ActionServer(
            node, QueryEpisodicMemory, name, self.execute, callback_group=group,
            handle_accepted_callback=self.accept, cancel_callback=self.cancel)

    def close(self) -> None:
        """Serve no more."""
        self._server.destroy()

    @guarded
    def accept(self, goal: Any) -> None:
        """Note a goal, then let it run: from here on it can be canceled."""
        self._questions.note(bytes(goal.goal_id.uuid))
        goal.execute()

    def cancel(self, goal: Any) -> CancelResponse:
        """Cancel a goal; what is past cancelling is answered instead."""
        self._questions.cancel(bytes(goal.goal_id.uuid))
        return CancelResponse.ACCEPT

    def execute(self, goal: Any) -> Any:
        """Answer; the terminal state of the goal tells whether there is an answer."""
        key = bytes(goal.goal_id.uuid)
        try:
            answer = self._questions.ask(
                key, self._read(goal.request), lambda *progress: self._tell(goal, *progress))
        except Exception as error:  # the border of this callback: the asker gets the reason
            if not isinstance(error, RecordError):
                self.faults.add('execute', error)
            answer = Answer(status=QueryStatus.ERROR, message=in_words(error))
        finally:
            self._questions.forget(key)
        self._conclude(goal, answer)
        return conversions.answer_to_ros(answer, QueryEpisodicMemory.Result())

    @guarded
    def _tell(self, goal: Any, *progress: Any) -> None:
        goal.publish_feedback(conversions.progress_to_ros(
            *progress, QueryEpisodicMemory.Feedback()))

    @guarded
    def _conclude(self, goal: Any, answer: Answer) -> None:
        if answer.status in ANSWERED:
            goal.succeed()
        elif answer.status is QueryStatus.CANCELED and is_canceling(goal, self._node):
            goal.canceled()
        else:
            goal.abort()
