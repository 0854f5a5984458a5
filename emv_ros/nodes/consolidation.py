"""Takes new records into the history tree: on a timer, and when asked to.

The work runs in a thread of its own, one run at a time, so that no callback waits for it. After
the tree come the vectors of texts, and of pictures, that have none yet; then retention lets old
records make room. What was done before a cancel or a failure stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor

from emv_ros.action import Consolidate
from emv_ros.memory.store import MemoryStore
from emv_ros.nodes import conversions
from emv_ros.nodes.cancelling import is_canceling
from emv_ros.nodes.clocks import wall_clock
from emv_ros.nodes.consolidation_run import Consolidation, Outcome, Request, Step
from emv_ros.nodes.consolidation_runs import Runs
from emv_ros.nodes.faults import guarded, in_words
from emv_ros.nodes.lifecycle import MemoryNode
from emv_ros.nodes.model_calls import ModelCalls
from emv_ros.nodes.running import run_groups
from emv_ros.nodes.status import NodeState, StatusPublisher
from emv_ros.nodes.survey import Survey

ACTION = 'consolidate'
VECTORS_SHARE = 0.5  # of the time between runs, where records wait for the next one
END_S = 30.0


class ConsolidationNode(MemoryNode):
    """Keeps the tree up to date."""

    areas = ('memory', 'perception', 'biography', 'tree', 'retrieval', 'model', 'retention')
    threads = 4

    def __init__(self, name: str = 'consolidation', **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self._timing = MutuallyExclusiveCallbackGroup()
        self._asking = ReentrantCallbackGroup()
        self._last_ns = 0

    def open(self) -> None:
        """Open the memory; the model is loaded when first needed."""
        from emv_ros.agent.models.client import ModelClient

        self._store = MemoryStore.open(self.settings.memory)
        self._calls = ModelCalls(self._store)
        self._model = ModelClient(self.settings.model, on_call=self._calls.note)
        self._survey = Survey(self._store)
        self._consolidation = Consolidation(self._store, self.settings, self._model)

    def start(self) -> None:
        """Begin to run."""
        self._calls.reset()
        self._runs = Runs(self._consolidation)
        self._timer = self.create_timer(
            self.settings.tree.period_s, self.run_in_turn, callback_group=self._timing,
            clock=wall_clock())
        self._action = ActionServer(
            self, Consolidate, ACTION, self.execute, callback_group=self._asking,
            handle_accepted_callback=self.accept, cancel_callback=self.cancel)
        self._status = StatusPublisher(self, self.state)

    def stop(self) -> None:
        """End the run that is under way."""
        self.destroy_timer(self._timer)
        if not self._runs.close(END_S):
            self.get_logger().error(f'a consolidation did not end within {END_S} s of its cancel')
        self._action.destroy()
        self._status.close()

    def close(self) -> None:
        """Close the memory."""
        self._survey.close()
        self._store.close()

    @guarded
    def run_in_turn(self) -> None:
        """Begin a run in the background, where none is under way."""
        vectors_s = VECTORS_SHARE * self.settings.tree.period_s
        self._runs.begin(Request(now_ns=self._now_ns(), vectors_s=vectors_s), self.finished)

    @guarded
    def finished(self, outcome: Outcome) -> None:
        """Note the end of a run."""
        if outcome.status in ('ok', 'limit'):
            self._last_ns = self._now_ns() or 0
        if outcome.made or outcome.changed:
            self.get_logger().info(
                f'{outcome.made} nodes made, {outcome.changed} changed, in '
                f'{outcome.duration_s:.1f} s')

    @guarded
    def accept(self, goal: Any) -> None:
        """Note a goal, then let it run."""
        self._runs.note(bytes(goal.goal_id.uuid))
        goal.execute()

    def cancel(self, goal: Any) -> CancelResponse:
        """Cancel a goal."""
        self._runs.cancel(bytes(goal.goal_id.uuid))
        return CancelResponse.ACCEPT

    def execute(self, goal: Any) -> Any:
        """Run because somebody asked for it."""
        try:
            request = conversions.consolidation_from_ros(goal.request, self._now_ns())
            outcome = self._runs.run(
                bytes(goal.goal_id.uuid), request, lambda step: self._tell(goal, step))
        except conversions.UnsupportedError as error:
            outcome = Outcome(status='unsupported', message=str(error))
        except Exception as error:  # the border of this callback: the asker gets the reason
            self.faults.add('consolidate', error)
            outcome = Outcome(status='error', message=in_words(error))
        self._runs.forget(bytes(goal.goal_id.uuid))
        if outcome.status == 'canceled' and is_canceling(goal, self):
            goal.canceled()
        elif outcome.status in ('ok', 'limit'):
            goal.succeed()
        else:
            goal.abort()
        self.finished(outcome)
        return conversions.outcome_to_ros(outcome, Consolidate.Result())

    @guarded
    def _tell(self, goal: Any, step: Step) -> None:
        goal.publish_feedback(conversions.step_to_ros(step, Consolidate.Feedback()))

    def _now_ns(self) -> int | None:
        return self.get_clock().now().nanoseconds or None

    def state(self) -> NodeState:
        """Return what the status tells."""
        missing = self._model.why_unavailable('summary')
        problems = [self.faults.words, self._survey.latest().problem, self._consolidation.note,
                    missing and f'summaries come from templates: {missing}']
        bare = self._consolidation.without_vector
        return NodeState(
            findings=self._survey.latest(), problems=[words for words in problems if words],
            last_consolidation_ns=self._last_ns, model=self._model.name('summary'),
            is_model_ready=not missing, model_errors=self._calls.errors,
            facts={} if bare is None else {'texts without a vector': bare})


def main(args: Sequence[str] | None = None) -> int:
    """Run the node alone."""
    def make() -> Any:
        return [(lambda: MultiThreadedExecutor(ConsolidationNode.threads), [ConsolidationNode()])]
    return run_groups(make, args)
