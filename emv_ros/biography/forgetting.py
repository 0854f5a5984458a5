"""Observations forgotten: their rows, their words elsewhere, their pixels.

Within the transaction of whoever forgets: what was observed, how it looked, what it was seen apart
from, what persons said of it; the objects and relations of scenes that are it; texts of others that
name it. Where it was asked for as such, its box is filled in every stored picture that shows it,
the picture gets a new name, and its vectors go. New pictures are written before the rows that name
them; the old ones are noted in the same transaction and deleted after it, see `memory.clearing`.
What is left of an entity without observations goes too, with the ids that were merged into it.

What the tree says is taken back by `reopen`, a parameter; questions, records of other kinds and the
account of it all are whoever's who calls this. It does not reach what a source said in other
records: speech, parameters of skills, observations of other things.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import and_, delete, func, or_, select, update
from sqlalchemy.orm import Session

from emv_ros.biography.holding import held, noted
from emv_ros.biography.mentions import (
    Names,
    forget_mentions,
    names_of,
    once_called,
    rename_left,
    telling,
)
from emv_ros.biography.scene_parts import objects_called, objects_showing, take_out
from emv_ros.biography.shown_in import File, ShownFile, files_showing
from emv_ros.biography.verdicts import hand_over
from emv_ros.errors import EmvError
from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.clearing import note_files
from emv_ros.memory.entities import merged_ids
from emv_ros.memory.gone_pictures import DAMAGED, FORGOTTEN, MISSING
from emv_ros.memory.redaction import redact
from emv_ros.memory.stay_state import drop_stays
from emv_ros.memory.store import MemoryStore

# Called as `tree.reopening.reopen` before records of a kind change or go.
Reopen = Callable[[Session, str, Iterable[int]], None]

_HANGING: dict[str, Any] = {
    'appearances': schema.AppearanceRow, 'pictures_of_it': schema.ObservationImageRow,
    'namings': schema.NamingRow}


@dataclass(frozen=True, slots=True)
class Plan:
    """Observations that are to go, with what goes along, as the memory stands."""

    rows: Sequence[Any]
    entities: Sequence[Any]  # that keep no observation, with those that were merged into them
    left: Sequence[int]  # entities that keep some
    names: Names
    objects: Sequence[int]
    files: Mapping[File, ShownFile]  # in which boxes are filled
    lost: Mapping[File, ShownFile] = field(default_factory=dict)  # that rows say are gone

    @property
    def ids(self) -> list[int]:
        """The ids of the observations."""
        return [row.id for row in self.rows]


@dataclass(frozen=True, slots=True)
class FilledFile:
    """The file that takes the place of one in which boxes were filled; its size in px."""

    sha256: str
    size_bytes: int
    width: int
    height: int


# What was filled, by the file and its boxes.
Ready = dict[tuple[File, frozenset[Any]], FilledFile]


def plan_named(session: Session, ids: Sequence[int], whole: Sequence[int],
               objects: Sequence[int] = ()) -> Plan:
    """Return what goes with observations that no picture may show any more.

    whole: those of `ids` that are of entities which go as such: what scenes show under their names
    without an observation goes too, where nothing else is called so. objects: ids of objects of
    scenes that go besides.
    """
    row = schema.ObservationRow
    rows = session.scalars(select(row).where(among(row.id, list(ids))).order_by(row.id)).all()
    gone, left = _entities(session, rows)
    names, entire = names_of(session, rows, gone), set(whole)
    found = set(objects)
    for is_whole in (False, True):
        part = [item for item in rows if (item.id in entire) is is_whole]
        found |= objects_showing(session, part, is_whole) if part else set()
    if entire:
        found |= objects_called(session, {item.robot_id for item in rows}, names.gone)
    files = files_showing(session, [item.id for item in rows], sorted(found))
    return Plan(rows, gone, left, names, sorted(found),
                {file: shown for file, shown in files.items() if shown.is_kept},
                {file: shown for file, shown in files.items() if not shown.is_kept})


def plan_plain(session: Session, ids: Sequence[int]) -> Plan:
    """Return what goes with observations whose pictures stay as they are, or go by themselves."""
    row = schema.ObservationRow
    rows = session.scalars(select(row).where(among(row.id, list(ids))).order_by(row.id)).all()
    gone, left = _entities(session, rows)
    return Plan(rows, gone, left, names_of(session, rows, gone), (), {})


def fill(store: MemoryStore, plan: Plan, ready: Ready) -> None:
    """Write the pictures of a plan with their boxes filled, beside the old ones."""
    for file, shown in plan.files.items():
        key = file, frozenset(shown.boxes)
        if key not in ready:
            ready[key] = _filled(store, file, shown)


def is_filled(plan: Plan, ready: Ready) -> bool:
    """Whether all pictures of a plan are written with their boxes filled."""
    return all((file, frozenset(shown.boxes)) in ready for file, shown in plan.files.items())


def _entities(session: Session, rows: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """Return the entities that keep no observation, and the ids of those that do."""
    entity, going = schema.EntityRow, {row.id for row in rows}
    touched = sorted({row.entity_id for row in rows if row.entity_id is not None} | {
        key for key, ids in noted(session).items() if going.intersection(ids)})
    left = {key for key, ids in held(session, touched).items() if set(ids) - going}
    bare = [key for key in touched if key not in left]
    into = merged_ids(session, bare)
    keys = [*bare, *(key for keys in into.values() for key in keys)]
    return list(session.scalars(select(entity).where(among(entity.id, keys)).order_by(
        entity.id))), sorted(left)


def count(session: Session, plan: Plan) -> Counter[str]:
    """Return how many rows of each name go with a plan."""
    counts = Counter(observations=len(plan.rows), entities=len(plan.entities),
                     scene_objects=len(plan.objects), pictures=sum(
                         len(shown.image_ids) for shown in plan.files.values()))
    for name, table in _HANGING.items():
        counts[name] = session.scalar(select(func.count()).select_from(table).where(
            among(table.observation_id, plan.ids))) or 0
    for name, pairs in (('separations', schema.SeparationRow), ('verdicts', schema.VerdictRow)):
        counts[name] = session.scalar(select(func.count()).select_from(pairs).where(or_(
            among(pairs.first_id, plan.ids), among(pairs.second_id, plan.ids)))) or 0
    counts['documents'] = session.scalar(select(func.count()).select_from(
        schema.DocumentRow).where(_is_document(plan))) or 0
    return counts


def _is_document(plan: Plan) -> Any:
    row = schema.DocumentRow
    return and_(row.kind == 'observation', among(row.ref_id, plan.ids))


def _filled(store: MemoryStore, file: File, shown: ShownFile) -> FilledFile:
    """Write a picture with its boxes filled, beside the old one."""
    try:
        data = store.pictures.read(*file)
    except EmvError:  # missing or damaged: none can be shown any more, and none comes back
        data = b''
    filled = redact(data, file[1], sorted(shown.boxes, key=str), (shown.width, shown.height))
    return FilledFile(store.pictures.write(filled.data, file[1]), len(filled.data), filled.width,
                      filled.height)


def apply_plan(session: Session, plan: Plan, ready: Ready, reopen: Reopen) -> Counter[str]:
    """Let the observations of a plan go, and return how many rows of each name went.

    `ready` holds the filled pictures, see `fill`.
    """
    counts = count(session, plan)
    things = [(row.robot_id, row.id) for row in plan.rows]
    reopen(session, 'observation', plan.ids)
    counts['scenes_changed'], counts['relations'] = take_out(session, plan.objects, reopen)
    counts['texts_of_others'] = forget_mentions(session, plan.rows, plan.names, reopen)
    counts['picture_vectors'] = _rename_files(session, plan, ready)
    _give_up(session, plan)
    hand_over(session, plan.ids)
    member = schema.NodeMemberRow
    session.execute(delete(member).where(
        member.kind == 'observation', among(member.ref_id, plan.ids)))
    session.execute(delete(schema.DocumentRow).where(_is_document(plan)))
    # What hangs on them goes with them: looks, separations, verdicts, names, links to pictures.
    session.execute(delete(schema.ObservationRow).where(
        among(schema.ObservationRow.id, plan.ids)))
    session.execute(delete(schema.EntityRow).where(
        among(schema.EntityRow.id, [row.id for row in plan.entities])))
    session.expire_all()
    once = sorted(set(once_called(session, plan.names)) - set(plan.left))
    counts['renamed'] = rename_left(session, plan.left, plan.names) + rename_left(
        session, once, Names(plan.names.gone, plan.names.gone))
    for robot_id in {robot_id for robot_id, _ in things}:
        drop_stays(session, robot_id, {key for _, key in things}, telling(plan.names.gone))
    return counts


def _rename_files(session: Session, plan: Plan, ready: Ready) -> int:
    """Let rows of pictures name the filled ones, and note the files of old; return vectors gone."""
    image, vector = schema.ImageRow, schema.PictureEmbeddingRow
    old, ids = [], [key for shown in plan.files.values() for key in shown.image_ids]
    for file, shown in plan.files.items():
        new = ready[file, frozenset(shown.boxes)]
        if new.sha256 == file[0]:
            continue
        old.append(file)
        session.execute(update(image).where(
            image.sha256 == file[0], image.media_type == file[1]).values(
            sha256=new.sha256, size_bytes=new.size_bytes, width=new.width, height=new.height))
    gone: Any = session.execute(delete(vector).where(among(vector.image_id, ids)))
    note_files(session, old)
    return int(gone.rowcount)


def _give_up(session: Session, plan: Plan) -> None:
    """Note the files to be deleted that are gone by their rows: one may lie there, or come back."""
    if not plan.lost:
        return
    image = schema.ImageRow
    ids = [key for shown in plan.lost.values() for key in shown.image_ids]
    session.execute(update(image).where(
        among(image.id, ids), image.gone.in_((MISSING, DAMAGED))).values(gone=FORGOTTEN)
        .execution_options(synchronize_session=False))
    note_files(session, plan.lost)
