"""Lives with trees and biographies come back from an export, and go on as they would have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
import threading
from typing import Any

from databases import database_url
from memory_contents import contents, states
import pytest

from emv_ros.biography.upkeep import keep
from emv_ros.ingest.importing import import_path
from emv_ros.memory import restoring
from emv_ros.memory.export_format import FILE
from emv_ros.memory.export_reader import check_export
from emv_ros.memory.export_state import PLACES
from emv_ros.memory.exporting import export_memory
from emv_ros.memory.imports import fingerprint
from emv_ros.memory.restoring import restore
from emv_ros.memory.store import MemoryStore
from emv_ros.memory.writer import BatchWriter
from emv_ros.perception.symbolic import observe_scenes
from emv_ros.records import Scene, SceneObject, SceneRelation, SkillReport, Status
from emv_ros.settings import Settings, TreeSettings
from emv_ros.timeline import SECOND_NS, parse_stamp
from emv_ros.tree.consolidate import consolidate

pytestmark = pytest.mark.both_databases

LOG = Path(__file__).resolve().parents[3] / 'shared' / 'data' / 'armar7_june.jsonl'
SETTINGS = Settings(tree=TreeSettings(use_model=False))
DAY_NS = 86_400 * SECOND_NS
NINE_NS = parse_stamp('2024-03-04T09:00:00Z')[0]  # a Monday
# What a memory keeps to itself: who works on it, what it took in and what it must still remove.
OWN_STATES = ('lease:', 'import:', 'forgetting:', 'tree:head:')


def opened(folder: Path) -> MemoryStore:
    return MemoryStore(folder, database_url(folder), 'robot', 'Europe/Berlin')


def bring_in(store: MemoryStore, folder: Path) -> None:
    restore(store, check_export(folder / FILE), fingerprint(folder / FILE), 0)


def attend(store: MemoryStore) -> Any:
    """Do all that a consolidation does, without a model."""
    for robot in store.robots():
        observe_scenes(store, SETTINGS, robot, threading.Event(), finish=False)
        keep(store, SETTINGS, robot)
    return consolidate(store, SETTINGS)


def live(store: MemoryStore, days: Sequence[int]) -> None:
    """Record days in which a mug is moved about while a robot fetches and fails."""
    for day in days:
        for hour in range(3):
            start = NINE_NS + day * DAY_NS + hour * 3600 * SECOND_NS
            store.add_many([
                SkillReport(stamp_ns=start + second * SECOND_NS, skill='Grasp', status=status,
                            goal_stack=(f'Fetch{hour}',), parameters={'thing': 'mug'})
                for second, status in ((0, Status.RUNNING), (40, Status.FAILED),
                                       (60, Status.RUNNING), (90, Status.SUCCEEDED))])
            store.add_many([
                Scene(stamp_ns=start + second * SECOND_NS, objects=(
                    SceneObject(name='mug', instance='mug-1'), SceneObject(name=place)),
                    relations=(SceneRelation(subject='mug-1', predicate='on', object=place),))
                for second in range(0, 100, 10) for place in (('table', 'shelf')[second > 50],)])


def check_same(one: Path, other: Path) -> None:
    assert contents(other) == contents(one)
    told = [{key: value for key, value in states(folder).items()
             if not key.startswith(('lease:', 'import:'))} for folder in (one, other)]
    assert told[0] == told[1]
    known = tuple(place.start for place in PLACES.values())
    assert all(key.startswith((*known, *OWN_STATES)) for key in states(one))


def test_a_life_comes_back_and_goes_on_as_it_would_have(tmp_path, monkeypatch):
    monkeypatch.setattr(restoring, 'LOT', 50)
    with opened(tmp_path / 'one') as one:
        live(one, range(3))
        attend(one)
        assert one.counts()['observation'] > 3
        export_memory(one, tmp_path / 'out', now_ns=0)
    with opened(tmp_path / 'two') as two:
        bring_in(two, tmp_path / 'out')
        check_same(tmp_path / 'one', tmp_path / 'two')
        report = attend(two)
        assert (report.events, report.goals, report.summaries) == (0, 0, 0)
    check_same(tmp_path / 'one', tmp_path / 'two')
    for folder in (tmp_path / 'one', tmp_path / 'two'):
        with opened(folder) as store:
            store._sessions[1] = 1  # the run of the clock in which it began
            live(store, range(3, 5))
            attend(store)
    check_same(tmp_path / 'one', tmp_path / 'two')


@pytest.mark.skipif(not LOG.exists(), reason='the recordings are not part of the project')
def test_the_log_of_a_humanoid_comes_back(tmp_path):
    with opened(tmp_path / 'one') as one:
        writer = BatchWriter(one)
        import_path(LOG, writer, robot='armar7', zone='Europe/Berlin')
        assert writer.close()
        attend(one)
        export_memory(one, tmp_path / 'out', now_ns=0)
    with opened(tmp_path / 'two') as two:
        bring_in(two, tmp_path / 'out')
        check_same(tmp_path / 'one', tmp_path / 'two')
        report = attend(two)
        assert (report.events, report.goals, report.summaries) == (0, 0, 0)
        assert two.counts()['node'] > 100
    check_same(tmp_path / 'one', tmp_path / 'two')
