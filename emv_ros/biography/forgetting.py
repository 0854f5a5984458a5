"""Observations and whole entities forgotten: their rows, their words elsewhere, their pixels.

All rows change in one transaction: what was observed, how it looked, what it was seen apart from,
what persons said of it; the objects and relations of scenes that are it; texts of others that name
it; questions that were answered by it. In every stored picture that shows it its box is filled, the
picture gets a new name, and its vectors go. New pictures are written before the rows that name
them; the old ones are noted in the same transaction and deleted after it, so that a crash leaves a
note and no pixels: the next forgetting, or `clear_files`, goes on from there. What is left of an
entity without observations goes too, with the ids that were merged into it. The account of it tells
numbers, never words.

What the tree says and what search keeps in files is theirs to take back: see the parameters, and
whoever calls this. It does not reach what a source said in other records: speech, parameters of
skills, observations of other things.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, delete, func, or_, select, update
from sqlalchemy.orm import Session

from emv_ros.biography.holding import held, noted
from emv_ros.biography.mentions import (
    Names,
    forget_mentions,
    forget_questions,
    names_of,
    once_called,
    rename_left,
    telling,
)
from emv_ros.biography.scene_parts import objects_called, objects_showing, take_out
from emv_ros.biography.shown_in import File, ShownFile, files_showing
from emv_ros.biography.verdicts import hand_over
from emv_ros.errors import EmvError, NotFoundError, StoreError
from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.entities import merged_ids, standing
from emv_ros.memory.gone_pictures import is_needed
from emv_ros.memory.redaction import redact
from emv_ros.memory.stay_state import drop_stays
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ID_LETTERS

Reopen = Callable[[Session, str, Iterable[int]], None]
Scrub = Callable[[Session], None]

OLD_FILES = 'forgetting:files'
# So often a picture that changes meanwhile is prepared again.
ATTEMPTS = 5
_HANGING: dict[str, Any] = {
    'appearances': schema.AppearanceRow, 'pictures_of_it': schema.ObservationImageRow,
    'namings': schema.NamingRow}


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What went, or with `is_preview` would go: numbers by kind, and the robots whose life it was.

    `numbers` has 'observations', 'entities', 'scene_objects', 'pictures' (that were filled), and
    more; what is 0 is left out. `note` says what could not be done yet.
    """

    numbers: Mapping[str, int]
    robots: tuple[str, ...]
    is_preview: bool
    note: str = ''


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to go, as the memory stands."""

    rows: Sequence[Any]
    entities: Sequence[Any]  # that keep no observation, with those that were merged into them
    left: Sequence[int]  # entities that keep some
    names: Names
    objects: Sequence[int]
    files: Mapping[File, ShownFile]

    @property
    def ids(self) -> list[int]:
        """The ids of the observations."""
        return [row.id for row in self.rows]


def forget_observations(store: MemoryStore, ids: Collection[int], *, author: str, reason: str,
                        stamp_ns: int, reopen: Reopen, scrub: Scrub,
                        dry_run: bool = False) -> Forgotten:
    """Forget observations.

    reopen: called as `tree.reopening.reopen` before records of a kind change or go.
    scrub: called as `tree.reopening.scrub` after all are gone.
    dry_run: change nothing, and tell what would go.

    Raises NotFoundError where an id names none, and then nothing is forgotten; StoreError.
    """
    wanted = sorted(set(ids))

    def find(session: Session) -> tuple[Sequence[Any], bool]:
        row = schema.ObservationRow
        rows = session.scalars(select(row).where(among(row.id, wanted)).order_by(row.id)).all()
        if missing := sorted(set(wanted) - {item.id for item in rows}):
            raise NotFoundError(_there_is_no('observation', missing))
        return rows, False

    return _forget(store, find, author, reason, stamp_ns, reopen, scrub, dry_run)


def forget_entity(store: MemoryStore, entity_id: int, *, author: str, reason: str, stamp_ns: int,
                  reopen: Reopen, scrub: Scrub, dry_run: bool = False) -> Forgotten:
    """Forget an entity with all its observations, see `forget_observations`.

    An id that was merged away names the entity that it went into. What scenes show under its names
    without an observation goes too, where nothing else is called so.
    """
    def find(session: Session) -> tuple[Sequence[Any], bool]:
        key = standing(session, [entity_id]).get(entity_id)
        row = schema.ObservationRow
        rows = [] if key is None else session.scalars(select(row).where(
            among(row.id, held(session, [key])[key])).order_by(row.id)).all()
        if not rows:
            raise NotFoundError(_there_is_no('entity', [entity_id]) + ' with observations')
        return rows, True

    return _forget(store, find, author, reason, stamp_ns, reopen, scrub, dry_run)


def clear_files(store: MemoryStore) -> int:
    """Delete the files of pictures that were filled and that no row names; return how many."""
    with store.reading() as session:
        if session.get(schema.StateRow, OLD_FILES) is None:
            return 0
    gone = 0
    with store.writing() as session:
        note = session.get(schema.StateRow, OLD_FILES)
        for sha256, media_type in note.value['files'] if note else ():
            if not is_needed(session, sha256, media_type):
                store.pictures.delete(sha256, media_type)
                gone += 1
        if note is not None:
            session.delete(note)
    return gone


Find = Callable[[Session], tuple[Sequence[Any], bool]]


def _forget(store: MemoryStore, find: Find, author: str, reason: str, stamp_ns: int,
            reopen: Reopen, scrub: Scrub, dry_run: bool) -> Forgotten:
    if not dry_run:
        clear_files(store)
    with store.reading() as session:
        plan = _plan(session, find)
        if dry_run:
            return _forgotten(store, session, plan, _counts(session, plan), is_preview=True)
    ready: dict[tuple[File, frozenset[Any]], _NewFile] = {}
    for _ in range(ATTEMPTS):
        for file, shown in plan.files.items():
            key = file, frozenset(shown.boxes)
            if key not in ready:
                ready[key] = _filled(store, file, shown)
        with store.writing() as session:
            plan = _plan(session, find)
            if all((file, frozenset(shown.boxes)) in ready for file, shown in plan.files.items()):
                done = _apply(store, session, plan, ready, reopen, scrub)
                session.add(schema.AuditRow(stamp_ns=stamp_ns, author=author, reason=reason,
                                            counts=dict(done.numbers)))
                break
    else:
        raise StoreError('pictures of what is to be forgotten keep coming: try again')
    clear_files(store)
    return done


def _plan(session: Session, find: Find) -> _Plan:
    rows, is_whole = find(session)
    ids = [row.id for row in rows]
    gone, left = _entities(session, rows)
    names = names_of(session, rows, gone)
    objects = objects_showing(session, rows, is_whole)
    if is_whole:
        objects |= objects_called(session, {row.robot_id for row in rows}, names.gone)
    return _Plan(rows, gone, left, names, sorted(objects),
                 files_showing(session, ids, sorted(objects)))


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


def _counts(session: Session, plan: _Plan) -> Counter[str]:
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


def _is_document(plan: _Plan) -> Any:
    row = schema.DocumentRow
    return and_(row.kind == 'observation', among(row.ref_id, plan.ids))


@dataclass(frozen=True, slots=True)
class _NewFile:
    sha256: str
    size_bytes: int
    width: int
    height: int


def _filled(store: MemoryStore, file: File, shown: ShownFile) -> _NewFile:
    """Write a picture with its boxes filled, beside the old one."""
    try:
        data = store.pictures.read(*file)
    except EmvError:  # missing or damaged: none can be shown any more, and none comes back
        data = b''
    filled = redact(data, file[1], sorted(shown.boxes, key=str), (shown.width, shown.height))
    return _NewFile(store.pictures.write(filled.data, file[1]), len(filled.data), filled.width,
                    filled.height)


def _apply(store: MemoryStore, session: Session, plan: _Plan,
           ready: Mapping[tuple[File, frozenset[Any]], _NewFile], reopen: Reopen,
           scrub: Scrub) -> Forgotten:
    counts = _counts(session, plan)
    done = _forgotten(store, session, plan, counts, is_preview=False)
    things = [(row.robot_id, row.id) for row in plan.rows]
    reopen(session, 'observation', plan.ids)
    counts['scenes'], counts['relations'] = take_out(session, plan.objects, reopen)
    counts['texts_of_others'] = forget_mentions(session, plan.rows, plan.names, reopen)
    counts['questions'] = forget_questions(session, [
        *(f'{ID_LETTERS["observation"]}{key}' for key in plan.ids),
        *(f'{ID_LETTERS["entity"]}{row.id}' for row in plan.entities)], plan.names)
    counts['picture_vectors'] = _rename_files(session, plan, ready)
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
    scrub(session)
    return Forgotten(numbers=_told(counts), robots=done.robots, is_preview=False)


def _rename_files(session: Session, plan: _Plan,
                  ready: Mapping[tuple[File, frozenset[Any]], _NewFile]) -> int:
    """Let rows of pictures name the filled ones, and note the files of old; return vectors gone."""
    image, vector = schema.ImageRow, schema.PictureEmbeddingRow
    old, ids = [], [key for shown in plan.files.values() for key in shown.image_ids]
    for file, shown in plan.files.items():
        new = ready[file, frozenset(shown.boxes)]
        if new.sha256 == file[0]:
            continue
        old.append(list(file))
        session.execute(update(image).where(
            image.sha256 == file[0], image.media_type == file[1]).values(
            sha256=new.sha256, size_bytes=new.size_bytes, width=new.width, height=new.height))
    gone: Any = session.execute(delete(vector).where(among(vector.image_id, ids)))
    if old:
        note = session.get(schema.StateRow, OLD_FILES)
        known = note.value['files'] if note else []
        session.merge(schema.StateRow(key=OLD_FILES, value={'files': [*known, *old]}))
    return int(gone.rowcount)


def _forgotten(store: MemoryStore, session: Session, plan: _Plan, counts: Counter[str],
               is_preview: bool) -> Forgotten:
    robots = store.robot_ids(session)
    return Forgotten(numbers=_told(counts), is_preview=is_preview, robots=tuple(
        sorted({robots[row.robot_id] for row in plan.rows})))


def _told(counts: Counter[str]) -> dict[str, int]:
    return {name: number for name, number in counts.items() if number}


def _there_is_no(kind: str, keys: Sequence[int]) -> str:
    letter = ID_LETTERS[kind]
    return f'there is no {kind} {", ".join(f"{letter}{key}" for key in keys)}'
