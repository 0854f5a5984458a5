"""Real ingest nodes killed while a recording is played to them over DDS.

Nodes tell nobody what they have stored; so acknowledged here is what another process, a reader of
the same memory, had seen committed before the kill. Each run has a ROS domain of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
import os
from pathlib import Path
from random import Random
import signal
import sqlite3
import subprocess
import sys
import time

from emv_ros.evaluation.faults.checks import faults_of
from emv_ros.evaluation.faults.outcome import Outcome
from emv_ros.evaluation.faults.prepared import Prepared

LIMIT_S = 60.0
REPLAY_S = 8.0
POLL_S = 0.02
NODES = ('speech_ingest', 'skill_ingest')
TOPICS = {'speech_ingest': '[/speech, /asr, /microphone]'}
SEEN = ("SELECT 'utterance', id, text FROM utterance UNION ALL "
        "SELECT 'skill_event', id, skill || '@' || stamp_ns FROM skill_event")

Row = tuple[str, int, str]


def in_nodes(prepared: Prepared, chance: Random) -> Outcome | None:
    """Kill one of two ingest nodes, and look at what both stored."""
    if find_spec('rclpy') is None or find_spec('emv_ros.msg') is None:
        return None
    with prepared.copy(None) as folder, _nodes(folder, chance) as nodes:
        seen = _wait_for(folder, chance.randrange(2, 30), nodes)
        victim = chance.choice(NODES)
        seen |= _rows(folder)
        nodes[victim].send_signal(signal.SIGKILL)
        nodes[victim].wait()
        seen_then = _rows(folder)
        _stop(nodes)
        outcome = Outcome(acknowledged=len(seen), note=f'{victim} after {len(seen)} rows')
        outcome.wrong += faults_of(folder)
        outcome.opened = not outcome.wrong
        outcome.lost = len((seen | seen_then) - _rows(folder))
        if not seen:
            outcome.wrong.append('the nodes stored nothing')
        return outcome


@contextmanager
def _nodes(folder: Path, chance: Random) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    nodes: dict[str, subprocess.Popen[bytes]] = {}
    environment = {'ROS_DOMAIN_ID': str(chance.randrange(1, 100)),
                   'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST', 'OMP_NUM_THREADS': '1'}
    try:
        for name in NODES:
            arguments = ['-p', f'memory.folder:={folder}', '-p', 'memory.flush_period_s:=0.05']
            if name in TOPICS:
                arguments += ['-p', f'topics:={TOPICS[name]}']
            _start(nodes, name, arguments, environment)
        _start(nodes, 'replay', ['-p', f'duration_s:={REPLAY_S}'], environment)
        yield nodes
    finally:
        _stop(nodes)


def _start(nodes: dict[str, subprocess.Popen[bytes]], name: str, arguments: Sequence[str],
           environment: dict[str, str]) -> None:
    code = f'from emv_ros.nodes.{name} import main; raise SystemExit(main())'
    nodes[name] = subprocess.Popen(
        [sys.executable, '-c', code, '--ros-args', *arguments],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _wait_for(folder: Path, count: int, nodes: dict[str, subprocess.Popen[bytes]]) -> set[Row]:
    """Wait until a reader sees so many rows, or the replay is over; return them."""
    end_s = time.monotonic() + LIMIT_S
    seen: set[Row] = set()
    while len(seen) < count and time.monotonic() < end_s and nodes['replay'].poll() is None:
        seen |= _rows(folder)
        time.sleep(POLL_S)
    return seen


def _rows(folder: Path) -> set[Row]:
    file = folder / 'memory.db'
    if not file.exists():
        return set()
    try:
        with closing(sqlite3.connect(file, timeout=10)) as connection:
            return set(connection.execute(SEEN))
    except sqlite3.OperationalError:  # its tables are being made
        return set()


def _stop(nodes: dict[str, subprocess.Popen[bytes]]) -> None:
    for process in nodes.values():
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
    for process in nodes.values():
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
