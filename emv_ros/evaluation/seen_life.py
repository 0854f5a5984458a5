"""A generated life of things seen again and again, with their looks: for measuring, not for show.

Things of one name look more alike than others, and each looks a little different every time. Things
are met again for a while, some often, most seldom, in clips of three that are seen apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import insert
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.timeline import SECOND_NS

Vectors = NDArray[np.float32]

NAMES = 600
MODEL = 'generated'
START_NS = 1_700_000_000 * SECOND_NS
CLIP = 3
LOT = 500
# How much of a look is of all things, of its name, of itself, and of the moment.
COMMON, NAMED, OWN, MOMENT = 0.5, 0.75, 0.62, (0.35, 0.62)


class SeenLife:
    """Observations by their number, from 0, in order of time; `thing_of` is the truth."""

    def __init__(self, observations: int, things: int, dimension: int, seed: int = 1) -> None:
        """Draw what is seen when; looks are made as they are asked for."""
        chance = np.random.default_rng(seed)
        self.dimension = dimension
        self._seed = seed
        shares = 1 / np.arange(1, NAMES + 1) ** 0.7
        self.name_of = chance.choice(NAMES, things, p=shares / shares.sum())
        names, own = (_directions(chance, count, dimension) for count in (NAMES, things))
        common = _directions(chance, 1, dimension)
        self._base = _to_length_1(COMMON * common + NAMED * names[self.name_of] + OWN * own)
        often = chance.permutation(1 / np.arange(1, things + 1) ** 0.6)
        again = chance.choice(things, max(0, observations - things), p=often / often.sum())
        thing = np.concatenate((np.arange(things), again))[:observations]
        later = np.concatenate((np.zeros(things), chance.exponential(0.2, len(again))))
        self.thing_of = thing[np.argsort(chance.random(things)[thing] + later[:observations])]

    def looks(self, start: int, end: int) -> Vectors:
        """Return what observations look like, one row each."""
        made = []
        for place in range(start // LOT, -(-end // LOT)):
            chance = np.random.default_rng((self._seed, place))
            things = self.thing_of[place * LOT:(place + 1) * LOT]
            amount = chance.uniform(*MOMENT, (len(things), 1)).astype(np.float32)
            noise = amount * _directions(chance, len(things), self.dimension)
            made.append(_to_length_1(self._base[things] + noise))
        first = start // LOT * LOT
        return np.concatenate(made)[start - first:end - first]

    def apart(self, number: int) -> list[int]:
        """Return the earlier observations that were seen apart from one."""
        return [other for other in range(number - number % CLIP, number)
                if self.thing_of[other] != self.thing_of[number]]

    def write(self, session: Session, robot_id: int, session_id: int, start: int,
              end: int) -> None:
        """Write observations, whose ids are their numbers and one, as perception does."""
        looks = self.looks(start, end)
        tables: Any = [row.__table__ for row in (
            schema.ObservationRow, schema.AppearanceRow, schema.SeparationRow)]
        numbers = range(start, end)
        session.execute(insert(tables[0]), [{
            'id': number + 1, 'robot_id': robot_id, 'session_id': session_id,
            'stamp_ns': START_NS + number * 10 * SECOND_NS,
            'end_ns': START_NS + (number * 10 + 8) * SECOND_NS, 'extra': {}, 'pending': False,
            'name': f'thing {self.name_of[self.thing_of[number]]}', 'instance': '', 'event': '',
            'text': '', 'location': '', 'attributes': {}, 'is_person': False,
            'made_by': 'detector'} for number in numbers])
        session.execute(insert(tables[1]), [
            {'observation_id': number + 1, 'model': MODEL, 'vector': look.tobytes()}
            for number, look in zip(numbers, looks, strict=True)])
        pairs = [{'first_id': other + 1, 'second_id': number + 1, 'shared_frames': 9}
                 for number in numbers for other in self.apart(number)]
        if pairs:
            session.execute(insert(tables[2]), pairs)


def _directions(chance: np.random.Generator, count: int, dimension: int) -> Vectors:
    return _to_length_1(chance.standard_normal((count, dimension), np.float32))


def _to_length_1(vectors: Vectors) -> Vectors:
    made: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return made.astype(np.float32)
