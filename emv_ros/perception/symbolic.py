"""Observations from scenes whose source vouches for identities: no picture is needed.

Sightings of one instance in one session become observations [first, last], one for each stay at a
place, see `stays`; a pause longer than `tree.event_gap_s`, which ends an event of scenes too, ends
one. They are made by rule, say where the thing was and which states it had, and tell of no event.

- **Incremental**: scenes are read once, in order of their ids, and those read together in order of
  time. The mark and what is going on lie in `state`, committed with the observations of each lot,
  so that a crash repeats a lot and doubles nothing. An observation that goes on is lengthened.
- **Late** scenes, older than what is known of an instance already, cut nothing: where observations
  of the instance lie around them they tell nothing new, else they make observations of their own.
- **Told already**: sightings within, or a few seconds beside, an observation of the same instance
  that came from the source or from pictures are left out, and boxes in scenes that lie among
  pictures stored at such very stamps are left to perception.
- Positions count in frames that stand still; one named after a camera, a link or a tool moves with
  the robot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
import threading
from typing import Any

from sqlalchemy import String, and_, cast, func, select
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.adding import add_records, renew_documents
from emv_ros.memory.among import among
from emv_ros.memory.imports import check_whole
from emv_ros.memory.stay_state import key_of
from emv_ros.memory.store import MemoryStore
from emv_ros.perception.detections import PERSON
from emv_ros.perception.looked_at import looked_at
from emv_ros.perception.stays import Follower, Place, Stay, packed, unpacked
from emv_ros.records import Observation
from emv_ros.settings import Settings
from emv_ros.timeline import HOUR_NS, SECOND_NS

LOT = 1000  # scenes in one transaction
# What a source observed for longer than this is not looked for.
LONGEST_NS = 24 * HOUR_NS
# Relations that say where a thing is, the most telling first.
PLACES = ('held by', 'in', 'inside', 'inside of', 'on', 'on top of', 'under', 'below', 'at')
PERSONS = frozenset((PERSON, 'human'))
# Words in the names of frames that move with the robot.
MOVING_FRAMES = ('base', 'body', 'camera', 'gripper', 'hand', 'head', 'link', 'optical', 'tool')
MADE_BY = 'rule'

Key = tuple[int, str]  # session and instance


@dataclass(slots=True)
class SymbolicReport:
    """What a pass did: `extended` observations went on, `told` sightings were told already."""

    scenes: int = 0
    sightings: int = 0
    observations: int = 0
    extended: int = 0
    told: int = 0
    late: int = 0
    canceled: bool = False


@dataclass(slots=True)
class _Sighting:
    stamp_ns: int
    key: Key
    name: str
    place: Place
    state: str


@dataclass(slots=True)
class _Lot:
    """Scenes that are read together: the sightings in them, in order of time."""

    last_id: int
    sightings: list[_Sighting] = field(default_factory=list)
    scenes: int = 0
    told: int = 0


def observe_scenes(store: MemoryStore, settings: Settings, robot: str,
                   cancel: threading.Event | None = None,
                   finish: bool = False) -> SymbolicReport:
    """Make observations of what the new scenes of a robot show by instance.

    With `finish` nothing is thought to go on: also what was seen at a new place only once, at the
    very end, is told. Raises StoreError; what was committed before stays.
    """
    check_whole(store)
    report = SymbolicReport()
    with store.reading() as session:
        found = store.robot_ids(session, [robot] if robot else [])
    for robot_id, name in found.items() if robot else ():
        observer = _Observer(store, settings, robot_id, name, report)
        while not (cancel is not None and cancel.is_set()) and observer.step():
            pass
        report.canceled = cancel is not None and cancel.is_set()
        if finish and not report.canceled:
            observer.finish()
    return report


class _Observer:
    """Works through the scenes of one robot, a lot at a time."""

    def __init__(self, store: MemoryStore, settings: Settings, robot_id: int, robot: str,
                 report: SymbolicReport) -> None:
        self._store = store
        self._robot_id = robot_id
        self._robot = robot
        self._report = report
        self._gap_ns = round(settings.tree.event_gap_s * SECOND_NS)
        self._beside_ns = round(settings.perception.clip_gap_s * SECOND_NS)
        self._visible_ns = round(settings.perception.min_visible_s * SECOND_NS)
        self._key = key_of(robot_id)

    def step(self) -> bool:
        """Take the next lot; False where there is none, or another process takes them."""
        with self._store.reading() as session:
            state = _state(session, self._key)
            lot = self._read(session, int(state.get('scene', 0)))
        if lot is None:
            return False
        with self._store.writing() as session:
            if _state(session, self._key) != state:
                return False
            self._take(session, lot, state)
        return True

    def finish(self) -> None:
        """Let all that is going on be over."""
        with self._store.writing() as session:
            state = _state(session, self._key)
            if not state.get('open'):
                return
            writing = _Writing(self._store, session, self._robot_id, self._robot)
            for key, follower in self._followers(state, writing).items():
                writing.follow(key, follower)
                follower.end()
            writing.commit(self._report)
            self._keep(session, int(state['scene']), {})

    def _take(self, session: Session, lot: _Lot, state: Mapping[str, Any]) -> None:
        writing = _Writing(self._store, session, self._robot_id, self._robot)
        followers = self._followers(state, writing)
        late: dict[Key, Follower] = {}
        told = self._told(session, lot)
        for seen in lot.sightings:
            self._report.sightings += 1
            if any(first <= seen.stamp_ns <= last for first, last in told.get(seen.key, ())):
                lot.told += 1
                if (going := followers.get(seen.key)) is not None:
                    writing.follow(seen.key, going)
                    going.end()
                continue
            follower = followers.get(seen.key)
            if follower is None:
                follower = followers[seen.key] = Follower(seen.name, writing.over)
            elif seen.stamp_ns < follower.last_ns:
                self._report.late += 1
                follower = late.setdefault(seen.key, Follower(seen.name, writing.over_late))
            writing.follow(seen.key, follower)
            if follower.now is not None and seen.stamp_ns - follower.last_ns > self._gap_ns:
                follower.end()
                follower.name = seen.name
            follower.see(seen.stamp_ns, seen.place, seen.state)
        for key, follower in late.items():
            writing.follow(key, follower)
            follower.end()
        self._settle(followers, writing)
        writing.commit(self._report, self._gap_ns)
        self._report.scenes += lot.scenes
        self._report.told += lot.told
        self._keep(session, lot.last_id, followers)

    def _settle(self, followers: Mapping[Key, Follower], writing: _Writing) -> None:
        """End what has paused for long, and take what goes on as it stands."""
        newest: dict[int, int] = {}
        for (session_id, _), follower in followers.items():
            newest[session_id] = max(follower.last_ns, newest.get(session_id, -1))
        for key, follower in followers.items():
            if follower.now is None:
                continue
            writing.follow(key, follower)
            if newest[key[0]] - follower.last_ns > self._gap_ns:
                follower.end()
            else:
                writing.over(follower.now)

    def _followers(self, state: Mapping[str, Any], writing: _Writing) -> dict[Key, Follower]:
        return {(session_id, instance): unpacked(value, writing.over)
                for session_id, instance, value in state.get('open', ())}

    def _keep(self, session: Session, scene_id: int, followers: Mapping[Key, Follower]) -> None:
        going = [[*key, packed(follower)] for key, follower in followers.items()
                 if follower.now is not None]
        session.merge(schema.StateRow(key=self._key, value={'scene': scene_id, 'open': going}))

    def _read(self, session: Session, after: int) -> _Lot | None:
        row = schema.SceneRow
        # By id alone: an index of the robot would be taken else, and all of its life read.
        rows = session.execute(
            select(row.id, row.robot_id, row.session_id, row.stamp_ns, row.camera).where(
                row.id > after).order_by(row.id).limit(LOT)).all()
        if not rows:
            return None
        scenes = {item.id: item for item in rows if item.robot_id == self._robot_id}
        ids = list(scenes)
        objects = self._objects(session, ids)
        lot = _Lot(rows[-1].id, scenes=len(ids))
        if not objects:
            return lot
        relations = _relations(session, [key for key in ids if key in objects])
        spans = looked_at(session, ids, (min(item.stamp_ns for item in rows), max(
            item.stamp_ns for item in rows)), self._beside_ns, self._visible_ns)
        for scene in sorted(scenes.values(), key=lambda item: (item.stamp_ns, item.id)):
            self._see(scene, objects.get(scene.id, ()), relations.get(scene.id, {}),
                      any(first <= scene.stamp_ns <= last for first, last in spans.get(
                          (scene.session_id, scene.camera), ())), lot)
        return lot

    def _see(self, scene: Any, objects: Sequence[Any], relations: dict[str, list[tuple[str, str]]],
             is_looked_at: bool, lot: _Lot) -> None:
        """Add what one scene shows to the lot."""
        named = {item.instance: item.name for item in objects if item.instance}
        counts: dict[str, int] = {}
        for item in objects:
            counts[item.name] = counts.get(item.name, 0) + 1
        for item in objects:
            if not item.instance:
                continue
            if item.observation_id is not None or (is_looked_at and item.has_box):
                lot.told += 1
                continue
            told = relations.get(item.instance)
            if told is None and counts[item.name] == 1:
                told = relations.get(item.name)
            relation = _relation_of(told or ())
            target = '' if relation is None else named.get(relation[1], relation[1])
            at = item.place if item.place and item.place != 'null' and _still(item.frame) else None
            place = Place(relation, f'{relation[0]} {target}' if relation else '', at,
                          item.frame if at else '')
            lot.sightings.append(_Sighting(
                scene.stamp_ns, (scene.session_id, item.instance), item.name, place, item.state))

    def _objects(self, session: Session, ids: Sequence[int]) -> dict[int, list[Any]]:
        row = schema.SceneObjectRow
        # As text: most positions are not needed, and need not be decoded.
        query = select(row.scene_id, row.name, row.instance, cast(row.position, String).label(
            'place'), row.frame, row.state, row.observation_id,
            and_(row.bbox.is_not(None), cast(row.bbox, String) != 'null').label('has_box')).where(
            among(row.scene_id, ids)).order_by(row.id)
        found: dict[int, list[Any]] = {}
        for item in session.execute(query):
            found.setdefault(item.scene_id, []).append(item)
        return {key: items for key, items in found.items()
                if any(item.instance for item in items)}

    def _told(self, session: Session, lot: _Lot) -> dict[Key, list[tuple[int, int]]]:
        """Return when instances are told of by others, a little wider than that."""
        row = schema.ObservationRow
        keys = {seen.key for seen in lot.sightings}
        if not keys:
            return {}
        first = min(seen.stamp_ns for seen in lot.sightings) - self._beside_ns
        last = max(seen.stamp_ns for seen in lot.sightings) + self._beside_ns
        found: dict[Key, list[tuple[int, int]]] = {}
        for item in session.execute(
                select(row.session_id, row.instance, row.stamp_ns, row.end_ns).where(
                    row.robot_id == self._robot_id, row.instance != '',
                    row.stamp_ns.between(first - LONGEST_NS, last), row.end_ns >= first,
                    among(row.session_id, sorted({key[0] for key in keys})),
                    ~and_(row.made_by == MADE_BY, row.clip_id.is_(None)))):
            if (item.session_id, item.instance) in keys:
                found.setdefault((item.session_id, item.instance), []).append(
                    (item.stamp_ns - self._beside_ns, item.end_ns + self._beside_ns))
        return found


class _Writing:
    """The observations that a lot makes or lengthens, within its transaction."""

    def __init__(self, store: MemoryStore, session: Session, robot_id: int, robot: str) -> None:
        self._store = store
        self._session = session
        self._robot_id = robot_id
        self._robot = robot
        self._key: Key = (0, '')
        self._name = ''
        self._new: list[tuple[Key, str, Stay]] = []
        self._late: list[tuple[Key, str, Stay]] = []
        self._known: list[tuple[Key, str, Stay]] = []

    def follow(self, key: Key, follower: Follower) -> None:
        """Note of what the stays are that come next."""
        self._key, self._name = key, follower.name

    def over(self, stay: Stay) -> None:
        """Take a stay that is over, or as it stands."""
        (self._new if stay.row_id is None else self._known).append((self._key, self._name, stay))

    def over_late(self, stay: Stay) -> None:
        """Take a stay that is over, of scenes that came late."""
        self._late.append((self._key, self._name, stay))

    def commit(self, report: SymbolicReport, gap_ns: int = 0) -> None:
        """Write all; what was lengthened and is gone meanwhile begins anew."""
        self._lengthen(report)
        self._new += [(key, name, stay) for key, name, stay in self._late
                      if not self._is_covered(key, stay, gap_ns)]
        records = [self._observation(*item) for item in self._new]
        ids = add_records(self._session, records, lambda _, record: (
            self._robot_id, int(record.session_id or 0)))
        for (_, _, stay), ref_id in zip(self._new, ids, strict=True):
            stay.row_id = ref_id
        report.observations += len(ids)

    def _lengthen(self, report: SymbolicReport) -> None:
        row = schema.ObservationRow
        stays = {stay.row_id: (key, name, stay) for key, name, stay in self._known}
        found = {item.id: item for item in self._session.scalars(
            select(row).where(among(row.id, [key for key in stays if key is not None])))}
        changed = []
        for row_id, (key, name, stay) in stays.items():
            known = found.get(row_id or 0)
            if known is None:  # forgotten: what was told of it stays so
                if stay.since_ns is not None:
                    stay.first_ns, stay.row_id = stay.since_ns, None
                    self._new.append((key, name, stay))
                continue
            told = self._observation(key, name, stay)
            values = (told.end_ns, told.location, dict(told.attributes))
            if values != (known.end_ns, known.location, known.attributes):
                known.end_ns = max(known.end_ns, told.end_ns)
                known.location, known.attributes = told.location, dict(told.attributes)
                changed.append(known)
        self._session.flush()
        renew_documents(self._session, 'observation', changed)
        report.extended += len(changed)

    def _is_covered(self, key: Key, stay: Stay, gap_ns: int) -> bool:
        row = schema.ObservationRow
        return self._session.scalar(select(row.id).where(
            row.robot_id == self._robot_id, row.session_id == key[0], row.instance == key[1],
            row.stamp_ns <= stay.last_ns + gap_ns,
            func.coalesce(row.end_ns, row.stamp_ns) >= stay.first_ns - gap_ns).limit(1)) is not None

    def _observation(self, key: Key, name: str, stay: Stay) -> Observation:
        attributes: dict[str, Any] = {}
        if stay.states:
            attributes['state'] = stay.states[-1]
        if len(stay.states) > 1:
            attributes['states before'] = stay.states[:-1]
        return Observation(
            stamp_ns=stay.first_ns, end_ns=stay.last_ns, robot=self._robot, session_id=key[0],
            name=name, instance=key[1], location=stay.place.words, attributes=attributes,
            is_person=name.lower() in PERSONS, made_by=MADE_BY)


def _state(session: Session, key: str) -> dict[str, Any]:
    row = session.get(schema.StateRow, key)
    return dict(row.value) if row else {}


def _relations(session: Session,
               ids: Sequence[int]) -> dict[int, dict[str, list[tuple[str, str]]]]:
    """Return what each subject of each scene is related to, for relations that tell a place."""
    row = schema.SceneRelationRow
    found: dict[int, dict[str, list[tuple[str, str]]]] = {}
    plain: dict[str, str] = {}
    for scene_id, subject, predicate, target in session.execute(
            select(row.scene_id, row.subject, row.predicate, row.object).where(
                among(row.scene_id, ids)).order_by(row.id)):
        if predicate not in plain:
            plain[predicate] = ' '.join(predicate.lower().replace('_', ' ').split())
        if plain[predicate] in PLACES and target:
            found.setdefault(scene_id, {}).setdefault(subject, []).append(
                (plain[predicate], target))
    return found


def _relation_of(told: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    if len(told) < 2:
        return told[0] if told else None
    return min(told, key=lambda item: (PLACES.index(item[0]), item[1]))


@lru_cache(maxsize=256)
def _still(frame: str) -> bool:
    """Whether a frame stands still, as far as its name tells."""
    return not any(word in frame.lower() for word in MOVING_FRAMES)
