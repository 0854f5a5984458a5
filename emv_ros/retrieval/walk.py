"""Personalised PageRank: where a walk from the seeds, that may return to them at each step, is.

The walk's matrix is D^-1/2 W D^-1/2 but for a change of scale, which is symmetric, so conjugate
gradients solve it; units are tied to hubs alone, so that they are eliminated first: the system is
that of the hubs, a tenth of the graph, and converges in half the steps. A few products with a
sparse matrix are exact enough to agree with the exact answer on the first 200 vertices; `tolerance`
says how far. What a mask hides is no part of the graph: no walk passes through it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emv_ros.retrieval.graph import EdgeWeights, Graph, Seen, Vertices

logger = logging.getLogger(__name__)

Reals = NDArray[np.float32]

DAMPING = 0.85
TOLERANCE = 0.02
MAX_STEPS = 60


@dataclass(frozen=True)
class Ranks:
    """The share of the walk's time that is spent at each hub and each unit; in all 1, or 0."""

    hubs: Reals
    units: Reals
    steps: int = 0

    def of(self, vertices: Vertices) -> Reals:
        """Return the shares of vertices."""
        at, is_hub = vertices // 2, vertices % 2 == 1
        found = np.zeros(len(vertices), np.float32)
        found[is_hub] = self.hubs[at[is_hub]]
        found[~is_hub] = self.units[at[~is_hub]]
        return found

    def best(self, count: int) -> Vertices:
        """Return the vertices with the largest shares above 0, largest first."""
        found = []
        # As many hubs as are wanted stay at or above this: what is below is not among the best.
        least = np.partition(self.hubs, -count)[-count] if 0 < count <= len(self.hubs) else 0
        for is_hub, ranks in ((False, self.units), (True, self.hubs)):
            at = np.flatnonzero(ranks >= least) if least > 0 else np.flatnonzero(ranks)
            found.append((2 * at + is_hub, ranks[at]))
        vertices, shares = (np.concatenate(parts) for parts in zip(*found, strict=True))
        best: Vertices = vertices[np.argsort(-shares, kind='stable')[:count]]
        return best


def personalized_pagerank(
        graph: Graph, seeds: Vertices | Sequence[int], weights: Sequence[float] | NDArray[Any],
        seen: Seen | None = None, damping: float = DAMPING, edges: EdgeWeights | None = None,
        tolerance: float = TOLERANCE) -> Ranks:
    """Return the ranks of all vertices for seeds with weights.

    Seeds that are gone or hidden (`seen`: masks of hubs and units) and weights that are no positive
    number are left out; with none left all ranks are 0. Raises ValueError for a damping outside
    0..1 or as many weights as there are no seeds.
    """
    if not 0 <= damping < 1:
        raise ValueError(f'the damping of a walk lies in 0..1, not {damping}')
    parts = (graph.hubs['alive'], graph.units['alive']) if seen is None else seen
    hub_seeds, unit_seeds = _seeds(parts, np.asarray(seeds, np.int64), weights)
    total = hub_seeds.sum() + unit_seeds.sum()
    if not total:
        return Ranks(hub_seeds, unit_seeds)
    system = _System(graph, seen, edges or EdgeWeights(), damping)
    hubs, units, steps = system.solve(hub_seeds / total, unit_seeds / total, tolerance)
    hubs, units = np.maximum(hubs, 0), np.maximum(units, 0)
    total = hubs.sum(dtype=np.float64) + units.sum(dtype=np.float64)
    return Ranks(hubs / np.float32(total), units / np.float32(total), steps)


def _seeds(parts: Seen, seeds: Vertices, weights: Any) -> tuple[Reals, Reals]:
    """Return the seeds' weights, of hubs and of units."""
    amounts = np.asarray(weights, np.float32)
    if amounts.shape != seeds.shape:
        raise ValueError(f'{amounts.size} weights for {seeds.size} seeds')
    good = (seeds >= 0) & np.isfinite(amounts) & (amounts > 0)
    if (bad := int((~np.isfinite(amounts)).sum())):
        logger.warning('%d seeds of a walk have a weight that is no number', bad)
    made = []
    for is_hub, part in ((True, parts[0]), (False, parts[1])):
        picked = good & (seeds % 2 == is_hub) & (seeds // 2 < len(part))
        found = np.zeros(len(part), np.float32)
        np.add.at(found, seeds[picked] // 2, amounts[picked])
        made.append(found * part)
    return made[0], made[1]


class _Edges:
    """The edges of a graph as it stands, as matrices over its own arrays."""

    def __init__(self, graph: Graph, weights: EdgeWeights) -> None:
        width = len(graph.hubs)
        self.down = _matrix(graph.units['links'], width,
                            (weights.provenance, weights.context, weights.entity))
        # A view: rows of its own would be quicker, but take as long to make as some walks.
        self.up = self.down.T
        across = _matrix(graph.hubs['links'], width, (weights.containment, weights.neighbour))
        self.across = (across + across.T).tocsr()
        self._open: tuple[Reals, Reals] | None = None
        self._walks = 0

    def walked(self) -> None:
        """Count a walk; where a graph is walked again unchanged, the quicker matrix is made."""
        self._walks += 1
        if self._walks == 2:
            self.up = self.up.tocsr()

    def scales(self, graph: Graph, seen: Seen | None) -> tuple[Reals, Reals]:
        """Return the inverse root of each hub's degree and the inverse of each unit's, or 0."""
        if seen is None and self._open is not None:
            return self._open
        parts = (graph.hubs['alive'], graph.units['alive']) if seen is None else seen
        hubs, units = (part.astype(np.float32) for part in parts)
        scales = (_inverse(hubs * (self.up @ units + self.across @ hubs)) ** np.float32(0.5),
                  _inverse(units * (self.down @ hubs)))
        if seen is None:
            self._open = scales
        return scales


class _System:
    """The equations of one graph under one mask."""

    def __init__(self, graph: Graph, seen: Seen | None, weights: EdgeWeights,
                 damping: float) -> None:
        edges = graph.derived(('edges', weights), lambda: _Edges(graph, weights))
        edges.walked()
        self._damping = np.float32(damping)
        self._down, self._up, self._across = edges.down, edges.up, edges.across
        self._hub_scale, self._unit_inverse = edges.scales(graph, seen)

    def solve(self, hub_seeds: Reals, unit_seeds: Reals,
              tolerance: float) -> tuple[Reals, Reals, int]:
        """Return the ranks of hubs and of units (up to a factor), and the steps that it took."""
        damping, rest, scale = self._damping, 1 - self._damping, self._hub_scale
        known = rest * scale * hub_seeds + damping * scale * (
            self._up @ (self._unit_inverse * (rest * unit_seeds)))
        solved, steps = self._gradients(known, tolerance)
        is_tied = scale > 0
        hubs = np.where(is_tied, solved / np.where(is_tied, scale, 1), rest * hub_seeds)
        walked = damping * (self._down @ (scale * solved)) * (self._unit_inverse > 0)
        return hubs.astype(np.float32), (rest * unit_seeds + walked).astype(np.float32), steps

    def _apply(self, values: Reals) -> Reals:
        scaled = self._hub_scale * values
        below = self._up @ (self._unit_inverse * (self._down @ scaled))
        moved = self._damping * (self._across @ scaled) + self._damping ** 2 * below
        product: Reals = values - self._hub_scale * moved
        return product

    def _gradients(self, known: Reals, tolerance: float) -> tuple[Reals, int]:
        solved = np.zeros_like(known)
        left, direction = known.copy(), known.copy()
        size = float(left @ left)
        enough = size * tolerance ** 2
        steps = 0
        while size > enough and steps < MAX_STEPS:
            product = self._apply(direction)
            step = np.float32(size / float(direction @ product))
            solved += step * direction
            left -= step * product
            before, size = size, float(left @ left)
            direction = left + np.float32(size / before) * direction
            steps += 1
        return solved, steps


def _matrix(links: NDArray[np.int32], width: int, weights: Sequence[float]) -> Any:
    """Return the links as a sparse matrix over their own array; a link to hub 0 counts nothing."""
    from scipy.sparse import csr_matrix

    count, slots = links.shape
    values = np.tile(np.array(weights, np.float32), count)
    starts = np.arange(0, count * slots + 1, slots, dtype=np.int32)
    return csr_matrix((values, links.reshape(-1), starts), shape=(count, width), copy=False)


def _inverse(values: Reals) -> Reals:
    positive = values > 0
    found: Reals = np.where(positive, 1 / np.where(positive, values, 1), 0).astype(np.float32)
    return found
