"""Vectors for the documents of a memory: which have none of a model, and making them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import and_, delete, func, or_, select
from sqlalchemy.orm import Session

from emv_ros.errors import ModelError, ModelTimeoutError, ModelUnavailableError
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.embedders import TextEmbedder, Vectors

BATCH = 64
ANY_TEXT = 'a cup'


def embed_missing(store: MemoryStore, embedder: TextEmbedder, limit: int | None = None,
                  cancel: Callable[[], bool] | None = None, newest_first: bool = False,
                  batch: int = BATCH, documents: Sequence[int] | None = None) -> int:
    """Embed documents that have no vector of this model, and return how many got one.

    With `documents` only those, in their order. Committed in batches; `cancel` is asked before
    each. What changes or goes meanwhile is left for the next time. Raises ModelError from the
    embedder, of a text that it does not take at the end, and StoreError from the store; earlier
    batches stay.
    """
    done = 0
    refusal: ModelError | None = None
    beyond: int | None = None  # the last document tried: all before it are, or have a vector
    asked = None if documents is None else list(documents)
    while limit is None or done < limit:
        if cancel is not None and cancel():
            break
        size = batch if limit is None else min(batch, limit - done)
        part = asked
        if asked is not None:
            if not asked:
                break
            part, asked = asked[:size], asked[size:]
        with store.reading() as session:
            waiting = _missing(session, embedder, size, newest_first, part, beyond)
        if asked is None:
            beyond = next(reversed(waiting), None)
        if not waiting:
            if asked is None:
                break
            continue
        texts = list(dict.fromkeys(waiting.values()))
        vectors, refused = _vectors(embedder, texts)
        refusal = refused or refusal
        done += _keep(store, embedder.name, waiting, vectors)
    if refusal is not None:
        raise refusal
    return done


def count_missing(session: Session, embedder: TextEmbedder) -> int:
    """Return how many documents have no vector of this model."""
    row = schema.DocumentRow
    return int(session.scalar(
        select(func.count()).select_from(row).outerjoin(*_vector_of(embedder))
        .where(*_lacks(embedder))) or 0)


def _vectors(embedder: TextEmbedder, texts: list[str],
             is_well: bool = False) -> tuple[dict[str, Vectors], ModelError | None]:
    """Return vectors by their texts, and why some have none: one text must cost no other.

    Raises ModelError where the embedder takes no text at all, or cannot be asked.
    """
    try:
        return dict(zip(texts, embedder.embed(texts), strict=True)), None
    except (ModelUnavailableError, ModelTimeoutError):
        raise
    except ModelError as error:
        if not is_well:
            embedder.embed([ANY_TEXT])
        if len(texts) == 1:
            return {}, error
    middle = len(texts) // 2
    (first, one), (second, other) = (
        _vectors(embedder, part, is_well=True) for part in (texts[:middle], texts[middle:]))
    return first | second, one or other


def _missing(session: Session, embedder: TextEmbedder, limit: int, newest_first: bool,
             documents: Sequence[int] | None, beyond: int | None) -> dict[int, str]:
    row = schema.DocumentRow
    query = select(row.id, row.text).outerjoin(*_vector_of(embedder)).where(*_lacks(embedder))
    if documents is not None:
        query = query.where(row.id.in_(documents))
    if beyond is not None:
        query = query.where(row.id < beyond if newest_first else row.id > beyond)
    rows = session.execute(query.order_by(row.id.desc() if newest_first else row.id).limit(limit))
    return {row.id: row.text for row in rows}


def _vector_of(embedder: TextEmbedder) -> tuple[Any, Any]:
    row = schema.EmbeddingRow
    return row, and_(row.document_id == schema.DocumentRow.id, row.model == embedder.name)


def _lacks(embedder: TextEmbedder) -> tuple[Any, ...]:
    row = schema.EmbeddingRow
    return (or_(row.document_id.is_(None), func.length(row.vector) != 4 * embedder.dimension),
            schema.DocumentRow.text != '')


def _keep(store: MemoryStore, model: str, waiting: dict[int, str],
          vectors: dict[str, Vectors]) -> int:
    row = schema.DocumentRow
    with store.writing() as session:
        now = session.execute(select(row.id, row.text).where(row.id.in_(waiting)))
        kept = [key for key, words in now if waiting[key] == words and words in vectors]
        session.execute(delete(schema.EmbeddingRow).where(
            schema.EmbeddingRow.model == model, schema.EmbeddingRow.document_id.in_(kept)))
        session.add_all(schema.EmbeddingRow(
            document_id=key, model=model, vector=vectors[waiting[key]].astype('<f4').tobytes())
            for key in kept)
    return len(kept)
