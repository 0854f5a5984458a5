"""Search by pictures: a question in words, the pictures nearest to it, and what they show.

It works where the setting names a picture embedder (see `picture_vectors`); else nothing is loaded
and nothing is found. A picture leads to the observations that it shows, else to the event of its
scene, else to the event of its time: these are texts like those that words and vectors find.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
import logging
import threading
import time
from typing import Any

from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from emv_ros.errors import ModelError, ModelTimeoutError, ModelUnavailableError
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.embedders import Vectors
from emv_ros.retrieval.lexical import Group, group_key
from emv_ros.retrieval.picture_index import PictureIndex
from emv_ros.retrieval.picture_vectors import PictureEmbedder, make_picture_embedder
from emv_ros.retrieval.scope import Scope
from emv_ros.retrieval.units import Span, Unit
from emv_ros.settings import RetrievalSettings
from emv_ros.timeline import MINUTE_NS

logger = logging.getLogger(__name__)

NEAREST = 16
EVENT = 2
# A provider that does not answer is left alone for so long: texts are searched meanwhile.
PAUSE_S = 60.0
# Pictures of one camera this near to a better one are told with it.
TOGETHER_NS = MINUTE_NS


@dataclass(frozen=True, slots=True)
class PictureHit:
    """A picture near to what was asked; `rank` counts from 1."""

    image_id: int
    robot: str
    robot_id: int
    camera: str
    stamp_ns: int
    cosine: float
    rank: int


class PictureSearch:
    """Finds pictures in one memory. `ask` may be called by several threads, the rest by one."""

    def __init__(self, store: MemoryStore, settings: RetrievalSettings,
                 embedder: PictureEmbedder | None = None) -> None:
        """Without an embedder the one that the settings name is made at the first question."""
        self._store = store
        self._settings = settings
        self._embedder = embedder
        self._index: PictureIndex | None = None
        self._paused_until = 0.0
        self._why = ''
        self._loading = threading.Lock()

    def load(self) -> PictureEmbedder | None:
        """Return the embedder, made when first needed; None where none is set or to be had."""
        with self._loading:
            if self._embedder is None and self._settings.picture_embedder:
                try:
                    self._embedder = make_picture_embedder(self._settings)
                except ModelError as error:
                    self._pause(error)
            return self._embedder

    def ask(self, text: str) -> tuple[Vectors | None, list[str]]:
        """Return the vector of a question, and what there is to say where there is none."""
        if self._embedder is None and not self._settings.picture_embedder:
            return None, []
        if time.monotonic() >= self._paused_until:
            embedder = self.load()
            if embedder is not None:
                try:
                    return embedder.embed_text(text), []
                except ModelError as error:
                    self._pause(error)
        return None, [f'pictures were not searched ({self._why})']

    def _pause(self, error: ModelError) -> None:
        logger.warning('search leaves out pictures: %s', error)
        self._why = str(error)
        if isinstance(error, (ModelTimeoutError, ModelUnavailableError)):
            self._paused_until = time.monotonic() + PAUSE_S

    def find(self, session: Session, scope: Scope,
             vector: Vectors | None) -> tuple[list[PictureHit], list[str]]:
        """Return the pictures in scope nearest to a vector of `ask`, and what was left out."""
        if vector is None or self._embedder is None:
            return [], []
        if self._index is None or self._index.dimension != len(vector):
            self._index = PictureIndex(self._embedder.name, len(vector))
        index = self._index
        index.refresh(session)
        found = dict(index.nearest(vector, scope, NEAREST, self._settings.picture_similarity))
        row, robots = schema.ImageRow, self._store.robot_ids(session)
        rows = {item.id: item for item in session.execute(
            select(row.id, row.robot_id, row.camera, row.stamp_ns).where(row.id.in_(found)))}
        hits = [PictureHit(key, robots[rows[key].robot_id], rows[key].robot_id, rows[key].camera,
                           rows[key].stamp_ns, cosine, rank)
                for rank, (key, cosine) in enumerate(
                    ((key, cosine) for key, cosine in found.items() if key in rows), 1)]
        bare = index.bare(session)
        return hits, [f'{bare} of {bare + len(index)} pictures have no vector yet and are found '
                      'by what was noted of them only'] if bare else []

    def groups(self, session: Session, scope: Scope, hits: Sequence[PictureHit]) -> list[Group]:
        """Return the texts in scope of what the pictures show, in the order of the pictures."""
        if not hits:
            return []
        shown = _shown(session, hits)
        row = schema.DocumentRow
        rows: dict[tuple[str, int], Any] = {}
        for kind in ('observation', 'node'):
            ids = {ref_id for found in shown.values() for name, ref_id in found if name == kind}
            rows |= {(kind, item.ref_id): item for item in session.execute(
                select(row.id, row.ref_id, row.robot_id, row.start_ns, row.text)
                .where(row.kind == kind, row.ref_id.in_(ids), row.text != '',
                       *scope.conditions(by_id=True)))} if ids else {}
        groups: dict[int, Group] = {}
        for hit in hits:
            for reference in shown.get(hit.image_id, ()):
                item = rows.get(reference)
                if item is not None:
                    key = group_key(item.robot_id, reference[0], item.text)
                    groups.setdefault(key, Group(
                        key, item.id, item.start_ns, item.id, item.start_ns))
        return list(groups.values())


def picture_units(hits: Iterable[tuple[PictureHit, float]]) -> list[Unit]:
    """Return units of pictures with their scores; near ones of one camera are one, best first."""
    units: list[Unit] = []
    for hit, score in hits:
        span = Span(hit.image_id, hit.stamp_ns, hit.stamp_ns)
        key = ('image', hit.robot_id, hit.camera)
        same = next((unit for unit in units if unit.key[:3] == key
                     and abs(unit.key[3] - hit.stamp_ns) < TOGETHER_NS), None)
        if same is None:
            text = f'picture of camera {hit.camera}' if hit.camera else 'picture'
            units.append(Unit(
                key=(*key, hit.stamp_ns), group=group_key(hit.robot_id, 'image', text),
                kind='image', robot=hit.robot, robot_id=hit.robot_id, text=text, spans=[span],
                score=score, similarity=hit.cosine, total=1))
            continue
        same.spans.append(span)
        same.total += 1
    for unit in units:
        unit.spans.sort(key=lambda span: (span.start_ns, span.ref_id))
    return units


def _shown(session: Session, hits: Sequence[PictureHit]) -> dict[int, list[tuple[str, int]]]:
    """Return (kind, id) of what each picture shows: observations, else one event."""
    ids = [hit.image_id for hit in hits]
    found: dict[int, list[tuple[str, int]]] = {}
    part = schema.ObservationImageRow
    for image_id, key in session.execute(
            select(part.image_id, part.observation_id).where(part.image_id.in_(ids))
            .order_by(part.observation_id)):
        found.setdefault(image_id, []).append(('observation', key))
    for image_id, key in _events_of(session, [key for key in ids if key not in found]):
        found.setdefault(image_id, []).append(('node', key))
    node = schema.NodeRow
    for hit in hits:
        if hit.image_id not in found:
            event = session.scalar(
                select(node.id).where(
                    node.robot_id == hit.robot_id, node.level == EVENT,
                    node.start_ns <= hit.stamp_ns, node.end_ns >= hit.stamp_ns)
                .order_by(node.start_ns.desc()).limit(1))
            if event is not None:
                found[hit.image_id] = [('node', event)]
    return found


def _events_of(session: Session, images: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield (image, event) of the events that have a picture, or its scene, as a member."""
    scene, member = schema.SceneRow, schema.NodeMemberRow
    for query in (
            select(member.ref_id, member.node_id)
            .where(member.kind == 'image', member.ref_id.in_(images)),
            select(scene.image_id, member.node_id)
            .join(member, and_(member.kind == 'scene', member.ref_id == scene.id))
            .where(scene.image_id.in_(images))):
        yield from ((key, event) for key, event in session.execute(query) if key is not None)
