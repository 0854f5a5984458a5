"""Which things of a clip were seen apart: two in one picture at two places are never the same."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from emv_ros.perception.detections import iou
from emv_ros.perception.regrouping import Track
from emv_ros.settings import BiographySettings


def separations(things: Sequence[Track],
                settings: BiographySettings) -> list[tuple[int, int, int]]:
    """Return (first, second, shared pictures) of each pair that was seen apart, first < second."""
    found = []
    for first, second in combinations(range(len(things)), 2):
        shared = things[first].seen.keys() & things[second].seen.keys()
        if shared and _are_apart(things[first], things[second], shared, settings):
            found.append((first, second, len(shared)))
    return found


def _are_apart(first: Track, second: Track, shared: set[int], settings: BiographySettings) -> bool:
    """Whether the pictures that show both show two things.

    They do where there are `separation_frames` of them, and in `separation_share` of these the
    boxes overlap by less than `separation_iou`. Of things of one name fewer pictures are enough
    where all of them say so: what would make one of these is that they look alike, and no entity
    shall stand at two places at once.
    """
    overlaps = [iou(first.seen[place].bbox, second.seen[place].bbox) for place in shared]
    apart = sum(overlap < settings.separation_iou for overlap in overlaps)
    if len(shared) >= settings.separation_frames:
        return apart >= settings.separation_share * len(shared)
    return first.name == second.name and apart == len(shared)
