"""Hits as lines for a small model: the id first, local times with dates, the text as quoted data.

`s5 2024-06-26 19:56:54–19:58:07 "ReceiveObjectFromHuman failed"`. The whole keeps to a budget of
characters; what did not fit is counted. Nothing is ranked or chosen here.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
import re

from emv_ros.memory.documents import words_of_name
from emv_ros.records import ID_LETTERS
from emv_ros.retrieval.quoting import plain_line, quote_recorded
from emv_ros.retrieval.search import Hit, SearchResult
from emv_ros.timeline import Interval, format_span, format_stamp

_NAME_IN_WORDS = re.compile(r'(\S+) \(([^()]*)\)')


def render(result: SearchResult, zone: tzinfo, chars: int = 3000, text_chars: int = 200) -> str:
    """Return the hits in lines, best first, the note last; at most `chars` characters in all.

    Each text takes at most `text_chars`. Where several robots occur, each line names its own.
    """
    several = len({hit.robot for hit in result.hits}) > 1
    tail = [f'({plain_line(result.note[:300])})'] if result.note else []
    if not result.hits:
        return '\n'.join(['nothing found', *tail])[:chars]
    lines = [line_of(hit, zone, text_chars, several) for hit in result.hits]
    shown = _fitting(lines, chars - sum(len(line) + 1 for line in tail))
    return '\n'.join([*shown, *tail])[:chars]


def line_of(hit: Hit, zone: tzinfo, text_chars: int = 200, with_robot: bool = False) -> str:
    """Return one hit as one line."""
    span = format_span(Interval(hit.start_ns, max(hit.start_ns, hit.end_ns)), zone)
    parts = [f'{ID_LETTERS[hit.kind]}{hit.ref_id}', span.replace(' to ', '–')]
    if with_robot:
        parts.append(quote_recorded(hit.robot, 40))
    parts.append(quote_recorded(_NAME_IN_WORDS.sub(_without_words, hit.text), text_chars))
    if hit.repeats > 1:
        parts.append(f'(the first of {hit.repeats}; the last: {ID_LETTERS[hit.kind]}'
                     f'{hit.last_ref_id} {format_stamp(hit.last_ns, zone)})')
    return ' '.join(parts)


def _without_words(found: re.Match[str]) -> str:
    """Drop the words that a name is indexed under; a reader splits it without help."""
    name, words = found.groups()
    return name if words_of_name(name) == words else found[0]


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    """Return the first lines that fit, with a last one that counts the rest."""
    shown: list[str] = []
    for at, line in enumerate(lines):
        rest = f'… {len(lines) - at} more'
        is_last = at == len(lines) - 1
        if len(line) + 1 + (0 if is_last else len(rest)) > room:
            return [*shown, rest]
        shown.append(line)
        room -= len(line) + 1
    return shown
