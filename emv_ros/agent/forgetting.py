"""Forgetting as a whole: the rows and pictures, the tree's texts, what search keeps beside them.

The one function for all who forget. So far it takes observations and entities; other records are
refused. What the process of a node keeps of search follows the journal of changes by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from sqlalchemy import make_url

from emv_ros.biography.forgetting import Forgotten, forget_entity, forget_observations
from emv_ros.biography.holding import held
from emv_ros.errors import NotFoundError, StoreError
from emv_ros.memory.details import Reference
from emv_ros.memory.entities import standing
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ID_LETTERS
from emv_ros.retrieval.cache_file import forget_caches
from emv_ros.tree.journal import forget_replies
from emv_ros.tree.reopening import reopen, scrub

OBSERVATION, ENTITY = 'observation', 'entity'


def forget(store: MemoryStore, references: Sequence[Reference], *, author: str, reason: str,
           stamp_ns: int, dry_run: bool = False) -> Forgotten:
    """Forget records by (kind, id), and return what went; with `dry_run` only what would.

    All ids are checked before anything goes; each entity, and the observations together, are a
    transaction. Raises NotFoundError for an id that names nothing, or a kind that cannot be
    forgotten yet, and StoreError.
    """
    _check(store, references)
    counts: Counter[str] = Counter()
    robots: set[str] = set()
    note = ''

    def add(done: Forgotten) -> None:
        counts.update(done.numbers)
        robots.update(done.robots)

    entities = sorted({key for kind, key in references if kind == ENTITY})
    inside = set() if not entities else _held(store, entities)
    alone = sorted({key for kind, key in references if kind == OBSERVATION} - inside)
    try:
        if alone:
            add(forget_observations(store, alone, author=author, reason=reason, stamp_ns=stamp_ns,
                                    reopen=reopen, scrub=scrub, dry_run=dry_run))
        for entity_id in _standing(store, entities):
            add(forget_entity(store, entity_id, author=author, reason=reason, stamp_ns=stamp_ns,
                              reopen=reopen, scrub=scrub, dry_run=dry_run))
    except StoreError:  # rows may be gone all the same, with files that are still there
        robots.update(() if store.is_read_only else store.robots())
        raise
    finally:
        if not dry_run and robots:
            note = _clear(store, robots)
    return Forgotten(numbers=dict(counts), robots=tuple(sorted(robots)), is_preview=dry_run,
                     note=note)


def _clear(store: MemoryStore, robots: Iterable[str]) -> str:
    """Take out what is kept beside the rows; return what could not be done yet."""
    for robot in robots:
        forget_replies(store, robot)
    forget_caches(store.folder)
    if store.rewrite() or make_url(store.url).get_backend_name() != 'sqlite':
        return ''
    return ('the database file or its write-ahead log may still hold bytes of what was forgotten: '
            'somebody reads in it, or the disk is too full to write it anew')


def _check(store: MemoryStore, references: Sequence[Reference]) -> None:
    for kind, key in references:
        if kind not in (OBSERVATION, ENTITY):
            raise NotFoundError(
                f'{ID_LETTERS[kind]}{key} is of the kind {kind.replace("_", " ")!r}, which cannot '
                'be forgotten yet; observations (o7) and entities (e3) can')


def _standing(store: MemoryStore, entity_ids: Sequence[int]) -> list[int]:
    """Return the entities that ids stand for, each once; those that name none as they are."""
    with store.reading() as session:
        found = standing(session, entity_ids)
    return sorted({found.get(key, key) for key in entity_ids})


def _held(store: MemoryStore, entity_ids: Sequence[int]) -> set[int]:
    """Return the observations of entities. Raises NotFoundError for one that has none."""
    keys = _standing(store, entity_ids)
    with store.reading() as session:
        found = held(session, keys)
    for key, ids in found.items():
        if not ids:
            raise NotFoundError(f'there is no entity e{key} with observations')
    return set().union(*found.values())
