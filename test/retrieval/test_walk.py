"""PageRank agrees with the exact solution, whatever is hidden, gone or missing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
import pytest
from small_memories import NOON_NS, add_clip, add_entity, add_node, say, see

from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.graph import EdgeWeights, Graph, Seen, Vertices
from emv_ros.retrieval.scope import Scope
from emv_ros.retrieval.walk import Ranks, personalized_pagerank
from emv_ros.timeline import SECOND_NS


def follow(store: MemoryStore, graph: Graph | None = None) -> Graph:
    graph = graph or Graph(store)
    with store.reading() as session:
        graph.refresh(session)
    return graph


def household(store: MemoryStore) -> Graph:
    """Return the graph of 60 observations in 4 clips, 6 nodes, 5 entities, and one word apart."""
    chance = np.random.default_rng(1)
    things = [add_entity(store, f'thing {number}') for number in range(5)]
    events = []
    for number in range(4):
        clip = add_clip(store, 15 * number, 15 * number + 15)
        seen = [ref for at in range(15) for ref in see(
            store, 'cup', start_s=15 * number + at, clip=clip,
            entity=things[int(chance.integers(5))])]
        events.append(add_node(store, 2, 15 * number, 15 * number + 15,
                               members=[('observation', ref) for ref in seen]))
    add_node(store, 3, 0, 30, children=events[:2])
    add_node(store, 3, 30, 60, children=events[2:])
    say(store, 'a word apart', start_s=90)
    return follow(store)


def exact(graph: Graph, seeds: Vertices, weights: NDArray[np.float64], damping: float = 0.85,
          edges: EdgeWeights | None = None, seen: Seen | None = None) -> dict[int, float]:
    """Return the ranks by a dense solution; walks that cannot go on begin anew."""
    vertices, sources, targets, strengths = graph.edge_list(edges)
    size = len(vertices)
    matrix = np.zeros((size, size))
    np.add.at(matrix, (sources, targets), strengths)
    matrix += matrix.T
    if seen is not None:
        hidden = [not seen[1 - vertex % 2][vertex // 2] for vertex in vertices.tolist()]
        matrix[hidden], matrix[:, hidden] = 0, 0
    place = {vertex: at for at, vertex in enumerate(vertices.tolist())}
    start = np.zeros(size)
    for seed, weight in zip(seeds.tolist(), weights.tolist(), strict=True):
        start[place[seed]] += weight
    start /= start.sum()
    degrees = matrix.sum(axis=0)
    moves = np.where(degrees > 0, matrix / np.where(degrees > 0, degrees, 1), start[:, None])
    ranks = np.linalg.solve(np.eye(size) - damping * moves, (1 - damping) * start)
    return dict(zip(vertices.tolist(), ranks.tolist(), strict=True))


def assert_same(graph: Graph, ranks: Ranks, wanted: dict[int, float]) -> None:
    found = ranks.of(np.array(list(wanted), np.int64))
    np.testing.assert_allclose(found, list(wanted.values()), atol=2e-5)


@pytest.mark.parametrize(('damping', 'edges'), [
    (0.85, None), (0.5, None), (0.0, None), (0.85, EdgeWeights(entity=0)),
    (0.85, EdgeWeights(0, 0, 0, 0, 0)), (0.85, EdgeWeights(context=0.2, neighbour=2))])
def test_it_agrees_with_the_exact_solution(store: MemoryStore, damping: float,
                                           edges: EdgeWeights | None) -> None:
    graph = household(store)
    seeds = np.concatenate((graph.vertices('observation', [3, 40, 41]),
                            graph.vertices('node', [6]), graph.vertices('utterance', [1])))
    weights = np.array([1.0, 0.5, 2.0, 0.7, 0.1])
    ranks = personalized_pagerank(graph, seeds, weights, damping=damping, edges=edges,
                                  tolerance=1e-6)
    assert_same(graph, ranks, exact(graph, seeds, weights, damping, edges))
    assert ranks.hubs.sum() + ranks.units.sum() == pytest.approx(1)


def test_it_agrees_with_networkx(store: MemoryStore) -> None:
    networkx = pytest.importorskip('networkx')
    graph = household(store)
    seeds = graph.vertices('observation', [3, 40])
    ranks = personalized_pagerank(graph, seeds, [1.0, 3.0], tolerance=1e-6)
    told = networkx.pagerank(graph.to_networkx(), tol=1e-10, max_iter=500, personalization=dict(
        zip(graph.records(seeds), [1.0, 3.0], strict=True)))
    every = graph.edge_list()[0]
    np.testing.assert_allclose(
        ranks.of(every), [told[name] for name in graph.records(every)], atol=2e-5)


def test_the_usual_tolerance_finds_the_first(store: MemoryStore) -> None:
    graph = household(store)
    seeds = graph.vertices('observation', [3, 40, 41])
    wanted = exact(graph, seeds, np.ones(3))
    best = personalized_pagerank(graph, seeds, np.ones(3)).best(20).tolist()
    assert len(set(best) & set(sorted(wanted, key=lambda key: -wanted[key])[:20])) >= 19


@pytest.mark.parametrize('window', [
    Window(before_ns=NOON_NS + 25 * SECOND_NS), Window(start_ns=NOON_NS + 40 * SECOND_NS),
    Window(start_ns=NOON_NS + 20 * SECOND_NS, end_ns=NOON_NS + 40 * SECOND_NS)])
def test_no_walk_passes_what_is_hidden(store: MemoryStore, window: Window) -> None:
    graph = household(store)
    with store.reading() as session:
        seen = graph.seen(Scope.of(store, session, window))
    alive = np.flatnonzero(seen[1])
    seeds = 2 * alive[[0, len(alive) // 2]]
    ranks = personalized_pagerank(graph, seeds, np.array([1.0, 2.0]), seen, tolerance=1e-6)
    assert_same(graph, ranks, exact(graph, seeds, np.array([1.0, 2.0]), seen=seen))
    assert not ranks.units[~seen[1]].any()
    assert not ranks.hubs[~seen[0]].any()


class TestNothingToWalk:

    def test_no_seed(self, store: MemoryStore) -> None:
        ranks = personalized_pagerank(household(store), [], [])
        assert not ranks.units.any()
        assert ranks.best(5).tolist() == []

    def test_a_seed_since_deleted(self, store: MemoryStore) -> None:
        graph = household(store)
        node = graph.vertices('node', [5])
        with store.node_writer() as writer:
            writer.remove([5])
        follow(store, graph)
        assert graph.vertices('node', [5]).tolist() == [-1]
        for gone in (node, [-1], [2 * 10_000]):
            assert not personalized_pagerank(graph, gone, [1.0]).hubs.any()
        left = graph.vertices('observation', [3])
        ranks = personalized_pagerank(graph, np.append(left, node), [1.0, 1.0], tolerance=1e-6)
        assert_same(graph, ranks, exact(graph, left, np.ones(1)))

    def test_one_vertex_and_no_edges(self, store: MemoryStore) -> None:
        say(store, 'one')
        graph = follow(store)
        assert personalized_pagerank(graph, [0], [2.0]).units.tolist() == [1.0]
        say(store, 'two', 'three', start_s=1)
        follow(store, graph)
        ranks = personalized_pagerank(graph, [0, 4], [1.0, 3.0])
        assert ranks.units.tolist() == [0.25, 0.0, 0.75]

    def test_an_empty_graph(self, store: MemoryStore) -> None:
        ranks = personalized_pagerank(follow(store), [0, 1], [1.0, 1.0])
        assert (ranks.units.tolist(), ranks.best(3).tolist()) == ([], [])

    @pytest.mark.parametrize('bad', [float('nan'), float('inf'), -1.0, 0.0])
    def test_a_weight_that_is_none(self, store: MemoryStore, bad: float) -> None:
        graph = household(store)
        seeds = graph.vertices('observation', [3, 40])
        ranks = personalized_pagerank(graph, seeds, [1.0, bad], tolerance=1e-6)
        assert_same(graph, ranks, exact(graph, seeds[:1], np.ones(1)))
        assert not personalized_pagerank(graph, seeds, [bad, bad]).units.any()

    def test_parts_that_do_not_meet(self, store: MemoryStore) -> None:
        graph = household(store)
        apart = graph.vertices('utterance', [1])
        ranks = personalized_pagerank(graph, apart, [1.0])
        assert ranks.of(apart).tolist() == [1.0]
        assert ranks.best(9).tolist() == apart.tolist()

    def test_all_is_hidden(self, store: MemoryStore) -> None:
        graph = household(store)
        hidden = (np.zeros(len(graph.hubs), bool), np.zeros(len(graph.units), bool))
        assert not personalized_pagerank(graph, [0, 2], [1.0, 1.0], hidden).units.any()

    def test_what_makes_no_sense(self, store: MemoryStore) -> None:
        graph = household(store)
        with pytest.raises(ValueError, match='damping'):
            personalized_pagerank(graph, [0], [1.0], damping=1.0)
        with pytest.raises(ValueError, match='2 weights for 1 seeds'):
            personalized_pagerank(graph, [0], [1.0, 2.0])
