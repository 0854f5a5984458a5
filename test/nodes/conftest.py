"""Nodes under test are processes; each test process has a ROS domain of its own."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

# Those that pytest-xdist starts for one run share its number. Tests of the demonstration use the
# domains from 70 on.
RUN = os.environ.get('PYTEST_XDIST_TESTRUNUID')
WORKER = int(os.environ.get('PYTEST_XDIST_WORKER', 'gw0').removeprefix('gw'))
os.environ['ROS_DOMAIN_ID'] = str(1 + (os.getpid() if RUN is None else int(RUN, 16) + WORKER) % 69)
LIMIT_S = 20.0


class Process:
    """A node in a process of its own."""

    def __init__(self, folder: Path, module: str, parameters: dict[str, Any],
                 env: dict[str, str]) -> None:
        command = [sys.executable, '-c', f'import sys; from {module} import main; '
                   'sys.exit(main(sys.argv))', '--ros-args']
        parameters = {'memory.folder': str(folder), 'memory.flush_period_s': 0.1, **parameters}
        if '--params-file' in parameters:  # what stands later on the command line counts
            command += ['--params-file', str(parameters.pop('--params-file'))]
        for name, value in parameters.items():
            if name.startswith(('__', '/')):
                command += ['-r', f'{name}:={value}']
            else:
                command += ['-p', f'{name}:={_yaml(value)}']
        self.process = subprocess.Popen(
            command, env={**os.environ, 'PYTHONFAULTHANDLER': '1', **env},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines: list[str] = []
        self._is_told = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    @property
    def output(self) -> str:
        return '\n'.join(self.lines)

    def send(self, number: int) -> None:
        """Send a signal, if it still runs and was sent none."""
        if self.process.poll() is None and not self._is_told:
            self._is_told = True
            self.process.send_signal(number)

    def stop(self, number: int = signal.SIGINT) -> int:
        """Send a signal, and return the exit status."""
        self.send(number)
        try:
            status = self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)  # faulthandler shows where it hangs
            self.process.wait()
            self._reader.join(5)
            raise AssertionError(f'no end after signal {number}:\n{self.output}') from None
        self._reader.join(5)
        return status


def _yaml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f'[{", ".join(map(_yaml, value))}]'
    return f"'{value}'" if isinstance(value, str) else repr(value)


class Processes:
    """Starts nodes; `end` ends what still runs, and checks that it ends well."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: list[Process] = []

    def __call__(self, name: str, folder: Path | None = None, env: dict[str, str] | None = None,
                 **parameters: Any) -> Process:
        """Start `emv_ros.nodes.NAME`; a parameter `a__b` is `a.b`, one `node:a__b` that node's."""
        given = {key.replace('__', '.') if not key.startswith('__') else key: value
                 for key, value in parameters.items()}
        process = Process(folder or self.folder, f'emv_ros.nodes.{name}', given, env or {})
        self.running.append(process)
        return process

    def end(self) -> None:
        for process in self.running:
            process.send(signal.SIGINT)
        statuses = [process.stop() for process in self.running]
        for process, status in zip(self.running, statuses, strict=True):
            assert status == 0, process.output
            assert 'Traceback' not in process.output, process.output


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Processes]:
    """Start nodes for one test."""
    processes = Processes(tmp_path / 'memory')
    yield processes
    processes.end()


@pytest.fixture(scope='module')
def start_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """Start nodes for all tests of a module."""
    processes = Processes(tmp_path_factory.mktemp('shared') / 'memory')
    yield processes
    processes.end()


@pytest.fixture(scope='session')
def ros() -> Iterator[None]:
    """The context of the test process."""
    import rclpy

    rclpy.init()
    yield
    rclpy.try_shutdown()


@pytest.fixture(scope='module')
def robot(ros: None) -> Iterator[Any]:
    """A robot: a node of the test process that publishes, listens and calls."""
    from stand_in import Robot

    robot = Robot()
    yield robot
    robot.close()
