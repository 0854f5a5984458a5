"""Questions under way in a node: each can be canceled, and none outlives the node."""

from __future__ import annotations

from collections.abc import Callable, Hashable
import threading
import time
from typing import TYPE_CHECKING

from emv_ros.agent.answers import Answer, Progress, Question

if TYPE_CHECKING:
    from emv_ros.agent.agent import Agent

Report = Callable[[Progress, float], None]


class Questions:
    """Asks the agent on behalf of services and actions; safe from several threads."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._changed = threading.Condition()
        self._cancels: dict[Hashable, threading.Event] = {}

    def begin(self, key: Hashable) -> None:
        """Note a question, so that it can be canceled before it is asked."""
        with self._changed:
            self._cancels[key] = threading.Event()

    def cancel(self, key: Hashable) -> None:
        """Cancel one question, if it is under way."""
        with self._changed:
            if key in self._cancels:
                self._cancels[key].set()

    def ask(self, key: Hashable, question: Question, report: Report | None = None) -> Answer:
        """Ask a question that was begun, and wait for the answer; `report` gets progress and s."""
        began = time.monotonic()

        def told(progress: Progress) -> None:
            if report is not None:
                report(progress, time.monotonic() - began)

        with self._changed:
            canceled = self._cancels[key]
        return self._agent.ask(question, cancel=canceled, on_progress=told)

    def end(self, key: Hashable) -> None:
        """Forget a question that is over."""
        with self._changed:
            self._cancels.pop(key, None)
            self._changed.notify_all()

    def close(self, timeout_s: float) -> bool:
        """Cancel all and wait for their ends; False where the time was not enough."""
        with self._changed:
            for canceled in self._cancels.values():
                canceled.set()
            return self._changed.wait_for(lambda: not self._cancels, timeout_s)
