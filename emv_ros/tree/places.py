"""Where the parts of a goal were done: the place that the goal had gone to before.

A robot that navigates to the sideboard and then grasps does so at the sideboard, until it goes
elsewhere; after a way that failed nobody knows where it is. What it did under another goal is not
followed, since who carried or drove it in between is not known.
"""

from __future__ import annotations

from emv_ros.memory.documents import words_of_name
from emv_ros.records import SkillEvent, Status
from emv_ros.tree.drafts import Draft
from emv_ros.tree.parameters import leaves, words_of_value

_GOING = frozenset(('navigate', 'navigation', 'navigating', 'go', 'goto', 'drive', 'travel',
                    'walk', 'move', 'approach', 'dock'))
_PLACES = frozenset(('location', 'place', 'room', 'destination', 'area', 'waypoint', 'station',
                     'landmark'))
# What names a place only where the skill says outright that it navigates.
_TARGETS = frozenset(('target', 'goal', 'to'))
_NAVIGATING = frozenset(('navigate', 'navigation', 'navigating', 'goto', 'drive', 'travel'))


def find_places(top: Draft) -> None:
    """Set the place of each part below a draft; children must be in order of time."""
    waiting = [top]
    while waiting:
        draft = waiting.pop()
        known, since_ns = draft.place, draft.start_ns
        for child in draft.children:
            child.place = known if child.start_ns >= since_ns else ''
            way = way_of(child.run) if child.run is not None else None
            if way is not None:
                child.place = ''
                known = way if child.status == Status.SUCCEEDED else ''
                since_ns = child.end_ns
        waiting.extend(draft.children)


def way_of(run: SkillEvent) -> str | None:
    """Return where a run goes, '' where it goes without saying where; None where it does not go."""
    words = set(words_of_name(run.skill).split())
    if not words & _GOING:
        return None
    wanted = _PLACES | (_TARGETS if words & _NAVIGATING else frozenset())
    for leaf in leaves(run.parameters):
        if (len(leaf.names) == 1 and isinstance(leaf.value, str)
                and wanted & set(words_of_name(leaf.names[0]).split())
                and (place := words_of_value(leaf))):
            return place
    return '' if words & _NAVIGATING else None
