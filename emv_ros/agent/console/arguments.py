"""Arguments as a model's code hands them over, checked: names and texts, numbers, statuses."""

from __future__ import annotations

from typing import Any

from emv_ros.errors import EmvError
from emv_ros.records import Status

MAX_CHARS = 500
# What models write where they mean that any will do.
WILD = frozenset(('*', '%', '.*', '**', 'all', 'any', 'none', 'null'))
OTHER_WORDS = {'fail': 'failed', 'failure': 'failed', 'success': 'succeeded', 'done': 'succeeded',
               'completed': 'succeeded', 'abort': 'aborted', 'cancelled': 'canceled',
               'cancel': 'canceled', 'started': 'running'}


def text_of(value: Any) -> str:
    """Return a name or text argument; None and wildcards are ''. Raises EmvError for others."""
    if value is None:
        return ''
    if not isinstance(value, str):
        raise EmvError(f'a text is needed, not {str(value)[:40]!r}')
    text = value[:MAX_CHARS].strip()
    return '' if text.lower() in WILD else text


def number(value: Any, low: int, high: int) -> int:
    """Return a whole number, brought into [low, high]. Raises EmvError for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        raise EmvError(f'a number is needed, not {str(value)[:40]!r}')
    return int(max(low, min(value, high)))


def statuses(value: Any) -> list[str]:
    """Return the statuses of one word or a list of them. Raises EmvError that lists them."""
    asked = [value] if isinstance(value, str) else value or []
    if not isinstance(asked, (list, tuple, set)):
        raise EmvError(f'a status is needed, not {str(value)[:40]!r}')
    known = sorted(str(status) for status in Status)
    found = []
    for item in list(asked)[:len(known) * 2]:
        word = str(item)[:40].lower()
        status = OTHER_WORDS.get(word, word)
        if status not in known:
            raise EmvError(f'no status {status!r}; use one of {", ".join(known)}')
        found.append(status)
    return found
