"""How long search takes in a generated life, and how near its shortcuts come to the exact answers.

The life is that of `generated_life`, whose size is the paper's at scale 1. Everything is measured
in one process, in this order: writing it, making the caches, opening with them and a first search,
many varied searches, adding records, then the walk alone beside NetworkX's and igraph's PageRank
on the same graph, and the vector index beside the exact product. Times are of the wall; where
others use the machine too, those of the processor (`cpu`) tell more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
import resource
import time
from typing import Any

import numpy as np
from sqlalchemy import select

from emv_ros.errors import StoreError
from emv_ros.evaluation.generated_life import NOISE, REAL, GeneratedLife, Sizes, write_life
from emv_ros.memory import schema
from emv_ros.memory.queries import ALL, Window
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Observation
from emv_ros.retrieval.embedders import TextEmbedder
from emv_ros.retrieval.excerpts import excerpts
from emv_ros.retrieval.finding import Finder
from emv_ros.retrieval.graph import Graph, Vertices
from emv_ros.retrieval.search import Searcher
from emv_ros.retrieval.vector_index import VectorIndex
from emv_ros.retrieval.walk import personalized_pagerank
from emv_ros.settings import MemorySettings, RetrievalSettings
from emv_ros.timeline import SECOND_NS

ROBOT = 'generated'
DAY_NS = 86_400 * SECOND_NS
SEEDS = 60
TOP = 200
WALKS = 10
NEAREST = 10
ADDED = 50
# Of people that ask: with rare names, common words, none of the words, times, kinds.
FORMS = ('where is the {thing}?', 'who {act}?', '{thing}', 'the {thing} {act}, by {name}',
         'what did {name} do?', 'did you ever see a {thing} that was {act}?', '{act}',
         'something to drink', 'when was the {colour} one {act}?')

Tell = Callable[[str], None]


@dataclass
class Report:
    """What was measured, for people and programs: names say the unit."""

    values: dict[str, Any] = field(default_factory=dict)

    def add(self, **values: Any) -> None:
        """Take measures over, numbers to four digits."""
        for name, value in values.items():
            self.values[name] = float(f'{value:.4g}') if isinstance(value, float) else value


class _Clock:
    """Times of what happens within it, ms, of the wall and of the processor."""

    def __init__(self) -> None:
        self._wall: list[float] = []
        self._cpu: list[float] = []

    def __enter__(self) -> None:
        self._begun = time.perf_counter(), time.process_time()

    def __exit__(self, *_: object) -> None:
        self._wall.append(1000 * (time.perf_counter() - self._begun[0]))
        self._cpu.append(1000 * (time.process_time() - self._begun[1]))

    def told(self, name: str) -> dict[str, float]:
        """Return the median, the 95th of a hundred and the worst."""
        return {f'{name}_p50_ms': float(np.median(self._wall)),
                f'{name}_p95_ms': float(np.quantile(self._wall, 0.95)),
                f'{name}_worst_ms': max(self._wall),
                f'{name}_cpu_p50_ms': float(np.median(self._cpu)),
                f'{name}_cpu_p95_ms': float(np.quantile(self._cpu, 0.95))}


def bench_search(folder: Path, embedder: TextEmbedder, scale: float = 1.0, queries: int = 120,
                 compared: bool = True, tell: Tell = lambda _: None) -> dict[str, Any]:
    """Measure search in a life of `scale` times the paper's size, written into an empty folder.

    A folder that holds one already is used as it is, and records are added to it; one that holds
    any other memory raises StoreError. `compared` measures NetworkX and igraph too,
    which takes a minute; without the package of one its values are None.
    """
    report = Report()
    life = GeneratedLife(Sizes.of(scale), embedder)
    is_new = not (folder / 'memory.db').exists()
    settings = MemorySettings(robot=ROBOT)
    with MemoryStore.open(settings, folder) as store:
        if not is_new and set(store.robots()) != {ROBOT}:
            raise StoreError(f'{folder} holds a memory that was not made for measuring')
        begun = time.perf_counter()
        if is_new:
            write_life(store, life, tell)
            report.add(write_s=time.perf_counter() - begun)
        _measure_caches(store, embedder, report, tell)
    _measure_opening(folder, settings, embedder, report)
    with MemoryStore.open(settings, folder) as store:
        searcher = Searcher(store, RetrievalSettings(), embedder)
        _measure_searches(searcher, life, queries, report, tell)
        _measure_adding(store, searcher, report)
        report.add(memory_peak_mb=_peak_mb())
        graph = _current(store)
        _measure_walks(graph, report, compared, tell)
        _measure_recall(store, life, embedder, report)
    report.add(
        vectors=f'generated: two real vectors of phrases and noise of length {NOISE}; '
                f'{min(REAL, life.sizes.observations)} real ones; queries are real')
    return report.values


def _measure_caches(store: MemoryStore, embedder: TextEmbedder, report: Report,
                    tell: Tell) -> None:
    """Make what is kept beside the database, or bring it up to date."""
    begun = time.perf_counter()
    graph = _current(store)
    report.add(graph_s=time.perf_counter() - begun, vertices=len(graph))
    begun = time.perf_counter()
    index = VectorIndex(store, embedder.name, embedder.dimension)
    with store.reading() as session:
        index.refresh(session)
    report.add(index_s=time.perf_counter() - begun, documents=len(index))
    tell('the caches are made')


def _measure_opening(folder: Path, settings: MemorySettings, embedder: TextEmbedder,
                     report: Report) -> None:
    begun = time.perf_counter()
    with MemoryStore.open(settings, folder) as store:
        finder = Finder(store, Searcher(store, RetrievalSettings(), embedder))
        excerpts(finder.find('where is the red mug?'), UTC)
        report.add(open_and_first_search_s=time.perf_counter() - begun)


def _measure_searches(searcher: Searcher, life: GeneratedLife, count: int, report: Report,
                      tell: Tell) -> None:
    """Measure whole searches, from a text to lines to read, and the finding of texts in them."""
    whole, texts = _Clock(), _Clock()
    finder, found = Finder(searcher.store, searcher), 0
    for text, window, kinds in _queries(life, count):
        with whole:
            shown = excerpts(finder.find(text, window, kinds=kinds), UTC).shown
        with texts:
            searcher.search(text, window, kinds=kinds)
        found += bool(shown)
    report.add(searches=count, searches_with_hits=found, **whole.told('search'),
               **texts.told('texts_found'))
    tell('the searches are done')


def _queries(life: GeneratedLife, count: int) -> list[tuple[str, Window, list[str] | None]]:
    """Return questions, every fourth in a window or up to a time, every tenth of some kinds."""
    chance = np.random.default_rng(7)
    made = []
    for number in range(count):
        at = int(chance.integers(life.sizes.observations))
        thing = life.things[life.thing_of[at]]
        text = FORMS[number % len(FORMS)].format(
            thing=thing, colour=thing.split()[0], act=life.acts[life.act_of[at]],
            name=life.names[life.name_of[at]])
        start_ns = life.start_ns(at)
        window = ALL
        if number % 8 == 3:
            window = Window(before_ns=start_ns)
        elif number % 8 == 7:
            window = Window(start_ns=start_ns - DAY_NS, end_ns=start_ns + DAY_NS)
        kinds = None if number % 10 else [('node', 'observation')[number // 10 % 2]]
        made.append((text, window, kinds))
    return made


def _measure_adding(store: MemoryStore, searcher: Searcher, report: Report) -> None:
    """Add records one by one: to the database, and to what is kept beside it."""
    graph = _current(store)
    added, followed = _Clock(), _Clock()
    with store.reading() as session:
        end_ns = session.scalar(select(schema.ObservationRow.stamp_ns).order_by(
            schema.ObservationRow.id.desc()).limit(1)) or 0
    for number in range(ADDED):
        record = Observation(stamp_ns=end_ns + (number + 1) * SECOND_NS, name='violet teapot',
                             end_ns=end_ns + (number + 2) * SECOND_NS,
                             text=f'violet teapot {number} put down', event='moved')
        with added:
            store.add(record)
        with followed, store.reading() as session:
            graph.refresh(session)
    begun = time.perf_counter()
    result = searcher.search('violet teapot')
    report.add(
        **added.told('add_record'), **followed.told('graph_follows'),
        search_after_adding_ms=1000 * (time.perf_counter() - begun),
        added_are_found=sum('violet teapot' in hit.text for hit in result.hits))


def _current(store: MemoryStore) -> Graph:
    graph = Graph(store)
    with store.reading() as session:
        graph.refresh(session)
    return graph


def _measure_walks(graph: Graph, report: Report, compared: bool, tell: Tell) -> None:
    chance = np.random.default_rng(3)
    alive = np.flatnonzero(graph.units['alive'])
    seeds = 2 * chance.choice(alive, min(SEEDS, len(alive)), replace=False)
    weights = chance.random(len(seeds))
    personalized_pagerank(graph, seeds, weights)
    times = []
    for _ in range(WALKS):
        begun = time.perf_counter()
        ranks = personalized_pagerank(graph, seeds, weights)
        times.append(time.perf_counter() - begun)
    walk_s = float(np.median(times))
    exact = personalized_pagerank(graph, seeds, weights, tolerance=1e-6)
    report.add(walk_ms=1000 * walk_s, walk_steps=ranks.steps, edges=_count_edges(graph),
               walk_top_share=_shared(graph, ranks.best(TOP), graph.records(exact.best(TOP))))
    if not compared:
        return
    for name, walk in (('networkx', _networkx_walk), ('prpack', _prpack_walk)):
        try:
            taken_s, top = walk(graph, seeds, weights)
        except ImportError:
            report.add(**{f'{name}_s': None})
            continue
        report.add(**{f'{name}_s': taken_s, f'{name}_times_slower': taken_s / walk_s,
                      f'walk_top_share_of_{name}': _shared(graph, ranks.best(TOP), top)})
        tell(f'{name} is done')


def _count_edges(graph: Graph) -> int:
    ends = ((part['links'] > 0) & part['alive'][:, None] for part in (graph.hubs, graph.units))
    return int(sum(part.sum() for part in ends))


def _shared(graph: Graph, best: Vertices, exact: Sequence[tuple[str, int]]) -> float:
    return len(set(graph.records(best)) & set(exact)) / max(1, len(exact))


def _networkx_walk(graph: Graph, seeds: Vertices,
                   weights: Any) -> tuple[float, list[tuple[str, int]]]:
    """Return the time of NetworkX's PageRank with its own settings, and the first by an exact one.

    The exact one has a thousandth of the tolerance.
    """
    import networkx

    made = graph.to_networkx()
    asked = dict(zip(graph.records(seeds), weights.tolist(), strict=True))
    begun = time.perf_counter()
    networkx.pagerank(made, personalization=asked)
    taken_s = time.perf_counter() - begun
    ranks = networkx.pagerank(made, personalization=asked, tol=1e-9, max_iter=500)
    return taken_s, sorted(ranks, key=lambda name: -ranks[name])[:TOP]


def _prpack_walk(graph: Graph, seeds: Vertices,
                 weights: Any) -> tuple[float, list[tuple[str, int]]]:
    """Return the time of igraph's PageRank, which is exact, and its first."""
    import igraph

    vertices, sources, targets, strengths = graph.edge_list()
    made = igraph.Graph(n=len(vertices), edges=np.stack((sources, targets), axis=1))
    place = np.argsort(vertices)
    reset = np.zeros(len(vertices))
    reset[place[np.searchsorted(vertices, seeds, sorter=place)]] = weights
    begun = time.perf_counter()
    ranks = made.personalized_pagerank(
        directed=False, damping=0.85, reset=reset.tolist(), weights=strengths.tolist(),
        implementation='prpack')
    taken_s = time.perf_counter() - begun
    return taken_s, graph.records(vertices[np.argsort(-np.array(ranks))[:TOP]])


def _measure_recall(store: MemoryStore, life: GeneratedLife, embedder: TextEmbedder,
                    report: Report) -> None:
    """Compare the first ten of the index with those of the product over all vectors."""
    texts = [text for text, _, _ in _queries(life, 60)]
    asked = embedder.embed(texts)
    index = VectorIndex(store, embedder.name, embedder.dimension)
    with store.reading() as session:
        index.refresh(session)
        exact = index.exact_cosines(session, asked, NEAREST)
        shares, times = [], []
        for vector, least in zip(asked, exact, strict=True):
            begun = time.perf_counter()
            _, cosines = index.nearest(session, vector, 256)
            times.append(1000 * (time.perf_counter() - begun))
            # Texts that say the same have the same cosine: any of them counts.
            shares.append(float((cosines[:NEAREST] >= least[-1] - 1e-6).mean()))
    report.add(vector_recall_at_10=float(np.mean(shares)), vector_search_ms=float(
        np.median(times)))


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
