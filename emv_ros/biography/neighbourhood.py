"""Entities that may be told apart anew, as units that stay whole and what keeps these apart.

What persons told to be the same, one instance that a source vouches for, and a box that stayed put
are one unit. Of an entity with many observations the settled ones are one, too, of which some that
lie spread over its life stand for its looks. Two units are barred that hold two which were seen
apart or told apart, two instances of one session, or what persons gave different names. Whether
looks join units is decided elsewhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.biography.carrying import carried
from emv_ros.biography.grouping import Flags, Groups, group
from emv_ros.biography.known import Key
from emv_ros.biography.rules import Rules
from emv_ros.biography.stored_looks import OF_ENTITIES, looks_by
from emv_ros.biography.waiting import Seen, read_evidence
from emv_ros.memory import schema
from emv_ros.memory.among import among
from emv_ros.memory.entities import NAMED_BY
from emv_ros.timeline import local_date

# Observations whose looks stand for a neighbourhood at most, and all that its entities may hold.
MOST_LOOKS, MOST_MEMBERS = 2000, 20_000
# Units: each is compared with each, those without looks as well.
MOST_UNITS = 4000
# Observations that stand for what is settled of an entity, and those that may still leave it.
SPREAD, MOST_FREE = 40, 400


@dataclass(slots=True)
class Neighbourhood:
    """What entities hold, {entity: its observations in order of time}, by units."""

    before: dict[int, list[int]]
    units: list[list[int]]  # observations
    looks: np.ndarray  # m × dimension, that stand for the units
    days: np.ndarray  # on which each was seen
    unit_of: np.ndarray  # of which unit each is; some units have none
    barred: Flags

    def grouped(self, least: float, alone: float) -> list[list[int]]:
        """Return the observations by what is one thing now, see grouping.group."""
        sums = Groups.of(self.looks, self.days, self.unit_of, len(self.units))
        labels = group(sums, self.barred, least, alone)
        self._attach(labels)
        found = defaultdict[int, list[int]](list)
        for unit, label in zip(self.units, labels.tolist(), strict=True):
            found[label] += unit
        return [sorted(keys) for keys in found.values()]

    def _attach(self, labels: np.ndarray) -> None:
        """Let what has no looks stay with most of its entity, unless it is barred from that."""
        entity_of = {key: entity_id for entity_id, keys in self.before.items() for key in keys}
        for at in sorted({*range(len(self.units))} - set(self.unit_of.tolist())):
            wanted = entity_of[self.units[at][0]]
            votes = Counter[int]()
            for other, unit in enumerate(self.units):
                if other != at:
                    votes[int(labels[other])] += sum(
                        entity_of[key] == wanted for key in unit)
            for label, count in votes.most_common():
                if count and not self.barred[at][labels == label].any():
                    labels[at] = label
                    break

    def is_as(self, groups: Iterable[Sequence[int]]) -> bool:
        """Whether groups are just the entities that there are."""
        return ({frozenset(keys) for keys in groups}
                == {frozenset(keys) for keys in self.before.values() if keys})


def read_neighbourhood(session: Session, robot_id: int, key: Key, entity_ids: Sequence[int],
                       settled_id: int, rules: Rules, zone: tzinfo) -> Neighbourhood | None:
    """Read entities by their looks of one kind; None where they hold too much.

    What came up to the observation `settled_id` is settled. Days are those of `zone`.
    """
    before = _members(session, robot_id, entity_ids)
    if before is None:
        return None
    blocks, standing = _standing(session, robot_id, key, before, settled_id)
    if len(standing) > MOST_LOOKS:
        return None
    evidence = read_evidence(session, [ref for keys in before.values() for ref in keys])
    entity_of = {ref: entity_id for entity_id, keys in before.items() for ref in keys}
    units = _units(session, evidence, entity_of, blocks, rules)
    if len(units) > MOST_UNITS:
        return None
    unit_of = {ref: at for at, unit in enumerate(units) for ref in unit}
    looks = {ref: vector for ref, vector in looks_by(session, key[0], standing).items()
             if len(vector) == key[1]}
    barred = _barred(evidence, unit_of, len(units), rules)
    _bar_names(session, before, unit_of, barred)
    return Neighbourhood(
        before, units, np.array([*looks.values()], np.float64).reshape(-1, key[1]),
        np.array([local_date(evidence[ref].stamp_ns, zone).toordinal() for ref in looks], np.int64),
        np.array([unit_of[ref] for ref in looks], np.int64), barred)


def _members(session: Session, robot_id: int,
             entity_ids: Sequence[int]) -> dict[int, list[int]] | None:
    row = schema.ObservationRow
    rows = session.execute(
        select(row.id, row.entity_id).where(
            among(row.entity_id, list(entity_ids)), row.robot_id == robot_id)
        .order_by(row.stamp_ns, row.id).limit(MOST_MEMBERS + 1)).all()
    if len(rows) > MOST_MEMBERS:
        return None
    found: dict[int, list[int]] = {key: [] for key in sorted(entity_ids)}
    for ref, entity_id in rows:
        found[int(entity_id or 0)].append(ref)
    return found


def _standing(session: Session, robot_id: int, key: Key, before: Mapping[int, Sequence[int]],
              settled_id: int) -> tuple[list[list[int]], list[int]]:
    """Return what stays one of each long entity, and the observations that stand for looks."""
    model, _, is_person = key
    with_looks = {row.id for row in session.execute(
        OF_ENTITIES, {'robot': robot_id, 'ids': list(before)})
        if row.model == model and bool(row.is_person) == is_person}
    blocks: list[list[int]] = []
    standing: list[int] = []
    for keys in before.values():
        seen = [ref for ref in keys if ref in with_looks]
        if len(seen) <= SPREAD:
            standing += seen
            continue
        free = [ref for ref in seen if ref > settled_id][-MOST_FREE:]
        there = set(free)
        blocks.append([ref for ref in keys if ref not in there])
        settled = [ref for ref in seen if ref not in there]
        if settled:
            places = np.linspace(0, len(settled) - 1, min(SPREAD, len(settled)))
            standing += [settled[int(place)] for place in places]
        standing += free
    return blocks, standing


def _units(session: Session, evidence: Mapping[int, Seen], entity_of: Mapping[int, int],
           blocks: Sequence[Sequence[int]], rules: Rules) -> list[list[int]]:
    """Return the observations by what is one whatever it looks like."""
    root = {ref: ref for ref in evidence}

    def tie(first: int, second: int) -> None:
        ends = sorted((_end(root, first), _end(root, second)))
        root[ends[1]] = ends[0]

    for block in blocks:
        for ref in block[1:]:
            tie(block[0], ref)
    vouched: dict[tuple[int, int, str], int] = {}
    settled = {ref for block in blocks for ref in block}
    for ref, seen in evidence.items():
        for other in seen.same & evidence.keys():
            tie(ref, other)
        if seen.instance:
            scope = _scope(seen, rules)
            tie(ref, vouched.setdefault((entity_of[ref], scope, seen.instance), ref))
    clips = {seen.clip_id for ref, seen in evidence.items()
             if seen.clip_id is not None and seen.has_box and ref not in settled}
    for clip_id in sorted(clips):
        for ref, other in carried(session, clip_id, rules).items():
            if entity_of.get(ref) is not None and entity_of.get(ref) == entity_of.get(other):
                tie(ref, other)
    found = defaultdict[int, list[int]](list)
    for ref in evidence:
        found[_end(root, ref)].append(ref)
    return [found[ref] for ref in sorted(found)]


def _end(root: dict[int, int], ref: int) -> int:
    while root[ref] != ref:
        root[ref] = root[root[ref]]
        ref = root[ref]
    return ref


def _scope(seen: Seen, rules: Rules) -> int:
    return seen.session_id if rules.instances == 'session' else 0


def _barred(evidence: Mapping[int, Seen], unit_of: Mapping[int, int], count: int,
            rules: Rules) -> Flags:
    barred = np.zeros((count, count), bool)
    named = defaultdict[int, dict[int, str]](dict)  # of a scope: the instance of each unit
    for ref, seen in evidence.items():
        at = unit_of[ref]
        for other in (seen.apart | seen.different) & unit_of.keys():
            barred[at, unit_of[other]] = barred[unit_of[other], at] = True
        if seen.instance:
            named[_scope(seen, rules)][at] = seen.instance
    for instances in named.values():
        places = np.array(list(instances))
        names = np.array(list(instances.values()))
        barred[np.ix_(places, places)] |= names[:, None] != names[None, :]
    np.fill_diagonal(barred, False)
    return barred


def _bar_names(session: Session, before: Mapping[int, Sequence[int]],
               unit_of: Mapping[int, int], barred: Flags) -> None:
    """Bar what persons gave different names, by the observations that they gave them to."""
    entity, naming = schema.EntityRow, schema.NamingRow
    named = {key: name for key, name, attributes in session.execute(
        select(entity.id, entity.name, entity.attributes).where(among(entity.id, list(before))))
        if NAMED_BY in attributes}
    if len(named) < 2:
        return
    entity_of = {ref: key for key in named for ref in before[key]}
    # Where it is not known any more which observation that was, the first.
    anchors = {key: unit_of[before[key][0]] for key in named if before[key]}
    anchors |= {entity_of[ref]: unit_of[ref] for ref in session.scalars(
        select(naming.observation_id).where(among(naming.observation_id, sorted(entity_of)))
        .order_by(naming.id))}
    for one, first in anchors.items():
        for other, second in anchors.items():
            if named[one] != named[other] and first != second:
                barred[first, second] = True
