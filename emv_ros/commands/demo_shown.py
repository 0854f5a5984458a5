"""What `emv demo` shows of the memory it made: like things with their lives, and each answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emv_ros.commands.output import plain, write
from emv_ros.errors import NotFoundError

if TYPE_CHECKING:
    from datetime import tzinfo

    from emv_ros.memory.lives import Life
    from emv_ros.memory.store import MemoryStore
    from emv_ros.records import Observation

LINES = 6  # of a biography
WIDTH = 150


def show_lives(store: MemoryStore, name: str, zone: tzinfo) -> None:
    """Show the biographies of all things of a name: when each was seen last, and where."""
    from emv_ros.memory.lives import lives

    found, _ = lives(store, name=name)
    known = [life for life in found if life.entity_id is not None]
    write(f'\nThings called {name}, by their looks: {len(known) or "none"}')
    for life in known:
        write(f'   {plain(_title(life, zone))}')
        before = len(life.observations) - LINES
        if before > 0:
            write(f'      … {before} before')
        for item in life.observations[-LINES:]:
            write(f'      {plain(_line(item, zone))[:WIDTH]}')
    unknown = sum(len(life.observations) for life in found if life.entity_id is None)
    if unknown:
        write(f'   of {unknown} more, too little was seen to tell which it was')


def show_answer(store: MemoryStore) -> None:
    """Show the latest question as the memory keeps it: answer, evidence, cost."""
    from emv_ros.agent.evidence import items_of
    from emv_ros.memory.queries import latest_query

    query = latest_query(store)
    if query is None:
        raise NotFoundError('the question was not kept')
    write(f'   answer    {plain(query.answer or query.message)}')
    items = items_of(store, query.evidence)
    for item in items:
        write(f'   evidence  {plain(item.text)[:WIDTH]}')
    for path in dict.fromkeys(item.image_path for item in items if item.image_path):
        write(f'   picture   {path}')
    write(f'   status    {query.status}, {query.rounds} rounds, {query.prompt_tokens} + '
          f'{query.completion_tokens} tokens, {query.duration_s:.1f} s, '
          f'{query.model or "no model"}')


def _title(life: Life, zone: tzinfo) -> str:
    from emv_ros.timeline import format_stamp

    count = len(life.observations)
    last = max(item.end_ns for item in life.observations)
    text = (f'{life.id} {life.name}: {count} observation{"s" * (count != 1)}, '
            f'{format_stamp(life.observations[0].stamp_ns, zone)} to {format_stamp(last, zone)}')
    others = ', '.join(f'e{other} ({life.reasons[other]})' for other in life.different)
    return f'{text}; not the same as {others}' if others else text


def _line(item: Observation, zone: tzinfo) -> str:
    from emv_ros.timeline import format_stamp

    return '  '.join(filter(None, (
        f'o{item.id}', format_stamp(item.stamp_ns, zone), item.location,
        item.event or item.text)))
