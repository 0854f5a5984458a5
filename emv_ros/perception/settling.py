"""Relations of a clip from when its things came together, though they were sure only later.

`Relations` wants to see a doubtful relation a few times before it tells it. A clip is looked at as
a whole, so that what was told in the end of two things can be told from the picture in which they
came into view. Nothing that began while both were in view is moved.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

from emv_ros.perception.relations import ENOUGH, HELD_BY, IN, ON

Told = tuple[Hashable, str, Hashable]

# A thing is told to be at one such place.
PLACED = frozenset((ON, IN, HELD_BY))


def settled(told: Sequence[Collection[Told]],
            there: Sequence[Collection[Hashable]]) -> list[set[Told]]:
    """Return the relations of each picture, of what is `told` of the things that are `there`.

    Those that began at most ENOUGH pictures after both things came into view hold from then on,
    unless something else was told of the pair, or of where the first of them is.
    """
    found = [set(relations) for relations in told]
    for place, relations in enumerate(told):
        for relation in relations:
            if place and relation not in told[place - 1]:
                for earlier in _before(relation, place, told, there):
                    found[earlier].add(relation)
    return found


def _before(relation: Told, place: int, told: Sequence[Collection[Told]],
            there: Sequence[Collection[Hashable]]) -> list[int]:
    """Return the pictures before `place` that show both things, if they came just then."""
    subject, _, other = relation
    places: list[int] = []
    for earlier in range(place - 1, -1, -1):
        if subject not in there[earlier] or other not in there[earlier]:
            return places
        if len(places) == ENOUGH or any(_excludes(one, relation) for one in told[earlier]):
            return []
        places.append(earlier)
    return places


def _excludes(one: Told, other: Told) -> bool:
    if {one[0], one[2]} == {other[0], other[2]}:
        return True
    return one[0] == other[0] and one[1] in PLACED and other[1] in PLACED
