"""A process of the real parts that is fed over a pipe, tells what is on disk, and is killed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
import os
from pathlib import Path
import select
import signal
import subprocess
import sys
import threading
import time

from emv_ros.errors import EmvError

LIMIT_S = 120.0
WORKERS = 'emv_ros.evaluation.faults.workers'


class Worker:
    """A verb of `workers`. Lines that it wrote are in `lines`, also those read after its end."""

    def __init__(self, verb: str, folder: Path, feed: Iterable[int] | None = (),
                 before: Sequence[str] = ()) -> None:
        """Start it.

        `feed` goes to its input (None: it stays open), `before` are words before the command.
        """
        self.lines: list[str] = []
        self._rest = b''
        environment = {**os.environ, 'OMP_NUM_THREADS': '1'}
        self._process = subprocess.Popen(
            [*before, sys.executable, '-m', WORKERS, verb, str(folder)], env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if feed is not None:
            threading.Thread(target=self._feed, args=(feed,), daemon=True).start()

    def _feed(self, numbers: Iterable[int]) -> None:
        stream = self._process.stdin
        assert stream is not None
        try:
            for number in numbers:
                stream.write(f'{number}\n'.encode())
                stream.flush()
            stream.close()
        except (BrokenPipeError, ValueError):
            pass  # it was killed

    def wait_for(self, is_reached: Callable[[list[str]], bool], limit_s: float = LIMIT_S) -> bool:
        """Read lines until they suffice; False where the process ended or time was not enough."""
        end_s = time.monotonic() + limit_s
        while not is_reached(self.lines):
            left_s = end_s - time.monotonic()
            if left_s <= 0 or not self._read(left_s):
                return is_reached(self.lines)
        return True

    def _read(self, limit_s: float) -> bool:
        stream = self._process.stdout
        assert stream is not None
        ready, _, _ = select.select([stream], [], [], limit_s)
        data = os.read(stream.fileno(), 2**16) if ready else b''
        *whole, self._rest = (self._rest + data).split(b'\n')
        self.lines += [line.decode() for line in whole]
        return bool(data)

    def run_on(self, seconds: float) -> None:
        """Let it go on for so long, reading what it writes."""
        self.wait_for(lambda _: False, seconds)

    def kill(self) -> bool:
        """Kill it with SIGKILL and read what it had written; False where it had ended."""
        was_running = self._process.poll() is None
        if was_running:
            self._process.send_signal(signal.SIGKILL)
        self.end()
        return was_running and self._process.returncode == -signal.SIGKILL

    def end(self, limit_s: float = LIMIT_S) -> int:
        """Wait for its end, read the rest and return its exit status."""
        while self._read(limit_s):
            pass
        try:
            return self._process.wait(limit_s)
        except subprocess.TimeoutExpired as error:
            self._process.kill()
            raise EmvError('a process did not end in time') from error

    @property
    def errors(self) -> str:
        """What it wrote to standard error; read it after its end."""
        assert self._process.stderr is not None
        return self._process.stderr.read().decode(errors='replace')

    @property
    def numbers(self) -> list[int]:
        """The numbers that it told are on disk, in order."""
        return [int(word) for line in self.lines if line[:1].isdigit() for word in line.split()]

    @property
    def is_ready(self) -> bool:
        """Whether it has loaded what it needs."""
        return 'ready' in self.lines
