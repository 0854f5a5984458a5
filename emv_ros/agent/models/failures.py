"""What a provider's failure means to us: passing, or a model error; the key scrubbed."""

from __future__ import annotations

import re

from emv_ros.errors import ModelError, ModelTimeoutError, ModelUnavailableError

_KEY_SHAPE = re.compile(r'\b(?:sk|key|Bearer)[-_ ][A-Za-z0-9_\-]{8,}')
# Longest part of a provider's own words that goes into a message.
_MAX_CHARS = 300


class PassingError(ModelError):
    """A failure that may be gone at the next try; `wait_s` as the provider asked."""

    def __init__(self, message: str, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


def translated(error: BaseException, model: str, key: str) -> ModelError:
    """Return our error for one that litellm or the provider's library raised."""
    status = getattr(error, 'status_code', None)
    kind = type(error).__name__
    text = f'{model}: {scrubbed(str(error), key)}'
    if kind == 'Timeout' or status == 408:
        return ModelTimeoutError(f'{model}: no answer within the time given')
    if _in_chain(error, 'ConnectError', 'ConnectionRefusedError', 'gaierror'):
        return ModelUnavailableError(f'{model}: no server answers ({scrubbed(str(error), key)})')
    if status in (401, 403, 404):
        return ModelUnavailableError(text)
    if status == 429 or (isinstance(status, int) and status >= 500) or kind == 'APIConnectionError':
        return PassingError(text, _retry_after(error))
    return ModelError(text)


def scrubbed(text: str, key: str) -> str:
    """Return a provider's words on one line, cut, without the key or anything shaped like one."""
    if len(key) > 4:
        text = text.replace(key, '***')
    text = _KEY_SHAPE.sub('***', ' '.join(text.split()))
    return text if len(text) <= _MAX_CHARS else f'{text[:_MAX_CHARS]}…'


def _retry_after(error: BaseException) -> float | None:
    response = getattr(error, 'response', None)
    headers = getattr(response, 'headers', None) or {}
    try:
        return max(0.0, float(headers.get('retry-after', '')))
    except ValueError:
        return None


def _in_chain(error: BaseException, *names: str) -> bool:
    seen: BaseException | None = error
    for _ in range(12):
        if seen is None:
            return False
        if type(seen).__name__ in names:
            return True
        seen = seen.__cause__ or seen.__context__
    return False
