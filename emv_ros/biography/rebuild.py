"""All observations of a robot associated anew, under what persons said; ids stay where they can.

Which observations each entity had is noted first, then they wait for their entity as new ones do,
and at the end the entities get the ids that they had. Whoever is killed in between finds the note:
the next rebuild goes on from there. What was forgotten has no rows left, and does not come back.
"""

from __future__ import annotations

from dataclasses import dataclass
import threading
import time

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from emv_ros.biography import reconsidering
from emv_ros.biography.association import AssociationReport, Associator
from emv_ros.biography.holding import NOTE
from emv_ros.biography.relabelling import Relabelled, relabel
from emv_ros.biography.waiting import forget_mark
from emv_ros.memory import schema
from emv_ros.memory.imports import check_whole
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import BiographySettings, PerceptionSettings


@dataclass(slots=True)
class RebuildReport:
    """What a rebuild did: entities that kept their id, that are new, that went into others."""

    observations: int = 0
    kept: int = 0
    new: int = 0
    gone: int = 0
    damaged: int = 0  # looks that could not be read
    canceled: bool = False
    duration_s: float = 0.0

    def words(self) -> str:
        """Return the report as a person reads it."""
        if self.canceled:
            return 'canceled: what has no entity yet gets one as new observations do'
        return (f'{self.observations} observations associated anew: {self.kept} entities kept '
                f'their id, {self.new} are new, {self.gone} went into others')


def rebuild(store: MemoryStore, settings: BiographySettings, robot: str,
            thresholds: tuple[float, float] | None = None,
            cancel: threading.Event | None = None,
            clip_gap_s: float = PerceptionSettings.clip_gap_s) -> RebuildReport:
    """Associate all that was observed of a robot anew. Raises StoreError.

    `thresholds` (match, consistent) are those of the model of looks, see Associator.
    """
    check_whole(store)
    report, begun = RebuildReport(), time.monotonic()
    with store.writing() as session:
        robot_id = next(iter(store.robot_ids(session, [robot])), None)
        if robot_id is None:
            return report
        if session.get(schema.StateRow, f'{NOTE}{robot_id}') is None:
            _take_apart(session, robot_id)
    done = Associator(store, settings, robot, thresholds, clip_gap_s).run(cancel)
    if not done.canceled:
        _fill(report, done, finish(store, robot))
    report.canceled = done.canceled
    report.duration_s = time.monotonic() - begun
    return report


def is_begun(session: Session, robot_id: int) -> bool:
    """Whether a rebuild has begun that was not finished."""
    return session.get(schema.StateRow, f'{NOTE}{robot_id}') is not None


def finish(store: MemoryStore, robot: str) -> Relabelled:
    """Give the entities of a rebuild the ids that they had; nothing where none has begun."""
    with store.writing() as session:
        robot_id = next(iter(store.robot_ids(session, [robot])), None)
        note = None if robot_id is None else session.get(schema.StateRow, f'{NOTE}{robot_id}')
        if robot_id is None or note is None:
            return Relabelled()
        before = {int(key): list(ids) for key, ids in note.value['entities'].items()}
        session.delete(note)
        return relabel(session, robot_id, before)


def _take_apart(session: Session, robot_id: int) -> None:
    row = schema.ObservationRow
    its = row.robot_id == robot_id, row.entity_id.is_not(None)
    entities: dict[str, list[int]] = {}
    for key, entity_id in session.execute(select(row.id, row.entity_id).where(*its)):
        entities.setdefault(str(entity_id), []).append(key)
    session.add(schema.StateRow(key=f'{NOTE}{robot_id}', value={'entities': entities}))
    session.execute(update(row).where(*its).values(entity_id=None),
                    execution_options={'synchronize_session': False})
    forget_mark(session, robot_id)
    reconsidering.forget_mark(session, robot_id)


def _fill(report: RebuildReport, done: AssociationReport, named: Relabelled) -> None:
    report.observations, report.damaged = done.observations, done.damaged
    report.kept, report.new, report.gone = named.kept, named.new, named.gone
