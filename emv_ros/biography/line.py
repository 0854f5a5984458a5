"""A life in one line, made by rule: what it is, how often it was seen, when and where."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, tzinfo

from emv_ros.memory.lives import Life
from emv_ros.timeline import format_stamp

COLOUR = 'colour'
PREPOSITIONS = frozenset(
    ('at', 'behind', 'beside', 'by', 'held', 'in', 'inside', 'left', 'near', 'next', 'on', 'right',
     'under'))


def line_of(life: Life, zone: tzinfo = UTC) -> str:
    """Return what is known of a thing from its observations, in words; times local to the zone."""
    seen = life.observations
    first, last = seen[0], max(seen, key=lambda item: (item.end_ns, item.stamp_ns))
    what = life.name or 'something'
    colour = _colour(life)
    if colour and colour.lower() not in what.lower().split():
        what = f'{what}, {colour}'
    minutes = [format_stamp(stamp_ns, zone)[:16] for stamp_ns in (first.stamp_ns, last.end_ns)]
    times = 'once' if len(seen) == 1 else f'{len(seen)} times'
    when = f'on {minutes[0]}' if len(seen) == 1 else f'from {minutes[0]} to {minutes[1]}'
    placed = [item for item in seen if item.location.strip()]
    where = f', last {_placed(placed[-1].location)}' if placed else ''
    return f'{what}: seen {times}, {when}{where}'


def _placed(location: str) -> str:
    """Return a place with a preposition, where its source gave none."""
    words = location.split()
    return ' '.join(words if words[0].lower() in PREPOSITIONS else ('at', *words))


def _colour(life: Life) -> str:
    told = Counter(item.attributes[COLOUR] for item in life.observations
                   if isinstance(item.attributes.get(COLOUR), str) and item.attributes[COLOUR])
    return ' '.join(told.most_common(1)[0][0].split()) if told else ''
