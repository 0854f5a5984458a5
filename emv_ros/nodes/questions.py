"""Questions under way in a node: each can be canceled, and none outlives the node."""

from __future__ import annotations

from collections.abc import Callable, Hashable
import time
from typing import TYPE_CHECKING

from emv_ros.agent.answers import Answer, Progress, Question
from emv_ros.nodes.cancels import Cancels

if TYPE_CHECKING:
    from emv_ros.agent.agent import Agent

Report = Callable[[Progress, float], None]


class Questions(Cancels):
    """Asks the agent on behalf of services and actions; safe from several threads."""

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self._agent = agent

    def ask(self, key: Hashable, question: Question, report: Report | None = None) -> Answer:
        """Ask a question that was noted, and wait for the answer; `report` gets progress and s."""
        began = time.monotonic()

        def told(progress: Progress) -> None:
            if report is not None:
                report(progress, time.monotonic() - began)

        return self._agent.ask(question, cancel=self.canceled(key), on_progress=told)
