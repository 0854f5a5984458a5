"""What association costs as a life grows, and how near its index comes to comparing with all.

A generated life is written and associated piece by piece; at each size the last thousand tell what
the next ones cost. Beside it, in the same run, stands the exact rival: a product with all
references of all entities for each observation, in memory and with no database at all. Times are of
the wall; where others use the machine too, those of the processor (`cpu`) tell more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
import resource
import time
from typing import Any

import numpy as np
from sqlalchemy import select

from emv_ros.biography.association import Associator
from emv_ros.biography.known import Known
from emv_ros.evaluation.seen_life import MODEL, SeenLife
from emv_ros.memory import schema
from emv_ros.memory.clearing import clear_caches
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import BiographySettings, MemorySettings

ROBOT = 'generated'
# The paper's: 300,000 observations of 27,446 entities.
OBSERVATIONS, SHARE = 300_000, 27_446 / 300_000
SIZES = (1000, 10_000, 100_000, 300_000)
NEXT = 1000
WRITTEN = 2000
COMPARED = 20_000
PROBED = 500
SAMPLES = 20
MATCH, CONSISTENT = 0.75, 0.60

Tell = Callable[[str], None]


def bench_biography(folder: Path, observations: int = OBSERVATIONS, dimension: int = 384,
                    compared: int = COMPARED, tell: Tell = lambda _: None) -> dict[str, Any]:
    """Measure association in an empty folder; the first `compared` decisions are made exactly, too.

    `curve` has a row for each size: observations, entities, seconds that the last 1,000 took, and
    those of the exact rival for as many, with the ratio; `nearest_found` is the share of the looks
    after these whose likeliest entity is that of a product with all.
    """
    life = SeenLife(observations + PROBED, max(1, round(observations * SHARE)), dimension)
    curve: list[dict[str, Any]] = []
    spent_s = 0.0
    with MemoryStore.open(MemorySettings(robot=ROBOT), folder) as store:
        writing = _Writing(store, life)
        associator = Associator(store, BiographySettings(), ROBOT, (MATCH, CONSISTENT))
        for size in [*(size for size in SIZES if size < observations), observations]:
            for end in (size - NEXT, size):
                writing.up_to(max(0, end))
                begun = time.perf_counter(), time.process_time()
                associator.run()
                taken_s, cpu_s = time.perf_counter() - begun[0], time.process_time() - begun[1]
                spent_s += taken_s
            count = _count_entities(store)
            curve.append({'observations': size, 'entities': count, 'next_1000_s': taken_s,
                          'next_1000_cpu_s': cpu_s, 'peak_mb': _peak_mb(),
                          'nearest_found': _nearest_found(store, life, size)})
            tell(f'{size:,} observations: {taken_s:.2f} s for the last 1,000')
        begun_s = time.perf_counter()
        associator.run()
        idle_s = time.perf_counter() - begun_s
        entities = _entities(store)
        opened = _measure_opening(store, observations)
    for row in curve:
        row['exact_next_1000_s'] = _exact_next_s(row['entities'], dimension)
        row['times_quicker'] = row['exact_next_1000_s'] / row['next_1000_s']
    report = {'observations': observations, 'dimension': dimension, 'associated_s': spent_s,
              'nothing_waits_s': idle_s, **opened, 'curve': curve,
              **_quality(entities, life.thing_of[:observations])}
    if compared:
        tell(f'deciding {min(compared, observations):,} exactly')
        report.update(_compare(life, entities[:compared]))
    rounded: dict[str, Any] = _rounded(report)
    return rounded


class _Writing:
    """Writes a life up to where it is asked for."""

    def __init__(self, store: MemoryStore, life: SeenLife) -> None:
        self._store = store
        self._life = life
        self._end = 0
        self._session_id = store.begin_session(ROBOT)

    def up_to(self, end: int) -> None:
        """Write the observations before a number that are not written yet."""
        while self._end < end:
            upto = min(end, self._end + WRITTEN)
            with self._store.writing() as session:
                self._life.write(session, self._store.robot_id(session, ROBOT),
                                 self._session_id, self._end, upto)
            self._end = upto


class Exact:
    """The rules by a product with all references, as they are written down; nothing is spared."""

    def __init__(self, dimension: int, most: int, match: float, consistent: float) -> None:
        """Know nothing."""
        self._limits = match, consistent
        self._most = most
        self._references = np.zeros((64, most, dimension), np.float32)
        self._counts = np.zeros(64, np.int64)
        self._latest: list[int] = []

    def decide(self, number: int, vector: Any, barred: Iterable[int]) -> int:
        """Return the entity of an observation, from 0, and take it in."""
        count, (match, consistent) = len(self._latest), self._limits
        cosines = self._references[:count].reshape(-1, len(vector)) @ vector
        cosines = cosines.reshape(count, self._most)
        counts = self._counts[:count]
        there = np.arange(self._most) < counts[:, None]
        fits = (np.where(there, cosines, 2).min(axis=1, initial=2) >= consistent) & (
            np.where(there, cosines, -2).max(axis=1, initial=-2) >= match)
        fits[list(barred)] = False
        means = np.where(there, cosines, 0).sum(axis=1) / np.maximum(counts, 1)
        at = max(np.flatnonzero(fits).tolist(), default=count,
                 key=lambda entity: (round(float(means[entity]), 5), self._latest[entity]))
        self._take(at, number, vector)
        return at

    def _take(self, at: int, number: int, vector: Any) -> None:
        if at == len(self._latest):
            self._latest.append(number)
            if at == len(self._counts):
                self._counts = np.pad(self._counts, (0, at))
                self._references = np.pad(self._references, ((0, at), (0, 0), (0, 0)))
        if self._counts[at] == self._most:
            self._references[at, :-1] = self._references[at, 1:]
            self._counts[at] -= 1
        self._references[at, self._counts[at]] = vector
        self._counts[at] += 1
        self._latest[at] = number


def _compare(life: SeenLife, entities: Sequence[int]) -> dict[str, Any]:
    exact = Exact(life.dimension, BiographySettings.references, MATCH, CONSISTENT)
    looks, made = life.looks(0, len(entities)), list[int]()
    begun = time.perf_counter(), time.process_time()
    for number, look in enumerate(looks):
        made.append(exact.decide(number, look, [made[other] for other in life.apart(number)]))
    taken_s = time.perf_counter() - begun[0]
    same = np.mean(_founders(entities) == _founders(made))
    return {'compared': len(entities), 'equal_decisions': float(same), 'exact_s': taken_s,
            'exact_cpu_s': time.process_time() - begun[1]}


def _founders(entities: Sequence[int]) -> Any:
    """Return, of each observation, the first of its entity."""
    first: dict[int, int] = {}
    return np.array([first.setdefault(entity, number)
                     for number, entity in enumerate(entities)])


def _quality(entities: Sequence[int], truth: Any) -> dict[str, float]:
    """Return pairwise precision and recall."""
    both = _pairs(zip(entities, truth.tolist(), strict=True))
    return {'pair_precision': both / max(1, _pairs(entities)),
            'pair_recall': both / max(1, _pairs(truth.tolist()))}


def _pairs(items: Iterable[Any]) -> float:
    return sum(count * (count - 1) / 2 for count in Counter(items).values())


def _exact_next_s(entities: int, dimension: int) -> float:
    """Return what 1,000 products with all references of so many entities take."""
    chance = np.random.default_rng(1)
    matrix = chance.standard_normal((entities * BiographySettings.references, dimension),
                                    np.float32)
    begun_s = time.perf_counter()
    for _ in range(SAMPLES):
        matrix @ matrix[0]
    return (time.perf_counter() - begun_s) / SAMPLES * NEXT


def _nearest_found(store: MemoryStore, life: SeenLife, size: int) -> float:
    """Return for how many of the next looks the index finds what a product with all does."""
    known = Known(1, BiographySettings.references, store.folder)
    looks = life.looks(size, size + PROBED)
    with store.reading() as session:
        known.follow(session)
    references = known.get(MODEL, life.dimension, False)
    held = references.to_arrays()
    rows = held['means.rows']
    least = CONSISTENT + (MATCH - CONSISTENT) / held['count'][rows]
    equal = 0
    for look in looks:
        cosines = held['means.vectors'] @ look
        can = np.flatnonzero(cosines >= least)
        best = held['entity'][rows[can[np.argmax(cosines[can])]]] if len(can) else None
        found = references.ranked(look, MATCH, CONSISTENT, 1)
        equal += best == (found[0].entity_id if found else None)
    return equal / len(looks)


def _measure_opening(store: MemoryStore, last_id: int) -> dict[str, float]:
    """Return how long a new process takes for one observation, with the file and without it."""
    taken = {}
    for name in ('open_and_one', 'build_and_one'):
        with store.writing() as session:
            session.get_one(schema.ObservationRow, last_id).entity_id = None
        if name == 'build_and_one':
            clear_caches(store.folder)
        begun = time.perf_counter(), time.process_time()
        Associator(store, BiographySettings(), ROBOT, (MATCH, CONSISTENT)).run()
        taken[f'{name}_s'] = time.perf_counter() - begun[0]
        taken[f'{name}_cpu_s'] = time.process_time() - begun[1]
    return taken


def _count_entities(store: MemoryStore) -> int:
    return len(set(_entities(store)))


def _entities(store: MemoryStore) -> list[int]:
    row = schema.ObservationRow
    with store.reading() as session:
        return list(session.scalars(
            select(row.entity_id).where(row.entity_id.is_not(None)).order_by(row.id)))


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f'{value:.4g}') if isinstance(value, float) else value
