"""The graph of a memory: what was seen, said and done, and what ties it together.

Vertices are the tree's nodes of all levels, clips and entities (the *hubs*), and each unit of
retrieval that is no node: observation, utterance, skill event, annotation. Edges have no direction:

| edge | weight | why |
| --- | --- | --- |
| observation - its clip | 1.0 | context: seen by one camera in one stretch |
| unit - the node that it belongs to | 0.8 | provenance: parts of one event |
| observation - its entity | 0.5 | the same thing, at whatever time |
| node - its parent | 0.3 | containment: what an event was part of |
| node - the next of its level, clip - the next of its camera | 0.3 | what came before and after |

Units have no edges among themselves and at most three each, so that their edges are an array of
shape (units, 3) of hub positions, those of hubs one of shape (hubs, 2): a record that comes, moves
or goes changes a few numbers, and nothing is ever rebuilt for it. Hub 0 stands for 'none'.

The graph follows the journal of changes of the database and is kept beside it as a file; it holds
ids and spans, no contents. What a search returns is read from the database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
import logging
import math
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from emv_ros.memory.cache_file import read_cache, write_cache
from emv_ros.memory.changes import Mark, mark_of
from emv_ros.memory.clearing import CACHES
from emv_ros.memory.migrate import SCHEMA_VERSION
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.arrays import Columns
from emv_ros.retrieval.following import Follower
from emv_ros.retrieval.graph_rows import CHAINED, read_hubs, read_units
from emv_ros.retrieval.scope import KINDS, Rows, Scope

if TYPE_CHECKING:
    import networkx

logger = logging.getLogger(__name__)

# Kinds are numbered as in scopes, then those that have no text.
HUBS = ('node', 'clip', 'entity')
UNITS = tuple(kind for kind in KINDS if kind not in HUBS)
NUMBERS = {kind: number for number, kind in enumerate((*KINDS, 'clip', 'entity'))}
NAMES = tuple(NUMBERS)
FILE = 'graph.bin'
CONTENTS = f'graph 1 of schema {SCHEMA_VERSION}'

Made = TypeVar('Made')
Vertices = NDArray[np.int64]
Seen = tuple[NDArray[np.bool_], NDArray[np.bool_]]


@dataclass(frozen=True)
class EdgeWeights:
    """The weight of each kind of edge; 0 leaves it out."""

    context: float = 1.0
    provenance: float = 0.8
    entity: float = 0.5
    containment: float = 0.3
    neighbour: float = 0.3

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f'the weight of an edge, {item.name}, cannot be {value}')


class Graph(Follower):
    """The graph of one memory. One thread at a time.

    A vertex is a number: twice its position, one more for a hub; -1 is none. Numbers stay valid
    until the graph is rebuilt (`builds` counts).
    """

    def __init__(self, store: MemoryStore) -> None:
        """Hold nothing until `refresh`."""
        super().__init__('graph')
        self._store = store
        self._file = store.folder / CACHES / FILE
        self.builds = 0
        self._derived: dict[Any, Any] = {}
        self._clear()

    def _clear(self) -> None:
        self._derived.clear()
        shared: dict[str, Any] = {'document': np.int64, 'robot': np.int64, 'kind': np.int8,
                                  'start_ns': np.int64, 'end_ns': np.int64}
        self.hubs = Columns(**shared, chain=np.int64, links=(np.int32, 2))
        self.units = Columns(**shared, links=(np.int32, 3))
        self.hubs.put([-1])
        self.hubs['alive'][0] = False

    def __len__(self) -> int:
        """The number of vertices."""
        return int(self.hubs['alive'].sum() + self.units['alive'].sum())

    # Following the database

    def _follow(self, session: Session, changed: set[tuple[str, int]]) -> int:
        if any(kind != 'document' for kind, _ in changed):
            self._derived.clear()
            self._apply(session, changed)
        return len(changed)

    def save(self) -> None:
        """Write the file beside the database."""
        if self._store.is_read_only:
            return
        arrays = {f'{part}.{name}': array for part in ('hubs', 'units')
                  for name, array in getattr(self, part).to_arrays().items()}
        write_cache(self._file, CONTENTS, self._mark, arrays)
        self._unsaved = 0

    def _open(self) -> None:
        kept = read_cache(self._file, CONTENTS)
        if kept is None:
            return
        try:
            for part in ('hubs', 'units'):
                getattr(self, part).load({
                    name.removeprefix(f'{part}.'): array for name, array in kept[1].items()
                    if name.startswith(f'{part}.')})
        except ValueError as error:
            logger.warning('%s cannot be used and is made anew: %s', self._file, error)
            self._clear()
            return
        self._mark = kept[0]

    def _build(self, session: Session) -> None:
        self._clear()
        self._mark = Mark()
        mark = mark_of(session)
        self.builds += 1
        for kind in HUBS:
            self._put_hubs(kind, read_hubs(session, kind))
        for kind in UNITS:
            self._put_units(kind, read_units(session, kind))
        for chain in self._chains(np.arange(1, len(self.hubs))):
            self._relink(chain)
        self._mark = mark
        self.save()

    def _apply(self, session: Session, changed: Iterable[tuple[str, int]]) -> None:
        by_kind: dict[str, list[int]] = {}
        for kind, ref_id in changed:
            by_kind.setdefault(kind, []).append(ref_id)
        moved: set[tuple[int, int, int]] = set()
        for kind in HUBS:
            refs = by_kind.get(kind)
            if refs is None:
                continue
            keys = key_of(kind, refs)
            before = self.hubs.find(keys)
            moved |= self._chains(before[before >= 0])
            self.hubs.drop(keys)
            moved |= self._chains(self._put_hubs(kind, read_hubs(session, kind, refs)))
        for kind in UNITS:
            refs = by_kind.get(kind)
            if refs is not None:
                self.units.drop(key_of(kind, refs))
                self._put_units(kind, read_units(session, kind, refs))
        for chain in moved:
            self._relink(chain)

    def _put_hubs(self, kind: str, rows: dict[str, NDArray[np.int64]]) -> NDArray[np.int64]:
        """Set hubs with their parents; nodes may name one that comes later in the same rows."""
        parent = rows.pop('parent')
        ref_id = rows.pop('ref_id')
        at = self.hubs.put(key_of(kind, ref_id), kind=NUMBERS[kind], **rows)
        self.hubs['links'][at] = 0
        self.hubs['links'][at, 0] = self._hub_at(kind, parent)
        return at

    def _put_units(self, kind: str, rows: dict[str, NDArray[np.int64]]) -> None:
        links = np.stack([self._hub_at(hub, rows.pop(hub)) for hub in HUBS], axis=1)
        ref_id = rows.pop('ref_id')
        self.units.put(key_of(kind, ref_id), kind=NUMBERS[kind], links=links, **rows)

    def _hub_at(self, kind: str, refs: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.maximum(self.hubs.find(key_of(kind, refs)), 0)

    def _chains(self, hubs: NDArray[np.int64]) -> set[tuple[int, int, int]]:
        """Return which chains of neighbours (kind, robot, chain) hubs are part of."""
        links = zip(*(self.hubs[name][hubs].tolist() for name in ('kind', 'robot', 'chain')),
                    strict=True)
        return {chain for chain in links if NAMES[chain[0]] in CHAINED}

    def _relink(self, chain: tuple[int, int, int]) -> None:
        """Tie the hubs of a chain to one another in order of time."""
        kind, robot, number = chain
        hubs = self.hubs
        at = np.flatnonzero(hubs['alive'] & (hubs['kind'] == kind) & (hubs['robot'] == robot)
                            & (hubs['chain'] == number))
        at = at[np.lexsort((hubs['key'][at], hubs['start_ns'][at]))]
        hubs['links'][at, 1] = np.append(at[1:], 0) if len(at) else 0

    # Asking

    def vertices(self, kind: str, refs: Any) -> Vertices:
        """Return the vertex of each record of a kind, -1 where there is none (any more)."""
        is_hub = kind in HUBS
        part = self.hubs if is_hub else self.units
        at = part.find(key_of(kind, refs))
        found = np.flatnonzero(at >= 0)
        at[found[~part['alive'][at[found]]]] = -1
        return np.where(at >= 0, 2 * at + is_hub, -1)

    def of_documents(self, ids: Any) -> Vertices:
        """Return the vertex of each document, -1 where there is none (any more)."""
        known, vertices = self.derived('documents', self._documents)
        ids = np.asarray(ids, np.int64)
        at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        return np.where(known[at] == ids, vertices[at], -1)

    def entities(self, documents: Any) -> NDArray[np.int64]:
        """Return the id of the entity that each document's record is of, 0 where it is of none."""
        vertices = self.of_documents(documents)
        at = np.where((vertices >= 0) & (vertices % 2 == 0), vertices // 2, 0)
        linked = self.units['links'][at, HUBS.index('entity')] if len(self.units) else at * 0
        keys: NDArray[np.int64] = self.hubs['key'][linked] // 8
        return np.where((linked > 0) & (vertices >= 0) & (vertices % 2 == 0), keys, 0)

    def _documents(self) -> tuple[NDArray[np.int64], Vertices]:
        """Return the documents of all vertices, rising, with 0 for none, and the vertices."""
        parts = [np.flatnonzero(part['alive'] & (part['document'] > 0))
                 for part in (self.units, self.hubs)]
        known = np.concatenate(([0], self.units['document'][parts[0]],
                                self.hubs['document'][parts[1]]))
        order = np.argsort(known, kind='stable')
        return known[order], np.concatenate(([-1], 2 * parts[0], 2 * parts[1] + 1))[order]

    def records(self, vertices: Vertices) -> list[tuple[str, int]]:
        """Return the (kind, id) of vertices."""
        return [(NAMES[key % 8], key // 8) for key in self.column('key', vertices).tolist()]

    def column(self, name: str, vertices: Vertices) -> NDArray[Any]:
        """Return a column that hubs and units share, such as 'start_ns', of vertices."""
        at, is_hub = vertices // 2, vertices % 2 == 1
        found = np.zeros(len(vertices), self.units[name].dtype)
        found[is_hub] = self.hubs[name][at[is_hub]]
        found[~is_hub] = self.units[name][at[~is_hub]]
        return found

    def seen(self, scope: Scope) -> Seen:
        """Return which hubs and which units a scope lets see, whatever its kinds."""
        whole = Scope(scope.window, (), scope.robot_ids)
        hubs, units = (part['alive'] & whole.mask(Rows(*(
            part[name] for name in ('document', 'robot', 'kind', 'start_ns', 'end_ns'))))
            for part in (self.hubs, self.units))
        return hubs, units

    def documents(self, scope: Scope, seen: Seen | None) -> NDArray[np.int64]:
        """Return the ids of the documents that a scope lets see, rising; `seen` is its mask."""
        kinds = [NUMBERS[kind] for kind in scope.kinds or KINDS if kind in KINDS]
        hubs, units = self.seen(scope) if seen is None else seen
        known, vertices = self.derived('documents', self._documents)
        shown = np.zeros(2 * max(len(hubs), len(units)), bool)
        shown[2 * np.flatnonzero(hubs & np.isin(self.hubs['kind'], kinds)) + 1] = True
        shown[2 * np.flatnonzero(units & np.isin(self.units['kind'], kinds))] = True
        return known[1:][shown[vertices[1:]]]

    def derived(self, key: Any, make: Callable[[], Made]) -> Made:
        """Return what was made from the graph under a key, made anew when the graph has changed."""
        if key not in self._derived:
            self._derived[key] = make()
        made: Made = self._derived[key]
        return made

    def edge_list(self, weights: EdgeWeights | None = None) -> tuple[
            Vertices, NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return all vertices, and of each edge the places of its ends among them and its weight.

        Edges of weight 0 are none.
        """
        chosen = weights or EdgeWeights()
        hubs, units = (np.flatnonzero(part['alive']) for part in (self.hubs, self.units))
        place = np.zeros(len(self.hubs), np.int64)
        place[hubs] = np.arange(len(hubs))
        ends: list[tuple[NDArray[np.int64], NDArray[np.int64], float]] = []
        for part, alive, first, slots in (
                (self.hubs, hubs, 0, (chosen.containment, chosen.neighbour)),
                (self.units, units, len(hubs),
                 (chosen.provenance, chosen.context, chosen.entity))):
            for slot, weight in enumerate(slots):
                linked = part['links'][alive, slot]
                held = np.flatnonzero(self.hubs['alive'][linked] & (weight > 0))
                ends.append((held + first, place[linked[held]], weight))
        sources, targets = (np.concatenate([item[at] for item in ends]) for at in (0, 1))
        strengths = np.concatenate([np.full(len(item[0]), item[2]) for item in ends])
        return np.concatenate((2 * hubs + 1, 2 * units)), sources, targets, strengths

    def to_networkx(self, weights: EdgeWeights | None = None) -> networkx.Graph:
        """Return the graph for inspection: vertices are (kind, id) with spans, edges have weights.

        Needs networkx, and some ten seconds for a long life.
        """
        import networkx

        vertices, sources, targets, strengths = self.edge_list(weights)
        names = self.records(vertices)
        made = networkx.Graph()
        made.add_nodes_from(
            (name, {'robot_id': robot, 'start_ns': start_ns, 'end_ns': end_ns})
            for name, robot, start_ns, end_ns in zip(names, *(
                self.column(column, vertices).tolist()
                for column in ('robot', 'start_ns', 'end_ns')), strict=True))
        made.add_weighted_edges_from(
            (names[source], names[target], strength) for source, target, strength in zip(
                sources.tolist(), targets.tolist(), strengths.tolist(), strict=True))
        return made


def key_of(kind: str, refs: Any) -> NDArray[np.int64]:
    """Return the keys of records of a kind."""
    return np.asarray(refs, np.int64) * 8 + NUMBERS[kind]
