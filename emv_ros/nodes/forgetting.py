"""The action by which records are forgotten: a preview first, then for good.

It has a callback group of its own, so that questions and look-ups go on meanwhile; what is written
waits for the one transaction in which all goes. A cancel counts until that is committed. One
forgetting at a time: another gets STATUS_BUSY.
"""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup

from emv_ros.action import ForgetMemory
from emv_ros.agent.forgetting import Forgotten, forget
from emv_ros.errors import (
    EmvError,
    ForgettingCanceledError,
    NotFoundError,
    RecordError,
    ShareError,
    StoreBusyError,
)
from emv_ros.memory.choosing import Choice
from emv_ros.memory.details import parse_id
from emv_ros.memory.store import MemoryStore
from emv_ros.msg import RecordCounts
from emv_ros.nodes import conversions
from emv_ros.nodes.cancelling import is_canceling
from emv_ros.nodes.cancels import Cancels
from emv_ros.nodes.faults import guarded, in_words
from emv_ros.nodes.lifecycle import MemoryNode

NAME = 'forget_memory'
KINDS = {number: kind for kind, number in conversions.KINDS.items()}
Result = ForgetMemory.Result
# What an error of ours means to the asker; the first that fits counts.
_STATUSES: tuple[tuple[type[EmvError], int], ...] = (
    (ForgettingCanceledError, Result.STATUS_CANCELED), (NotFoundError, Result.STATUS_NOT_FOUND),
    (RecordError, Result.STATUS_INVALID_REQUEST), (ShareError, Result.STATUS_INVALID_REQUEST),
    (StoreBusyError, Result.STATUS_BUSY), (EmvError, Result.STATUS_ERROR))


class Forgetting:
    """Serves ForgetMemory over one memory."""

    def __init__(self, node: MemoryNode, store: MemoryStore, now_ns: Callable[[], int]) -> None:
        self.faults = node.faults
        self._node = node
        self._store = store
        self._now_ns = now_ns
        self._cancels = Cancels()
        self._server = ActionServer(
            node, ForgetMemory, NAME, self.execute, callback_group=ReentrantCallbackGroup(),
            handle_accepted_callback=self.accept, cancel_callback=self.cancel)

    def close(self, timeout_s: float) -> bool:
        """Cancel what can be canceled, wait for the rest, and serve no more; False: it goes on."""
        is_over = self._cancels.close(timeout_s)
        self._server.destroy()
        return is_over

    @guarded
    def accept(self, goal: Any) -> None:
        """Note a goal, then let it run: from here on it can be canceled."""
        self._cancels.note(bytes(goal.goal_id.uuid))
        goal.execute()

    def cancel(self, goal: Any) -> CancelResponse:
        """Cancel a goal; one whose commit is done goes on to its end."""
        self._cancels.cancel(bytes(goal.goal_id.uuid))
        return CancelResponse.ACCEPT

    def execute(self, goal: Any) -> Any:
        """Forget, or count; the terminal state of the goal tells whether it was done."""
        key, began = bytes(goal.goal_id.uuid), time.monotonic()
        result = Result()
        try:
            _fill(result, self._forget(goal, key))
        except Exception as error:  # the border of this callback: the asker gets the reason
            result.status = next((status for kind, status in _STATUSES
                                  if isinstance(error, kind)), Result.STATUS_ERROR)
            result.message = in_words(error)
            if result.status == Result.STATUS_ERROR:
                self.faults.add(NAME, error)
        finally:
            self._cancels.forget(key)
        result.duration_s = time.monotonic() - began
        self._conclude(goal, result.status)
        return result

    def _forget(self, goal: Any, key: bytes) -> Forgotten:
        request = goal.request
        if request.confirm and not request.author.strip():
            raise RecordError('to confirm, author must tell who asks for it')
        return forget(
            self._store, choice_from_ros(request), author=request.author, reason=request.reason,
            stamp_ns=self._now_ns(), max_share=self._node.settings.memory.max_share,
            force=request.force, dry_run=not request.confirm,
            progress=lambda *step: self._tell(goal, *step), cancel=self._cancels.canceled(key))

    @guarded
    def _tell(self, goal: Any, phase: str, done: int, total: int) -> None:
        feedback = ForgetMemory.Feedback(done=done, total=total)
        feedback.phase = getattr(feedback, f'PHASE_{phase.upper()}')
        goal.publish_feedback(feedback)

    @guarded
    def _conclude(self, goal: Any, status: int) -> None:
        if status == Result.STATUS_OK:
            goal.succeed()
        elif status == Result.STATUS_CANCELED and is_canceling(goal, self._node):
            goal.canceled()
        else:
            goal.abort()


def choice_from_ros(request: Any) -> Choice:
    """Return what a goal chooses. Raises RecordError for ids, kinds or times that are none."""
    references = []
    for text in request.ids:
        reference = parse_id(text)
        if reference is None:
            raise RecordError(f'{text!r} is no id: a letter and a number, as u4 or e3')
        references.append(reference)
    if unknown := [number for number in request.kinds if number not in KINDS]:
        raise RecordError(f'{unknown[0]} is no kind of record, one of Evidence.KIND_*')
    window = conversions.window_from_ros(request)
    return Choice(
        references=tuple(references), robots=window.robots, start_ns=window.start_ns,
        end_ns=window.end_ns, kinds=frozenset(KINDS[number] for number in request.kinds),
        speakers=tuple(request.speakers), text=request.text)


def _fill(result: Any, done: Forgotten) -> None:
    result.status, result.message = Result.STATUS_OK, done.note
    result.counts = RecordCounts(**{
        name: done.numbers.get(name, 0) for name in conversions.COUNTS if name != 'nodes'})
    result.nodes_rewritten = done.numbers.get('nodes_rewritten', 0)
    result.bytes_freed = done.bytes
    result.audit_id = '' if done.audit_id is None else str(done.audit_id)
