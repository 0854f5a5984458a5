"""What the scenes of a clip show: its detections without the flicker of the detector.

A clip is looked at as a whole, so that past and future both tell whether a thing was there. What
stayed where it was and was missed for a moment is filled in; what appears for a moment while the
view stays is left out; what was found twice counts once. Scenes alone are smoothed: observations,
crops and separations rest on what was really detected.

People are never left out for being seen briefly: who was there shall be known, and can be made
forgotten. Nor is what is told of by an observation, or goes on beyond the clip.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from emv_ros.perception.detections import Box, Detection, area, iou
from emv_ros.perception.regrouping import STAYED, Track
from emv_ros.timeline import SECOND_NS

# Between two sightings of what was there all the while: at 1 Hz two pictures missed. Longer than
# that a person stands in front, and nobody knows what they do there.
FILLED_NS = 3 * SECOND_NS
# Of two boxes of one thing, on average over the pictures of the one that is seen in fewer: their
# IoU, or the share of the smaller in the larger.
DOUBLE_IOU, DOUBLE_INSIDE = 0.7, 0.8
# A box within another of its name is found twice where the detector doubts one of them.
FAINT = 0.5
# The number of the track of what was there before the clip.
BEFORE = -1


@dataclass(frozen=True, slots=True)
class Before:
    """What the last scene before a clip shows."""

    stamp_ns: int
    detections: Sequence[Detection]


@dataclass(frozen=True, slots=True)
class Shown:
    """One thing in a scene: `key` is the same while it stays, `track` the number of its track."""

    key: int
    track: int
    detection: Detection
    is_filled: bool = False


@dataclass(slots=True)
class _Stay:
    """A stretch in which a thing was there: the number of its track by the picture seen in."""

    name: str
    seen: dict[int, tuple[int, Detection]]

    @property
    def first(self) -> int:
        return min(self.seen)

    @property
    def last(self) -> int:
        return max(self.seen)

    @property
    def is_person(self) -> bool:
        return any(item.is_person for _, item in self.seen.values())

    @property
    def instance(self) -> str:
        return next(item.instance for _, item in self.seen.values())

    @property
    def sureness(self) -> float:
        """The mean confidence; 1 where the source gives none."""
        sure = [1.0 if item.confidence is None else item.confidence
                for _, item in self.seen.values()]
        return sum(sure) / len(sure)

    def boxes(self, stamps: Sequence[int]) -> dict[int, Box]:
        """Return its box in each picture from its first to its last."""
        return {place: item.bbox for place, item, _, _ in self.filled(stamps)}

    def filled(self, stamps: Sequence[int]) -> Iterator[tuple[int, Detection, int, bool]]:
        """Yield (picture, detection, track, whether it is filled in), in order of time."""
        places = sorted(self.seen)
        for before, after in zip(places, [*places[1:], places[-1] + 1], strict=True):
            track, item = self.seen[before]
            yield before, item, track, False
            track = self.seen[after][0] if track == BEFORE and after in self.seen else track
            for place in range(before + 1, after):
                share = (stamps[place] - stamps[before]) / (stamps[after] - stamps[before])
                box = _between(item.bbox, self.seen[after][1].bbox, share)
                yield place, replace(item, bbox=box, confidence=None), track, True


def shown(tracks: Sequence[Track], stamps: Sequence[int], told_of: Collection[int],
          shortest_ns: int, before: Before | None = None) -> list[list[Shown]]:
    """Return what the scene of each picture shows.

    `tracks` are those of the clip, after they were regrouped, `stamps` those of its pictures, ns.
    `told_of` are the numbers of the tracks that make observations; what else was seen for less than
    `shortest_ns` was hardly there. `before` is what was there when the clip began, if that is
    known; else nothing that is there at its begin is left out.
    """
    numbered = list(enumerate(tracks))
    if before is not None:
        stamps = [before.stamp_ns, *stamps]
        numbered = [(number, Track(track.keys, {place + 1: item for place, item in
                                                track.seen.items()}))
                    for number, track in numbered]
        numbered += [(BEFORE, Track([], {0: item})) for item in before.detections]
    scenes = _shown(numbered, stamps, told_of, shortest_ns)
    return scenes if before is None else scenes[1:]


def _shown(tracks: Sequence[tuple[int, Track]], stamps: Sequence[int], told_of: Collection[int],
           shortest_ns: int) -> list[list[Shown]]:
    sights = _Sights(stamps, [track for _, track in tracks])
    stays = _joined([stay for number, track in tracks
                     for stay in _stays(number, track, sights)], sights)
    there: list[set[int]] = [set() for _ in stamps]
    for number, stay in enumerate(stays):
        for place in range(stay.first, stay.last + 1):
            there[place].add(number)
    lasting = {number for number, stay in enumerate(stays)
               if not _is_flicker(stay, stamps, there, told_of, shortest_ns)}
    lasting |= _moved(stays, lasting)
    lasting -= _doubles(stays, lasting, there, stamps)
    scenes: list[list[Shown]] = [[] for _ in stamps]
    for number in sorted(lasting):
        for place, item, track, is_filled in stays[number].filled(stamps):
            scenes[place].append(Shown(number, track, item, is_filled))
    return scenes


class _Sights:
    """Which tracks of each name the pictures show."""

    def __init__(self, stamps: Sequence[int], tracks: Sequence[Track]) -> None:
        self.stamps = stamps
        self._tracks: list[dict[str, set[int]]] = [{} for _ in stamps]
        for number, track in enumerate(tracks):
            name = track.name
            for place in track.seen:
                self._tracks[place].setdefault(name, set()).add(number)

    def stayed(self, name: str, before: tuple[int, Detection],
               after: tuple[int, Detection]) -> bool:
        """Whether what two pictures show is one thing, missed in those between them.

        These show fewer of its name, and none that both do not show: else it may have been
        elsewhere.
        """
        first, last = before[0], after[0]
        if self.stamps[last] - self.stamps[first] > FILLED_NS or (
                iou(before[1].bbox, after[1].bbox) < STAYED):
            return False
        if last == first + 1:
            return True
        both = self._of(first, name) & self._of(last, name)
        most = max(len(self._of(first, name)), len(self._of(last, name)))
        return all(len(there) < most and there <= both for there in (
            self._of(place, name) for place in range(first + 1, last)))

    def _of(self, place: int, name: str) -> set[int]:
        return self._tracks[place].get(name, set())


def _stays(number: int, track: Track, sights: _Sights) -> Iterator[_Stay]:
    """Yield the stretches of a track, cut where it was away, or came back elsewhere."""
    stay, last = _Stay(track.name, {}), -1
    for place in sorted(track.seen):
        item = track.seen[place]
        if stay.seen and place > last + 1 and not sights.stayed(
                stay.name, (last, track.seen[last]), (place, item)):
            yield stay
            stay = _Stay(stay.name, {})
        stay.seen[place] = number, item
        last = place
    yield stay


def _joined(stays: Sequence[_Stay], sights: _Sights) -> list[_Stay]:
    """Return the stretches, joined where one goes on as another; the best that overlap first."""
    waiting: dict[tuple[str, str], list[int]] = {}
    for number, stay in enumerate(stays):
        waiting.setdefault((stay.name, stay.instance), []).append(number)
    fits = [fit for numbers in waiting.values() for fit in _fits(stays, numbers, sights)]
    follows: dict[int, int] = {}
    taken: set[int] = set()
    for _, one, other in sorted(fits, key=lambda fit: (-fit[0], *fit[1:])):
        if one not in follows and other not in taken:
            follows[one] = other
            taken.add(other)
    joined = []
    for number, stay in enumerate(stays):
        if number in taken:
            continue
        whole, at = _Stay(stay.name, dict(stay.seen)), number
        while (at := follows.get(at, -1)) >= 0:
            whole.seen |= stays[at].seen
        joined.append(whole)
    return joined


def _fits(stays: Sequence[_Stay], numbers: Sequence[int],
          sights: _Sights) -> Iterator[tuple[float, int, int]]:
    """Yield (overlap, one, other) of stretches, where the one may go on as the other."""
    beginning = sorted((stays[number].first, number) for number in numbers)
    for one in numbers:
        last = stays[one].last
        before = stays[one].seen[last][1]
        for first, other in beginning[bisect_right(beginning, (last, len(stays))):]:
            if sights.stamps[first] - sights.stamps[last] > FILLED_NS:
                break
            after = stays[other].seen[first][1]
            if sights.stayed(stays[one].name, (last, before), (first, after)):
                yield iou(before.bbox, after.bbox), one, other


def _is_flicker(stay: _Stay, stamps: Sequence[int], there: Sequence[set[int]],
                told_of: Collection[int], shortest_ns: int) -> bool:
    """Whether something was seen so briefly, before a view that stays, that it was not there."""
    first, last = stay.first, stay.last
    if (stay.is_person or stay.instance or first == 0 or last == len(stamps) - 1
            or any(track in told_of for track, _ in stay.seen.values())):
        return False
    if len(stay.seen) > 1 and stamps[last] - stamps[first] >= shortest_ns:
        return False
    before, after = there[first - 1], there[last + 1]
    # Where the camera turned away there is nothing to tell a glimpse from an error.
    return 2 * len(before & after) >= max(len(before), len(after))


def _moved(stays: Sequence[_Stay], lasting: Collection[int]) -> set[int]:
    """Return the brief stretches of what lasts elsewhere in the next or the last picture.

    It was moved, so that its boxes do not overlap.
    """
    begins = {(stays[number].name, stays[number].first) for number in lasting}
    ends = {(stays[number].name, stays[number].last) for number in lasting}
    return {number for number, stay in enumerate(stays)
            if (stay.name, stay.last + 1) in begins or (stay.name, stay.first - 1) in ends}


def _doubles(stays: Sequence[_Stay], lasting: Collection[int], there: Sequence[set[int]],
             stamps: Sequence[int]) -> set[int]:
    """Return which stretches are of things that another shows as well: the shorter, or fainter."""
    rank = {number: (len(stays[number].seen), stays[number].sureness, -number)
            for number in lasting}
    boxes = {number: stays[number].boxes(stamps) for number in lasting}
    doubles = set()
    for number in lasting:
        # What shows it as well is there for the most of its time, and so in the middle of it.
        middle = (stays[number].first + stays[number].last) // 2
        if any(other in rank and rank[other] > rank[number] and _is_double(
                stays[number], stays[other], boxes[number], boxes[other])
               for other in there[middle]):
            doubles.add(number)
    return doubles


def _is_double(stay: _Stay, other: _Stay, boxes: dict[int, Box],
               others: dict[int, Box]) -> bool:
    if stay.instance and other.instance and stay.instance != other.instance:
        return False
    is_doubtful = stay.sureness < FAINT <= other.sureness
    if stay.name != other.name and not is_doubtful:
        return False
    may_be_inside = is_doubtful and stay.name == other.name and not stay.is_person
    pairs = [(box, others[place]) for place, box in boxes.items() if place in others]
    if sum(iou(*pair) for pair in pairs) >= DOUBLE_IOU * len(boxes):
        return True
    return may_be_inside and sum(_inside(*pair) for pair in pairs) >= DOUBLE_INSIDE * len(boxes)


def _inside(first: Box, second: Box) -> float:
    """Return the share of the smaller of two boxes that the other covers."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    return max(width, 0.0) * max(height, 0.0) / max(min(area(first), area(second)), 1.0)


def _between(first: Box, second: Box, share: float) -> Box:
    x1, y1, x2, y2 = (round(low + share * (high - low), 1)
                      for low, high in zip(first, second, strict=True))
    return x1, y1, x2, y2
