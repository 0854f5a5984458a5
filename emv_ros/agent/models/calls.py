"""Calls that can be left behind: each runs in its own thread, and its caller waits as it likes.

A thread cannot be killed. So a call that is given up is told to stop (whoever can hear that stops:
the embedded model does within a batch), its result is dropped, and the number that still hang is
bounded. At the exit of the interpreter all are told to stop and waited for shortly: a thread that
dies within an import or within llama.cpp would hang it.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
import threading
import time
from typing import Any

from emv_ros.errors import ModelCanceledError, ModelError, ModelTimeoutError, ModelUnavailableError

# How often a waiting caller looks whether it was canceled.
POLL_S = 0.05
# Calls that may hang in a provider after they were given up; past this no new one is begun.
MAX_HANGING = 16
# Longest waits at exit: for calls that listen, and for those that hang in somebody's socket.
EXIT_WAIT_S = 6.0
EXIT_WAIT_HANGING_S = 0.5


@dataclass
class Call:
    """What one call carries past litellm: the order to stop inwards, our own error outwards."""

    given_up: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    error: ModelError | None = None
    result: Any = None
    listens: bool = False
    fixed_messages: int = 0


# The call under way in this thread; litellm copies and logs its keyword arguments, so it does not
# travel there.
current_call: ContextVar[Call | None] = ContextVar('current_call', default=None)


@dataclass(frozen=True)
class Limits:
    """When a call must be over (`ends`, monotonic s; `seconds` as asked), who may cancel it."""

    ends: float
    seconds: float
    cancel: threading.Event | None

    @property
    def left_s(self) -> float:
        """Seconds to the deadline."""
        return self.ends - time.monotonic()

    def check(self, model: str) -> None:
        """Raise ModelCanceledError or ModelTimeoutError where it is so far."""
        if self.cancel is not None and self.cancel.is_set():
            raise ModelCanceledError(f'{model}: canceled')
        if self.left_s <= 0:
            raise ModelTimeoutError(f'{model}: no answer within {self.seconds:g} s')

    def wait(self, model: str, done: threading.Event, longest_s: float = float('inf')) -> None:
        """Wait for `done`, at most `longest_s`; raises as `check` does."""
        until = time.monotonic() + longest_s
        while not done.is_set():
            self.check(model)
            pause_s = min(POLL_S, until - time.monotonic(), self.left_s)
            if pause_s <= 0 and until <= time.monotonic():
                return
            done.wait(max(pause_s, 0.0))


_lock = threading.Lock()
_live: dict[threading.Thread, Call] = {}


def run(work: Callable[[Call], Any], model: str, limits: Limits, call: Call) -> Any:
    """Return what `work` returns, or raise its ModelError; leave it behind when `limits` say so.

    `call.listens` tells that it watches `call.given_up`. Raises ModelUnavailableError where too
    many calls hang already.
    """
    thread = threading.Thread(
        target=_run, args=(work, call), name='model-call', daemon=True)
    with _lock:
        hanging = [past for past in _live.values() if past.given_up.is_set()]
        if len(hanging) >= MAX_HANGING:
            raise ModelUnavailableError(f'{model}: {len(hanging)} earlier calls still hang')
        _live[thread] = call
    thread.start()
    try:
        limits.wait(model, call.done)
    finally:
        if not call.done.is_set():  # by a limit of ours, or because this thread is being ended
            call.given_up.set()
    if call.error is not None:
        raise call.error
    return call.result


def _run(work: Callable[[Call], Any], call: Call) -> None:
    current_call.set(call)
    try:
        call.result = work(call)
    except ModelError as error:
        call.error = error
    finally:
        call.done.set()
        with _lock:
            _live.pop(threading.current_thread(), None)


def _leave() -> None:
    with _lock:
        left = list(_live.items())
    for _, call in left:
        call.given_up.set()
    began = time.monotonic()
    for thread, call in left:
        longest_s = EXIT_WAIT_S if call.listens else EXIT_WAIT_HANGING_S
        thread.join(max(0.0, longest_s - (time.monotonic() - began)))


atexit.register(_leave)
