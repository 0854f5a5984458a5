"""Samples for the tests of retrieval: something said, and a second model."""

from __future__ import annotations

from collections.abc import Sequence

from emv_ros.memory.store import MemoryStore
from emv_ros.records import Utterance
from emv_ros.retrieval.embedders import TextEmbedder, Vectors
from emv_ros.timeline import SECOND_NS

# 2026-03-01 12:00:00 UTC
NOON_NS = 1_772_366_400 * SECOND_NS


class Reordered:
    """Another model of the same or a smaller size: MiniLM's numbers in another order."""

    def __init__(self, embedder: TextEmbedder, name: str, dimension: int) -> None:
        self._embedder = embedder
        self.name = name
        self.dimension = dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed(texts)[:, ::-1][:, :self.dimension].copy()


def say(store: MemoryStore, *texts: str, start_s: int = 0, robot: str = '') -> list[int]:
    """Add utterances one second apart and return their ids."""
    return store.add_many(
        Utterance(stamp_ns=NOON_NS + (start_s + at) * SECOND_NS, speaker='', text=text, robot=robot)
        for at, text in enumerate(texts))
