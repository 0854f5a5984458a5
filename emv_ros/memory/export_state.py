"""Where work on a memory stands, in an export: marks of what was looked at, and choices made.

Without them an imported memory would be perceived, described and associated anew. Their keys hold
ids of robots, their values ids of records, which are others in another memory. Leases, notes of
imports and of files to remove are of one memory alone, and stay there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from emv_ros.errors import RecordError
from emv_ros.memory import schema
from emv_ros.memory.export_format import STATE, text
from emv_ros.memory.stay_state import ROW_ID

# Of the kind of a record and its id: the id elsewhere.
Shift = Callable[[str, int], int]


@dataclass(frozen=True, kw_only=True)
class Place:
    """One kind of state: how its key begins, whose it is, and the kinds whose ids it holds.

    `owner` says what stands in the key: the robot's id, its name, or none. With `has_rest` the key
    goes on after that, and with `rest_of` begins there with the id of such a kind. `is_of_tree` is
    of no use without the tree.
    """

    name: str
    start: str
    owner: str = 'id'
    has_rest: bool = False
    rest_of: str = ''
    ids: Mapping[str, str] = field(default_factory=dict)
    is_of_tree: bool = False


PLACES = {place.name: place for place in (
    Place(name='seen', start='perception:', ids={
        'seen': 'image', 'seen_without_detector': 'image', 'scenes': 'scene'}),
    Place(name='seen_by_camera', start='perception:', has_rest=True, rest_of='session',
          ids={'image_id': 'image'}),
    Place(name='stays', start='symbolic:', ids={'scene': 'scene'}),
    Place(name='described', start='described:', ids={'id': 'observation'}),
    Place(name='associated', start='association:', ids={'id': 'observation'}),
    Place(name='reconsidered', start='reconsidered:', ids={'id': 'observation'}),
    Place(name='rebuild', start='rebuild:', is_of_tree=True),
    Place(name='reopened', start='tree:reopened:', is_of_tree=True),
    Place(name='asked', start='tree:asked:', owner='name', is_of_tree=True),
    Place(name='parameters', start='telling parameters of ', owner='', has_rest=True),
    Place(name='looks', start='looks:', owner='', has_rest=True),
    Place(name='calibration', start='calibration:', owner='', has_rest=True))}


def state_lines(session: Session, robots: Mapping[int, str], has_tree: bool,
                kept: Callable[[set[int]], set[int]]) -> Iterator[dict[str, Any]]:
    """Yield the lines of what stands in `state`, but for their time.

    `kept` returns those of some observations that are in the export: stays of others are left out.
    """
    row = schema.StateRow
    for place in PLACES.values():
        if place.is_of_tree and not has_tree:
            continue
        for key, value in session.execute(select(row.key, row.value).where(
                row.key.startswith(place.start, autoescape=True)).order_by(row.key)):
            found = _owner_of(place, key.removeprefix(place.start), robots)
            if found is None:
                continue
            robot, rest = found
            line: dict[str, Any] = {'type': STATE, 'name': place.name}
            line |= {'robot': robot} if robot else {}
            line |= {'rest': rest} if place.has_rest else {}
            line['value'] = _with_stays(value, kept) if place.name == 'stays' else value
            yield line


def _owner_of(place: Place, rest: str, robots: Mapping[int, str]) -> tuple[str, str] | None:
    """Return the robot and what follows in a key; None where it is another's or no such key."""
    if not place.owner:
        return '', rest
    for key, name in robots.items():
        own = str(key) if place.owner == 'id' else name
        if place.has_rest and rest.startswith(f'{own}:'):
            return name, rest[len(own) + 1:]
        if not place.has_rest and rest == own:
            return name, ''
    return None


def _with_stays(value: dict[str, Any],
                kept: Callable[[set[int]], set[int]]) -> dict[str, Any]:
    going = value.get('open', [])
    here = kept({row_id for item in going for row_id in _rows(item[2])})
    return value | {'open': [item for item in going if _rows(item[2]) <= here]}


def _rows(follower: Mapping[str, Any]) -> set[int]:
    return {stay[ROW_ID] for name in ('now', 'next') if (stay := follower.get(name)) is not None
            and stay[ROW_ID] is not None}


def key_and_value(line: Mapping[str, Any], robots: Mapping[str, int], names: Mapping[str, str],
                  shift: Shift) -> tuple[str, dict[str, Any], bool]:
    """Return the key and the value of a line in another memory, and whether it is of one robot.

    `robots` are the ids there by the names of the file, `names` the names there. Raises
    RecordError where the line makes no sense.
    """
    place = PLACES.get(text(line, 'name'))
    if place is None:
        raise RecordError(f'there is no state {line["name"]!r}')
    key = place.start
    if place.owner:
        robot = text(line, 'robot')
        if robot not in robots:
            raise RecordError(f'no line names the robot {robot!r}')
        key += str(robots[robot]) if place.owner == 'id' else names[robot]
    value = line.get('value')
    if not isinstance(value, dict):
        raise RecordError('it has no `value`')
    try:
        if place.has_rest:
            rest = _shifted_rest(place, text(line, 'rest'), shift)
            key += f':{rest}' if place.owner else rest
        return key, _shifted(place, value, shift), bool(place.owner)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise RecordError(f'its value cannot be understood: {error}') from error


def _shifted_rest(place: Place, rest: str, shift: Shift) -> str:
    if not place.rest_of:
        return rest
    number, _, more = rest.partition(':')
    return f'{shift(place.rest_of, int(number))}:{more}'


def _shifted(place: Place, value: dict[str, Any], shift: Shift) -> dict[str, Any]:
    if place.name == 'rebuild':
        return {'entities': {
            str(shift('entity', int(key))): [shift('observation', item) for item in ids]
            for key, ids in value['entities'].items()}}
    # An id of 0 stands for none yet.
    made = value | {name: shift(kind, value[name]) for name, kind in place.ids.items()
                    if value.get(name)}
    if place.name == 'stays':
        made['open'] = [[shift('session', session_id), instance, _follower(follower, shift)]
                        for session_id, instance, follower in value.get('open', [])]
    return made


def _follower(follower: Mapping[str, Any], shift: Shift) -> dict[str, Any]:
    made = dict(follower)
    for name in ('now', 'next'):
        if made.get(name) is not None and made[name][ROW_ID] is not None:
            made[name] = list(made[name])
            made[name][ROW_ID] = shift('observation', made[name][ROW_ID])
    return made
