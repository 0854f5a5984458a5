"""The service by which persons correct entities: merges, splits, names.

A merge that contradicts what was seen is refused unless the request insists with `force`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from emv_ros.biography.corrections import Correction, merge, rename, split
from emv_ros.errors import CorrectionError, EmvError, NotFoundError, RecordError
from emv_ros.memory.details import parse_id
from emv_ros.memory.lives import lives
from emv_ros.memory.store import MemoryStore
from emv_ros.nodes import conversions
from emv_ros.timeline import parse_zone


class Corrections:
    """Corrects the entities of a memory; safe from several threads."""

    def __init__(self, store: MemoryStore, now_ns: Callable[[], int]) -> None:
        self._store = store
        self._now_ns = now_ns

    def correct(self, request: Any, response: Any) -> Any:
        """Fill in the response of CorrectEntity and return it."""
        try:
            done = self._do(request)
        except (RecordError, CorrectionError) as error:
            response.status, response.message = response.STATUS_INVALID_REQUEST, str(error)
        except NotFoundError as error:
            response.status, response.message = response.STATUS_NOT_FOUND, str(error)
        except EmvError as error:
            response.status, response.message = response.STATUS_ERROR, str(error)
        else:
            self._tell(done, response)
        return response

    def _do(self, request: Any) -> Correction:
        entity_ids = _ids(request.entity_ids, 'entity')
        observation_ids = _ids(request.observation_ids, 'observation')
        told = {'author': request.author, 'reason': request.reason, 'stamp_ns': self._now_ns()}
        if request.operation == request.OPERATION_MERGE:
            _none(observation_ids, 'a merge')
            return merge(self._store, entity_ids, name=request.name, force=request.force, **told)
        if request.operation == request.OPERATION_SPLIT:
            return split(self._store, _one(entity_ids), observation_ids, name=request.name, **told)
        if request.operation == request.OPERATION_RENAME:
            _none(observation_ids, 'a new name')
            return rename(self._store, _one(entity_ids), request.name, **told)
        raise RecordError(f'{request.operation} is none of OPERATION_MERGE, _SPLIT and _RENAME')

    def _tell(self, done: Correction, response: Any) -> None:
        response.status, response.message = response.STATUS_OK, done.message
        found = {life.entity_id: life for life in lives(
            self._store, ids=[f'e{key}' for key in done.entities])[0]}
        zone = parse_zone(self._store.zone_of())
        for key in done.entities:
            if key not in found:  # somebody forgot it since
                continue
            told = conversions.life_to_ros(found[key], 0, zone)
            told.also_seen = []
            response.entities.append(told)
        made = [*(f'verdict {key}' for key in done.verdicts),
                *(f'name {key}' for key in done.namings)]
        response.verdict_id = made[0] if made else ''


def _ids(texts: Sequence[str], kind: str) -> list[int]:
    found = []
    for text in texts:
        parsed = parse_id(text)
        if parsed is None or parsed[0] != kind:
            raise RecordError(f'{text!r} is no id of an {kind}')
        found.append(parsed[1])
    return found


def _one(entity_ids: Sequence[int]) -> int:
    if len(entity_ids) != 1:
        raise RecordError(f'exactly one entity must be named, not {len(entity_ids)}')
    return entity_ids[0]


def _none(observation_ids: Sequence[int], what: str) -> None:
    if observation_ids:
        raise RecordError(f'{what} takes no observations')
