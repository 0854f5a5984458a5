"""Which thing of the simulator an observation really is, and how well entities agree with that."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

from sqlalchemy import select

from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.perception.detections import iou

SAME_IOU = 0.3  # of the box of a crop with that of a thing of the simulator
NOTHING = ''


def instances_of(store: MemoryStore, sights: Iterable[Any]) -> dict[int, str]:
    """Return the instance that most crops of each observation show, by the id of the latter."""
    by_stamp = {sight.stamp_ns: sight for sight in sights}
    crop, image = schema.ObservationImageRow, schema.ImageRow
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    with store.reading() as session:
        for observation_id, bbox, stamp_ns in session.execute(
                select(crop.observation_id, crop.bbox, image.stamp_ns)
                .join(image, image.id == crop.image_id).where(crop.is_crop)):
            overlap, instance = max(
                (iou(bbox, item['bbox']), item['instance'])
                for item in by_stamp[stamp_ns].objects)
            votes[observation_id][instance if overlap >= SAME_IOU else NOTHING] += 1
    return {key: found.most_common(1)[0][0] for key, found in votes.items()}


def agreement(entities: Mapping[int, int | None],
              instances: Mapping[int, str]) -> tuple[float, float, Counter[tuple[str, str]]]:
    """Return pairwise precision and recall of entities, and which instances were taken as one."""
    right = claimed = there = 0
    wrong: Counter[tuple[str, str]] = Counter()
    for first, second in combinations(sorted(instances), 2):
        is_same = instances[first] == instances[second] != NOTHING
        is_claimed = entities[first] is not None and entities[first] == entities[second]
        right += is_same and is_claimed
        there += is_same
        claimed += is_claimed
        if is_claimed and not is_same:
            pair = sorted((instances[first], instances[second]))
            wrong[pair[0], pair[1]] += 1
    return right / max(claimed, 1), right / max(there, 1), wrong
