"""Answers questions about the memory: in words, as service and as action, and typed look-ups.

A question takes seconds to minutes and holds a thread meanwhile; look-ups have a callback group of
their own and come back at once, and so has forgetting.
"""

from __future__ import annotations

from collections.abc import Sequence
import threading
from typing import Any
from uuid import uuid4

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor

from emv_ros import srv
from emv_ros.agent.answers import Question
from emv_ros.memory.store import MemoryStore
from emv_ros.nodes import conversions
from emv_ros.nodes.faults import guarded_service
from emv_ros.nodes.lifecycle import MemoryNode
from emv_ros.nodes.model_calls import ModelCalls
from emv_ros.nodes.parameters import declare
from emv_ros.nodes.question_action import QuestionAction
from emv_ros.nodes.questions import Questions
from emv_ros.nodes.running import run_groups
from emv_ros.nodes.status import NodeState, StatusPublisher
from emv_ros.nodes.survey import Survey

QUESTION = 'query_episodic_memory'
END_S = 10.0
SPARE_THREADS = 8


class QueryNode(MemoryNode):
    """Serves questions and look-ups."""

    areas = ('memory', 'privacy', 'retrieval', 'model', 'agent')

    def __init__(self, name: str = 'query', **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self._asking = ReentrantCallbackGroup()
        self._looking = ReentrantCallbackGroup()
        self.preload: bool = declare(
            self, 'preload', True, 'load the models at start; False: at the first question')
        self._loading: list[threading.Thread] = []

    @property
    def threads(self) -> int:
        """Threads that keep look-ups quick while as many questions as are allowed are open."""
        return 2 * self.settings.agent.parallel_questions + SPARE_THREADS

    def open(self) -> None:
        """Open the memory, and begin to load the models."""
        from emv_ros.agent.agent import Agent
        from emv_ros.agent.models.client import ModelClient
        from emv_ros.nodes.corrections import Corrections
        from emv_ros.nodes.lookups import Lookups
        from emv_ros.retrieval.search import Searcher

        self._store = MemoryStore.open(self.settings.memory)
        self._calls = ModelCalls(self._store)
        self._model = ModelClient(self.settings.model, on_call=self._calls.note)
        searcher = Searcher(self._store, self.settings.retrieval)
        self._questions = Questions(Agent(self._store, self.settings, self._model, searcher))
        self._survey = Survey(self._store)
        self._lookups = Lookups(self._store, searcher, self._now_ns)
        self._corrections = Corrections(self._store, self._now_ns)
        if self.preload:
            vectors = threading.Thread(target=searcher.load, name='emv_vectors')
            vectors.start()
            self._loading = [thread for thread in (vectors, self._model.warm()) if thread]

    def start(self) -> None:
        """Serve."""
        from emv_ros.nodes.forgetting import Forgetting

        self._calls.reset()
        lookups = self._lookups
        self._served = [self.create_service(kind, name, callback, callback_group=group)
                        for kind, name, callback, group in (
            (srv.QueryEpisodicMemory, QUESTION, self.answer, self._asking),
            (srv.SearchEpisodicMemory, 'search_episodic_memory', lookups.search, self._looking),
            (srv.GetEvents, 'get_events', lookups.events, self._looking),
            (srv.GetEpisodes, 'get_episodes', lookups.episodes, self._looking),
            (srv.GetBiography, 'get_biography', lookups.biography, self._looking),
            (srv.GetEvidenceImage, 'get_evidence_image', lookups.images, self._looking),
            (srv.CorrectEntity, 'correct_entity', self.correct, self._looking))]
        self._action = QuestionAction(
            self, QUESTION, self._questions, self._question, self._asking)
        self._forgetting = Forgetting(self, self._store, self._now_ns)
        self._status = StatusPublisher(self, self.state)

    def stop(self) -> None:
        """Cancel what is asked, and serve no more."""
        if not self._questions.close(END_S):
            self.get_logger().error(f'a question did not end within {END_S} s of its cancel')
        if not self._forgetting.close(END_S):
            self.get_logger().error(f'a forgetting did not end within {END_S} s')
        for service in self._served:
            self.destroy_service(service)
        self._action.close()
        self._status.close()

    def close(self) -> None:
        """Close the memory."""
        for thread in self._loading:
            thread.join(END_S)
        self._survey.close()
        self._store.close()

    @guarded_service
    def answer(self, request: Any, response: Any) -> Any:
        """Answer a question of the service."""
        key = uuid4()
        self._questions.note(key)
        try:
            question = self._question(request)
            return conversions.answer_to_ros(self._questions.ask(key, question), response)
        finally:
            self._questions.forget(key)

    @guarded_service
    def correct(self, request: Any, response: Any) -> Any:
        """Merge, split or rename entities, as a person says."""
        return self._corrections.correct(request, response)

    def _question(self, request: Any) -> Question:
        return conversions.question_from_ros(request, self._now_ns())

    def _now_ns(self) -> int:
        now_ns: int = self.get_clock().now().nanoseconds
        if not now_ns:  # simulated time that has not begun: everything recorded is past
            return (self._survey.latest().end_ns or 0) + 1
        # What is recorded of this very moment is known, also where a simulated clock stands still.
        return now_ns + 1

    def state(self) -> NodeState:
        """Return what the status tells."""
        missing = self._model.why_unavailable()
        problems = [self.faults.words, self._survey.latest().problem,
                    missing and f'questions are only looked up: {missing}']
        return NodeState(
            findings=self._survey.latest(), problems=[words for words in problems if words],
            model=self._model.name('agent'), is_model_ready=not missing,
            model_errors=self._calls.errors)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node alone."""
    def make() -> Any:
        node = QueryNode()
        return [(lambda: MultiThreadedExecutor(node.threads), [node])]
    return run_groups(make, args)
