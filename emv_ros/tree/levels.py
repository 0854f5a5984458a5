"""The levels of the tree, and the calendar names of its upper nodes.

L2 events and L3 goals come from records by rule. Consecutive ones of a day form episodes (L4;
groups of groups are L5 to L7). From the day upwards the calendar is the skeleton, so that every
day is a node that is found by its date and nothing ever crosses midnight but a goal, which
belongs to the day it starts in. Weeks are cut at the ends of months. A calendar node above the
day exists only where it has two children.
"""

from __future__ import annotations

from datetime import date, timedelta, tzinfo

from emv_ros.timeline import Interval, day_span

EVENT, GOAL, EPISODE, TOP_GROUP = 2, 3, 4, 7
DAY, WEEK, MONTH, YEAR, LIFE = 8, 9, 10, 11, 12

# What each calendar level is called where a person reads it.
LEVEL_NAMES = {
    EVENT: 'event', GOAL: 'goal', EPISODE: 'episode', 5: 'part of the day', 6: 'part of the day',
    7: 'part of the day', DAY: 'day', WEEK: 'week', MONTH: 'month', YEAR: 'year', LIFE: 'life'}

# The path of a day from the outermost period inwards; a prefix of it names a period.
Path = tuple[str, ...]


def path_of(day: date) -> Path:
    """Return the periods of a day: ('2024', '2024-06', '2024-06 W26', '2024-06-27')."""
    week = day.isocalendar().week
    return (f'{day:%Y}', f'{day:%Y-%m}', f'{day:%Y-%m} W{week:02d}', day.isoformat())


def level_of(path: Path) -> int:
    """Return the level of a period."""
    return LIFE - len(path)


def name_of(path: Path) -> str:
    """Return the name of a period's node: 'day 2024-06-27', 'week 2024-06 W26', 'life'."""
    return f'{LEVEL_NAMES[level_of(path)]} {path[-1]}' if path else LEVEL_NAMES[LIFE]


def path_named(name: str) -> Path:
    """Return the path of a calendar node by its name."""
    kind, _, label = name.partition(' ')
    if kind == LEVEL_NAMES[DAY]:
        return path_of(date.fromisoformat(label))
    if kind == LEVEL_NAMES[WEEK]:
        month, _, week = label.partition(' W')
        first = date.fromisoformat(f'{month}-01')
        inside = next(day for day in (first + timedelta(days=n) for n in range(31))
                      if day.isocalendar().week == int(week))
        return path_of(inside)[:3]
    if kind == LEVEL_NAMES[MONTH]:
        return (label[:4], label)
    return (label,) if kind == LEVEL_NAMES[YEAR] else ()


def common(first: Path, second: Path) -> Path:
    """Return the narrowest period that holds both."""
    length = 0
    while length < min(len(first), len(second)) and first[length] == second[length]:
        length += 1
    return first[:length]


def span_of(path: Path, zone: tzinfo) -> Interval | None:
    """Return the span of a period in a zone; None for the life, which has no end."""
    if not path:
        return None
    first = _first_day(path)
    day = first
    while path_of(day)[:len(path)] == path:
        # A month at a time where that cannot leave the period: years are long.
        day += timedelta(days=28 if len(path) == 1 and day.month < 12 else 1)
    return day_span(first, zone, (day - first).days)


def _first_day(path: Path) -> date:
    if len(path) == 4:
        return date.fromisoformat(path[3])
    first = date.fromisoformat(f'{path[1] if len(path) > 1 else path[0] + "-01"}-01')
    while path_of(first)[:len(path)] != path:
        first += timedelta(days=1)
    return first
