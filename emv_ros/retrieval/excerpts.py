"""Units as lines for a small model: the id first, local times with dates, quoted text.

`s5 2024-06-26 19:56:54–19:58:07 "ReceiveObjectFromHuman failed"`; of a unit of several records the
others follow with their ids and times, the date where it changes. The whole keeps to a budget; what
did not fit is counted. Nothing is ranked or chosen here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, tzinfo
import re

from emv_ros.memory.documents import words_of_name
from emv_ros.quoting import plain_line, quote_recorded
from emv_ros.records import ID_LETTERS
from emv_ros.retrieval.finding import Findings
from emv_ros.retrieval.units import Span, Unit
from emv_ros.timeline import Interval, format_span, format_stamp, to_datetime
from emv_ros.token_estimate import estimate

ALSO_SHOWN = 8

_NAME_IN_WORDS = re.compile(r'(\S+) \(([^()]*)\)')


@dataclass(frozen=True, slots=True)
class Excerpts:
    """What is shown of a search: the text, and the units that stand in it."""

    text: str
    shown: tuple[Unit, ...]


def excerpts(findings: Findings, zone: tzinfo, tokens: int = 1000, text_chars: int = 160,
             count_tokens: Callable[[str], int] = estimate) -> Excerpts:
    """Return units in lines, best first, the note last, in at most `tokens` tokens.

    The best unit is shown however small the budget, without what does not fit of its times. Where
    several robots occur, each line names its own.
    """
    several = len({unit.robot for unit in findings.units}) > 1
    note = f'({plain_line(findings.note[:300])})' if findings.note else ''
    if not findings.units:
        return Excerpts('\n'.join(filter(None, ('nothing found', note))), ())
    lines: list[str] = []
    shown: list[Unit] = []
    room = tokens - (count_tokens(note) + 1 if note else 0)
    for at, unit in enumerate(findings.units):
        line = unit_line(unit, zone, text_chars, several)
        cost = count_tokens(line) + 1
        left = len(findings.units) - at
        if cost > room - (0 if left == 1 else 4):
            if shown:
                lines.append(f'… {left} more')
                break
            unit = _cut(unit, cost / max(room, 1))
            line = unit_line(unit, zone, text_chars, several)
            cost = count_tokens(line) + 1
        lines.append(line)
        shown.append(unit)
        room -= cost
    return Excerpts('\n'.join(filter(None, (*lines, note))), tuple(shown))


def _cut(unit: Unit, times: float) -> Unit:
    """Return the first of a unit's records, with nothing beside them, so many times shorter."""
    return replace(unit, spans=unit.spans[:max(1, int(len(unit.spans) / times) - 1)], reply='',
                   also_ns=[], verdicts=[])


def unit_line(unit: Unit, zone: tzinfo, text_chars: int = 160, with_robot: bool = False) -> str:
    """Return one unit as one line, with the ids and times of all its records that are shown."""
    letter, first = ID_LETTERS[unit.kind], unit.spans[0]
    day = to_datetime(first.start_ns, zone).date()
    parts = [f'{letter}{first.ref_id}', _when(first, zone, None)]
    if unit.entity_id is not None:
        parts.append(f'e{unit.entity_id}')
    if with_robot:
        parts.append(quote_recorded(unit.robot, 40))
    parts.append(quote_recorded(_NAME_IN_WORDS.sub(_without_words, unit.text), text_chars))
    if unit.goal:
        parts.append(f'for {quote_recorded(unit.goal, 80)}')
    if unit.total > 1:
        parts.append(f'×{unit.total}')
    for span in unit.spans[1:]:
        parts[-1] += ','
        parts.append(f'{letter}{span.ref_id} {_when(span, zone, day)}')
        day = to_datetime(span.start_ns, zone).date()
    if unit.reply:
        key, _, said = unit.reply.partition(' ')
        parts.append(f'→ {key} {quote_recorded(said, text_chars)}')
    if unit.also_ns:
        times = ', '.join(format_stamp(stamp, zone)[:16] for stamp in unit.also_ns[:ALSO_SHOWN])
        more = len(unit.also_ns) - ALSO_SHOWN
        parts.append(f'also seen {times}' + (f' and {more} more' if more > 0 else ''))
    if unit.verdicts:
        parts.append(f'others of this name: {", ".join(unit.verdicts)}')
    return ' '.join(parts)


def _when(span: Span, zone: tzinfo, day: date | None) -> str:
    """Return the time of a record, with its date where that is not the day told before."""
    told = format_span(Interval(span.start_ns, span.end_ns), zone).replace(' to ', '–')
    return told[11:] if day == to_datetime(span.start_ns, zone).date() else told


def _without_words(found: re.Match[str]) -> str:
    """Drop the words that a name is indexed under; a reader splits it without help."""
    name, words = found.groups()
    return name if words_of_name(name) == words else found[0]
