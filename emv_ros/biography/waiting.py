"""Observations that wait for their entity, and what speaks for and against each; it judges nothing.

What waits is what has no entity and came after the mark: what was looked at once and has neither an
instance nor looks is no evidence, and is not looked at again. A few rows before the mark are: where
several write at once, numbers are committed out of their order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from emv_ros.biography.verdicts import DIFFERENT, SAME
from emv_ros.memory import schema
from emv_ros.memory.among import Numbers, among

log = logging.getLogger(__name__)

Vector = NDArray[np.float32]

MARK = 'association:'
BEFORE_MARK = 1000
FLOAT_BYTES = 4
# So far verdicts are followed from one to the next before all are read.
ROUNDS = 8

# Tables, not classes: their rows come twice as quickly.
_SEEN: Any = schema.ObservationRow.__table__.c
_LOOKS: Any = schema.AppearanceRow.__table__.c
_SAID: Any = schema.VerdictRow.__table__.c
_APART: Any = schema.SeparationRow.__table__.c
_IDS = bindparam('ids', type_=Numbers())

_ROWS = select(
    _SEEN.id, _SEEN.stamp_ns, _SEEN.session_id, _SEEN.name, _SEEN.instance, _SEEN.is_person,
    _SEEN.clip_id, _SEEN.attributes, _SEEN.entity_id,
    _SEEN.first_bbox.is_not(None).label('has_box')).where(among(_SEEN.id, _IDS))
_VECTORS = select(_LOOKS.observation_id, _LOOKS.model, _LOOKS.vector).where(
    among(_LOOKS.observation_id, _IDS)).order_by(_LOOKS.observation_id, _LOOKS.model)


@dataclass(slots=True)
class Seen:
    """An observation with its evidence; other observations are named by their ids."""

    id: int
    stamp_ns: int
    session_id: int
    name: str
    instance: str
    is_person: bool
    clip_id: int | None
    colour: str
    has_box: bool
    looks: list[tuple[str, Vector]] = field(default_factory=list)  # by the model's name
    apart: set[int] = field(default_factory=set)  # seen apart from it
    same: set[int] = field(default_factory=set)  # as persons say, at whatever remove
    different: set[int] = field(default_factory=set)

    @property
    def is_evident(self) -> bool:
        """Whether anything tells of what it is."""
        return bool(self.instance or self.looks or self.same)


def waiting(session: Session, robot_id: int) -> list[int]:
    """Return the observations that may wait for an entity, in order of time."""
    mark = session.get(schema.StateRow, f'{MARK}{robot_id}')
    after = int(mark.value.get('id', 0)) - BEFORE_MARK if mark else 0
    rows = session.execute(select(_SEEN.id, _SEEN.stamp_ns).where(
        _SEEN.entity_id.is_(None), _SEEN.id > after, _SEEN.robot_id == robot_id))
    return [key for _, key in sorted((stamp_ns, key) for key, stamp_ns in rows)]


def set_mark(session: Session, robot_id: int, observation_id: int) -> None:
    """Note that what came up to an observation was looked at."""
    key = f'{MARK}{robot_id}'
    row = session.get(schema.StateRow, key)
    if row is None or row.value.get('id', 0) < observation_id:
        session.merge(schema.StateRow(key=key, value={'id': observation_id}))


def forget_mark(session: Session, robot_id: int) -> None:
    """Let all that has no entity wait again, as before an association made anew."""
    row = session.get(schema.StateRow, f'{MARK}{robot_id}')
    if row is not None:
        session.delete(row)


def read_seen(session: Session, ids: Sequence[int]) -> tuple[list[Seen], int]:
    """Return the observations that still have no entity, in order, and how many vectors are broken.

    Such vectors count for nothing.
    """
    rows = {row.id: row for row in session.execute(_ROWS, {'ids': ids}) if row.entity_id is None}
    found = {key: _seen(rows[key]) for key in ids if key in rows}
    damaged = 0
    for key, model, data in session.execute(_VECTORS, {'ids': list(found)}):
        vector = as_vector(data)
        if vector is None:
            damaged += 1
            log.warning('the looks of o%d by %s cannot be read and count for nothing', key, model)
        else:
            found[key].looks.append((model, vector))
    _add_evidence(session, found)
    return list(found.values()), damaged


def read_evidence(session: Session, ids: Sequence[int]) -> dict[int, Seen]:
    """Return what speaks for and against observations, whatever entity they have; without looks."""
    rows = {row.id: row for row in session.execute(_ROWS, {'ids': ids})}
    found = {key: _seen(rows[key]) for key in ids if key in rows}
    _add_evidence(session, found)
    return found


def as_vector(data: bytes) -> Vector | None:
    """Return a stored vector at length 1, or None for what is none."""
    return as_vectors([(0, data)]).get(0)


def as_vectors(stored: Iterable[tuple[int, bytes]]) -> dict[int, Vector]:
    """Return stored vectors at length 1 by their keys; what is none is left out."""
    by_size = defaultdict[int, list[tuple[int, bytes]]](list)
    for key, data in stored:
        by_size[len(data or b'')].append((key, data))
    found: dict[int, Vector] = {}
    for size, part in by_size.items():
        if not size or size % FLOAT_BYTES:
            continue
        # Squares of great numbers are greater.
        raw = np.frombuffer(b''.join(data for _, data in part), '<f4').reshape(
            len(part), -1).astype(np.float64)
        lengths = np.sqrt(np.einsum('ij,ij->i', raw, raw))
        is_one = np.isfinite(lengths) & (lengths >= 1e-9)
        made = (raw / np.where(is_one, lengths, 1)[:, None]).astype(np.float32)
        found.update((key, made[at]) for at, (key, _) in enumerate(part) if is_one[at])
    return found


def colour_of(attributes: Any) -> str:
    """Return the colour that an observation's attributes tell, '' for none."""
    told = attributes.get('colour') if isinstance(attributes, dict) else None
    return told if isinstance(told, str) else ''


def entities_of(session: Session, observation_ids: Iterable[int]) -> dict[int, int]:
    """Return the entities of those of the observations that have one."""
    rows = session.execute(select(_SEEN.id, _SEEN.entity_id).where(
        among(_SEEN.id, _IDS), _SEEN.entity_id.is_not(None)), {'ids': list(observation_ids)})
    return {row.id: row.entity_id for row in rows}


def instances_of(session: Session,
                 observation_ids: Iterable[int]) -> dict[int, tuple[int, str]]:
    """Return the (session, instance) of those of the observations that have an instance."""
    rows = session.execute(select(_SEEN.id, _SEEN.session_id, _SEEN.instance).where(
        among(_SEEN.id, _IDS), _SEEN.instance != ''), {'ids': list(observation_ids)})
    return {row.id: (row.session_id, row.instance) for row in rows}


def _seen(row: Any) -> Seen:
    return Seen(row.id, row.stamp_ns, row.session_id, row.name, row.instance, bool(row.is_person),
                row.clip_id, colour_of(row.attributes), bool(row.has_box))


def _add_evidence(session: Session, found: dict[int, Seen]) -> None:
    for key, others in _apart_from(session, found).items():
        found[key].apart |= others
    _add_verdicts(session, found)


def _add_verdicts(session: Session, found: dict[int, Seen]) -> None:
    """Add what persons said: of what is the same, what is different is so from all of it.

    What was seen apart from one of it was so from all of it, too.
    """
    said = _verdicts_around(session, {*found, *(
        other for seen in found.values() for other in seen.apart)})
    if not said:
        return
    ends = {key for first, second, _ in said for key in (first, second)}
    apart = _apart_from(session, ends)
    said |= _verdicts_around(session, {key for keys in apart.values() for key in keys} - ends)
    tied = defaultdict[int, set[int]](set)
    parted = defaultdict[int, set[int]](set, apart)
    for first, second, verdict in said:
        links = tied if verdict == SAME else parted
        links[first].add(second)
        links[second].add(first)
    wholes: dict[int, tuple[set[int], set[int]]] = {}  # with what is apart from each
    for key, seen in found.items():
        if key not in wholes:
            whole = _reached(tied, key)
            others = set[int]().union(*(parted.get(member, ()) for member in whole))
            wholes.update(dict.fromkeys(whole, (whole, others)))
        whole, others = wholes[key]
        seen.same = whole - {key}
        for other in (seen.apart | others) - whole:
            if other not in seen.different:
                seen.different |= _reached(tied, other)


def _apart_from(session: Session, observation_ids: Iterable[int]) -> dict[int, set[int]]:
    """Return, of observations, those that were seen apart from each; none where there is none."""
    found, ids = defaultdict[int, set[int]](set), list(observation_ids)
    for mine, theirs in ((_APART.first_id, _APART.second_id), (_APART.second_id, _APART.first_id)):
        for key, other in session.execute(select(mine, theirs).where(among(mine, _IDS)),
                                          {'ids': ids}):
            found[key].add(other)
    return found


def _verdicts_around(session: Session,
                     found: Iterable[int]) -> set[tuple[int, int, str]]:
    """Return the verdicts on observations and on all that these are tied to by verdicts."""
    said: set[tuple[int, int, str]] = set()
    known: set[int] = set()
    fresh = set(found)
    if session.scalar(select(_SAID.id).limit(1)) is None:
        return said
    rounds = 0
    while fresh:
        if (rounds := rounds + 1) > ROUNDS:  # a long chain: to walk it costs more than to read all
            return {(first, second, verdict) for first, second, verdict in session.execute(
                select(_SAID.first_id, _SAID.second_id, _SAID.verdict).where(
                    _SAID.verdict.in_((SAME, DIFFERENT))))}
        known |= fresh
        rows = [row for column in (_SAID.first_id, _SAID.second_id)
                for row in session.execute(select(
                    _SAID.first_id, _SAID.second_id, _SAID.verdict).where(
                        among(column, _IDS), _SAID.verdict.in_((SAME, DIFFERENT))),
                    {'ids': sorted(fresh)})]
        said |= {(first, second, verdict) for first, second, verdict in rows}
        fresh = {key for first, second, _ in rows for key in (first, second)} - known
    return said


def _reached(links: dict[int, set[int]], start: int) -> set[int]:
    reached, open_ends = {start}, [start]
    while open_ends:
        for other in links.get(open_ends.pop(), set()) - reached:
            reached.add(other)
            open_ends.append(other)
    return reached
