"""A session of the `pydantic-monty` interpreter: a process with limits for a model's code.

The code reaches nothing but the functions that are handed in. Files, the network, the clock's
ticking and sleeping are not there. A crash or an endless loop costs the worker process, never this
one.
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
from emv_ros.agent.console.rewrite import CodeError, bound_names, rewrite, top_names
from emv_ros.agent.console.rows import clean
from emv_ros.errors import ConsoleError

log = logging.getLogger(__name__)

# Lines that the run itself writes into the prompt; printed ones are marked as printed.
_OURS = re.compile(
    r'^(?=\s*(?:(?:note|refused|output|question|question again|tree|now|memory|time asked|system|'
    r'user|assistant)\s*:|but these records|>>>|\.\.\.|```))', re.IGNORECASE | re.MULTILINE)
_CONTROLS = re.compile(r'[\x00-\x08\x0b-\x1f\x7f-\x9f]')
# Each call into the memory takes few of the interpreter's turns with this process; a loop that
# goes on calling in spite of errors takes them all, and the session with them.
TURNS_A_CALL = 10
MAX_PRINTED = 1_000_000
# What the prelude and models' code call of Python itself; a name that took it is given back.
_PYTHONS = frozenset((
    'bool', 'dict', 'enumerate', 'float', 'getattr', 'hasattr', 'int', 'isinstance', 'len', 'list',
    'max', 'min', 'print', 'range', 'reversed', 'round', 'set', 'sorted', 'str', 'sum', 'tuple',
    'type', 'zip'))
_KEEP = '\n'.join(f'_python_{name} = {name}' for name in sorted(_PYTHONS))
# Room that a command needs at least.
PROBE = 'len([0] * 100_000)'


@dataclass(frozen=True, slots=True)
class Output:
    """What a command printed, and its error in one line ('' where there was none)."""

    text: str
    error: str = ''


class Sandbox:
    """One console session; a context manager. Not for use by several threads at once."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]], values: Mapping[str, Any],
                 now: datetime, *, time_s: float = 5.0, memory_mb: int = 128, calls: int = 200,
                 output_chars: int = 3000, prelude: str = '') -> None:
        """Prepare a session with host functions (named `_…` for the prelude) and plain values.

        `prelude` is run after the sandbox's own, and its names are given back like those.
        `now` is naive, local to the robot: the clock of the sandbox stands at it.
        """
        import pydantic_monty

        self._monty = pydantic_monty
        self._lookup = dict(functions)
        self._values = dict(values)
        self._prelude = f'{PRELUDE}{prelude}'
        self._built_in = frozenset(top_names(self._prelude))
        self._output_chars = output_chars
        self._limits = {'max_feed_duration_secs': time_s, 'max_memory': memory_mb * 2**20,
                        'max_recursion_depth': 200,
                        'max_suspensions': calls * TURNS_A_CALL}
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
        except CodeError as unread:
            return Output('', str(unread))
        printed = self._monty.CollectString(max_bytes=MAX_PRINTED)
        error = self._feed(source, printed)
        bound = bound_names(code)
        if taken := sorted(_PYTHONS & bound):
            self._feed('\n'.join(f'{name} = _python_{name}' for name in taken),
                       self._monty.CollectString())
        if self._built_in & bound:  # give the console's own names back for the next command
            self._feed(self._prelude, self._monty.CollectString())
        return Output(self._cut(plain_output(printed.output)), error)

    def _feed(self, source: str, printed: Any) -> str:
        """Run rewritten code and return its error, or ''."""
        try:
            self._session.feed_run(
                source, inputs=self._values, external_lookup=self._lookup,
                print_callback=printed)
        except self._monty.MontyCrashedError as crash:
            log.warning('the sandbox died: %s', crash)
            self._restart()
            return 'the command was stopped: it used too much time or memory. All names are gone.'
        except self._monty.MontyError as failure:
            error = self._one_line(failure)
            if error.startswith('TimeoutError'):  # nothing is warranted about its heap after this
                self._restart()
                return 'TimeoutError: the command took too long. All names are gone.'
            if 'suspension limit' in error:  # the session would refuse every further call
                self._restart()
                return 'RuntimeError: too many calls in one command. All names are gone.'
            if error.startswith('MemoryError') and self._is_full():
                self._restart()
                return f'{error}. All names are gone.'
            return error
        return ''

    def _is_full(self) -> bool:
        """Whether names that live on leave too little memory for another command."""
        try:
            self._session.feed_run(PROBE)
        except self._monty.MontyError:
            return True
        return False

    def _start(self) -> None:
        self._session = self._pool.checkout(limits=self._limits, os_policy=self._policy)
        self._session.__enter__()
        self._session.feed_run(_KEEP)
        self._session.feed_run(self._prelude, inputs=self._values, external_lookup=self._lookup)

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
        except (self._monty.MontyError, OSError) as error:
            log.debug('the sandbox session ended with: %s', error)
        self._session = None

    @staticmethod
    def _one_line(failure: Any) -> str:
        """Return 'TypeError: message' on one line."""
        said = failure.display('type-msg') if hasattr(failure, 'display') else str(failure)
        return clean(said) or type(failure).__name__

    def _cut(self, text: str) -> str:
        if len(text) <= self._output_chars:
            return text
        return (f'{text[:self._output_chars]}\n… {len(text) - self._output_chars} more characters: '
                'print fewer rows or shorter texts')


def plain_output(text: str) -> str:
    """Return printed text that cannot pose as the run's own lines or as marks of a chat."""
    text = _CONTROLS.sub('', text.replace('\r', '\n').replace('<|', '‹|'))
    return _OURS.sub('| ', text)
