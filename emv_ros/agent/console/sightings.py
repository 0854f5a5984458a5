"""When and where an object was seen: sightings in scenes, joined while it stays where it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from emv_ros.agent.console.rows import row
from emv_ros.memory import queries
from emv_ros.memory.queries import Page, Sighting, Window
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Scene
from emv_ros.timeline import SECOND_NS, Interval

# Two looks at the same place with a longer pause are two sightings.
PAUSE_NS = 300 * SECOND_NS
# Of more sightings the earliest and the latest half are read, so that first and last are right.
MAX_SIGHTINGS = 10_000


@dataclass(slots=True)
class _Stretch:
    first: Sighting
    last: Sighting
    place: str
    count: int = 1


def sighting_rows(store: MemoryStore, window: Window, name: str, instance: str,
                  zone: tzinfo) -> Iterator[tuple[Scene, Interval, dict[str, Any]]]:
    """Yield (first scene, span, row) of each stretch of an object in one place and state.

    `name` also finds an object by its instance. Stretches of one object end when another begins.
    """
    found = _found(store, window, name, instance)
    if not found and name and not instance:
        found = _found(store, window, '', name)
    scenes = {scene.id: scene for scene in queries.scenes(
        store, window, ids=sorted({item.scene_id for item in found}))}
    for stretch in _stretches(found, scenes):
        item = stretch.first
        scene = scenes[item.scene_id]
        span = Interval(item.stamp_ns, stretch.last.stamp_ns)
        yield scene, span, row(
            'scene', item.scene_id, item.robot, span, zone, name=item.object.name,
            instance=item.object.instance, state=item.object.state, place=stretch.place,
            count=stretch.count)


def _found(store: MemoryStore, window: Window, name: str, instance: str) -> list[Sighting]:
    found = queries.sightings(store, window, name=name, instance=instance,
                              page=Page(limit=MAX_SIGHTINGS + 1))
    if len(found) <= MAX_SIGHTINGS:
        return found
    half = MAX_SIGHTINGS // 2
    latest = Page(limit=half, newest_first=True)
    return found[:half] + queries.sightings(
        store, window, name=name, instance=instance, page=latest)[::-1]


def _stretches(found: list[Sighting], scenes: dict[int | None, Scene]) -> list[_Stretch]:
    done: list[_Stretch] = []
    open_: dict[tuple[str, str, str], _Stretch] = {}
    for item in found:
        if item.scene_id not in scenes:
            continue
        key = item.robot, item.object.name, item.object.instance
        place = place_of(item, scenes[item.scene_id])
        stretch = open_.get(key)
        if (stretch and stretch.place == place and stretch.first.object.state == item.object.state
                and item.stamp_ns - stretch.last.stamp_ns <= PAUSE_NS):
            stretch.last = item
            stretch.count += 1
        else:
            open_[key] = _Stretch(item, item, place)
            done.append(open_[key])
    return done


def place_of(item: Sighting, scene: Scene) -> str:
    """Return where an object was: its relations, else its position in metres."""
    keys = {key for key in (item.object.instance, item.object.name) if key}
    said = [f'{relation.predicate} {relation.object}' for relation in scene.relations
            if relation.subject in keys]
    if said:
        return ', '.join(dict.fromkeys(said))
    if item.object.position:
        return 'at ({:.1f}, {:.1f}, {:.1f}) m'.format(*item.object.position)
    return ''
