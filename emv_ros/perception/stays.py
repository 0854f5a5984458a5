"""From sightings of one thing, in order of time, to its stays: how long it was at one place.

A thing is at the same place as long as it keeps its relation (on the table); where a scene tells
none, as long as it keeps within 0.3 m of where its stay began. What a scene leaves open changes
nothing. A place counts once the thing was there for a second: what is passed on the way belongs to
the stay that it leads to, and a relation that flickers makes no stay. What never comes to rest is
one stay without a place. A pause ends a stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
import json
import math
from typing import Any

from emv_ros.timeline import SECOND_NS

NEAR_M = 0.3
SETTLED_NS = SECOND_NS
# What moves for so long is told as moving.
ON_THE_WAY_NS = 30 * SECOND_NS
MAX_STATES = 12

Relation = tuple[str, str]  # a predicate and what it leads to, by its instance if it has one


@dataclass(slots=True)
class Place:
    """Where a thing was seen: `words` tell its relation.

    `position` is x, y, z in metres as JSON, in a frame that stands still: most are never needed,
    and are not decoded.
    """

    relation: Relation | None = None
    words: str = ''
    position: str | None = None
    frame: str = ''
    is_moving: bool = False


NOWHERE = Place()


@dataclass(slots=True)
class Stay:
    """A thing at one place, from its first to its last sighting there; `states` as they changed.

    `settled_ns` is since when it was at that very place. `row_id` is that of the observation that
    was made of it, `since_ns` the first sighting that this observation does not hold yet.
    """

    first_ns: int
    last_ns: int
    place: Place
    settled_ns: int
    states: list[str] = field(default_factory=list)
    row_id: int | None = None
    since_ns: int | None = None

    def see(self, stamp_ns: int, place: Place, state: str) -> None:
        """Take in one more sighting at this place, which may tell more of it."""
        self.last_ns = stamp_ns
        if self.since_ns is None:
            self.since_ns = stamp_ns
        if self.place.relation is None and place.relation is not None or (
                self.place.position is None and place.position is not None):
            known = self.place
            self.place = Place(
                known.relation or place.relation, known.words or place.words,
                known.position or place.position,
                known.frame if known.position else place.frame)
        if state and (not self.states or self.states[-1] != state):
            self.states = [*self.states, state][-MAX_STATES:]

    def is_at(self, place: Place) -> bool:
        """Whether a sighting is at this place, as far as can be told."""
        mine = self.place
        if mine.is_moving:
            return False
        if mine.relation is not None and place.relation is not None:
            return mine.relation == place.relation
        if (mine.position is not None and place.position is not None
                and mine.frame == place.frame):
            return mine.position == place.position or _are_near(mine.position, place.position)
        # A place that is told only later is another one, unless it is told soon.
        return mine.relation is not None or place.relation is None or (
            self.last_ns - self.first_ns < SETTLED_NS)


def _are_near(first: str, second: str) -> bool:
    try:
        return math.dist(json.loads(first), json.loads(second)) <= NEAR_M
    except (TypeError, ValueError):  # positions of other lengths: a program may store what it will
        return False


class Follower:
    """Follows one thing; stays that are over go to `over`."""

    def __init__(self, name: str, over: Callable[[Stay], None]) -> None:
        self.name = name
        self.now: Stay | None = None
        self.next: Stay | None = None  # where it seems to have gone
        self._over = over

    @property
    def last_ns(self) -> int:
        """When the thing was last seen, -1 for never."""
        stay = self.next or self.now
        return -1 if stay is None else stay.last_ns

    def see(self, stamp_ns: int, place: Place, state: str) -> None:
        """Take in a sighting; none may be earlier than the one before."""
        now = self.now
        if now is None:
            self.now = _begin(stamp_ns, place, state)
        elif now.is_at(place):
            if self.next is not None and stamp_ns - self.next.settled_ns >= SETTLED_NS:
                self._go_on()
                self.next = _begin(stamp_ns, place, state)
                return
            self.next = None
            now.see(stamp_ns, place, state)
        else:
            self._leave(now, stamp_ns, place, state)

    def end(self) -> None:
        """Let what is going on be over."""
        for stay in (self.now, self.next):
            if stay is not None:
                self._over(stay)
        self.now = self.next = None

    def _leave(self, now: Stay, stamp_ns: int, place: Place, state: str) -> None:
        following = self.next
        if following is None:
            self.next = _begin(stamp_ns, place, state)
            return
        if following.is_at(place):
            following.see(stamp_ns, place, state)
            if stamp_ns - following.settled_ns >= SETTLED_NS:
                self._go_on()
            return
        if stamp_ns - following.settled_ns >= SETTLED_NS:
            self._go_on()
            self.next = _begin(stamp_ns, place, state)
            return
        self.next = _begin(stamp_ns, place, state)
        self.next.first_ns = following.first_ns
        if now.place.is_moving:
            now.see(stamp_ns, NOWHERE, state)
            now.place = Place(is_moving=True)
            self.next.first_ns = stamp_ns
        elif stamp_ns - following.first_ns >= ON_THE_WAY_NS:
            self._over(now)
            self.now = _begin(following.first_ns, Place(is_moving=True), state)
            self.now.last_ns = stamp_ns
            self.next.first_ns = stamp_ns

    def _go_on(self) -> None:
        """Let the thing be where it seems to have gone."""
        if self.now is not None:
            self._over(self.now)
        self.now, self.next = self.next, None


def _begin(stamp_ns: int, place: Place, state: str) -> Stay:
    return Stay(stamp_ns, stamp_ns, place, stamp_ns, [state] if state else [], None, stamp_ns)


def packed(follower: Follower) -> dict[str, Any]:
    """Return a follower as JSON can hold it."""
    return {'name': follower.name, **{name: _packed_stay(stay) for name, stay in (
        ('now', follower.now), ('next', follower.next)) if stay is not None}}


def unpacked(value: dict[str, Any], over: Callable[[Stay], None]) -> Follower:
    """Return the follower that was packed."""
    follower = Follower(value['name'], over)
    follower.now, follower.next = (
        _unpacked_stay(value[name]) if name in value else None for name in ('now', 'next'))
    return follower


def _packed_stay(stay: Stay) -> list[Any]:
    place = stay.place
    return [stay.first_ns, stay.last_ns, stay.settled_ns, stay.row_id, stay.states,
            place.relation, place.words, place.position, place.frame, place.is_moving]


def _unpacked_stay(value: list[Any]) -> Stay:
    first_ns, last_ns, settled_ns, row_id, states, relation, words, position, frame, moves = value
    place = Place(None if relation is None else (relation[0], relation[1]), words,
                  position, frame, moves)
    return Stay(first_ns, last_ns, place, settled_ns, list(states), row_id)
