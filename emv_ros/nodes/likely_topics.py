"""Which topic was meant by a name that nobody publishes: one of a type that is read, and alike."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import SequenceMatcher

from rclpy.node import Node

LEAST_LIKENESS = 0.6  # of two names, 0..1
ACTION = '/_action/status'


def nearest(node: Node, topic: str, types: Mapping[str, type], taken: Collection[str] = ()) -> str:
    """Return the likeliest published topic of one of the types, '' where none is alike."""
    there = [name for name, kinds in node.get_topic_names_and_types()
             if set(kinds) & set(types) and name != topic and name not in taken
             and node.count_publishers(name)]
    return likeliest(topic, there)


def likeliest(topic: str, there: Collection[str]) -> str:
    """Return the name that is most like a topic's, '' where none is like it.

    Full names are compared, and what stands last in them: a namespace is easily forgotten.
    """
    best = max(((_likeness(topic, name), name) for name in sorted(there)),
               default=(0.0, ''), key=lambda pair: pair[0])
    return best[1] if best[0] >= LEAST_LIKENESS else ''


def _likeness(one: str, other: str) -> float:
    # What every action has in common says nothing about which is meant.
    one, other = (name.casefold().removesuffix(ACTION) for name in (one, other))
    if one.strip('/').endswith(other) or other.endswith(one):
        return 1.0
    return SequenceMatcher(None, one, other).ratio()
