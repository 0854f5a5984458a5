"""Which entity each observation is of, decided once for each, in order of time.

How it is decided stands in `deciding`. What nothing tells of stays without an entity.

Lots of observations are decided and committed in one transaction each: a run may be killed
anywhere, and the next goes on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import threading
import time

from sqlalchemy.orm import Session

from emv_ros.biography.deciding import Lot
from emv_ros.biography.known import Known
from emv_ros.biography.rules import Rules, thresholds_of
from emv_ros.biography.waiting import read_seen, set_mark, waiting
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import BiographySettings, PerceptionSettings

# Observations of one transaction: others wait for the lock no longer than these take.
LOT = 200


@dataclass(slots=True)
class AssociationReport:
    """What an association did: observations that got an entity, of how many, how many new."""

    observations: int = 0
    entities: int = 0  # that they are of
    new: int = 0  # of these, unknown before
    without_evidence: int = 0
    damaged: int = 0  # vectors that could not be read
    merged: int = 0  # entities that went into others, as persons said
    canceled: bool = False
    duration_s: float = 0.0

    def words(self) -> str:
        """Return the report as a person reads it, '' where nothing was done."""
        if not self.observations:
            return ''
        entities = '1 entity' if self.entities == 1 else f'{self.entities} entities'
        return (f'{self.observations} observation{"s"[:self.observations - 1]} joined {entities}, '
                f'{self.new} new')


def associate(store: MemoryStore, settings: BiographySettings, robot: str,
              thresholds: tuple[float, float] | None = None,
              cancel: threading.Event | None = None) -> AssociationReport:
    """Give an entity to each observation of a robot that waits for one.

    `thresholds` (match, consistent) are for looks whose model said nothing. Whoever does so again
    and again keeps an `Associator`, which reads the memory once.
    """
    return Associator(store, settings, robot, thresholds).run(cancel)


class Associator:
    """Associates the observations of one robot. One thread at a time."""

    def __init__(self, store: MemoryStore, settings: BiographySettings, robot: str,
                 thresholds: tuple[float, float] | None = None,
                 clip_gap_s: float = PerceptionSettings.clip_gap_s) -> None:
        """Read nothing yet. Clips are cut at pauses of `clip_gap_s`."""
        self._store = store
        self._settings = settings
        self._robot = robot
        self._default = thresholds
        self._rules = Rules.of(settings, clip_gap_s)
        self._known: Known | None = None

    def run(self, cancel: threading.Event | None = None) -> AssociationReport:
        """Associate what waits; stops between lots where `cancel` is set. Raises StoreError."""
        report, begun = AssociationReport(), time.monotonic()
        with self._store.reading() as session:
            robot_id = next(iter(self._store.robot_ids(session, [self._robot])), None)
            ids = waiting(session, robot_id) if robot_id is not None else []
        if robot_id is None or not ids:
            return report
        with self._store.reading() as session:  # long where the life is: nobody waits for it
            known = self.known(session, robot_id)
        met: set[int] = set()
        for start in range(0, len(ids), LOT):
            if cancel is not None and cancel.is_set():
                report.canceled = True
                break
            self._decide(robot_id, ids[start:start + LOT], report, met)
        else:
            self._note(robot_id, max(ids))
        if known.is_outdated():
            with self._store.writing() as session:
                known.save(session)
        report.entities = len(met)
        report.duration_s = time.monotonic() - begun
        return report

    def known(self, session: Session, robot_id: int) -> Known:
        """Return the references of the robot's entities, as the session has them."""
        if self._known is None:
            self._known = Known(robot_id, self._rules.references, self._store.folder,
                                self._consistent)
        self._known.follow(session)
        return self._known

    def _decide(self, robot_id: int, ids: Sequence[int], report: AssociationReport,
                met: set[int]) -> None:
        assert self._known is not None
        try:
            with self._store.writing() as session:
                self._known.follow(session)
                lot = Lot(session, robot_id, self._rules, self._settings, self._default,
                          self._known)
                seen, damaged = read_seen(session, ids)
                lot.decide(seen)
        except BaseException:
            self._known.forget()
            raise
        report.observations += len(lot.entity_of)
        report.new += len(lot.writer.made)
        report.without_evidence += len(seen) - len(lot.entity_of)
        report.damaged += damaged
        report.merged += lot.merged
        met |= set(lot.entity_of.values())

    def _consistent(self, session: Session, model: str) -> float:
        return thresholds_of(session, model, self._settings, self._default)[1]

    def _note(self, robot_id: int, last_id: int) -> None:
        with self._store.writing() as session:
            set_mark(session, robot_id, last_id)
