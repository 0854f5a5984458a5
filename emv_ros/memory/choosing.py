"""Which records a forgetting is about: by ids, time, robot, kind, speaker and words.

All that is given must fit. A record is taken as a whole where it lies in the window or crosses it.
A node stands for all records beneath it, with the pictures, joint samples and poses of its time; a
clip for its observations, its pictures and their scenes; an entity for its observations.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import String, cast, select
from sqlalchemy.orm import Session

from emv_ros.errors import NotFoundError, RecordError
from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.details import Reference
from emv_ros.memory.going import Going
from emv_ros.memory.queries import Window, within
from emv_ros.memory.said_words import Saying, squeezed
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ID_LETTERS

RECORDS = ('image', 'joint_sample', 'pose', 'utterance', 'skill_event', 'annotation', 'scene',
           'observation', 'clip', 'query')
RAW = ('image', 'joint_sample', 'pose')
# The columns of each kind in which words stand.
SAYING: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(RAW, ('extra',)),
    'utterance': ('speaker', 'text', 'extra'),
    'skill_event': ('skill', 'goal_stack', 'parameters', 'trigger', 'narration', 'source_id',
                    'parent_source_id', 'extra'),
    'annotation': ('kind', 'text', 'extra'),
    'scene': ('camera', 'extra'),
    'observation': ('name', 'instance', 'event', 'text', 'location', 'attributes', 'extra'),
    'query': ('question', 'answer', 'message', 'evidence', 'trace')}
# So many ids that name nothing are told of.
TOLD = 10
_RELATION = ('subject', 'predicate', 'object')
_OBJECT = ('name', 'instance', 'frame', 'state')
# Among what goes: observations that were asked for as such, so that no picture may show them;
# objects of scenes that say the words; texts that others made and that repeat the words.
NAMED, OBJECTS, REPEATING = '*named', '*object', '*repeating'


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What to forget. What is empty or None is no condition; one of all is needed.

    `start_ns`, `end_ns`: half-open, in UTC. `kinds` are of RECORDS. `speakers`: exact names, in
    upper or lower case; they choose utterances alone. `text`: what a record says somewhere, in
    upper or lower case.
    """

    references: tuple[Reference, ...] = ()
    robots: tuple[str, ...] = ()
    start_ns: int | None = None
    end_ns: int | None = None
    kinds: frozenset[str] = frozenset()
    speakers: tuple[str, ...] = ()
    text: str = ''

    @property
    def has_conditions(self) -> bool:
        """Whether there is any besides the ids."""
        return bool(self.robots or self.kinds or self.speakers or self.text) or not (
            self.start_ns is None and self.end_ns is None)

    def check(self) -> None:
        """Raise RecordError for one that says nothing, or that cannot be meant."""
        if not self.references and not self.has_conditions:
            raise RecordError('nothing says what is to be forgotten: ids, a time, a robot, a '
                              'kind, a speaker or words')
        if unknown := sorted(self.kinds - set(RECORDS)):
            raise RecordError(f'{unknown[0].replace("_", " ")!r} is no kind that can be chosen; '
                              f'these are: {", ".join(RECORDS)}; nodes and entities go by id')
        if self.speakers and self.kinds - {'utterance'}:
            raise RecordError('a speaker says utterances; no other kind has one')
        if None not in (self.start_ns, self.end_ns) and (self.start_ns or 0) > (self.end_ns or 0):
            raise RecordError('the end of the time lies before its start')
        if self.text and not self.text.strip():
            raise RecordError('the words to look for are blank')
        if blank := [name for name in self.speakers if not name.strip()]:
            raise RecordError(f'{blank[0]!r} is no name of a speaker')


def choose(store: MemoryStore, session: Session, choice: Choice, going: Going) -> set[int]:
    """Add what is chosen to what goes; return the entities that go with all they hold.

    Raises NotFoundError where an id or a robot names nothing, RecordError for no sound choice.
    """
    choice.check()
    known = set(store.robot_ids(session).values())
    if missing := sorted(set(choice.robots) - known):
        raise NotFoundError(f'this memory knows no robot {missing[0]!r}; it knows: '
                            f'{", ".join(sorted(known)) or "none"}')
    entities: set[int] = set()
    if choice.references:
        entities = _add_references(session, choice.references, going)
        if not choice.has_conditions:
            return entities
        for key in entities:
            _add_held(session, key, going)
    chooser = _Chooser(store, session, choice, going)
    for kind in RECORDS:
        chooser.take(kind)
    return set()


def _add_references(session: Session, references: Collection[Reference],
                    going: Going) -> set[int]:
    """Add what ids stand for; return the entities among them."""
    by_kind: dict[str, set[int]] = {}
    for kind, key in references:
        by_kind.setdefault(kind, set()).add(key)
    for kind, keys in by_kind.items():
        row = schema.KINDS[kind]
        there = set(session.scalars(select(row.id).where(among(row.id, sorted(keys)))))
        if gone := sorted(keys - there):
            told = ', '.join(f'{ID_LETTERS[kind]}{key}' for key in gone[:TOLD])
            told += f' and {len(gone) - TOLD:,} more' if len(gone) > TOLD else ''
            raise NotFoundError(f'there is no {kind.replace("_", " ")} {told}')
    for key in sorted(by_kind.pop('node', ())):
        _add_below(session, key, going)
    for key in sorted(by_kind.get('clip', ())):
        _add_clip(session, key, going)
    entities = by_kind.pop('entity', set())
    for kind, keys in by_kind.items():
        going.add(kind, keys)
    going.add(NAMED, by_kind.get('observation', ()))
    return entities


def _add_held(session: Session, entity_id: int, going: Going) -> None:
    row = schema.ObservationRow
    for kind in ('observation', NAMED):
        going.add_from(kind, select(row.id).where(row.entity_id == entity_id))


def _add_below(session: Session, node_id: int, going: Going) -> None:
    """Add the records beneath a node, and what was recorded without words in its time."""
    node, member = schema.NodeRow, schema.NodeMemberRow
    top = session.get_one(node, node_id)
    waiting = [node_id]
    while waiting:
        for kind in session.scalars(select(member.kind).where(
                among(member.node_id, waiting)).distinct()).all():
            going.add_from(kind, select(member.ref_id).where(
                member.kind == kind, among(member.node_id, waiting)))
        waiting = list(session.scalars(select(node.id).where(among(node.parent_id, waiting))))
    for kind in RAW:
        row = schema.KINDS[kind]
        going.add_from(kind, select(row.id).where(
            row.robot_id == top.robot_id, row.stamp_ns >= top.start_ns,
            row.stamp_ns < max(top.end_ns, top.start_ns + 1)))


def _add_clip(session: Session, clip_id: int, going: Going) -> None:
    clip = session.get_one(schema.ClipRow, clip_id)
    seen = schema.ObservationRow
    going.add_from('observation', select(seen.id).where(seen.clip_id == clip_id))
    for kind in ('image', 'scene'):
        row: Any = schema.KINDS[kind]
        going.add_from(kind, select(row.id).where(
            row.robot_id == clip.robot_id, row.camera == clip.camera,
            row.stamp_ns >= clip.start_ns, row.stamp_ns < max(clip.end_ns, clip.start_ns + 1)))


class _Chooser:
    """Takes the rows of a kind that fit all conditions; with ids only from among them."""

    def __init__(self, store: MemoryStore, session: Session, choice: Choice,
                 going: Going) -> None:
        self._store = store
        self._session = session
        self._choice = choice
        self._going = going
        self._saying = Saying(choice.text) if choice.text else None
        self._speakers = self._speakers_called()

    def _speakers_called(self) -> list[str]:
        wanted = {squeezed(name) for name in self._choice.speakers}
        row = schema.UtteranceRow
        return [name for name in self._session.scalars(select(row.speaker).distinct())
                if squeezed(name) in wanted] if wanted else []

    def take(self, kind: str) -> None:
        """Take the rows of a kind."""
        choice, given = self._choice, bool(self._choice.references)
        if (choice.kinds and kind not in choice.kinds) or (
                choice.speakers and kind != 'utterance') or (
                self._saying is not None and kind not in SAYING):
            self._going.take_out(kind)
            return
        query = self._fitting(kind)
        if given:
            query = query.where(schema.KINDS[kind].id.in_(self._going.ids(kind)))
        if self._saying is not None or (kind == 'query' and choice.robots):
            found = self._sifted(kind, query)
            if given:
                self._going.take_out(kind)
            self._going.add(kind, found)
        elif given:
            self._going.keep(kind, query)
        else:
            self._going.add_from(kind, query)
        if kind == 'observation' and given:
            self._going.keep(NAMED, self._going.ids(kind))

    def _fitting(self, kind: str) -> Any:
        row, choice = schema.KINDS[kind], self._choice
        query = select(row.id)
        if kind == 'query':
            if choice.start_ns is not None:
                query = query.where(row.stamp_ns >= choice.start_ns)
            return query if choice.end_ns is None else query.where(row.stamp_ns < choice.end_ns)
        if kind == 'clip':  # no record of its own: one that crosses the window holds others still
            if choice.robots:
                query = query.where(row.robot_id.in_(
                    list(self._store.robot_ids(self._session, choice.robots))))
            if choice.start_ns is not None:
                query = query.where(row.start_ns >= choice.start_ns)
            return query if choice.end_ns is None else query.where(row.end_ns <= choice.end_ns)
        if kind == 'utterance' and choice.speakers:
            query = query.where(row.speaker.in_(self._speakers))
        return within(self._store, self._session, query, row, Window(
            robots=choice.robots, start_ns=choice.start_ns, end_ns=choice.end_ns))

    def _sifted(self, kind: str, query: Any) -> list[int]:
        """Return of the rows of a query those that say the words, or that ask of the robots."""
        if kind == 'scene':
            return self._scenes(query)
        row, saying, found = schema.KINDS[kind], self._saying, list[int]()
        repeating: list[int] = []
        names = SAYING[kind]
        whole = select(row).where(row.id.in_(query))
        if kind in RAW:  # of these there are many, and few say anything
            whole = whole.where(cast(row.extra, String) != '{}')
        if saying is not None:
            whole = whole.where(saying.may_stand_in(*(getattr(row, name) for name in names)))
        for item in self._session.scalars(whole.execution_options(yield_per=200)):
            if saying is not None and not saying(*(getattr(item, name) for name in names)):
                continue
            if kind == 'query' and self._choice.robots and not set(
                    item.robots) & set(self._choice.robots):
                continue
            if kind == 'observation' and saying is not None and item.made_by != 'source' and (
                    not saying(item.name, item.instance)):
                repeating.append(item.id)  # made of others' words, and made anew without them
                continue
            found.append(item.id)
        self._going.add(REPEATING, repeating)
        if kind == 'observation':
            self._going.add(NAMED, found)
        return found

    def _scenes(self, query: Any) -> list[int]:
        """Note the objects that say the words; return the scenes that say them otherwise."""
        saying = self._saying
        assert saying is not None
        part, relation, scene = schema.SceneObjectRow, schema.SceneRelationRow, schema.SceneRow
        found: set[int] = set()
        told: dict[int, set[str]] = {}
        for item in self._session.execute(select(
                part.id, part.scene_id, *(getattr(part, name) for name in _OBJECT)).where(
                part.scene_id.in_(query), saying.may_stand_in(
                    *(getattr(part, name) for name in _OBJECT)))).all():
            if saying(item.name, item.instance, item.frame, item.state):
                self._going.add(OBJECTS, [item.id])
                told.setdefault(item.scene_id, set()).update((item.name, item.instance))
        for link in self._session.execute(select(
                relation.scene_id, *(getattr(relation, name) for name in _RELATION)).where(
                relation.scene_id.in_(query), saying.may_stand_in(
                    *(getattr(relation, name) for name in _RELATION)))):
            ends = {link.subject, link.object} - told.get(link.scene_id, set())
            if saying(link.predicate, *ends):
                found.add(link.scene_id)
        for row in self._session.scalars(select(scene).where(
                scene.id.in_(query), saying.may_stand_in(scene.camera, scene.extra))):
            if saying(row.camera, row.extra):
                found.add(row.id)
        return sorted(found)
