"""A session of the `pydantic-monty` interpreter: a separate process with limits, in which a model's code runs.

The code reaches nothing but the functions that are handed in. Files, the network, the clock's ticking and sleeping
are not there. A crash or an endless loop costs the worker process, never this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
import logging
import re
from types import TracebackType
from typing import Any

from emv_ros.agent.console.prelude import PRELUDE
from emv_ros.agent.console.rewrite import CodeError, rewrite
from emv_ros.errors import ConsoleError

log = logging.getLogger(__name__)

_FRAME = re.compile(r'^\s*(File "|Traceback|[~^]+\s*$)')


@dataclass(frozen=True, slots=True)
class Output:
    """What a command printed, and its error in one line ('' where there was none)."""

    text: str
    error: str = ''


class Sandbox:
    """One console session; a context manager. Not for use by several threads at once."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]], values: Mapping[str, Any],
                 now: datetime, *, time_s: float = 5.0, memory_mb: int = 128, calls: int = 200,
                 output_chars: int = 3000) -> None:
        """Prepare a session with host functions (named `_…` for the prelude) and plain values.

        `now` is naive, local to the robot: the clock of the sandbox stands at it.
        """
        import pydantic_monty

        self._monty = pydantic_monty
        self._lookup = dict(functions)
        self._values = dict(values)
        self._output_chars = output_chars
        self._limits = {'max_feed_duration_secs': time_s, 'max_memory': memory_mb * 2**20,
                        'max_recursion_depth': 200, 'max_suspensions': calls}
        self._policy = {'datetime': now, 'sleep': 'zero', 'random_start': {'seed': 0}}
        self._pool: Any = None
        self._session: Any = None

    def __enter__(self) -> Sandbox:
        try:
            self._pool = self._monty.Monty(min_processes=1, max_processes=1, request_timeout=None)
            self._pool.__enter__()
            self._start()
        except (self._monty.MontyError, OSError, TimeoutError) as error:
            raise ConsoleError(f'the sandbox does not start: {error}') from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._stop_session()
        if self._pool is not None:
            self._pool.__exit__(None, None, None)
            self._pool = None

    def run(self, code: str) -> Output:
        """Run code in the session; its names live on until the next command.

        Errors come back in the output. A worker that died is replaced, and its names are gone.
        """
        try:
            source = rewrite(code)
        except CodeError as error:
            return Output('', str(error))
        printed = self._monty.CollectString(max_bytes=1_000_000)
        error = ''
        try:
            self._session.feed_run(
                source, external_lookup=self._lookup, print_callback=printed)
        except self._monty.MontyCrashedError as crash:
            log.warning('the sandbox died: %s', crash)
            self._restart()
            error = 'the command was stopped: it used too much time or memory. All names are gone.'
        except self._monty.MontyError as failure:
            error = self._one_line(failure)
            if 'TimeoutError' in error:  # the interpreter warrants nothing about its heap after this
                self._restart()
                error = 'TimeoutError: the command took too long. All names are gone.'
        return Output(self._cut(printed.output), error)

    def _start(self) -> None:
        self._session = self._pool.checkout(limits=self._limits, os_policy=self._policy)
        self._session.__enter__()
        self._session.feed_run(PRELUDE, inputs=self._values, external_lookup=self._lookup)

    def _restart(self) -> None:
        self._stop_session()
        try:
            self._start()
        except (self._monty.MontyError, OSError, TimeoutError) as error:
            raise ConsoleError(f'the sandbox does not start again: {error}') from error

    def _stop_session(self) -> None:
        if self._session is None:
            return
        try:
            self._session.__exit__(None, None, None)
        except self._monty.MontyError as error:
            log.debug('the sandbox session ended with: %s', error)
        self._session = None

    @staticmethod
    def _one_line(failure: Any) -> str:
        """Return 'TypeError: message', with the line number where the traceback has one."""
        said = failure.display('traceback') if hasattr(failure, 'display') else str(failure)
        lines = [line for line in said.splitlines() if line.strip()]
        return lines[-1].strip() if lines else type(failure).__name__

    def _cut(self, text: str) -> str:
        if len(text) <= self._output_chars:
            return text
        return (f'{text[:self._output_chars]}\n… {len(text) - self._output_chars} more characters: '
                'print fewer rows or shorter texts')
