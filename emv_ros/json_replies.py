"""Take JSON out of what a model wrote, from among fences, prose and echoes.

What is taken is the model's own text, never repaired in meaning: JSON that was cut off is refused,
not completed.
"""

from __future__ import annotations

from collections.abc import Iterator
import json
import re
from typing import Any

from emv_ros.errors import ModelReplyError

# A fenced block: its language and what is in it, also where its end is missing.
FENCED = re.compile(
    r'^[ \t]*```[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^[ \t]*```|\Z)', re.DOTALL | re.MULTILINE)
_TRAILING_COMMA = re.compile(r',(\s*[}\]])')
_MAX_SHOWN = 80
_MAX_STARTS = 20


def json_of(text: str, key: str = '') -> Any:
    """Return the JSON value in a reply: a fence and prose around it are dropped.

    Of several the first counts, but an object that has `key` before any that has not. A trailing
    comma and a raw newline within a string are forgiven. Raises ModelReplyError that names the
    problem: nothing there, cut off, or where the syntax breaks.
    """
    if not text.strip():
        raise ModelReplyError('the reply is empty where JSON was asked for')
    problems: list[tuple[int, str]] = []
    others: list[Any] = []
    for candidate in _candidates(text):
        try:
            value = _decoded(candidate)
        except json.JSONDecodeError as error:
            problems.append((error.pos, _problem(candidate, error)))
            continue
        except RecursionError:
            problems.append((0, 'the JSON in the reply is nested too deep'))
            break  # so is what stands in it
        if not key or (isinstance(value, dict) and key in value):
            return value
        others.append(value)
    if others:
        return others[0]
    if not problems:
        raise ModelReplyError(f'the reply holds no JSON: {_shown(text)}')
    raise ModelReplyError(max(problems)[1])


def _candidates(text: str) -> Iterator[str]:
    """Yield the places where JSON may begin: in fences, the whole, from each bracket on."""
    yield from (body for _, body in FENCED.findall(text) if body.strip())
    if text.strip()[0] in '{["-0123456789tfn':
        yield text
    for number, match in enumerate(re.finditer(r'[{\[]', text)):
        if number > _MAX_STARTS:
            break
        yield text[match.start():]


def _decoded(text: str) -> Any:
    text = text.strip()
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text)
    except json.JSONDecodeError:
        value, end = json.JSONDecoder(strict=False).raw_decode(_without_trailing_commas(text))
        return value
    if isinstance(value, dict | list) or not text[end:].strip():
        return value
    raise json.JSONDecodeError('Extra data', text, end)


def _without_trailing_commas(text: str) -> str:
    """Drop commas before a closing bracket, outside strings."""
    pieces = re.split(r'("(?:\\.|[^"\\])*")', text, flags=re.DOTALL)
    return ''.join(piece if index % 2 else _TRAILING_COMMA.sub(r'\1', piece)
                   for index, piece in enumerate(pieces))


def _problem(text: str, error: json.JSONDecodeError) -> str:
    text = text.strip()
    if error.pos >= len(text) or error.msg.startswith('Unterminated string'):
        return f'the JSON in the reply is cut off after {_shown(text[-_MAX_SHOWN:])}'
    return (f'the JSON in the reply is not valid: {error.msg} in line {error.lineno}, '
            f'near {_shown(text[max(0, error.pos - 20):error.pos + 40])}')


def _shown(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= _MAX_SHOWN else f'{text[:_MAX_SHOWN]}…')
