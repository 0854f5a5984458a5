"""The lines that a model reads when it groups or summarises: short, deeds and words alone.

A line is the local time and the text of a node without what tempts a small model away from what
happened: sightings, durations, numbers of instances, names in camel case. What is shortened here
is still whole in the node, and a summary is checked against the whole (`facts_of`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
import re

from emv_ros.memory.schema import NodeRow
from emv_ros.timeline import to_datetime
from emv_ros.tree.checks import FAILURES
from emv_ros.tree.levels import DAY, EPISODE, GOAL
from emv_ros.tree.texts import clip, is_sighting

LINE_CHARS = 110
SIGHTING_CHARS = 40
GOING_ON = ('running', 'preparing')
# All lines of one summary: about 250 tokens, some six seconds on one core.
ALL_CHARS = 900
SHORTEST_LINE, LONGEST_LINE = 60, 240

_QUOTED = re.compile(r'("[^"]*")')
_LENGTH = re.compile(r' after (?:\d+(?:\.\d+)? (?:ms|s|min|h|d)\b ?)+')
_CAMEL = re.compile(r'\b[A-Z][a-z]+(?:[A-Z][a-z]*)+\b')
_HUMP = re.compile(r'(?<=[a-z])(?=[A-Z])')
_INSTANCE = re.compile(r'_\d+\b')
_SEEN = re.compile(r'(?:^|[;:,] )saw .*$')


def plain_lines(nodes: Sequence[NodeRow], zone: tzinfo) -> list[str]:
    """Return the lines of one summary: sightings only where there is nothing else, none twice."""
    telling = [node for node in nodes if not is_bare(node)] or list(nodes)
    room = min(LONGEST_LINE, max(SHORTEST_LINE, ALL_CHARS // len(telling)))
    counted: dict[str, list[str]] = {}
    for node, failed in zip(telling, lost(telling), strict=True):
        when, text = _when(node, zone), clip(brief(node, failed), room)
        counted.setdefault(text, []).append(when)
    return [f'{times[0]} {text}' + (f' ({len(times)} times)' if len(times) > 1 else '')
            for text, times in counted.items()]


def numbered_lines(nodes: Sequence[NodeRow], zone: tzinfo) -> list[str]:
    """Return a line for every node."""
    return [clip(f'{_when(node, zone)} {brief(node, failed)}',
                 SIGHTING_CHARS if is_bare(node) else LINE_CHARS)
            for node, failed in zip(nodes, lost(nodes), strict=True)]


def lost(nodes: Sequence[NodeRow]) -> list[bool]:
    """Return of each node whether it failed and nothing of its name succeeded afterwards."""
    done: set[str] = set()
    marks: list[bool] = []
    for node in reversed(nodes):
        if node.status == 'succeeded':
            done.add(node.name)
        marks.append(node.status in FAILURES and node.name not in done)
    return marks[::-1]


def facts_of(node: NodeRow, zone: tzinfo) -> str:
    """Return all that a summary of a node may say: its day, time and whole text."""
    start, end = to_datetime(node.start_ns, zone), to_datetime(node.end_ns, zone)
    return f'{start:%A %d %B %Y %H:%M} {end:%A %d %B %H:%M} {node.summary}'


def is_bare(node: NodeRow) -> bool:
    """Whether a node tells nothing but what was seen."""
    return node.level <= GOAL and not node.name and is_sighting(node.summary)


def brief(node: NodeRow, failed: bool = False) -> str:
    """Return the text of a node as a person would say it, without its sightings.

    `failed`: its outcome is to stand out, so that a summary does not pass it over.
    """
    if node.level >= EPISODE:
        return node.summary
    parts = _QUOTED.split(node.summary)
    for place in range(0, len(parts), 2):
        text = _LENGTH.sub('', parts[place])
        if not is_bare(node):
            text = _SEEN.sub('', text)
        parts[place] = _INSTANCE.sub('', _CAMEL.sub(_spaced, text)).replace('_', ' ')
    text = ''.join(parts).strip(' ;:,') or node.summary
    if failed:
        # Without its steps, which a small model takes for the cause.
        head, status, rest = text.partition(f' {node.status}')
        return f'{head}{status.upper()}{"" if rest.startswith(":") else rest}'
    if node.status in GOING_ON:
        text = text.replace(f' {node.status}', ' (end unknown)', 1)
        return text.replace('(end unknown), no end reported', '(end unknown)', 1)
    return text


def _spaced(match: re.Match[str]) -> str:
    return _HUMP.sub(' ', match.group()).lower()


def _when(node: NodeRow, zone: tzinfo) -> str:
    start = to_datetime(node.start_ns, zone)
    return f'{start:%A %d %B}:' if node.level >= DAY else f'{start:%H:%M}'
