"""What keeps the biographies of one robot: observations get words, entities, and persons names.

It comes before the tree in each consolidation, so that events are told with what things are. Each
part may be stopped between its transactions, and the next run goes on from there. A rebuild or
a forgetting that was killed is brought to its end here, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
import threading
from typing import TYPE_CHECKING

from sqlalchemy import select

from emv_ros.biography.association import AssociationReport, Associator
from emv_ros.biography.clothing import ClothingReport, name_people
from emv_ros.biography.describing import DescriptionReport, describe
from emv_ros.biography.joining import EntityWriter
from emv_ros.biography.rebuild import finish as end_rebuild, is_begun
from emv_ros.biography.reconsidering import Reconsidering, ReconsiderReport
from emv_ros.memory import schema
from emv_ros.memory.clearing import clear_what_is_left
from emv_ros.memory.imports import check_whole
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import Settings

if TYPE_CHECKING:
    from emv_ros.biography.looking import Vision



@dataclass(slots=True)
class UpkeepReport:
    """What was done for the biographies of a robot."""

    described: DescriptionReport = field(default_factory=DescriptionReport)
    associated: AssociationReport = field(default_factory=AssociationReport)
    reconsidered: ReconsiderReport = field(default_factory=ReconsiderReport)
    named: ClothingReport = field(default_factory=ClothingReport)

    def lines(self) -> list[str]:
        """Return what was done as a person reads it; nothing where nothing was."""
        told, named = self.described, self.named
        found = []
        if told.by_rule or told.by_model:
            found.append(f'{_observations(told.by_rule)} described by rule, '
                         f'{told.by_model} by the vision model')
        found += [self.associated.words(), self.reconsidered.words()]
        if named.named or named.undone:
            found.append(f'{_observations(named.named)} of persons named by clothing'
                         + (f', {named.undone} no longer' if named.undone else ''))
        return [*filter(None, found), *told.notes]


class Upkeep:
    """Keeps biographies again and again; it reads the entities of a robot once."""

    def __init__(self, store: MemoryStore, settings: Settings,
                 thresholds: tuple[float, float] | None = None) -> None:
        """Read nothing yet. `thresholds` are for looks whose model said nothing of itself."""
        self._store = store
        self._settings = settings
        self._thresholds = thresholds
        self._associators: dict[str, tuple[Associator, Reconsidering]] = {}

    def keep(self, robot: str, *, vision: Vision | None = None,
             cancel: threading.Event | None = None,
             before_call: Callable[[], None] = lambda: None,
             finish: bool = False) -> UpkeepReport:
        """Describe, associate and name what one robot observed since. Raises StoreError.

        Without a vision model observations are described by rule. `before_call` is called before
        each call of it. With `finish` the last day counts as over, too.
        """
        check_whole(self._store)
        report = UpkeepReport()
        clear_what_is_left(self._store)
        report.described = describe(
            self._store, self._settings, robot, vision, cancel, before_call)
        associator, reconsidering = self._of(robot)
        report.associated = associator.run(cancel)
        if cancel is not None and cancel.is_set():
            return report
        if self._is_rebuilding(robot):
            end_rebuild(self._store, robot)
        report.reconsidered = reconsidering.run(cancel, finish)
        if report.reconsidered.canceled:
            return report
        report.named = name_people(self._store, robot, cancel=cancel)
        if report.named.named or report.named.undone:
            self._call_entities(robot)
        return report

    def _of(self, robot: str) -> tuple[Associator, Reconsidering]:
        if robot not in self._associators:
            settings, gap_s = self._settings.biography, self._settings.perception.clip_gap_s
            associator = Associator(self._store, settings, robot, self._thresholds, gap_s)
            self._associators[robot] = associator, Reconsidering(
                self._store, settings, robot, associator, self._thresholds, gap_s)
        return self._associators[robot]

    def _is_rebuilding(self, robot: str) -> bool:
        with self._store.reading() as session:
            return any(is_begun(session, key) for key in self._store.robot_ids(session, [robot]))

    def _call_entities(self, robot: str) -> None:
        """Call the persons who were named what most of their observations are called now."""
        row = schema.ObservationRow
        with self._store.writing() as session:
            robot_id = self._store.robot_id(session, robot)
            writer = EntityWriter(session, robot_id)
            writer.touch(session.scalars(select(row.entity_id).where(
                row.robot_id == robot_id, row.pending, row.is_person,
                row.entity_id.is_not(None)).distinct()))
            writer.write()


def keep(store: MemoryStore, settings: Settings, robot: str, *,
         thresholds: tuple[float, float] | None = None, vision: Vision | None = None,
         cancel: threading.Event | None = None) -> UpkeepReport:
    """Keep the biographies of one robot once, see Upkeep."""
    return Upkeep(store, settings, thresholds).keep(robot, vision=vision, cancel=cancel)


def _observations(count: int) -> str:
    return '1 observation' if count == 1 else f'{count} observations'
