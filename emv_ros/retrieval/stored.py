"""Vectors that are stored already, for texts at hand: to embed them again would take seconds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlalchemy import select

from emv_ros.memory.schema import DocumentRow, EmbeddingRow
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.embedders import Vectors

CHUNK = 500


def stored_vectors(store: MemoryStore, kind: str, ref_ids: Sequence[int],
                   model: str) -> dict[int, Vectors]:
    """Return {id: vector of its document} of those that have one by the model."""
    document, vector = DocumentRow, EmbeddingRow
    found: dict[int, Vectors] = {}
    with store.reading() as session:
        for start in range(0, len(ref_ids), CHUNK):
            rows = session.execute(
                select(document.ref_id, vector.vector)
                .join(vector, vector.document_id == document.id)
                .where(document.kind == kind, vector.model == model,
                       document.ref_id.in_(ref_ids[start:start + CHUNK])))
            found |= {ref_id: np.frombuffer(stored, np.dtype('<f4')) for ref_id, stored in rows}
    return found
