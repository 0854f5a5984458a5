"""What else tells of observations that are to be forgotten: their words in rows that stay.

Words that were made beside them (where another thing lay, what a scene related) go and are made
anew by the next description. What a source said itself (speech, parameters of skills, its own
observations) is another record, and is forgotten as such.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
import re
from typing import Any

from sqlalchemy import String, and_, cast, func, select
from sqlalchemy.orm import Session

from emv_ros.biography.holding import held
from emv_ros.biography.scene_parts import Reopen
from emv_ros.memory import schema
from emv_ros.memory.adding import renew_documents
from emv_ros.memory.among import among
from emv_ros.memory.entities import ALIASES, NAMED_BY, aliases_of, merged_ids, standing
from emv_ros.timeline import SECOND_NS

# Descriptions take in what was around within less than this.
AROUND_NS = 120 * SECOND_NS
DETECTOR, SOURCE, MODEL = 'detector', 'source', 'model'
# The attributes that a vision model writes.
_OF_MODELS = frozenset(('detected', 'described', 'clothing', 'appearance'))
# Letters of words that are written without spaces between them (Thai, Chinese, Korean, …).
_UNSPACED = '\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff'
_LETTER = rf'[^\W{_UNSPACED}]'


@dataclass(frozen=True, slots=True)
class Names:
    """What the forgotten is called: `all`, and of these `gone`, which nothing else is called."""

    all: frozenset[str]
    gone: frozenset[str]


def names_of(session: Session, rows: Sequence[Any], entities: Sequence[Any]) -> Names:
    """Return the names of observations and entities that go."""
    seen, entity = schema.ObservationRow, schema.EntityRow
    told = {word for row in rows for word in (row.name, _called(row))}
    # Numbers that begin anew with each clip are in every text: they tell nothing.
    told |= {row.instance for row in rows if any(map(str.isalpha, row.instance))}
    told |= {word for row in entities for word in (row.name, *aliases_of(row.attributes))}
    told -= {''}
    ids, entity_ids = [row.id for row in rows], [row.id for row in entities]
    staying = {
        *_staying(session, seen.name, told, ~among(seen.id, ids)),
        *_staying(session, seen.instance, told, ~among(seen.id, ids)),
        *_staying(session, entity.name, told, and_(
            ~among(entity.id, entity_ids), entity.merged_into.is_(None)))}
    return Names(frozenset(told), frozenset(told - staying))


def telling(words: Collection[str]) -> Callable[[Any], bool]:
    """Return what tells whether a value, as it was stored, holds one of the words."""
    pattern = _pattern(words)
    return lambda value: pattern is not None and bool(pattern.search(_text(value)))


def forget_mentions(session: Session, rows: Sequence[Any], names: Names, reopen: Reopen) -> int:
    """Take back what was written of other observations around these and names them.

    Return of how many. `reopen` takes back what the tree says of them.
    """
    row, going = schema.ObservationRow, {item.id for item in rows}
    pattern = _pattern(names.all)
    found: dict[int, Any] = {}
    for robot_id, first, last in _spans(rows):
        for item in session.scalars(select(row).where(
                row.robot_id == robot_id, row.stamp_ns <= last + AROUND_NS,
                row.end_ns >= first - AROUND_NS, row.made_by != SOURCE)):
            if item.id not in going and pattern is not None and pattern.search(_words(item)):
                found[item.id] = item
    # Texts that one of these told for others are told by none any more.
    for item in session.scalars(select(row).where(
            among(row.extra['told_by']['id'].as_integer(), sorted(going)))):
        if item.id not in going:
            found[item.id] = item
    take_back(session, list(found.values()), reopen, telling(names.all))
    return len(found)


def take_back(session: Session, items: Sequence[Any], reopen: Reopen,
              is_told_by: Callable[[Any], bool] = lambda _: False) -> None:
    """Take the words of descriptions back, to be described anew where pictures show them.

    is_told_by: whether an attribute or extra tells what must not stay; what a model told goes
    anyway.
    """
    reopen(session, 'observation', sorted(item.id for item in items))
    called: dict[int, set[str]] = {}
    for item in items:
        before = item.name
        _take_back(item, is_told_by)
        if item.name != before and item.entity_id is not None:
            called.setdefault(item.entity_id, set()).add(before)
    session.flush()
    renew_documents(session, 'observation', items)
    for entity_id, names in called.items():
        rename_left(session, [entity_id], Names(frozenset(names), frozenset()))


def once_called(session: Session, names: Names) -> list[int]:
    """Return entities that no longer hold what is called so, and still answer to such a name."""
    entity = schema.EntityRow
    merged = [key for called in _lots(names.gone) for key in session.scalars(select(
        entity.id).where(entity.merged_into.is_not(None), entity.name.in_(called)))]
    found = set(standing(session, merged).values())
    for key, attributes in session.execute(select(entity.id, entity.attributes).where(
            cast(entity.attributes, String).contains(f'"{ALIASES}"'))):
        if names.gone.intersection(aliases_of(attributes)):
            found.add(key)
    return sorted(found)


def rename_left(session: Session, entity_ids: Sequence[int], names: Names) -> int:
    """Give entities that keep observations a name that these have, where theirs goes.

    Names that stand in their aliases, or in the rows of what was merged into them, go as well.
    """
    entity, seen = schema.EntityRow, schema.ObservationRow
    pattern, changed = _pattern(names.all), []
    ids = held(session, entity_ids)
    for item in session.scalars(select(entity).where(among(entity.id, entity_ids))):
        its = among(seen.id, ids[item.id])
        left = session.scalars(select(seen.name).where(its).group_by(
            seen.name).order_by(func.count().desc(), func.min(seen.stamp_ns))).all()
        stays = {*left, *session.scalars(select(schema.NamingRow.name).join(
            seen, seen.id == schema.NamingRow.observation_id).where(its))}

        def goes(name: str, stays: Collection[str] = stays) -> bool:
            return pattern is not None and name not in stays and bool(pattern.search(name))

        for key in merged_ids(session, [item.id]).get(item.id, ()):
            merged = session.get_one(entity, key)
            merged.attributes = {}
            merged.name = '' if goes(merged.name) else merged.name
        aliases = aliases_of(item.attributes)
        if not any(map(goes, (item.name, *aliases))):
            continue
        kept = {key: value for key, value in item.attributes.items() if key != ALIASES}
        if goes(item.name):
            item.name = left[0] if left else ''
            kept.pop(NAMED_BY, None)
        if others := [name for name in aliases if not goes(name)]:
            kept[ALIASES] = others
        item.attributes = kept
        changed.append(item.id)
    session.flush()
    renew_documents(session, 'observation', session.scalars(
        select(seen).where(among(seen.entity_id, changed))).all())
    return len(changed)


def _take_back(item: Any, is_told_by: Callable[[Any], bool]) -> None:
    item.event = item.text = item.location = ''
    told = dict(item.attributes)
    if item.made_by == MODEL:
        item.name = str(told.get('detected') or item.name)
        told = {key: value for key, value in told.items() if key not in _OF_MODELS}
    item.attributes = {key: value for key, value in told.items() if not is_told_by({key: value})}
    item.extra = {key: value for key, value in item.extra.items()
                  if key not in ('told_by', 'evidence', 'description_confidence')
                  and not is_told_by({key: value})}
    item.model = item.prompt_version = ''
    if item.clip_id is not None:
        item.made_by = DETECTOR  # so that it is described anew
    item.pending = True


def _words(item: Any) -> str:
    return _text([item.event, item.text, item.location, item.attributes, item.extra])


def _text(value: Any) -> str:
    """Return all words in a value as it was stored, each in a line, as they were written."""
    if isinstance(value, Mapping):
        return '\n'.join(f'{key}\n{_text(item)}' for key, item in value.items())
    if isinstance(value, list | tuple):
        return '\n'.join(map(_text, value))
    return '' if value is None else str(value)


def _called(row: Any) -> str:
    """Return what a person was called before clothing told a name."""
    before = row.extra.get('called') if isinstance(row.extra, dict) else None
    return str(before.get('was', '')) if isinstance(before, dict) else ''


def _pattern(words: Collection[str]) -> re.Pattern[str] | None:
    """Return what finds words where they stand as such, None for none."""
    said = sorted({word for word in words if word.strip()}, key=len, reverse=True)
    if not said:
        return None
    any_of = '|'.join(r'\s+'.join(map(re.escape, word.split())) for word in said)
    return re.compile(rf'(?<!{_LETTER})(?:{any_of})(?!{_LETTER})', re.IGNORECASE)


def _staying(session: Session, column: Any, words: Collection[str],
             others: Any) -> Iterable[str]:
    for part in _lots(words):
        yield from session.scalars(select(column).where(column.in_(part), others).distinct())


def _lots(words: Iterable[str]) -> Iterable[list[str]]:
    told = sorted(words)
    return (told[start:start + 500] for start in range(0, len(told), 500))


def _spans(rows: Sequence[Any]) -> list[tuple[int, int, int]]:
    """Return (robot, first, last) of observations, near ones as one."""
    joined: list[tuple[int, int, int]] = []
    for item in sorted(rows, key=lambda row: (row.robot_id, row.stamp_ns)):
        end_ns = max(item.stamp_ns, item.end_ns)
        if joined and joined[-1][0] == item.robot_id and (
                item.stamp_ns <= joined[-1][2] + AROUND_NS):
            joined[-1] = (item.robot_id, joined[-1][1], max(joined[-1][2], end_ns))
        else:
            joined.append((item.robot_id, item.stamp_ns, end_ns))
    return joined
