"""What one question may use, and that it is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import threading
import time

from emv_ros.errors import ModelCanceledError, ModelTimeoutError


class LimitReached(Exception):  # noqa: N818 - the end of a loop, no error of anything
    """A guard of the loop; the message says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Rounds, tokens in all and of each prompt, wall time (counting down), the caller's wish."""

    rounds: int
    tokens: int
    prompt_tokens: int
    time_left_s: Callable[[], float]
    cancel: threading.Event | None = None

    @property
    def is_canceled(self) -> bool:
        """Whether the caller gave up."""
        return self.cancel is not None and self.cancel.is_set()

    def why_stopped(self) -> str:
        """Return why nothing more may be done, or ''."""
        if self.is_canceled:
            return 'the question was canceled'
        return 'the time for the question is over' if self.time_left_s() <= 0 else ''

    def check(self) -> None:
        """Raise ModelCanceledError or ModelTimeoutError where nothing more may be done."""
        if why := self.why_stopped():
            raise (ModelCanceledError if self.is_canceled else ModelTimeoutError)(why)


def started(time_limit_s: float) -> Callable[[], float]:
    """Return a function that gives the seconds left of a limit that starts now."""
    ends = time.monotonic() + time_limit_s
    return lambda: ends - time.monotonic()
