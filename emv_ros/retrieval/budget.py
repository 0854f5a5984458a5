"""Which units a search shows: the best, few of one thing, few observations, not all of one hour.

Each rule holds while something else is left that is about as good; places that stay empty are
filled with the best of what a rule held back. Nothing is scored here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from emv_ros.retrieval.units import Span, Unit
from emv_ros.timeline import HOUR_NS

OF_ONE_KIND = {'observation': 6, 'node': 4, 'image': 4}
OF_ONE_THING = 3
# Of one hour no more than this share of the places, while other hours have something.
OF_ONE_HOUR = 0.5
# What scores less than this share of the best only fills places.
WEAK = 0.02
# Records of a unit that are shown, and how many of them are its last.
SPANS = 24
LAST = 3


def chosen(units: Sequence[Unit], limit: int) -> list[Unit]:
    """Return at most `limit` units, best first; of one thing never more than OF_ONE_THING."""
    ordered = sorted(units, key=lambda unit: (-unit.at_moment, -unit.score, unit.spans[0].start_ns,
                                              unit.spans[0].ref_id))
    taken: list[Unit] = []
    held: list[Unit] = []
    things: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    hours: Counter[int] = Counter()
    for unit in ordered:
        hour = unit.spans[0].start_ns // HOUR_NS
        if unit.thing and things[unit.thing] >= OF_ONE_THING:
            continue
        is_many = kinds[unit.kind] >= OF_ONE_KIND.get(unit.kind, limit)
        is_crowded = hours[hour] >= max(1, limit * OF_ONE_HOUR)
        if not unit.at_moment and (is_many or is_crowded):
            held.append(unit)
            continue
        if len(taken) >= limit:
            break
        taken.append(unit)
        things[unit.thing] += 1
        kinds[unit.kind] += 1
        hours[hour] += 1
    for unit in held:
        if len(taken) >= limit:
            break
        if not unit.thing or things[unit.thing] < OF_ONE_THING:
            taken.append(unit)
            things[unit.thing] += 1
    return taken


def page_of(parts: Sequence[Sequence[Unit]], limit: int, offset: int) -> list[Unit]:
    """Return at most `limit` units after the first `offset`, of parts one after the other.

    The first page is what is chosen of the first part, the next what is chosen of the rest, and so
    on: pages that begin where another ended have no unit in common, and all of them have all units.
    """
    if not offset:
        return chosen(parts[0], limit) if parts else []
    ordered: list[Unit] = []
    for part in parts:
        left = list(part)
        while len(ordered) < offset + limit and (page := chosen(left, limit)):
            ordered += page
            taken = {id(unit) for unit in page}
            left = [unit for unit in left if id(unit) not in taken]
    return ordered[offset:offset + limit]


def shown_spans(spans: Sequence[Span], is_asked: Callable[[Span], bool],
                most: int = SPANS) -> list[Span]:
    """Return at most `most` of a unit's spans: those asked for, then the first and the last."""
    if len(spans) <= most:
        return list(spans)
    asked = [at for at, span in enumerate(spans) if is_asked(span)][:most]
    wanted = dict.fromkeys(asked)
    ends = [*range(len(spans) - LAST, len(spans)), *range(len(spans))]
    for at in ends:
        if len(wanted) >= most:
            break
        wanted.setdefault(at)
    return [spans[at] for at in sorted(wanted)]
