"""Thresholds of looks for one robot, set by a person who says what is the same thing.

Pairs of observations are sampled whose looks lie near the thresholds, most of them where it is
decided, and some well above. A person sees both and says 'same' or 'different'; what follows from
that is proposed, and errs towards two biographies of one thing rather than one of two. What a
person said of a pair here moves thresholds alone: `emv merge` and `emv split` correct entities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from emv_ros.biography.waiting import as_vector
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.memory.thresholds import CALIBRATED

# Observations that are compared, the latest: the product of all with all stays small.
MOST = 3000
# Shares of the pairs from around `match`, around `consistent`, and well above; the rest is filled
# with those nearest to `match`.
AROUND_MATCH, AROUND_CONSISTENT = 0.5, 0.25
NEAR = 0.06  # cosines
# Above the most alike of what a person told apart.
MARGIN = 0.01
SHOWN = 'calibration_pairs:'


@dataclass(frozen=True, slots=True)
class Pair:
    """Two observations that were not seen apart, and the cosine of their looks."""

    first_id: int
    second_id: int
    cosine: float


@dataclass(frozen=True, slots=True)
class Proposal:
    """Thresholds that follow from what a person said, and how many pairs that was."""

    match: float
    consistent: float
    same: int
    different: int
    group: float = 0.0  # see calibration_groups; 0: nothing is known of it


def model_of(store: MemoryStore, robot: str) -> str:
    """Return the model of looks that made most vectors of a robot, '' where there are none."""
    looks, row = schema.AppearanceRow, schema.ObservationRow
    with store.reading() as session:
        robot_ids = list(store.robot_ids(session, (robot,) if robot else ()))
        found = session.execute(
            select(looks.model).join(row, row.id == looks.observation_id)
            .where(row.robot_id.in_(robot_ids)).group_by(looks.model)
            .order_by(func.count().desc(), looks.model).limit(1)).scalar()
    return found or ''


def sample(store: MemoryStore, robot: str, model: str, limits: tuple[float, float],
           count: int) -> list[Pair]:
    """Return at most `count` pairs, the most alike first; `limits` are (match, consistent).

    No observation is in two of them unless there are too few, and equal memories give equal pairs.
    """
    with store.reading() as session:
        robot_ids = list(store.robot_ids(session, (robot,) if robot else ()))
        ids, clips, vectors = _latest(session, robot_ids, model)
        if len(ids) < 2:
            return []
        cosines = vectors @ vectors.T
        is_open = np.triu(clips[:, None] != clips[None, :], 1)
        place = {ref_id: at for at, ref_id in enumerate(ids)}
        apart = schema.SeparationRow
        for first, second in session.execute(select(apart.first_id, apart.second_id)):
            if first in place and second in place:
                low, high = sorted((place[first], place[second]))
                is_open[low, high] = False
    rows, columns = np.nonzero(is_open & (cosines >= limits[1] - NEAR))
    pairs = [Pair(ids[row], ids[column], float(cosines[row, column]))
             for row, column in zip(rows.tolist(), columns.tolist(), strict=True)]
    return sorted(_spread(pairs, limits, count), key=lambda pair: -pair.cosine)


def _latest(session: Session, robot_ids: Sequence[int],
            model: str) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Return ids, clips and vectors of the latest observations that have looks of one length."""
    looks, row = schema.AppearanceRow, schema.ObservationRow
    found = [(ref_id, -ref_id if clip_id is None else clip_id, vector)
             for ref_id, clip_id, data in session.execute(
                 select(row.id, row.clip_id, looks.vector).join(
                     looks, looks.observation_id == row.id)
                 .where(looks.model == model, row.robot_id.in_(robot_ids))
                 .order_by(row.stamp_ns.desc(), row.id.desc()).limit(MOST))
             if (vector := as_vector(data)) is not None]
    found = [item for item in found if len(item[2]) == len(found[0][2])]
    vectors = np.stack([item[2] for item in found]) if found else np.zeros((0, 1), np.float32)
    return ([item[0] for item in found], np.array([item[1] for item in found]), vectors)


def _spread(pairs: Sequence[Pair], limits: tuple[float, float], count: int) -> list[Pair]:
    """Return pairs around both thresholds and above, of as many observations as there are."""
    match, consistent = limits
    order = np.random.default_rng(len(pairs)).permutation(len(pairs)).tolist()
    groups = (
        ([at for at in order if abs(pairs[at].cosine - match) <= NEAR],
         round(count * AROUND_MATCH)),
        ([at for at in order if abs(pairs[at].cosine - consistent) <= NEAR],
         round(count * AROUND_CONSISTENT)),
        ([at for at in order if pairs[at].cosine > match + NEAR], count),
        (sorted(order, key=lambda at: abs(pairs[at].cosine - match)), count))
    taken: dict[int, None] = {}
    used: set[int] = set()
    for group, wanted in groups:
        before = len(taken)
        for is_strict in (True, False):
            for at in group:
                if len(taken) == count or len(taken) - before == wanted:
                    break
                members = {pairs[at].first_id, pairs[at].second_id}
                if at not in taken and not (is_strict and members & used):
                    taken[at] = None
                    used |= members
    return [pairs[at] for at in taken]


def propose(pairs: Sequence[Pair], is_same: Mapping[int, bool],
            limits: tuple[float, float]) -> Proposal:
    """Return thresholds for pairs, of which `is_same` tells some by their number from 1.

    `match` lies above all that is different; where nothing is, at the lowest that is the same, if
    that is below the present one. `consistent` lies no higher than nineteen in twenty that are
    the same, and never above `match`. Raises ValueError for a number that is none of theirs, and
    where nothing was said.
    """
    if not is_same or not all(1 <= number <= len(pairs) for number in is_same):
        raise ValueError(f'numbers from 1 to {len(pairs)} are needed')
    same = [pairs[number - 1].cosine for number, told in is_same.items() if told]
    different = [pairs[number - 1].cosine for number, told in is_same.items() if not told]
    match, consistent = limits
    if different:
        highest = max(different)
        above = [cosine for cosine in same if cosine > highest]
        match = max(highest + MARGIN, (highest + min(above)) / 2 if above else 0.0)
    elif same:
        match = min(match, min(same))
    if same:
        consistent = float(np.quantile(same, 0.05))
    match = min(match, 0.999)
    return Proposal(round(match, 3), round(min(consistent, match), 3), len(same), len(different))


def keep(store: MemoryStore, model: str, proposal: Proposal) -> None:
    """Store thresholds: association uses them from now on, unless a setting says otherwise."""
    store.set_state(CALIBRATED + model, {
        'match': proposal.match, 'consistent': proposal.consistent, 'same': proposal.same,
        'different': proposal.different} | ({'group': proposal.group} if proposal.group else {}))


def keep_shown(store: MemoryStore, model: str, pairs: Sequence[Pair]) -> None:
    """Remember which pairs were shown, so that their numbers stay."""
    store.set_state(SHOWN + model, {
        'pairs': [[pair.first_id, pair.second_id, pair.cosine] for pair in pairs]})


def shown(store: MemoryStore, model: str) -> list[Pair]:
    """Return the pairs that were shown last."""
    return [Pair(int(first), int(second), float(cosine))
            for first, second, cosine in (store.state(SHOWN + model) or {}).get('pairs', ())]
