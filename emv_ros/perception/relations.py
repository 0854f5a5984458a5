"""How the things in the pictures of one camera stand to one another, steady under noise.

What two boxes mean is told by `placements`; here a relation begins and ends. It begins at once
where it is clear, else once it held in 3 of the last 5 pictures; it ends after it failed clearly in
3 pictures in a row. Between "just holds" and "clearly fails" lies a band, so that boxes which
tremble about a threshold change nothing. A pair has at most one of on, in, under and held by, and
beside that none of next to, left of and right of, of which it has at most one, too.

A relation that has no direction of its own (next to; left of, which is right of from the other
side) is told once a pair, always from the same side: that of the name that comes first in the
alphabet, between equals that of the thing that was seen first.

A thing whose key changes where it stands, as tracks do from clip to clip, stays the same thing
here; `resume` takes up what a stored scene says.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from emv_ros.perception.detections import Box, iou
from emv_ros.perception.placements import (
    HELD_BY,
    IN,
    LEFT_OF,
    NEXT_TO,
    ON,
    RIGHT_OF,
    UNDER,
    Thing,
    beside,
    placements,
)
from emv_ros.timeline import SECOND_NS

__all__ = ['HELD_BY', 'IN', 'LEFT_OF', 'NEXT_TO', 'ON', 'RIGHT_OF', 'UNDER', 'Relations', 'Thing']

Relation = tuple[int, str, int]
PairKey = tuple[Hashable, str, Hashable]

ENOUGH, OF_LAST = 3, 5
# Of the longest edge of a picture, and in px at least: wider than what trembling makes of a margin.
BAND_SHARE, BAND_PX = 0.02, 4.0
# What was not seen for so long is met anew.
FORGOTTEN_NS = 60 * SECOND_NS
# Overlap (IoU) with a thing of its name that is gone, from which a new key means that thing.
SAME_IOU = 0.5
# A relation that was told holds on unless the boxes contradict it by more, px.
RESUMED_PX = 40.0


@dataclass(slots=True)
class _Belief:
    """Whether one relation of a pair is thought to hold."""

    held: deque[bool] = field(default_factory=lambda: deque(maxlen=OF_LAST))
    failed: int = 0
    is_on: bool = False
    seen_ns: int = 0

    def hear(self, margin: float, band: float, stamp_ns: int, may_begin: bool) -> None:
        """Take in by how many pixels it holds (or, below 0, fails) in a picture."""
        self.seen_ns = stamp_ns
        self.held.append(margin >= 0)
        self.failed = self.failed + 1 if margin < -band else 0
        if self.is_on:
            self.is_on = self.failed < ENOUGH
            if not self.is_on:
                self.held.clear()
        elif may_begin:
            self.is_on = margin >= band or sum(self.held) >= ENOUGH


@dataclass(slots=True)
class _Met:
    """What is known of a thing: the how manieth it is, and where it was last."""

    number: int
    name: str
    bbox: Box
    seen_ns: int


class Relations:
    """The relations in the pictures of one camera, which come in order of time."""

    def __init__(self) -> None:
        self._beliefs: dict[PairKey, _Belief] = {}
        self._met: dict[Hashable, _Met] = {}
        self._count = 0
        self._entering: set[int] = set()  # what may be in something: that is not sure yet

    def update(self, stamp_ns: int, size: tuple[int, int],
               things: Sequence[Thing]) -> list[Relation]:
        """Return (i, predicate, j) of the things of the next picture, in order.

        `size` is width and height of the picture, px. A key that stands in it twice counts by its
        first thing.
        """
        band = max(BAND_PX, BAND_SHARE * max(size))
        self._forget(stamp_ns)
        places = self._meet(stamp_ns, things)
        found: list[Relation] = []
        self._entering.clear()
        for first, second in _pairs(places):
            found += self._resting(stamp_ns, band, things, first, second)
        resting = {thing for first, _, second in found for thing in ((first, second),
                                                                     (second, first))}
        # A sink is within a counter: what may be in the one is not said to be on the other.
        steady = _without_doubles([relation for relation in found if relation[1] != ON
                                   or relation[0] not in self._entering], things)
        for first, second in _pairs(places):
            if (first, second) not in resting:
                steady += self._beside(stamp_ns, band, things, *self._from(things, first, second))
            else:
                self._drop_beside(*self._from(things, first, second), things)
        return sorted(steady)

    def _resting(self, stamp_ns: int, band: float, things: Sequence[Thing], first: int,
                 second: int) -> list[Relation]:
        """Return the one relation of a pair by which one thing bears, holds or hides the other."""
        margins: dict[Relation, float] = {}
        for one, other in ((first, second), (second, first)):
            for predicate, margin in placements(things[one], things[other]).items():
                margins[one, predicate, other] = margin
        told = self._choose(stamp_ns, band, things, margins)
        return [] if told is None else [told]

    def _beside(self, stamp_ns: int, band: float, things: Sequence[Thing], one: int,
                other: int) -> list[Relation]:
        margins = {(one, predicate, other): margin
                   for predicate, margin in beside(one, other, things).items()}
        told = self._choose(stamp_ns, band, things, margins)
        return [] if told is None else [told]

    def _choose(self, stamp_ns: int, band: float, things: Sequence[Thing],
                margins: dict[Relation, float]) -> Relation | None:
        """Hear what a picture says of relations that exclude each other; return that which holds.

        What began stays until it ends; of several that could begin the clearest does. What was
        never near to holding leaves no trace.
        """
        known = {relation: self._beliefs.get(_key(relation, things)) for relation in margins}
        going = next((relation for relation, belief in known.items() if belief and belief.is_on),
                     None)
        for relation in sorted(margins, key=margins.__getitem__, reverse=True):
            belief = known[relation]
            if belief is None:
                if margins[relation] < 0:
                    continue
                belief = self._beliefs[_key(relation, things)] = _Belief()
            belief.hear(margins[relation], band, stamp_ns, going in (None, relation))
            if relation[1] == IN and belief.held and belief.held[-1] and not belief.is_on:
                self._entering.add(relation[0])
            if belief.is_on:
                going = relation
            elif going == relation:
                going = None
        return going

    def _drop_beside(self, one: int, other: int, things: Sequence[Thing]) -> None:
        for predicate in (NEXT_TO, LEFT_OF, RIGHT_OF):
            self._beliefs.pop(_key((one, predicate, other), things), None)

    def _from(self, things: Sequence[Thing], first: int, second: int) -> tuple[int, int]:
        """Return a pair in the order in which it is told."""
        one, other = sorted((first, second), key=lambda place: (
            things[place].name, self._met[things[place].key].number))
        return one, other

    def resume(self, stamp_ns: int, things: Sequence[Thing], called: Sequence[str],
               told: Collection[tuple[str, str, str]]) -> None:
        """Take up what a scene of this camera says, from before the first picture that comes.

        `called` are the names that its relations `told` (subject, predicate, object) use for the
        things; their keys must not be those of pictures to come.
        """
        places = self._meet(stamp_ns, things)
        for first, second in _pairs(places):
            margins = {(one, predicate, other): margin
                       for one, other in ((first, second), (second, first))
                       for predicate, margin in placements(things[one], things[other]).items()}
            one, other = self._from(things, first, second)
            margins |= {(one, predicate, other): margin
                        for predicate, margin in beside(one, other, things).items()}
            holding = [relation for relation, margin in margins.items() if margin >= -RESUMED_PX
                       and (called[relation[0]], relation[1], called[relation[2]]) in told]
            if holding:
                going = max(holding, key=margins.__getitem__)
                self._beliefs[_key(going, things)] = _Belief(is_on=True, seen_ns=stamp_ns)

    def _meet(self, stamp_ns: int, things: Sequence[Thing]) -> list[int]:
        """Note who is there, and return the place of each in the picture."""
        places: dict[Hashable, int] = {}
        for place, thing in enumerate(things):
            places.setdefault(thing.key, place)
        new = [things[place] for key, place in places.items() if key not in self._met]
        gone = {key: met for key, met in self._met.items() if key not in places}
        for thing, before in _matched(new, gone):
            self._met[thing.key] = self._met.pop(before)
            self._beliefs = {_renamed(key, before, thing.key): belief
                             for key, belief in self._beliefs.items()}
        for key, place in places.items():
            thing, met = things[place], self._met.get(key)
            number = self._count if met is None else met.number
            self._count += met is None
            self._met[key] = _Met(number, thing.name, thing.bbox, stamp_ns)
        return list(places.values())

    def _forget(self, stamp_ns: int) -> None:
        self._met = {key: met for key, met in self._met.items()
                     if abs(stamp_ns - met.seen_ns) <= FORGOTTEN_NS}
        self._beliefs = {
            key: belief for key, belief in self._beliefs.items()
            if (belief.is_on or any(belief.held)) and key[0] in self._met and key[2] in self._met}


def _matched(new: Sequence[Thing],
             gone: dict[Hashable, _Met]) -> list[tuple[Thing, Hashable]]:
    """Return which new things are which that are gone, by name and place, the surest first."""
    fits = sorted(((iou(thing.bbox, met.bbox), place, key) for place, thing in enumerate(new)
                   for key, met in gone.items() if met.name == thing.name),
                  key=lambda fit: (-fit[0], fit[1], gone[fit[2]].number))
    found: list[tuple[Thing, Hashable]] = []
    taken: set[Hashable] = set()
    placed: set[int] = set()
    for overlap, place, key in fits:
        if overlap >= SAME_IOU and key not in taken and place not in placed:
            taken.add(key)
            placed.add(place)
            found.append((new[place], key))
    return found


def _renamed(key: PairKey, before: Hashable, after: Hashable) -> PairKey:
    return (after if key[0] == before else key[0], key[1], after if key[2] == before else key[2])


def _pairs(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    return ((first, second) for number, first in enumerate(places)
            for second in places[number + 1:])


def _key(relation: Relation, things: Sequence[Thing]) -> PairKey:
    return things[relation[0]].key, relation[1], things[relation[2]].key


def _without_doubles(found: Sequence[Relation], things: Sequence[Thing]) -> list[Relation]:
    """Return relations without those that another of the same thing makes doubtful.

    What a hand holds stands on nothing. What stands somewhere is not held by the person whose body
    is behind it. What is in a thing is on another only with that thing.
    """
    by_hand = {one for one, predicate, other in found
               if predicate == HELD_BY and not things[other].is_person}
    inside = {one for one, predicate, _ in found if predicate == IN}
    placed = inside | {one for one, predicate, _ in found if predicate == ON}
    kept = []
    for one, predicate, other in found:
        if one in by_hand and (predicate != HELD_BY or things[other].is_person):
            continue
        if predicate == HELD_BY and things[other].is_person and one in placed:
            continue
        if predicate == ON and one in inside:
            continue
        kept.append((one, predicate, other))
    return kept
