"""What of a stretch is to be written: where what is derived differs from what is stored.

It is cut into slices that can be written one after another, each in a transaction of its own. What
shares a record stays together, so that after each slice every record has one place. Events of raw
records, which are members of nothing, come last: they fill what the others leave free.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from emv_ros.tree.drafts import Draft
from emv_ros.tree.stored import Stored

# A slice has about so many nodes, those that are there and those that they become: no transaction
# may hold the writers for long.
LONGEST_SLICE = 500


@dataclass(slots=True)
class Slice:
    """Drafts, and the top-level nodes that they replace."""

    drafts: list[Draft] = field(default_factory=list)
    tops: list[int] = field(default_factory=list)
    size: int = 0
    start_ns: int = 0
    is_raw: bool = False

    def take(self, other: Slice) -> None:
        """Take what another slice has."""
        self.drafts += other.drafts
        self.tops += other.tops
        self.size += other.size


def slices_of(drafts: Sequence[Draft], stored: Stored) -> list[Slice]:
    """Return what differs, the past first; drafts that are told by a sealed node are left out."""
    parts = _parts(*_unlike(drafts, stored), stored)
    slices: list[Slice] = []
    for part in sorted(parts, key=lambda part: (part.is_raw, part.start_ns)):
        if not slices or slices[-1].size + part.size > LONGEST_SLICE:
            slices.append(Slice())
        slices[-1].take(part)
    return slices


def _unlike(drafts: Iterable[Draft], stored: Stored) -> tuple[list[Draft], set[int]]:
    """Return the drafts that are no node as it stands, and the nodes that are no draft."""
    left: list[Draft] = []
    nodes = set(stored.tops)
    for draft in drafts:
        same = next((key for key in stored.holders(draft)
                     if key in nodes and stored.is_as(key, draft)), None)
        if same is not None:
            nodes.discard(same)
        elif not stored.tells(draft):
            left.append(draft)
    return left, nodes


def _parts(drafts: Sequence[Draft], nodes: set[int], stored: Stored) -> Iterable[Slice]:
    """Return the drafts and nodes with all that share a record with them, directly or not."""
    joined = {key: key for key in nodes}

    def first(key: int) -> int:
        while joined[key] != key:
            joined[key] = key = joined[joined[key]]
        return key

    held: list[tuple[Draft, int | None]] = []
    for draft in drafts:
        keys = [first(key) for key in stored.holders(draft) if key in joined]
        for key in keys[1:]:
            joined[first(key)] = first(keys[0])
        held.append((draft, keys[0] if keys else None))
    found: dict[int, Slice] = {}
    fresh: list[Slice] = []
    for key in sorted(nodes):
        node = stored.nodes[key]
        part = found.setdefault(first(key), Slice(start_ns=node.start_ns))
        part.start_ns = min(part.start_ns, node.start_ns)
        part.size += stored.size(key)
        part.is_raw |= key not in stored.members and key not in stored.children
        part.tops.append(key)
    for draft, holder in held:
        if holder is None:
            fresh.append(part := Slice(start_ns=draft.start_ns))
        else:
            part = found[first(holder)]
        part.start_ns = min(part.start_ns, draft.start_ns)
        part.size += sum(1 for _ in draft.walk())
        part.is_raw |= draft.is_raw
        part.drafts.append(draft)
    return [*found.values(), *fresh]
