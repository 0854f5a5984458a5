"""Decides whose the observations of one lot are, and writes it, within one transaction.

What persons said counts first, then an instance that a source vouches for, then a box that stayed
put from the clip before, then looks. Two that were seen apart, or told apart, never become one: an
observation is held against all members of an entity there, not only against those that it is
compared with. One that comes late is compared with the latest known looks as all others are, and
takes its place among them by its time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.biography.carrying import carried
from emv_ros.biography.joining import EntityWriter
from emv_ros.biography.known import Key, Known
from emv_ros.biography.rules import Fit, Rules, best, mean_if_fit, thresholds_of
from emv_ros.biography.waiting import Seen, Vector, entities_of, instances_of
from emv_ros.memory import schema
from emv_ros.settings import BiographySettings

# Entities whose references are read for one observation, the likeliest first.
MOST_COMPARED = 256
# Means that lie nearer may be told apart by the way they were added up alone.
TIE = 1e-3

Holder = tuple[int, int]  # an observation and its entity


class Lot:
    """Observations that are decided in one transaction."""

    def __init__(self, session: Session, robot_id: int, rules: Rules, settings: BiographySettings,
                 default: tuple[float, float] | None, known: Known) -> None:
        self.entity_of: dict[int, int] = {}
        self.merged = 0
        self.writer = EntityWriter(session, robot_id)
        self._session = session
        self._robot_id = robot_id
        self._rules = rules
        self._settings = settings
        self._default = default
        self._known = known
        self._thresholds: dict[str, tuple[float, float]] = {}
        self._carried: dict[int, dict[int, int]] = {}
        self._partners: dict[int, int] = {}  # observations that tell of others: their entities
        self._waiting: dict[int, tuple[int, str]] = {}  # those without one yet: their instances
        self._vouched: dict[tuple[int, str], Holder | None] = {}  # by the last row of each instance
        self._instances: dict[int, set[tuple[int, str]]] = {}

    def decide(self, lot: Sequence[Seen]) -> None:
        """Give each observation its entity, and write all of it."""
        others = {key for seen in lot for key in seen.apart | seen.same | seen.different}
        self._partners = entities_of(self._session, others)
        self._waiting = instances_of(self._session, others - self._partners.keys())
        self._prepare(lot)
        for seen in lot:
            if not seen.is_evident and not self._carried_from(seen):
                continue
            entity_id = self._entity(seen)
            if entity_id is None:
                if not seen.is_evident:
                    continue
                entity_id = self.writer.make(seen)
            self._join(seen, entity_id)
        self._write(lot)

    # Which entity

    def _entity(self, seen: Seen) -> int | None:
        """Return the entity that an observation is of, None where it is a new one."""
        if self._rules.identity == 'none':
            return None
        if self._rules.identity == 'name':
            return self.writer.of_name(seen)
        told = self._decided(seen.same)
        if told:
            return self._merged(sorted(told))
        barred = (self._decided(seen.different) | self._decided(seen.apart)
                  | self._foreseen(seen.apart))
        vouched = self._entity_of_instance(seen.session_id, seen.instance)
        if vouched is not None and vouched not in barred:
            return vouched
        looks = self._looks_of(seen)
        return self._carried_on(seen, looks, barred) or self._by_looks(seen, looks, barred)

    def _decided(self, observation_ids: set[int]) -> set[int]:
        """Return the entities that observations have."""
        return {self._partners[key] for key in observation_ids if key in self._partners}

    def _foreseen(self, observation_ids: set[int]) -> set[int]:
        """Return the entities that observations will have, since their instance is known."""
        found = {self._entity_of_instance(*self._waiting[key])
                 for key in observation_ids if key in self._waiting and key not in self._partners}
        return {key for key in found if key is not None}

    def _merged(self, entity_ids: Sequence[int]) -> int:
        """Return the entity that persons' words make of several: the oldest takes the others in."""
        stays, *others = entity_ids
        if others:
            self.writer.take_over(stays, others)
            self.merged += len(others)
            gone = dict.fromkeys(others, stays)
            self._partners = {key: gone.get(at, at) for key, at in self._partners.items()}
            self.entity_of = {key: gone.get(at, at) for key, at in self.entity_of.items()}
            self._vouched.clear()
            self._instances.clear()
            self._known.renew(self._session, entity_ids)
        return stays

    def _entity_of_instance(self, session_id: int, instance: str) -> int | None:
        """Return the entity of an instance that a source named, None for none."""
        if not instance:
            return None
        holder = self._holder_of_instance(session_id, instance)
        return holder[1] if holder else None

    def _holder_of_instance(self, session_id: int, instance: str) -> Holder | None:
        key = self._scope(session_id), instance
        if key not in self._vouched:
            row = schema.ObservationRow
            query = select(row.id, row.entity_id).where(
                row.instance == instance, row.robot_id == self._robot_id,
                row.entity_id.is_not(None)).order_by(row.id.desc()).limit(1)
            if key[0]:
                query = query.where(row.session_id == session_id)
            found = self._session.execute(query).first()
            self._vouched[key] = (found[0], int(found[1] or 0)) if found else None
        return self._vouched[key]

    def _scope(self, session_id: int) -> int:
        return session_id if self._rules.instances == 'session' else 0

    def _is_other_instance(self, seen: Seen, entity_id: int) -> bool:
        """Whether an entity is another instance of the same session."""
        if not seen.instance:
            return False
        if entity_id not in self._instances:
            self._instances[entity_id] = {
                (self._scope(session_id), instance)
                for session_id, instance in self.writer.instances(entity_id)}
        scope = self._scope(seen.session_id)
        return any(at == scope and instance != seen.instance
                   for at, instance in self._instances[entity_id])

    def _carried_from(self, seen: Seen) -> int | None:
        """Return the observation of the clip before that stayed where this one is."""
        if seen.clip_id is None or not seen.has_box or self._rules.identity != 'looks':
            return None
        if seen.clip_id not in self._carried:
            self._carried[seen.clip_id] = carried(self._session, seen.clip_id, self._rules)
        return self._carried[seen.clip_id].get(seen.id)

    def _carried_on(self, seen: Seen, looks: tuple[Key, Vector] | None,
                    barred: set[int]) -> int | None:
        """Return the entity of the box that stayed put, if nothing speaks against it.

        Its looks need not match, but be consistent; where there are none, its name must be the
        same. It goes before better looks: of two like things side by side, each stays itself.
        """
        before = self._carried_from(seen)
        if before is None:
            return None
        entity_id = self.entity_of.get(before) or entities_of(
            self._session, [before]).get(before)
        if entity_id is None or entity_id in barred or self._is_other_instance(seen, entity_id):
            return None
        if looks is not None:
            (model, *_), vector = looks
            references = self._known.get(*looks[0])
            if entity_id in references:
                is_consistent = any((group @ vector).min() >= self._limits(model)[1]
                                    for group in references.groups(entity_id))
                return entity_id if is_consistent else None
        return entity_id if self.writer.has_name(entity_id, seen.name) else None

    def _by_looks(self, seen: Seen, looks: tuple[Key, Vector] | None,
                  barred: set[int]) -> int | None:
        if looks is None:
            return None
        key, vector = looks
        references = self._known.get(*key)
        limits, fits = self._limits(key[0]), list[Fit]()
        for likely in references.ranked(vector, *limits, MOST_COMPARED):
            if fits and likely.mean < fits[0].mean - TIE:
                break
            if likely.entity_id in barred:
                continue
            mean = mean_if_fit(references.at(likely.row) @ vector, *limits)
            if mean is not None and not self._is_other_instance(seen, likely.entity_id):
                fits.append(Fit(likely.entity_id, mean, references.last_ns(likely.entity_id)))
        won = best(fits)
        return won.entity_id if won else None

    def _prepare(self, lot: Sequence[Seen]) -> None:
        """Read at once what the lot is likely to be compared with."""
        if self._rules.identity != 'looks':
            return
        vectors = defaultdict[Key, list[Vector]](list)
        for seen in lot:
            if (looks := self._looks_of(seen)) is not None:
                vectors[looks[0]].append(looks[1])
        for key, of_key in vectors.items():
            self._known.get(*key).prepare(of_key, *self._limits(key[0]))

    def _looks_of(self, seen: Seen) -> tuple[Key, Vector] | None:
        """Return the looks by which an observation is compared: those that most others have."""
        keys = [((model, len(vector), seen.is_person), vector) for model, vector in seen.looks]
        return max(keys, key=lambda item: (len(self._known.get(*item[0])), item[0]),
                   default=None)

    def _limits(self, model: str) -> tuple[float, float]:
        if model not in self._thresholds:
            self._thresholds[model] = thresholds_of(
                self._session, model, self._settings, self._default)
        return self._thresholds[model]

    # What follows from it

    def _join(self, seen: Seen, entity_id: int) -> None:
        self.entity_of[seen.id] = self._partners[seen.id] = entity_id
        self.writer.join(seen, entity_id)
        if seen.instance:
            own = seen.id, entity_id
            # The same one as whoever decides them in other lots will find in the database.
            holder = self._holder_of_instance(seen.session_id, seen.instance) or own
            self._vouched[self._scope(seen.session_id), seen.instance] = max(holder, own)
            if entity_id in self._instances:
                self._instances[entity_id].add((self._scope(seen.session_id), seen.instance))
        if self._rules.identity == 'looks':
            for model, vector in seen.looks:
                self._known.get(model, len(vector), seen.is_person).add(
                    entity_id, seen.id, seen.stamp_ns, vector)

    def _write(self, lot: Sequence[Seen]) -> None:
        self.writer.write()
        self._known.settle(self._session, {
            *(('observation', key) for key in self.entity_of),
            *(('entity', key) for key in self.writer.made)})
        if told := {self.entity_of[seen.id] for seen in lot if seen.same}:
            self._known.renew(self._session, sorted(told))

