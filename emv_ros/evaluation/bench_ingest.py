"""A robot's full rate into a memory over real DDS, beside a plain recorder of the same topics.

Publishers, the ingest nodes, consolidation, questions and the recorder are processes of their own.
Meanwhile this one samples processor time and memory, and looks for new rows; afterwards what is
stored is compared with what was published. It needs ROS in the processes that it starts only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
import json
import os
from pathlib import Path
import sys
import time
from typing import Any

import numpy as np

from emv_ros.demo.processes import ProcessError, Processes
from emv_ros.errors import EmvError
from emv_ros.evaluation.ingest_account import account, bytes_stored
from emv_ros.evaluation.load import Load
from emv_ros.evaluation.process_meter import ProcessMeter
from emv_ros.evaluation.row_lag import RowLag
from emv_ros.memory.database import DATABASE_FILE
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import Settings

START_LIMIT_S, DRAIN_LIMIT_S, LATE_S = 60.0, 60.0, 120.0
LOOK_S, SAMPLE_S, STILL_S = 0.02, 1.0, 3.0
MAX_LAG_S, MAX_CORES, FLAT_SHARE = 1.0, 1.0, 0.05
PUBLISHERS = {'publisher_camera': ('camera_hz',),
              'publisher_signals': ('joint_hz', 'events_hz', 'utterances_hz')}
# In the process of the ingest nodes the others are not activated.
NOT_INGEST = ('query', 'consolidation', 'perception', 'speech_bridge')

PROFILES = 'FASTDDS_DEFAULT_PROFILES_FILE'

Tell = Callable[[str], None]


@dataclass
class IngestBench:
    """One run in an empty folder. `arguments` are the ROS arguments of the memory's nodes.

    `has_recorder` False leaves the recorder out; a question period of 0 asks nothing.
    """

    folder: Path
    load: Load
    settings: Settings
    arguments: list[str]
    question_period_s: float = 10.0
    has_recorder: bool = True
    tell: Tell = lambda _: None

    def run(self) -> dict[str, Any]:
        """Run it, and return the figures. Raises EmvError where a process fails."""
        memory = self.folder / 'memory'
        with Processes(self.folder / 'logs', self._environment()) as processes:
            self._start_memory(processes, memory)
            _wait_until((memory / DATABASE_FILE).exists, processes.check, START_LIMIT_S,
                        'the memory was not made')
            self._wait_for_nodes(processes)
            self.tell(f'the nodes are up; publishing for {self.load.seconds:g} s')
            kinds = [name for name, rates in PUBLISHERS.items()
                     if any(getattr(self.load, rate) for rate in rates)]
            for name in kinds:
                self._start_publisher(processes, name)
            if self.question_period_s:
                self._start(processes, 'questions', 'load_questions', [
                    f'period_s:={self.question_period_s}', f'account:={self._file("questions")}'])
            with RowLag(memory) as lag:
                _wait_until(lambda: bool(lag.look()), processes.check, START_LIMIT_S,
                            'nothing of what was published was stored')
                meter = ProcessMeter(processes.pids())
                self._measure(processes, kinds, lag, meter)
                waiting = self._waiting(memory)
                self._drain(lag)
            statuses = processes.stop()
        return self._figures(memory, kinds, lag, meter, statuses, waiting)

    def _start_memory(self, processes: Processes, memory: Path) -> None:
        common = [*self.arguments, '--ros-args', '-p', f'memory.folder:={memory}']
        processes.start('ingest', 'emv_ros.nodes.memory', [
            *common, *(word for name in NOT_INGEST
                       for word in ('-p', f'{name}:autostart:=false')), '--'])
        _wait_until((memory / DATABASE_FILE).exists, processes.check, START_LIMIT_S,
                    'the memory was not made')
        processes.start('consolidation', 'emv_ros.nodes.consolidation', [*common, '--'])
        processes.start('query', 'emv_ros.nodes.query', [*common, '--'])
        if self.has_recorder:
            self._start(processes, 'recorder', 'load_recorder', [
                f'folder:={self.folder / "recorded"}', f'account:={self._file("recorder")}'])

    def _start_publisher(self, processes: Processes, name: str) -> None:
        rates = [f'{rate}:={float(getattr(self.load, rate))}' for rate in PUBLISHERS[name]]
        self._start(processes, name, 'load_publisher', [
            *rates, f'seconds:={float(self.load.seconds)}', f'account:={self._file(name)}',
            f'subscribers:={1 + self.has_recorder}', f'wait_s:={START_LIMIT_S}'],
            # Pictures do not fit the memory that Fast DDS shares by default.
            {PROFILES: str(profiles)} if (profiles := _dds_profiles()) else None)

    def _start(self, processes: Processes, name: str, module: str, values: list[str],
               further: Mapping[str, str] | None = None) -> None:
        words = [word for value in values for word in ('-p', value)]
        processes.start(name, f'emv_ros.nodes.{module}', [
            '--ros-args', '-r', f'__node:={name}', *words, '--'], further)

    def _wait_for_nodes(self, processes: Processes) -> None:
        logs = [self.folder / 'logs' / f'{name}.log' for name in processes.pids()]
        _wait_until(lambda: all('running: ' in file.read_text(errors='replace') for file in logs),
                    processes.check, START_LIMIT_S, 'not all nodes came up')

    def _measure(self, processes: Processes, kinds: list[str], lag: RowLag,
                 meter: ProcessMeter) -> None:
        """Sample until the publishers have ended."""
        begun = time.monotonic()
        limit = begun + self.load.seconds + LATE_S
        meter.begin(begun)
        next_sample = begun
        while any(processes.is_running(name) for name in kinds):
            now = time.monotonic()
            if now >= next_sample:
                meter.sample(now)
                next_sample += SAMPLE_S
                if now > limit:
                    raise ProcessError('the publishers did not come to their end')
            lag.look()
            time.sleep(LOOK_S)
        for name in kinds:
            if not self._file(name).exists():
                processes.check()
                raise ProcessError(f'{name} failed: see {self.folder / "logs" / name}.log')

    def _drain(self, lag: RowLag) -> None:
        """Wait until no more rows come."""
        ends, still = time.monotonic() + DRAIN_LIMIT_S, time.monotonic()
        while time.monotonic() - still < STILL_S and time.monotonic() < ends:
            if lag.look():
                still = time.monotonic()
            time.sleep(LOOK_S)

    def _waiting(self, memory: Path) -> int:
        """Return how many records consolidation has not taken yet."""
        from emv_ros.tree.consolidate import waiting_records

        with self._store(memory) as store:
            return sum(sum(waiting_records(store, robot).values()) for robot in store.robots())

    def _figures(self, memory: Path, kinds: list[str], lag: RowLag, meter: ProcessMeter,
                 statuses: Mapping[str, int], waiting: int) -> dict[str, Any]:
        published: dict[str, Any] = {}
        for name in kinds:
            with np.load(self._file(name)) as found:
                published.update({key: found[key] for key in found.files})
        full_waits = int(published.pop('full_waits', 0))
        published.pop('is_confirmed', None)
        with self._store(memory) as store:
            records = account(store, self.settings.ingest, published, self.load.joint_hz)
            stored = bytes_stored(store)
        figures = {
            'load': asdict(self.load), 'question_period_s': self.question_period_s,
            'model': self.settings.model.model, 'cores': os.cpu_count(),
            'wall_s': round(meter.ended_s - meter.begun_s, 1), 'records': records,
            'lag': lag.report(), 'processes': meter.report(), 'stored': stored,
            'log_peak_mb': round(lag.log_bytes / 1e6, 1), 'publisher_waits': full_waits,
            'unconsolidated_at_end': waiting, 'exit_statuses': dict(statuses),
            'consolidations': self._consolidations(memory), 'questions': self._questions(),
            'recorder': self._recorder()}
        figures['ratio'] = _ratio(figures)
        figures['checks'] = _checks(figures)
        return figures

    def _consolidations(self, memory: Path) -> list[dict[str, Any]]:
        from sqlalchemy import select

        from emv_ros.memory import schema

        row = schema.ConsolidationRow
        with self._store(memory) as store, store.reading() as session:
            return [{'records': item.records, 'seconds': round(item.duration_s or 0.0, 2),
                     'outcome': item.outcome}
                    for item in session.scalars(select(row).order_by(row.id))]

    def _questions(self) -> dict[str, Any] | None:
        if not self._file('questions').exists():
            return None
        found = json.loads(self._file('questions').read_text())
        times = [answer['seconds'] for answer in found['answers']]
        statuses = [answer['status'] for answer in found['answers']]
        return {'asked': found['asked'], 'answered': len(times),
                'statuses': {status: statuses.count(status) for status in sorted(set(statuses))},
                'median_s': round(float(np.median(times)), 3) if times else None,
                'max_s': round(max(times), 3) if times else None}

    def _recorder(self) -> dict[str, Any] | None:
        if not self._file('recorder').exists():
            return None
        found: dict[str, Any] = json.loads(self._file('recorder').read_text())
        return found

    def _file(self, name: str) -> Path:
        return self.folder / f'{name}{".npz" if name in PUBLISHERS else ".json"}'

    def _store(self, memory: Path) -> MemoryStore:
        return MemoryStore.open(self.settings.memory, memory)

    def _environment(self) -> dict[str, str]:
        """Return the environment: traffic stays on this machine, in a domain apart."""
        environment = dict(os.environ)
        environment.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        environment.setdefault('ROS_DOMAIN_ID', str(10 + os.getpid() % 80))
        environment['ROS_LOG_DIR'] = str(self.folder / 'logs')
        return environment


def _ratio(figures: Mapping[str, Any]) -> dict[str, float] | None:
    """Return what the recorder takes for each unit that the memory takes."""
    recorder, stored = figures['recorder'], figures['stored']
    if recorder is None:
        return None
    processes = figures['processes']
    return {
        'cpu_of_ingest_to_recorder': round(
            processes['ingest']['cpu_s'] / max(0.01, processes['recorder']['cpu_s']), 2),
        'rows_of_recorder_to_memory': round(
            sum(recorder['rows'].values()) / max(1, stored['rows']), 1),
        'bytes_of_recorder_to_memory': round(
            recorder['file_bytes'] / max(1, stored['database'] + stored['pictures']), 1)}


def _checks(figures: Mapping[str, Any]) -> dict[str, bool | None]:
    """Return what was wanted, and whether it is so; None where the run was too short to tell."""
    records, ingest = figures['records'], figures['processes']['ingest']
    return {
        'no_event_lost': not records['event']['lost'],
        'no_utterance_lost': not records['utterance']['lost'],
        'ingest_under_one_core': ingest['cores'] < MAX_CORES,
        'memory_flat': _is_flat(ingest['settled_mb'], ingest['growth_mb']),
        'own_memory_flat': _is_flat(ingest['own_settled_mb'], ingest['own_growth_mb']),
        'lag_p99_under_1_s': figures['lag']['all']['p99_s'] < MAX_LAG_S}


def _is_flat(settled_mb: float | None, growth_mb: float | None) -> bool | None:
    if settled_mb is None or growth_mb is None:
        return None
    return growth_mb < FLAT_SHARE * settled_mb


def _dds_profiles() -> Path | None:
    """Return the profiles for publishers of pictures: of the checkout, else as installed."""
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    candidates = [Path(__file__).resolve().parents[2] / 'config' / 'fastdds.xml', *(
        Path(prefix) / 'share' / 'emv_ros' / 'config' / 'fastdds.xml'
        for prefix in (*filter(None, prefixes), sys.prefix))]
    return next((file for file in candidates if file.exists()), None)


def _wait_until(is_done: Callable[[], bool], check: Callable[[], None], limit_s: float,
                why: str) -> None:
    ends = time.monotonic() + limit_s
    while not is_done():
        check()
        if time.monotonic() > ends:
            raise EmvError(f'{why} within {limit_s:g} s')
        time.sleep(0.05)
