"""Evidence with its picture: the record behind an id, and the stored picture that shows it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from emv_ros.agent.answers import EvidenceItem
from emv_ros.agent.console.pictures import PictureReader
from emv_ros.agent.console.rows import evidence_item, parse_id, row_of, span_of
from emv_ros.errors import NotFoundError
from emv_ros.memory import queries
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.timeline import Interval, parse_zone


def items_of(store: MemoryStore, ids: Iterable[str]) -> list[EvidenceItem]:
    """Return the evidence of stored ids with pictures; what was forgotten since is left out."""
    items = []
    for shown in ids:
        parsed = parse_id(shown)
        if parsed is None:
            continue
        try:
            record = _record(store, *parsed)
        except NotFoundError:
            continue
        zone = parse_zone(store.zone_of((record.robot,)))
        items.append(evidence_item(row_of(parsed[0], record, zone), span_of(record)))
    return with_pictures(store, items, Window())


def _record(store: MemoryStore, kind: str, ref_id: int) -> Any:
    """Return a record; a scene comes with its objects, which are what it says."""
    record = store.get(kind, ref_id)
    return queries.scenes(store, ids=[ref_id])[0] if kind == 'scene' else record


def with_pictures(store: MemoryStore, items: Iterable[EvidenceItem],
                  window: Window) -> list[EvidenceItem]:
    """Return the evidence, each piece with a picture of its time where one was stored.

    A node of the tree stands for too much time to be shown by one picture.
    """
    reader = PictureReader(store, None, 0)
    found = []
    for item in items:
        if not item.image_path and item.kind != 'node':
            near = reader.pictures_of(Interval(item.start_ns, item.end_ns), item.robot, window)
            if near:
                path = store.pictures.path(near[0].sha256, near[0].media_type)
                item = replace(item, image_path=str(path))
        found.append(item)
    return found
