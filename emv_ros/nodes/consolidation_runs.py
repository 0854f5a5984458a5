"""Consolidations of a node: one at a time, each can be canceled, none outlives the node.

A run makes the tree of each robot, then the text vectors of what has none yet. Those of the timer
are all of one thread, which stays: a new one for each would take another arena of the allocator
each time, and leave there what it freed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
import logging
import threading

from emv_ros.nodes.cancels import Cancels
from emv_ros.nodes.consolidation_run import Consolidation, Outcome, Request, Step

log = logging.getLogger(__name__)

POLL_S = 0.05

Finished = Callable[[Outcome], None]


class Runs(Cancels):
    """Runs consolidations; safe from several threads."""

    def __init__(self, consolidation: Consolidation) -> None:
        super().__init__()
        self._consolidation = consolidation
        self._turn = threading.Lock()
        self._next: tuple[Hashable, Request, Finished] | None = None  # what the thread is to run
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def begin(self, request: Request, finished: Finished) -> None:
        """Run in the background, unless a run is under way; `finished` gets what came of it."""
        with self._changed:
            if self._cancels or self._is_closed:
                return
            key = object()
            self._cancels[key] = threading.Event()
            self._next = key, request, finished
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name='emv_consolidation', daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def close(self, timeout_s: float) -> bool:
        """Cancel all and wait for their ends; False where the time was not enough."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        return super().close(timeout_s)

    def run(self, key: Hashable, request: Request,
            report: Callable[[Step], None] = lambda _: None) -> Outcome:
        """Wait for the turn of a noted run, run, and return what came of it."""
        canceled = self.canceled(key)
        try:
            while not self._turn.acquire(timeout=POLL_S):
                if canceled.is_set():
                    return Outcome(status='canceled', message='canceled before its turn')
            try:
                return self._consolidation.run(request, canceled, report)
            finally:
                self._turn.release()
        finally:
            self.forget(key)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._next is not None or self._is_closed)
                if self._next is None:
                    return
                (key, request, finished), self._next = self._next, None
            try:
                outcome = self.run(key, request)
            except Exception as error:  # a bug must not end the thread: there would be no next run
                log.exception('a consolidation failed')
                outcome = Outcome(status='error', message=f'{type(error).__name__}: {error}')
            try:
                finished(outcome)
            except Exception:
                log.exception('the end of a consolidation could not be told')
