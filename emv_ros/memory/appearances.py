"""When things and persons were observed, grouped by the identity that their source vouched for.

An entity joins its observations; without one, a thing is a name with an instance. It judges no
identity itself: two like cups without instances are one name here, and are said to be no more than
that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from emv_ros.errors import NotFoundError
from emv_ros.memory.queries import ALL, Sighting, Window, observations, sightings
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """A thing or person; `observations` are spans, `sightings` single scenes that held it."""

    name: str
    instance: str
    robot: str
    entity_id: int | None
    first_ns: int
    last_ns: int
    observations: int = 0
    sightings: int = 0


def things(store: MemoryStore, window: Window = ALL, name: str = '') -> list[Thing]:
    """Return what was observed in the window, the most frequent first."""
    found: dict[tuple[str, ...], Thing] = {}

    def meet(key: tuple[str, ...], one: Thing) -> None:
        known = found.setdefault(key, replace(one, observations=0, sightings=0))
        found[key] = replace(
            known, first_ns=min(known.first_ns, one.first_ns),
            last_ns=max(known.last_ns, one.last_ns),
            observations=known.observations + one.observations,
            sightings=known.sightings + one.sightings)

    for item in observations(store, window, name=name):
        key = ((f'e{item.entity_id}',) if item.entity_id is not None
               else (item.robot, item.name, item.instance))
        meet(key, Thing(
            name=item.name, instance=item.instance, robot=item.robot, entity_id=item.entity_id,
            first_ns=item.stamp_ns, last_ns=max(item.stamp_ns, item.end_ns), observations=1))
    for seen in sightings(store, window, name=name):
        thing = seen.object
        meet((seen.robot, thing.name, thing.instance), Thing(
            name=thing.name, instance=thing.instance, robot=seen.robot, entity_id=None,
            first_ns=seen.stamp_ns, last_ns=seen.stamp_ns, sightings=1))
    return sorted(found.values(), key=lambda thing: (
        -thing.observations - thing.sightings, thing.name, thing.instance))


def appearances(store: MemoryStore, asked: str,
                window: Window = ALL) -> list[Observation | Sighting]:
    """Return each time that an entity ('e3'), an instance or a name was observed, in order of time.

    Raises NotFoundError for an entity that does not exist.
    """
    if asked[:1] == 'e' and asked[1:].isascii() and asked[1:].isdigit():
        entity_id = int(asked[1:])
        found: list[Observation | Sighting] = list(
            observations(store, window, entity_id=entity_id))
        if not found:
            raise NotFoundError(f'there is no entity {asked} with observations here')
        return found
    found = [*observations(store, window, name=asked), *sightings(store, window, name=asked)]
    if not found:  # no such name: perhaps an instance
        found = [*(item for item in observations(store, window) if item.instance == asked),
                 *sightings(store, window, instance=asked)]
    return sorted(found, key=lambda item: item.stamp_ns)
