"""What a provider's response holds for us: the text, why there is none, what the call cost.

Providers leave out the usage, count wrongly, or send text that no database holds. Tokens that were
not counted, or cannot be true, are estimated and marked; text keeps what can be stored and shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
import re
from typing import Any

from emv_ros.errors import ModelReplyError
from emv_ros.token_estimate import estimate

# No model takes or writes so many at once.
MOST_TOKENS = 10_000_000
ESTIMATED = 'tokens estimated'

# Lone surrogates, which no encoding writes, and control characters other than tab and newline.
_UNREADABLE = re.compile(r'[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]')


@dataclass(frozen=True)
class Reply:
    """A model's reply; `cost` in US dollars (0: unknown), `truncated`: it hit `max_tokens`.

    `is_estimated`: the provider did not count the tokens, or not credibly.
    """

    text: str
    prompt_tokens: int
    completion_tokens: int
    cost: float
    model: str
    duration_s: float
    truncated: bool = False
    is_estimated: bool = False


@dataclass(frozen=True)
class Usage:
    """What a call cost: tokens, US dollars (0: unknown), and whether they were estimated."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    is_estimated: bool = False


def words_of(messages: Sequence[dict[str, Any]]) -> str:
    """Return the text of messages, without their pictures."""
    parts: list[str] = []
    for message in messages:
        content = message.get('content')
        if isinstance(content, str):
            parts.append(content)
        else:
            parts += [part['text'] for part in content or () if 'text' in part]
    return '\n'.join(parts)


def text_of(response: Any, model: str, usage: Usage) -> tuple[str, bool]:
    """Return the text of a response and whether it was cut off at the limit of tokens.

    Raises ModelReplyError with the usage where there is none.
    """
    problem, text, choice = '', '', None
    try:
        choice = response.choices[0]
        text = choice.message.content or ''
    except (AttributeError, IndexError, TypeError):
        problem = 'the reply holds no message'
    if choice is not None and not problem:
        problem = _problem_of(choice, text)
    if problem:
        raise ModelReplyError(f'{model}: {problem}', usage.prompt_tokens, usage.completion_tokens)
    return readable(text), getattr(choice, 'finish_reason', '') == 'length'


def readable(text: str) -> str:
    """Return a text without what cannot be stored or would move a terminal's cursor."""
    return _UNREADABLE.sub('', text)


def _problem_of(choice: Any, text: str) -> str:
    if getattr(choice, 'finish_reason', '') == 'content_filter':
        return "the provider's filter held the reply back"
    if readable(text).strip():
        return ''
    if getattr(choice.message, 'tool_calls', None):
        return 'the reply calls a tool instead of saying anything'
    return 'the reply is empty'


def usage_of(response: Any, prompt: str, price: Callable[[int, int], float]) -> Usage:
    """Return what a response cost; `price` gives the dollars of (prompt, completion) tokens."""
    counted = getattr(response, 'usage', None)
    asked = _credible(getattr(counted, 'prompt_tokens', None))
    said = _credible(getattr(counted, 'completion_tokens', None))
    written = _written(response)
    is_estimated = not asked or said is None or (said == 0 and bool(written))
    if not is_estimated:
        hidden = getattr(response, '_hidden_params', None) or {}
        return Usage(asked or 0, said or 0, _dollars(hidden.get('response_cost')))
    asked, said = asked or estimate(prompt), said or estimate(written)
    return Usage(asked, said, _dollars(price(asked, said)), is_estimated=True)


def _written(response: Any) -> str:
    try:
        return str(response.choices[0].message.content or '')
    except (AttributeError, IndexError, TypeError):
        return ''


def _credible(count: Any) -> int | None:
    if not isinstance(count, int) or isinstance(count, bool):
        return None
    return count if 0 <= count <= MOST_TOKENS else None


def _dollars(cost: Any) -> float:
    if not isinstance(cost, int | float) or not math.isfinite(cost) or cost < 0:
        return 0.0
    return float(cost)
