"""What a provider's failure means to us: passing, refused for now, or an error of the call.

The words of a provider go into logs, statuses and the account of calls. So they are cut, and
scrubbed of the key and of whatever they quote of the prompt, which holds what the robot recorded.
"""

from __future__ import annotations

import re
from typing import Any

from emv_ros.errors import (
    ModelCanceledError,
    ModelError,
    ModelPromptTooLongError,
    ModelReplyError,
    ModelTimeoutError,
    ModelUnavailableError,
)

_KEY_SHAPE = re.compile(r'\b(?:sk|key|Bearer)[-_ ](?=[A-Za-z_\-]*\d)[A-Za-z0-9_\-]{8,}')
# What litellm adds of its own: names of its classes, traces, and the response as it came.
_DRESSING = re.compile(r'^(?:(?:litellm\.)?\w+Error: ?|LiteLLM: |\w+Exception -(?: |$)|error - )+')
_TRACE = re.compile(r'[,.]? *(?:Traceback \(most|Received response|Received:|Raw keys:).*$')
# Longest part of a provider's own words that goes into a message.
_MAX_CHARS = 300
# So many characters in a row that are the prompt's, too, are a quotation of it.
_QUOTED_CHARS = 16
_FILTERED = ('content_filter', 'content_policy_violation', 'content management policy')
_USED_UP = ('insufficient_quota', 'exceeded your current quota')
# How litellm tells that what came is nothing that it can read.
_GARBLED = re.compile(
    "Invalid response object|Empty or invalid response|response with no 'choices'|Expecting |"
    "codec can't decode|Unterminated string|Extra data:")
_TOO_LONG = ('context_length_exceeded', 'maximum context length', 'prompt is too long')
# Until a provider that refused a key, model or account is asked in the background again.
REFUSED_PAUSE_S = 600.0
# However long it says to wait.
LONGEST_PAUSE_S = 3600.0


class PassingError(ModelError):
    """A failure that may be gone at the next try; `wait_s` as the provider asked.

    `was_answered`: some reply came, though none that could be used, and will be charged for.
    """

    def __init__(self, message: str, wait_s: float | None = None,
                 was_answered: bool = False) -> None:
        super().__init__(message)
        self.wait_s = wait_s
        self.was_answered = was_answered


class RefusedError(ModelUnavailableError):
    """The provider answers, and will not serve us for some time, `pause_s`."""

    def __init__(self, message: str, pause_s: float = REFUSED_PAUSE_S) -> None:
        super().__init__(message)
        self.pause_s = min(pause_s, LONGEST_PAUSE_S)


def translated(error: BaseException, model: str, key: str, prompt: str = '') -> ModelError:
    """Return our error for one that litellm or the provider's library raised."""
    status = getattr(error, 'status_code', None)
    words = scrubbed(str(error), key, prompt) or f'HTTP {status}'
    told = f'{str(getattr(error, "code", ""))} {str(error)}'.lower()
    if oversized := _in_chain(error, 'DecodingError'):
        return ModelReplyError(f'{model}: {scrubbed(str(oversized), key, prompt)}')
    if type(error).__name__ == 'Timeout' or status == 408:
        return ModelTimeoutError(f'{model}: no answer within the time given')
    if cause := _in_chain(error, 'gaierror', 'SSLError', 'SSLCertVerificationError',
                          'ConnectionRefusedError', 'ConnectError'):
        return ModelUnavailableError(
            f'{model}: no server answers ({scrubbed(str(cause), key, prompt)})')
    if isinstance(status, int) and 400 <= status < 500:
        if any(word in told for word in _FILTERED):
            return ModelReplyError(f"{model}: the provider's filter held the reply back")
        if status == 413 or any(word in told for word in _TOO_LONG):
            return ModelPromptTooLongError(f'{model}: the prompt is too long: {words}')
    if refusal := _refusal(status, told):
        return RefusedError(f'{model}: {refusal} (HTTP {status}): {words}')
    if status == 429 or (isinstance(status, int) and status >= 500) \
            or type(error).__name__ == 'APIConnectionError':
        if _in_chain(error, 'RemoteProtocolError', 'ReadError'):
            return PassingError(f'{model}: the connection broke off', was_answered=True)
        if _GARBLED.search(str(error)):
            return PassingError(f'{model}: what came is no reply of its protocol: {words}',
                                was_answered=True)
        return PassingError(f'{model}: {words}', _retry_after(error))
    return ModelError(f'{model}: {words}')


def may_cost(error: ModelError) -> bool:
    """Whether the provider may charge for the prompt of a call that failed so."""
    return isinstance(error, ModelTimeoutError | ModelCanceledError) or (
        isinstance(error, PassingError) and error.was_answered)


def _refusal(status: Any, told: str) -> str:
    """Return why a provider will serve us no sooner for being asked again, or ''."""
    if status in (401, 403):
        return 'the provider refuses the key'
    if status == 402 or (
            status == 429 and any(word in told for word in _USED_UP)):
        return 'the account is used up'
    if status == 404:
        return 'the provider knows no such model or address'
    if isinstance(status, int) and 300 <= status < 400:
        return 'the address only leads to another; set model.api_base to that'
    return ''


def scrubbed(text: str, key: str, prompt: str = '') -> str:
    """Return a provider's words on one line, cut, without the key or anything shaped like one.

    Quotations of the prompt are left out, too.
    """
    if len(key) > 4:
        text = text.replace(key, '***')
    text = ' '.join(text.replace('\\n', ' ').replace('\\', '').split())
    text = _KEY_SHAPE.sub('***', _TRACE.sub('', _DRESSING.sub('', text)))
    text = without_quotes(text, prompt)
    return text if len(text) <= _MAX_CHARS else f'{text[:_MAX_CHARS]}…'


def without_quotes(text: str, prompt: str) -> str:
    """Return a text with each long run of characters that stands in the prompt, too, as '…'."""
    prompt = ' '.join(prompt.split())
    runs = {prompt[at:at + _QUOTED_CHARS] for at in range(len(prompt) - _QUOTED_CHARS + 1)}
    kept: list[str] = []
    at = 0
    while at < len(text):
        end = at
        while text[end:end + _QUOTED_CHARS] in runs:
            end += 1
        if end > at:
            kept.append('…')
            at = end + _QUOTED_CHARS - 1
        else:
            kept.append(text[at])
            at += 1
    return ''.join(kept)


def _retry_after(error: BaseException) -> float | None:
    response = getattr(error, 'response', None)
    headers = getattr(response, 'headers', None) or {}
    try:
        return max(0.0, float(headers.get('retry-after', '')))
    except ValueError:
        return None


def _in_chain(error: BaseException, *names: str) -> BaseException | None:
    """Return the innermost error of these names behind an error."""
    found: BaseException | None = None
    seen: BaseException | None = error
    for _ in range(12):
        if seen is None:
            break
        if type(seen).__name__ in names:
            found = seen
        seen = seen.__cause__ or seen.__context__
    return found
