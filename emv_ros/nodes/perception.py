"""Looks at the pictures that the memory holds: scenes and observations as the robot goes.

The work runs in a thread of its own, which begins a pass every so often; what it did not come to
stays in the memory for the next one. Where it cannot keep up, it passes pictures over, never
events. Without a detector, and without boxes from the robot, it does nothing, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
import threading
import time
from typing import TYPE_CHECKING, Any

from emv_ros.errors import EmvError, StoreBusyError
from emv_ros.memory.store import MemoryStore
from emv_ros.nodes.lifecycle import MemoryNode
from emv_ros.nodes.running import run
from emv_ros.nodes.status import NodeState, StatusPublisher
from emv_ros.nodes.survey import Survey
from emv_ros.perception.perceive import (
    NOTHING_TO_SEE_WITH,
    PerceptionReport,
    can_see,
    perceive,
)

if TYPE_CHECKING:
    from emv_ros.perception.detections import Detector
    from emv_ros.perception.looks import AppearanceModel

END_S = 30.0


class PerceptionNode(MemoryNode):
    """Keeps scenes and observations up to date with the pictures."""

    areas = ('memory', 'perception', 'biography')

    def __init__(self, name: str = 'perception', **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self._detector: Detector | None = None
        self._appearance: AppearanceModel | None = None
        self._is_loaded = self._has_looks = False
        self._notes: dict[str, str] = {}
        self._waiting = (0, 0.0)  # pictures in clips that are not over, and since when
        self._known = 0  # pictures that were there when the latest pass began
        self._passed_over = 0

    def open(self) -> None:
        """Open the memory; the models are loaded by the first pass."""
        self._store = MemoryStore.open(self.settings.memory)
        self._survey = Survey(self._store)

    def start(self) -> None:
        """Begin to look."""
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._work, name='emv_perception', daemon=True)
        self._thread.start()
        self._status = StatusPublisher(self, self.state)

    def stop(self) -> None:
        """End the pass that is under way; its clip is looked at again."""
        self._ends.set()
        self._thread.join(END_S)
        if self._thread.is_alive():
            self.get_logger().error(f'a pass did not end within {END_S} s of its cancel')
        self._status.close()

    def close(self) -> None:
        """Close the memory."""
        self._detector = self._appearance = None
        self._is_loaded = self._has_looks = False
        self._notes.clear()
        self._waiting = (0, 0.0)
        self._survey.close()
        self._store.close()

    def _work(self) -> None:
        while not self._ends.is_set():
            try:
                if self._can_see():
                    self._pass()
            except StoreBusyError as error:
                self._notes['pass'] = str(error)  # the next one tries again
            except Exception as error:  # the border of this thread: it must live on
                self.faults.add('perceive', error)
            self._ends.wait(self.settings.perception.period_s)

    def _can_see(self) -> bool:
        """Load the models once they are needed; whether there is anything to see with."""
        if not self._is_loaded:
            self._is_loaded, self._detector = True, self._made('detector', 'nothing is detected')
        is_seeing = self._detector is not None or can_see(self._store)
        self._notes['blind'] = '' if is_seeing else NOTHING_TO_SEE_WITH
        if is_seeing and not self._has_looks:
            self._has_looks = True
            self._appearance = self._made('appearance', 'observations get no looks')
        return is_seeing

    def _made(self, what: str, without: str) -> Any:
        """Return a model as the settings name it; one that cannot be had is told."""
        try:
            if what == 'detector':
                from emv_ros.perception.detectors import make_detector

                return make_detector(self.settings.perception)
            from emv_ros.perception.appearance import make_appearance

            return make_appearance(self.settings.perception)
        except Exception as error:  # of a network, whatever it is: the node does without it
            said = str(error) if isinstance(error, EmvError) else (
                f'{type(error).__name__}: {error}')
            self._notes[what] = f'{without}: {said}'
            self.get_logger().error(self._notes[what])
            return None

    def _pass(self) -> None:
        self._known = self._survey.latest().counts.get('image', 0)
        report = perceive(
            self._store, self.settings, detector=self._detector, appearance=self._appearance,
            finish=self._is_at_rest(), catch_up=True, cancel=self._ends)
        if report.waiting != self._waiting[0] or report.clips:
            self._waiting = report.waiting, time.monotonic()
        self._passed_over += report.passed_over
        self._notes['pass'] = '; '.join(report.problems)
        self._log(report)

    def _is_at_rest(self) -> bool:
        """Whether no picture came for so long that the last clip is over."""
        count, since_s = self._waiting
        return bool(count) and (
            time.monotonic() - since_s > self.settings.perception.clip_gap_s)

    def _log(self, report: PerceptionReport) -> None:
        for problem in report.problems:
            self.get_logger().warning(problem)
        if report.clips:
            self.get_logger().info(
                f'{report.pictures} pictures looked at, {report.passed_over} passed over, '
                f'{report.observations} observations')

    def state(self) -> NodeState:
        """Return what the status tells."""
        found = self._survey.latest()
        problems = [self.faults.words, found.problem, *self._notes.values()]
        newer = max(0, found.counts.get('image', 0) - self._known)
        return NodeState(
            findings=found, problems=[words for words in problems if words],
            facts={'backlog (pictures)': self._waiting[0] + newer,
                   'passed over (pictures)': self._passed_over,
                   'detector': self._detector.name if self._detector else 'none'})


def main(args: Sequence[str] | None = None) -> int:
    """Run the node alone."""
    return run(PerceptionNode, args)
