"""Samples for the tests of retrieval: what is said, seen and summed up, and a second model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import update

from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Node, Observation, Utterance
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


def see(store: MemoryStore, *names: str, start_s: int = 0, robot: str = '',
        clip: int | None = None, entity: int | None = None) -> list[int]:
    """Add observations one second apart, in a clip and of an entity, and return their ids."""
    made = store.add_many(
        Observation(stamp_ns=NOON_NS + (start_s + at) * SECOND_NS, name=name, event='seen',
                    text=f'a {name} was seen', robot=robot,
                    end_ns=NOON_NS + (start_s + at + 1) * SECOND_NS)
        for at, name in enumerate(names))
    with store.writing() as session:
        session.execute(update(schema.ObservationRow).where(
            schema.ObservationRow.id.in_(made)).values(clip_id=clip, entity_id=entity))
    return made


def add_clip(store: MemoryStore, start_s: int, end_s: int, camera: str = 'head') -> int:
    """Add a clip of robot r1 and return its id."""
    return _add(store, schema.ClipRow(
        robot_id=1, camera=camera, start_ns=NOON_NS + start_s * SECOND_NS,
        end_ns=NOON_NS + end_s * SECOND_NS))


def add_entity(store: MemoryStore, name: str) -> int:
    """Add an entity of robot r1 and return its id."""
    return _add(store, schema.EntityRow(robot_id=1, name=name, is_person=False, attributes={}))


def add_node(store: MemoryStore, level: int, start_s: int, end_s: int, summary: str = 'a stretch',
             members: Sequence[tuple[str, int]] = (), children: Sequence[int] = ()) -> int:
    """Add a tree node of robot r1 and return its id."""
    with store.node_writer() as writer:
        return writer.add(Node(
            robot='r1', level=level, start_ns=NOON_NS + start_s * SECOND_NS,
            end_ns=NOON_NS + end_s * SECOND_NS, summary=summary), members, children)


def _add(store: MemoryStore, row: Any) -> int:
    with store.writing() as session:
        store.robot_id(session, 'r1')
        session.add(row)
        session.flush()
        return int(row.id)
