"""What a person says of observations, as rows that each association obeys; it judges nothing.

Those that are the same thing are tied by a chain of 'same', so that a part of what was said can go
without the rest; one 'different' between two of them keeps two such chains apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from emv_ros.biography.holding import held, noted
from emv_ros.memory import schema
from emv_ros.memory.among import among

SAME, DIFFERENT = 'same', 'different'
# Who told that two things are different where what was seen apart is gone.
FORGOTTEN = 'an observation that is forgotten'
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Who says something, when (ns) and why."""

    author: str
    stamp_ns: int
    reason: str = ''


@dataclass(frozen=True, slots=True)
class Against:
    """Two observations that are not of the same thing: seen apart, or told so by a person."""

    pair: Pair
    words: str


def say(session: Session, verdicts: Mapping[Pair, str], told: Told) -> list[int]:
    """Write verdicts on pairs of observations, in place of earlier ones; return their ids."""
    wanted = {(min(pair), max(pair)): verdict for pair, verdict in verdicts.items()}
    known = {(row.first_id, row.second_id): row
             for row in _between(session, {key for pair in wanted for key in pair})}
    rows = []
    for (first_id, second_id), verdict in wanted.items():
        row = known.get((first_id, second_id))
        if row is None:
            row = schema.VerdictRow(first_id=first_id, second_id=second_id)
            session.add(row)
        elif row.verdict == verdict:
            rows.append(row)
            continue
        row.verdict, row.author = verdict, told.author
        row.stamp_ns, row.reason = told.stamp_ns, told.reason
        rows.append(row)
    session.flush()
    return [row.id for row in rows]


def tie(session: Session, observation_ids: Sequence[int], told: Told) -> list[int]:
    """Say that observations are of one thing, each of the next; return the verdicts' ids."""
    for row in _between(session, observation_ids):
        if row.verdict == DIFFERENT:
            session.delete(row)
    session.flush()
    return say(session, dict.fromkeys(pairwise(observation_ids), SAME), told)


def part(session: Session, first: Sequence[int], second: Sequence[int], told: Told) -> list[int]:
    """Say that two groups are two things, and each of them one; return the verdicts' ids.

    What the whole was told to be different from, both of them are.
    """
    there = set(first)
    whole = {*first, *second}
    others = {key for row in _around(session, whole) if row.verdict == DIFFERENT
              for key in (row.first_id, row.second_id)} - whole
    for row in _between(session, (*first, *second)):
        if (row.first_id in there) != (row.second_id in there):
            session.delete(row)
    session.flush()
    apart = say(session, {(first[0], second[0]): DIFFERENT}, told)
    say(session, {(keys[0], other): DIFFERENT for keys in (first, second) for other in others},
        told)
    return [*apart, *tie(session, first, told), *tie(session, second, told)]


def against(session: Session, groups: Iterable[Sequence[int]]) -> list[Against]:
    """Return what is known against the observations of several groups being of one thing."""
    group_of = {key: place for place, keys in enumerate(groups) for key in keys}
    seen = schema.SeparationRow
    found = [Against((row.first_id, row.second_id),
                     f'o{row.first_id} and o{row.second_id} are different, as '
                     f'{row.author or "somebody"} told') for row in _between(session, group_of)
             if row.verdict == DIFFERENT]
    found += [Against((first_id, second_id), f'o{first_id} and o{second_id} were seen apart in '
                      f'{frames} pictures') for first_id, second_id, frames in session.execute(
        select(seen.first_id, seen.second_id, seen.shared_frames).where(
            among(seen.first_id, list(group_of)), among(seen.second_id, list(group_of)))
        .order_by(seen.first_id, seen.second_id))]
    return [item for item in found if group_of[item.pair[0]] != group_of[item.pair[1]]]


def hand_over(session: Session, going: Collection[int]) -> None:
    """Let others of the same entity stand for observations that are about to be forgotten.

    What persons said of those would go with them else, and an association made anew differ. That
    they were seen apart from others is kept as a verdict: it is true of the thing, not of the heir.
    """
    heir = _heirs(session, going)
    _keep_apart(session, heir)
    naming = schema.NamingRow
    for item in _around(session, going):
        ends = {heir.get(key) if key in heir else key for key in (item.first_id, item.second_id)}
        told = Told(author=item.author, stamp_ns=item.stamp_ns, reason=item.reason)
        verdict = item.verdict
        session.delete(item)
        session.flush()
        kept = [key for key in ends if key is not None]
        if len(kept) == 2 and not _between(session, kept):
            say(session, {(kept[0], kept[1]): verdict}, told)
    for name in session.scalars(select(naming).where(among(naming.observation_id, list(going)))):
        name.observation_id = heir[name.observation_id] or name.observation_id
    session.flush()


def _keep_apart(session: Session, heir: Mapping[int, int | None]) -> None:
    """Say of heirs that they are different from what was seen apart from what goes.

    Once for two entities, and not where something that stays tells it.
    """
    seen, row = schema.SeparationRow, schema.ObservationRow
    pairs = set[Pair]()
    for first_id, second_id in session.execute(select(seen.first_id, seen.second_id).where(or_(
            among(seen.first_id, sorted(heir)), among(seen.second_id, sorted(heir))))):
        ends = [heir.get(key, key) for key in (first_id, second_id)]
        kept = sorted({key for key in ends if key is not None})
        if len(kept) == 2:
            pairs.add((kept[0], kept[1]))
    of = {item.id: item for item in session.execute(select(
        row.id, row.entity_id, row.stamp_ns).where(among(
            row.id, sorted({key for pair in pairs for key in pair}))))}
    told = set[tuple[int, ...]]()
    for first_id, second_id in sorted(pairs):
        entities = tuple(sorted(of[key].entity_id or -key for key in (first_id, second_id)))
        if entities in told or entities[0] == entities[1]:
            continue
        told.add(entities)
        if not _is_told(session, entities, heir) and not _between(session, (first_id, second_id)):
            say(session, {(first_id, second_id): DIFFERENT}, Told(
                author=FORGOTTEN, reason='seen apart',
                stamp_ns=max(of[first_id].stamp_ns, of[second_id].stamp_ns)))


def _is_told(session: Session, entities: Sequence[int], going: Collection[int]) -> bool:
    """Whether observations of two entities that stay were seen apart; -3 is o3 without one."""
    seen, row = schema.SeparationRow, schema.ObservationRow
    ids = [set(session.scalars(select(row.id).where(
        row.entity_id == key if key > 0 else row.id == -key))) - set(going) for key in entities]
    return any(session.scalar(select(seen.first_id).where(
        among(seen.first_id, sorted(ids[one])), among(seen.second_id, sorted(ids[1 - one])))
        .limit(1)) is not None for one in (0, 1))


def _heirs(session: Session, going: Collection[int]) -> dict[int, int | None]:
    row = schema.ObservationRow
    entity_of: dict[int, int | None] = dict.fromkeys(going, None)
    for item in session.execute(
            select(row.id, row.entity_id).where(among(row.id, list(going)))):
        entity_of[item.id] = item.entity_id
    for entity_id, keys in noted(session).items():
        entity_of |= {key: entity_id for key in keys if entity_of.get(key, 0) is None}
    first = {entity_id: next((key for key in keys if key not in entity_of), None)
             for entity_id, keys in held(session, sorted({
                 key for key in entity_of.values() if key is not None})).items()}
    return {key: None if entity_id is None else first.get(entity_id)
            for key, entity_id in entity_of.items()}


def _around(session: Session, observation_ids: Collection[int]) -> Sequence[Any]:
    """Return the verdicts on an observation of these and any other."""
    row, ids = schema.VerdictRow, sorted(observation_ids)
    return session.scalars(select(row).where(or_(
        among(row.first_id, ids), among(row.second_id, ids))).order_by(row.id)).all()


def _between(session: Session, observation_ids: Iterable[int]) -> Sequence[Any]:
    row, ids = schema.VerdictRow, sorted(set(observation_ids))
    return session.scalars(select(row).where(
        among(row.first_id, ids), among(row.second_id, ids)).order_by(row.id)).all()
