"""A made-up life of any length, written straight into a memory: what search is measured on.

Its size at scale 1 is that of the longest life in the literature: 7,625 episodes, 6,223 clips,
308,244 observations, 27,446 entities. Words follow Zipf's law, with rare names among them. Most
vectors are not a model's (that would take half an hour): each is the sum of the real vectors of the
two phrases that its text is made of, plus noise; a sample has real ones. Nothing here is a record
of anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import insert
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.embedders import TextEmbedder, Vectors
from emv_ros.timeline import SECOND_NS
from emv_ros.unit_vectors import normalised

ROBOT = 'generated'
# 2024-01-01 00:00:00 UTC; one observation every 50 s.
START_NS = 1_704_067_200 * SECOND_NS
STEP_NS = 50 * SECOND_NS
CHUNK = 5000
NOISE = 0.45
REAL = 1000

COLOURS = """red blue green white black yellow grey brown striped wooden metal plastic glass small
    large round"""
THINGS = """\
    mug plate knife bowl spoon pan kettle sponge towel bottle apple onion carrot tomato bread
    cheese milk jar lid tray box bag phone charger remote book pen notebook lamp pillow
    blanket shirt sock shoe umbrella hammer screwdriver drill bucket broom vase plant
    candle clock radio battery cable scissors tape envelope parcel newspaper magazine cup
    tumbler fork whisk grater peeler ladle tongs basket bin brush soap shampoo toothbrush
    razor comb mirror scale thermometer bandage pill syrup toy ball puzzle doll kite
    bicycle helmet glove scarf hat coat belt wallet key coin ticket card photo frame easel"""
PLACES = """kitchen-counter dining-table sink fridge cupboard drawer sofa coffee-table bedroom-shelf
    desk bathroom-cabinet hallway garage-bench garden-table balcony laundry-basket window-sill
    bookcase wardrobe pantry"""
DEEDS = """picked-up put-down washed opened closed moved carried cut filled emptied handed-over seen
    wiped stacked dropped turned-over"""
SYLLABLES = 'ba be bo da di do fa fe ga go ka ki ko la li lo ma mi mo na ne no ra ri ro sa se ta'


@dataclass(frozen=True)
class Sizes:
    """How much a generated life holds."""

    nodes: int
    clips: int
    observations: int
    entities: int

    @classmethod
    def of(cls, scale: float) -> Sizes:
        """Return the sizes of the paper's memory times `scale`."""
        return cls(*(max(4, round(count * scale)) for count in (7625, 6223, 308_244, 27_446)))

    @property
    def levels(self) -> list[int]:
        """How many nodes there are of level 2, 3, 4 and 5."""
        upper = [max(1, self.nodes // part) for part in (8, 40, 400)]
        return [self.nodes - sum(upper), *upper]


class GeneratedLife:
    """The texts, links and vectors of a life; the same seed gives the same one."""

    def __init__(self, sizes: Sizes, embedder: TextEmbedder, seed: int = 0) -> None:
        """Choose everything and embed the phrases (some seconds)."""
        self.sizes = sizes
        self.embedder = embedder
        self._chance = np.random.default_rng(seed)
        count = sizes.observations
        self.things = [
            f'{colour} {thing}' for thing in _listed(THINGS) for colour in _listed(COLOURS)]
        self.acts = [
            f'{deed} at the {place}' for place in _listed(PLACES) for deed in _listed(DEEDS)]
        self.names = self._rare_names(max(50, count // 60))
        self.thing_of = self._zipf(len(self.things), count)
        self.act_of = self._zipf(len(self.acts), count)
        self.name_of = self._zipf(len(self.names), count)
        self.clip_of = np.sort(self._chance.integers(0, sizes.clips, count))
        self.event_of = np.arange(count) * sizes.levels[0] // count
        self.entity_of = self._entities()
        self._thing_vectors = embedder.embed(self.things)
        self._act_vectors = embedder.embed(self.acts)

    def start_ns(self, at: int) -> int:
        """Return when observation `at` was made."""
        return _at(at)

    def text(self, at: int) -> str:
        """Return what observation `at` says."""
        said = f'{self.things[self.thing_of[at]]} {self.acts[self.act_of[at]]}'
        return f'{said}, by {self.names[self.name_of[at]]}' if at % 3 == 0 else said

    def summary(self, first: int, last: int) -> str:
        """Return the summary of the node over observations `first` to `last`."""
        picked = np.linspace(first, last, 5).astype(int)
        return 'In this stretch: ' + '; '.join(dict.fromkeys(map(self.text, picked.tolist())))

    def vectors(self, picked: NDArray[np.int64]) -> Vectors:
        """Return the made-up vectors of observations."""
        noise = self._chance.standard_normal(
            (len(picked), self.embedder.dimension), np.float32) / self.embedder.dimension ** 0.5
        return normalised(self._thing_vectors[self.thing_of[picked]]
                          + 0.6 * self._act_vectors[self.act_of[picked]] + NOISE * noise)

    def _zipf(self, kinds: int, count: int) -> NDArray[np.int64]:
        shares = 1 / np.arange(1, kinds + 1)
        order = self._chance.permutation(kinds)
        return order[self._chance.choice(kinds, count, p=shares / shares.sum())]

    def _rare_names(self, count: int) -> list[str]:
        syllables = _listed(SYLLABLES)
        parts = self._chance.integers(0, len(syllables), (count, 4))
        return [''.join(syllables[part] for part in row) for row in parts.tolist()]

    def _entities(self) -> NDArray[np.int64]:
        """Return the entity of each observation: few are met often, most a few times."""
        shares = np.minimum(self._chance.zipf(1.6, self.sizes.entities), 3000).astype(float)
        return self._chance.choice(
            self.sizes.entities, self.sizes.observations, p=shares / shares.sum())


def write_life(store: MemoryStore, life: GeneratedLife,
               tell: Callable[[str], None] = lambda _: None) -> None:
    """Write a life into an empty memory, in one transaction a kind."""
    sizes = life.sizes
    with store.writing() as session:
        robot_id = store.robot_id(session, ROBOT)
        session.add(schema.SessionRow(id=1, robot_id=robot_id, start_ns=START_NS,
                                      clock_source='wall', zone='UTC'))
        session.flush()
        _write(session, schema.ClipRow, _clips(life, robot_id))
        _write(session, schema.EntityRow, (
            {'id': at + 1, 'robot_id': robot_id, 'name': f'thing {at + 1}', 'is_person': False,
             'attributes': {}} for at in range(sizes.entities)))
    tell('clips and entities are written')
    with store.writing() as session:
        nodes = _nodes(life, robot_id)
        _write(session, schema.NodeRow, reversed(nodes))
        _write(session, schema.ObservationRow, _observations(life, robot_id))
        _write(session, schema.NodeMemberRow, (
            {'kind': 'observation', 'ref_id': at + 1, 'node_id': int(event) + 1}
            for at, event in enumerate(life.event_of)))
    tell('nodes and observations are written')
    with store.writing() as session:
        _write(session, schema.DocumentRow, _documents(life, nodes, robot_id))
    with store.writing() as session:
        _write(session, schema.EmbeddingRow, _embeddings(life, nodes))
    tell('texts and vectors are written')


def _listed(words: str) -> list[str]:
    return [word.replace('-', ' ') for word in words.split()]


def _write(session: Session, row: Any, values: Iterator[dict[str, Any]]) -> None:
    waiting: list[dict[str, Any]] = []
    for item in values:
        waiting.append(item)
        if len(waiting) == CHUNK:
            session.execute(insert(row.__table__), waiting)
            waiting = []
    if waiting:
        session.execute(insert(row.__table__), waiting)


def _at(observation: int) -> int:
    return START_NS + int(observation) * STEP_NS


def _clips(life: GeneratedLife, robot_id: int) -> Iterator[dict[str, Any]]:
    bounds = np.searchsorted(life.clip_of, np.arange(life.sizes.clips + 1)).tolist()
    for at in range(life.sizes.clips):
        yield {'id': at + 1, 'robot_id': robot_id, 'camera': 'head', 'start_ns': _at(bounds[at]),
               'end_ns': _at(bounds[at + 1])}


def _nodes(life: GeneratedLife, robot_id: int) -> list[dict[str, Any]]:
    """Return the rows of all nodes, children before their parents."""
    count, first_id, rows = life.sizes.observations, 1, []
    levels = life.sizes.levels
    for level, (size, above) in enumerate(zip(levels, [*levels[1:], 0], strict=True), 2):
        for at in range(size):
            first, last = -(-at * count // size), -(-(at + 1) * count // size) - 1
            rows.append({
                'id': first_id + at, 'robot_id': robot_id, 'level': level,
                'start_ns': _at(first), 'end_ns': _at(last + 1), 'name': '',
                'summary': life.summary(first, last), 'status': '',
                'parent_id': first_id + size + at * above // size if above else None,
                'ordinal': at, 'is_open': False, 'made_by': 'rule', 'model': '',
                'prompt_version': '', 'prompt_tokens': 0, 'completion_tokens': 0})
        first_id += size
    return rows


def _observations(life: GeneratedLife, robot_id: int) -> Iterator[dict[str, Any]]:
    for at in range(life.sizes.observations):
        yield {'id': at + 1, 'robot_id': robot_id, 'session_id': 1, 'stamp_ns': _at(at),
               'end_ns': _at(at) + STEP_NS // 2, 'stamp_is_receipt': False, 'extra': {},
               'pending': False, 'name': life.things[life.thing_of[at]], 'instance': '',
               'event': 'moved', 'text': life.text(at), 'location': '', 'attributes': {},
               'is_person': False, 'clip_id': int(life.clip_of[at]) + 1,
               'entity_id': int(life.entity_of[at]) + 1}


def _documents(life: GeneratedLife, nodes: list[dict[str, Any]],
               robot_id: int) -> Iterator[dict[str, Any]]:
    """Yield the documents: those of the observations (their ids are the same), then the nodes'."""
    for at in range(life.sizes.observations):
        yield {'id': at + 1, 'kind': 'observation', 'ref_id': at + 1, 'robot_id': robot_id,
               'start_ns': _at(at), 'end_ns': _at(at) + STEP_NS // 2, 'text': life.text(at)}
    for node in nodes:
        yield {'id': life.sizes.observations + node['id'], 'kind': 'node', 'ref_id': node['id'],
               'robot_id': robot_id, 'start_ns': node['start_ns'], 'end_ns': node['end_ns'],
               'text': node['summary']}


def _embeddings(life: GeneratedLife, nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    model, count = life.embedder.name, life.sizes.observations
    real = np.linspace(0, count - 1, min(REAL, count)).astype(int).tolist()
    true = dict(zip(real, life.embedder.embed([life.text(at) for at in real]), strict=True))
    for start in range(0, count, CHUNK):
        picked = np.arange(start, min(count, start + CHUNK))
        for at, vector in zip(picked.tolist(), life.vectors(picked), strict=True):
            yield {'document_id': at + 1, 'model': model, 'vector': _bytes(true.get(at, vector))}
    for start in range(0, len(nodes), CHUNK):
        part = nodes[start:start + CHUNK]
        middles = np.array([((node['start_ns'] + node['end_ns']) // 2 - START_NS) // STEP_NS
                            for node in part])
        for node, vector in zip(part, life.vectors(middles), strict=True):
            yield {'document_id': count + node['id'], 'model': model, 'vector': _bytes(vector)}


def _bytes(vector: Vectors) -> bytes:
    return vector.astype('<f4').tobytes()
