"""Vectors for stored pictures, by a model that puts texts and pictures into one space.

There is such a model only where the setting `retrieval.picture_embedder` names one: then pictures,
scaled down, and questions are sent to its provider. Without it nothing is loaded and nothing sent.
Depth is no picture here.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
import logging
from typing import Any

from sqlalchemy import and_, delete, func, or_, select
from sqlalchemy.orm import Session

from emv_ros.errors import (
    EmvError,
    ImageError,
    ModelError,
    ModelTimeoutError,
    ModelUnavailableError,
    NotFoundError,
    StoreError,
)
from emv_ros.memory import schema
from emv_ros.memory.scaling import scaled
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.embedders import LitellmEmbedder, Vectors
from emv_ros.settings import RetrievalSettings

logger = logging.getLogger(__name__)

BATCH = 8
MEDIA_TYPES = ('image/jpeg', 'image/png')


class PictureEmbedder:
    """A litellm embedding model that takes texts and pictures (as data URLs)."""

    def __init__(self, settings: RetrievalSettings) -> None:
        """Import litellm, which takes seconds; no call is made. Raises ModelUnavailableError."""
        self._edge = settings.picture_edge
        self._model = LitellmEmbedder(replace(
            settings, embedder=settings.picture_embedder, api_base=settings.picture_api_base,
            api_key_env=settings.picture_api_key_env))

    @property
    def name(self) -> str:
        """The litellm name, under which vectors are stored."""
        return self._model.name

    @property
    def dimension(self) -> int:
        """The length of a vector; the first time, the model is asked."""
        return self._model.dimension

    def embed_text(self, text: str) -> Vectors:
        """Return the vector of a text, length 1. Raises ModelError."""
        # What looks like a data URL would be taken for a picture.
        vector: Vectors = self._model.embed([f'“{text}”' if text.startswith('data:') else text])[0]
        return vector

    def prepared(self, data: bytes, media_type: str) -> str:
        """Return a picture as it is sent, scaled down. Raises ImageError where it is none."""
        small = scaled(data, media_type, self._edge)
        return f'data:{media_type};base64,{base64.b64encode(small).decode("ascii")}'

    def embed_pictures(self, prepared: Sequence[str]) -> Vectors:
        """Return one row a prepared picture, of length 1. Raises ModelError."""
        dimension = self.dimension
        rows = self._model.embed(prepared)
        if rows.shape[1] != dimension:
            raise ModelError(f'{self.name} gave {rows.shape[1]} numbers for a picture and '
                             f'{dimension} for a text: they cannot be compared')
        return rows


def make_picture_embedder(settings: RetrievalSettings) -> PictureEmbedder | None:
    """Return the embedder that the setting names, None for ''. Raises ModelUnavailableError."""
    return PictureEmbedder(settings) if settings.picture_embedder else None


@dataclass(slots=True)
class PictureRun:
    """What a run did: pictures that got a vector, those that could not, and why ('': nothing)."""

    made: int = 0
    failed: int = 0
    problem: str = ''

    def fail(self, count: int, why: str) -> None:
        """Count pictures that get none; the first reason is told."""
        self.failed += count
        self.problem = self.problem or why


def embed_pictures(store: MemoryStore, embedder: PictureEmbedder, limit: int,
                   cancel: Callable[[], bool] | None = None) -> PictureRun:
    """Give vectors to the newest `limit` pictures at most that have none of this model.

    Committed in batches; `cancel` is asked before each. A picture that cannot be read, or that the
    model refuses, is counted and left out. A model that cannot be reached ends the run, which tells
    so. Raises StoreError from the database.
    """
    run = PictureRun()
    before: int | None = None
    try:
        while max(run.made, run.failed) < limit and not (cancel is not None and cancel()):
            with store.reading() as session:
                if before is None and session.scalar(select(schema.ImageRow.id).where(
                        *colour_pictures()).limit(1)) is None:
                    break  # without a picture no model is asked for the length of its vectors
                waiting = _missing(session, embedder, min(BATCH, limit - run.made), before)
            if not waiting:
                break
            before = waiting[-1].id
            run.made += _keep(store, embedder.name,
                              _embedded(embedder, _readable(store, embedder, waiting, run), run))
    except ModelError as error:
        run.fail(0, str(error))
    if run.problem:
        run.problem = f'pictures get no vectors: {run.problem}' if not run.failed else (
            f'{run.failed} pictures get no vectors: {run.problem}')
        logger.warning('%s', run.problem)
    return run


def colour_pictures() -> tuple[Any, ...]:
    """Return the condition of pictures that can have vectors."""
    row = schema.ImageRow
    return row.is_depth.is_(False), row.media_type.in_(MEDIA_TYPES), row.gone == ''


def _missing(session: Session, embedder: PictureEmbedder, limit: int,
             before: int | None) -> Sequence[Any]:
    row, vector = schema.ImageRow, schema.PictureEmbeddingRow
    query = (
        select(row.id, row.sha256, row.media_type)
        .outerjoin(vector, and_(vector.image_id == row.id, vector.model == embedder.name))
        .where(*colour_pictures(), or_(
            vector.image_id.is_(None), func.length(vector.vector) != 4 * embedder.dimension)))
    if before is not None:
        query = query.where(row.id < before)
    return session.execute(query.order_by(row.id.desc()).limit(limit)).all()


def _readable(store: MemoryStore, embedder: PictureEmbedder, waiting: Sequence[Any],
              run: PictureRun) -> dict[int, str]:
    """Return the pictures as they are sent, by id."""
    found: dict[int, str] = {}
    for item in waiting:
        try:
            data = store.pictures.read(item.sha256, item.media_type)
            found[item.id] = embedder.prepared(data, item.media_type)
        except (NotFoundError, StoreError, ImageError) as error:
            run.fail(1, f'i{item.id}: {error}')
    return found


def _embedded(embedder: PictureEmbedder, prepared: dict[int, str],
              run: PictureRun) -> dict[int, Vectors]:
    """Return vectors by id; of a batch that is refused each picture is tried by itself."""
    if not prepared:
        return {}
    try:
        rows = embedder.embed_pictures(list(prepared.values()))
        return dict(zip(prepared, rows, strict=True))
    except (ModelTimeoutError, ModelUnavailableError):
        raise
    except ModelError:
        if len(prepared) == 1:
            raise
    found: dict[int, Vectors] = {}
    refused: EmvError | None = None
    for key, picture in prepared.items():
        try:
            found[key] = embedder.embed_pictures([picture])[0]
        except (ModelTimeoutError, ModelUnavailableError):
            raise
        except ModelError as error:
            refused = error
            run.fail(1, f'i{key}: {error}')
    if refused is not None and not found:
        raise refused  # it refuses pictures, not one picture
    return found


def _keep(store: MemoryStore, model: str, vectors: dict[int, Vectors]) -> int:
    """Store vectors of the pictures that are still there; return how many."""
    if not vectors:
        return 0
    row = schema.PictureEmbeddingRow
    with store.writing() as session:
        kept = session.scalars(select(schema.ImageRow.id).where(
            schema.ImageRow.id.in_(vectors))).all()
        session.execute(delete(row).where(row.model == model, row.image_id.in_(kept)))
        session.add_all(row(image_id=key, model=model, vector=vectors[key].astype('<f4').tobytes())
                        for key in kept)
    return len(kept)
