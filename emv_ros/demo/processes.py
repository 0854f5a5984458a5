"""The processes of the demonstration: started together, watched, and ended together.

Each writes to a log file of its own; where one ends by itself, the error names it with the end of
its log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
import signal
import subprocess
import sys
from types import TracebackType

from emv_ros.errors import EmvError

GRACE_S = 20.0
TAIL_LINES = 8


class ProcessError(EmvError):
    """A process of the demonstration ended by itself, or with an error."""


class Processes:
    """Modules whose `main` runs as a process; a context manager that leaves none behind."""

    def __init__(self, logs: Path, environment: Mapping[str, str]) -> None:
        self._logs = logs
        self._environment = dict(environment)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._files = ExitStack()

    def __enter__(self) -> Processes:
        self._logs.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.stop()

    def start(self, name: str, module: str, arguments: Sequence[str],
              further: Mapping[str, str] | None = None) -> None:
        """Start the `main` of a module under a name, in an environment with `further` variables."""
        log = self._files.enter_context((self._logs / f'{name}.log').open('wb'))
        self._running[name] = subprocess.Popen(
            self._command(module, arguments), env={**self._environment, **(further or {})},
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)

    def run(self, name: str, module: str, arguments: Sequence[str], limit_s: float) -> str:
        """Run the `main` of a module to its end and return what it printed to stdout."""
        path = self._logs / f'{name}.log'
        with path.open('wb') as log:
            try:
                done = subprocess.run(
                    self._command(module, arguments), env=self._environment,
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, timeout=limit_s,
                    check=False)
            except subprocess.TimeoutExpired as error:
                raise ProcessError(f'{name} did not end within {limit_s:.0f} s') from error
        if done.returncode:
            raise ProcessError(f'{name} failed with status {done.returncode}:\n{self._tail(name)}')
        return done.stdout.decode(errors='replace')

    def pids(self) -> dict[str, int]:
        """Return the process ids of all that were started, by name."""
        return {name: process.pid for name, process in self._running.items()}

    def is_running(self, name: str) -> bool:
        """Return whether one has not ended yet."""
        return self._running[name].poll() is None

    def check(self) -> None:
        """Raise ProcessError where one has ended by itself."""
        for name, process in self._running.items():
            if process.poll() is not None:
                raise ProcessError(f'the node {name} ended with status {process.returncode}:\n'
                                   f'{self._tail(name)}')

    def stop(self) -> dict[str, int]:
        """End all as Ctrl-C would, by force after a while, and return their exit statuses."""
        for process in self._running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        statuses = {}
        for name, process in self._running.items():
            try:
                statuses[name] = process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                statuses[name] = process.wait()
        self._running.clear()
        self._files.close()
        return statuses

    @staticmethod
    def _command(module: str, arguments: Sequence[str]) -> list[str]:
        code = f'from {module} import main; raise SystemExit(main())'
        return [sys.executable, '-c', code, *arguments]

    def _tail(self, name: str) -> str:
        try:
            lines = (self._logs / f'{name}.log').read_text(errors='replace').splitlines()
        except OSError as error:
            return str(error)
        return '\n'.join(lines[-TAIL_LINES:])
