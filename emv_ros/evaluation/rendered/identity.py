"""How well observations are told apart: rendered days through perception and association.

Pictures and boxes go into a memory as from a robot whose detector knows no identities; perception
makes tracks and observations of them, and a consolidation after each day makes entities. Then each
pair of observations is counted: that of one entity is right where both are of one true thing. The
same observations are associated by looks at once alone, by name alone and not at all. An
observation is of the true thing that most of its boxes show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
import math
from pathlib import Path
import tempfile
from typing import Any

from sqlalchemy import select

from emv_ros.biography.rebuild import rebuild
from emv_ros.biography.upkeep import Upkeep
from emv_ros.evaluation.rendered.days import DAY_NS, HEIGHT, START_NS, WIDTH, Days, Frame
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.perception.looks import AppearanceModel
from emv_ros.perception.perceive import perceive
from emv_ros.records import ImageRecord, Scene, SceneObject
from emv_ros.settings import Settings

CAMERA = 'head'
# With what is known when each day is over; as decided at once; by other notions of identity.
EACH_DAY = 'looks, each day'
WAYS = (EACH_DAY, 'looks', 'name', 'none')

Truth = dict[tuple[int, tuple[float, ...]], int]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of observations of one entity that are right and wrong, and those that are missed."""

    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        """The share of pairs of one entity that are of one thing; 1 where there are none."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        """The share of pairs of one thing that are of one entity; 1 where there are none."""
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0


@dataclass(slots=True)
class SeedReport:
    """What came of the days of one seed."""

    seed: int
    things: int
    like_pairs: int
    days: int
    pictures: int
    observations: int
    ways: dict[str, Pairs] = field(default_factory=dict)
    entities: dict[str, int] = field(default_factory=dict)
    wrong_like: int = 0  # of the wrong pairs by looks, those of a like pair

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON knows it."""
        return {'seed': self.seed, 'things': self.things, 'like_pairs': self.like_pairs,
                'days': self.days, 'pictures': self.pictures, 'observations': self.observations,
                'wrong_pairs_of_like_things': self.wrong_like,
                'ways': {way: {'precision': round(pairs.precision, 4),
                               'recall': round(pairs.recall, 4), 'right': pairs.right,
                               'wrong': pairs.wrong, 'missed': pairs.missed,
                               'entities': self.entities[way]}
                         for way, pairs in self.ways.items()}}


def evaluate_identity(days: Days, settings: Settings, appearance: AppearanceModel,
                      progress: Callable[[str], None] = lambda _: None) -> SeedReport:
    """Return how the observations of one seed's days are told apart, in a memory of its own."""
    with tempfile.TemporaryDirectory(prefix='emv_identity_') as folder:
        memory = replace(settings.memory, folder=folder, url='')
        settings = replace(settings, memory=memory)
        with MemoryStore.open(memory, Path(folder)) as store:
            truth, count = _live(store, settings, days, appearance, progress)
            return _judged(store, settings, days, count, appearance, truth)


def _live(store: MemoryStore, settings: Settings, days: Days, appearance: AppearanceModel,
          progress: Callable[[str], None]) -> tuple[Truth, int]:
    """See day by day, with a consolidation after each, as a robot does."""
    truth: Truth = {}
    count = 0
    own = appearance.thresholds
    upkeep = Upkeep(store, settings, (own.match, own.consistent))
    for day, clips in groupby(days.clips(), key=lambda clip: (
            clip[0].stamp_ns - START_NS) // DAY_NS):
        seen, pictures = fill(store, clips)
        truth |= seen
        count += pictures
        progress(f'day {day + 1}: {count} pictures')
        perceive(store, settings, appearance=appearance, finish=True)
        upkeep.keep(settings.memory.robot, finish=True)
    return truth, count


def fill(store: MemoryStore, clips: Iterable[Sequence[Frame]],
         progress: Callable[[str], None] = lambda _: None) -> tuple[Truth, int]:
    """Store pictures with their boxes, and return which thing each box is of, and their number."""
    truth: Truth = {}
    count = 0
    for clip in clips:
        for frame in clip:
            image_id = store.add_image(frame.jpeg, ImageRecord(
                stamp_ns=frame.stamp_ns, camera=CAMERA, sha256='', media_type='image/jpeg',
                width=WIDTH, height=HEIGHT))
            objects = tuple(SceneObject(name=seen.name, bbox=seen.bbox) for seen in frame.seen)
            store.add(Scene(stamp_ns=frame.stamp_ns, camera=CAMERA, image_id=image_id,
                            objects=objects))
            truth.update({(frame.stamp_ns, seen.bbox): seen.key for seen in frame.seen})
            count += 1
        progress(f'{count} pictures')
    return truth, count


def _judged(store: MemoryStore, settings: Settings, days: Days, count: int,
            appearance: AppearanceModel, truth: Truth) -> SeedReport:
    things, thresholds = days.made(), appearance.thresholds
    true = true_things(store, truth)
    report = SeedReport(days.seed, len(things), days.pairs, days.days, count, len(true))
    like = {thing.key: thing.like for thing in things}
    for way in WAYS:
        if way != EACH_DAY:
            rebuild(store, replace(settings.biography, identity=way), settings.memory.robot,
                    thresholds=(thresholds.match, thresholds.consistent))
        found = _entities(store)
        report.ways[way] = pairs_of(true, found)
        report.entities[way] = len(set(found.values()))
        if way == EACH_DAY:
            report.wrong_like = _wrong_of_like(true, found, like)
    return report


def true_things(store: MemoryStore, truth: Truth) -> dict[int, int]:
    """Return of each observation the true thing that most of its boxes show."""
    scene, part = schema.SceneRow, schema.SceneObjectRow
    votes: dict[int, Counter[int]] = {}
    with store.reading() as session:
        for ref_id, bbox, stamp_ns in session.execute(
                select(part.observation_id, part.bbox, scene.stamp_ns).join(
                    scene, scene.id == part.scene_id).where(part.observation_id.is_not(None))):
            key = truth.get((stamp_ns, tuple(bbox)))
            if key is not None:
                votes.setdefault(ref_id, Counter())[key] += 1
    return {ref_id: counted.most_common(1)[0][0] for ref_id, counted in votes.items()}


def _entities(store: MemoryStore) -> dict[int, int]:
    """Return the entity of each observation; one without is an entity of its own."""
    row = schema.ObservationRow
    with store.reading() as session:
        return {ref_id: -ref_id if entity_id is None else entity_id
                for ref_id, entity_id in session.execute(select(row.id, row.entity_id))}


def pairs_of(true: dict[int, int], found: dict[int, int]) -> Pairs:
    """Count the pairs of observations: `true` thing and `found` entity of each."""
    right = _pairs(Counter((found[ref_id], key) for ref_id, key in true.items()))
    told = _pairs(Counter(found[ref_id] for ref_id in true))
    wanted = _pairs(Counter(true.values()))
    return Pairs(right, told - right, wanted - right)


def _pairs(counted: Counter[Any]) -> int:
    return sum(count * (count - 1) // 2 for count in counted.values())


def _wrong_of_like(true: dict[int, int], found: dict[int, int], like: dict[int, int]) -> int:
    counted = Counter((found[ref_id], key) for ref_id, key in true.items())
    return sum(count * counted.get((entity_id, like[key]), 0)
               for (entity_id, key), count in counted.items()) // 2


def mean_with_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean over seeds and its 95 % interval by Student's t; wide for few seeds."""
    from scipy.stats import t

    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, 0.0, 1.0
    spread = math.sqrt(sum((value - mean)**2 for value in values) / (len(values) - 1))
    reach = float(t.ppf(0.975, len(values) - 1)) * spread / math.sqrt(len(values))
    return mean, max(0.0, mean - reach), min(1.0, mean + reach)


