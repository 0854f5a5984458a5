"""Asks the memory a question each period, for the bench of ingest, and tells how long answers took.

python -m emv_ros.nodes.load_questions --ros-args -p period_s:=10.0 -p account:=FILE
"""

from __future__ import annotations

from collections.abc import Sequence
import json
from pathlib import Path
import sys
from typing import Any

from rclpy.executors import SingleThreadedExecutor

from emv_ros.evaluation.load import question_text
from emv_ros.nodes.clocks import wall_clock
from emv_ros.nodes.conversions import QUERY_STATUSES
from emv_ros.nodes.lifecycle import MemoryNode
from emv_ros.nodes.parameters import declare
from emv_ros.nodes.query import QUESTION
from emv_ros.nodes.running import run
from emv_ros.srv import QueryEpisodicMemory
from emv_ros.timeline import SECOND_NS


class LoadQuestions(MemoryNode):
    """A client of the question service."""

    areas = ()

    def __init__(self, name: str = 'load_questions', **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self.period_s: float = declare(self, 'period_s', 10.0, 'time between questions, s')
        self.account = Path(declare(self, 'account', '', 'file for the account as JSON'))
        self.asked = 0
        self.answers: list[dict[str, Any]] = []

    def start(self) -> None:
        """Begin to ask."""
        self._client = self.create_client(QueryEpisodicMemory, QUESTION)
        self._timer = self.create_timer(self.period_s, self.ask, clock=wall_clock())

    def stop(self) -> None:
        """Ask no more."""
        self.destroy_timer(self._timer)

    def close(self) -> None:
        """Write the account."""
        self.account.write_text(json.dumps({'asked': self.asked, 'answers': self.answers}))

    def ask(self) -> None:
        """Ask the next question."""
        begun = wall_clock().now().nanoseconds
        request = QueryEpisodicMemory.Request(question=question_text(self.asked))
        self.asked += 1

        def note(future: Any) -> None:
            response = future.result()
            self.answers.append({
                'seconds': (wall_clock().now().nanoseconds - begun) / SECOND_NS,
                'status': str(QUERY_STATUSES[response.status]),
                'evidence': len(response.evidence)})
        self._client.call_async(request).add_done_callback(note)


def main(args: Sequence[str] | None = None) -> int:
    """Ask until a signal comes."""
    return run(LoadQuestions, args, SingleThreadedExecutor)


if __name__ == '__main__':
    sys.exit(main())
