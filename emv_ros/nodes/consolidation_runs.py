"""Consolidations of a node: one at a time, each can be canceled, none outlives the node.

A run makes the tree of each robot, then the text vectors of what has none yet.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
import logging
import threading

from emv_ros.nodes.cancels import Cancels
from emv_ros.nodes.consolidation_run import Consolidation, Outcome, Request, Step

log = logging.getLogger(__name__)

POLL_S = 0.05


class Runs(Cancels):
    """Runs consolidations; safe from several threads."""

    def __init__(self, consolidation: Consolidation) -> None:
        super().__init__()
        self._consolidation = consolidation
        self._turn = threading.Lock()

    def begin(self, request: Request, finished: Callable[[Outcome], None]) -> None:
        """Run in the background, unless a run is under way; `finished` gets what came of it."""
        with self._changed:
            if self._cancels:
                return
            key = object()
            self._cancels[key] = threading.Event()
        threading.Thread(
            target=self._in_background, args=(key, request, finished), name='emv_consolidation',
            daemon=True).start()

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

    def _in_background(self, key: Hashable, request: Request,
                       finished: Callable[[Outcome], None]) -> None:
        try:
            outcome = self.run(key, request)
        except Exception as error:  # the end of this thread: a bug must not end the process
            log.exception('a consolidation failed')
            outcome = Outcome(status='error', message=f'{type(error).__name__}: {error}')
        finished(outcome)
