"""Template texts of groups, days and longer periods: what happened, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

from emv_ros.timeline import to_datetime
from emv_ros.tree.levels import DAY, LEVEL_NAMES
from emv_ros.tree.texts import clip, is_sighting, join_within, tally

# Stands between the texts of several periods.
GLUE = ' | '


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """What a text of the upper tree needs to know of an event or goal."""

    start_ns: int
    end_ns: int
    name: str
    status: str
    headline: str


def group_text(items: Sequence[Item], is_day: bool, zone: tzinfo, limit: int) -> str:
    """Return what the items were, each name once; a day also says when they were.

    What was only seen is left out wherever anything else happened.
    """
    telling = [item for item in items if item.name or not is_sighting(item.headline)] or items
    told = tally((item.name, item.status, item.headline) for item in telling)
    if not is_day or not items:
        return join_within(told, limit)
    start = to_datetime(items[0].start_ns, zone)
    end = to_datetime(max(item.end_ns for item in items), zone)
    until = f'{end:%H:%M}' if end.date() == start.date() else f'{end:%H:%M (%d %B)}'
    head = f'{start:%A %d %B %Y}, {start:%H:%M} to {until}'
    return clip(f'{head}: {join_within(told, limit - len(head) - 2)}', limit)


def period_text(children: Sequence[tuple[int, int, int, str]], zone: tzinfo, limit: int,
                head: str = '') -> str:
    """Return a part of the text of each child (level, start_ns, end_ns, text), after the head."""
    if head:
        head = clip(head, limit * 2 // 3 if children else limit)
        limit -= len(head) + len(GLUE)
    if not children:
        return head
    room = max(40, limit // len(children) - 2)
    parts = []
    for level, start_ns, _, text in children:
        start = to_datetime(start_ns, zone)
        begin = f'{LEVEL_NAMES[level]} from {start:%Y-%m-%d}: '
        if level == DAY:  # a day's template has its date, a model's text has none
            date = f'{start:%A %d %B}'
            begin = '' if text.startswith(date) else f'{date}: '
        parts.append(clip(f'{begin}{text}', room))
    told = join_within(parts, limit, GLUE)
    return f'{head}{GLUE}{told}' if head else told
