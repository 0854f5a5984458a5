"""A stand-in for a language model, where a bench cannot wait for one: it copies words.

It gets the very prompts that a model would get and replies with words out of their records, in the
form that the prompt asks for, so that what follows (checks, longer periods, later prompts) is as
long and as many as with a model. It belongs to the benches alone: no memory that is used is ever
written by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import json
import re
import threading
from typing import Any

from emv_ros.evaluation.metered import TokenCounter
from emv_ros.tree.checks import FAILURES

NAME = 'extractive (bench only)'
# A summary of the embedded model has about 21 tokens, and tells of about two records.
SUMMARY_CHARS, SUMMARY_RECORDS = 100, 2

_RECORD = re.compile(r'^(?:\d+\. )?(?:\d\d:\d\d|[A-Z]\w+day \d\d \w+:) (?P<told>.+)$')
_NUMBERED = re.compile(r'^(\d+)\. ')
_RANGE = re.compile(r'\{"first": (\d+), "last": (\d+)\}')
_FAILED = re.compile('|'.join(status.upper() for status in FAILURES))


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply with its tokens."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    model: str = NAME


class Extractive:
    """The stand-in, as the tree needs a model."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter

    @property
    def available(self) -> bool:
        """Always."""
        return True

    def name(self, purpose: str) -> str:
        """Return its name, whatever it is asked for."""
        return NAME

    def complete(self, messages: list[dict[str, Any]], *, purpose: str, max_tokens: int,
                 schema: dict[str, Any] | None = None, deadline_s: float | None = None,
                 cancel: threading.Event | None = None, temperature: float = 0.0,
                 fixed_messages: int = 0) -> Reply:
        """Return words out of the first message after the fixed ones, as JSON where that is asked.

        What else a model may be told changes nothing; `max_tokens` is kept to by the length.
        """
        listed = str(messages[fixed_messages]['content'])
        text = grouped(listed, _ranges(messages, schema)) if schema else _summary(listed)
        return Reply(text, self._counter.prompt(messages, fixed_messages),
                     self._counter.count(text))


def grouped(listed: str, ranges: Sequence[tuple[int, int]]) -> str:
    """Return a JSON reply about a numbered list: each range with a summary of its records."""
    lines = [line for line in listed.splitlines() if _NUMBERED.match(line)]
    return json.dumps({'groups': [
        {'first': first, 'last': last, 'summary': _summary('\n'.join(lines[first - 1:last]))}
        for first, last in ranges]})


def _ranges(messages: Sequence[dict[str, Any]],
            schema: dict[str, Any] | None) -> list[tuple[int, int]]:
    """Return the ranges that the last message asks for, else as many as the schema allows."""
    given = [(int(first), int(last)) for first, last in _RANGE.findall(
        str(messages[-1]['content']))]
    if given:
        return given
    listed = schema['properties']['groups'] if schema else {}
    count = listed['items']['properties']['first'].get('maximum', 1)
    parts = min(listed['maxItems'], -(-count // 4))
    bounds = [count * part // parts for part in range(parts + 1)]
    return [(low + 1, high) for low, high in zip(bounds, bounds[1:], strict=False)]


def _summary(listed: str) -> str:
    """Return the records that say most, what failed before all else, in their order."""
    told = [match['told'] for line in listed.splitlines() if (match := _RECORD.match(line))]
    if not told:
        return _cut(' '.join(listed.split()), SUMMARY_CHARS)
    ranked = sorted(range(len(told)), key=lambda place: (
        not _FAILED.search(told[place]), -len(told[place]), place))
    room = SUMMARY_CHARS // min(SUMMARY_RECORDS, len(told))
    return '; '.join(_cut(told[place], room) for place in sorted(ranked[:SUMMARY_RECORDS]))


def _cut(text: str, room: int) -> str:
    """Return the beginning of a text, whole words, a failure told and what was quoted closed."""
    text = text.rstrip(' …')
    if failed := _FAILED.search(text):
        room = max(room, failed.end() + 1)
    if len(text) > room:
        text = text[:room].rpartition(' ')[0].rstrip(' ,;:(')
    return f'{text}"' if text.count('"') % 2 else text
