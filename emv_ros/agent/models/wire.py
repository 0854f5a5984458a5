"""How calls reach a provider that speaks OpenAI's protocol: by HTTP within bounds.

A reply is never larger than memory can bear, a call that was given up ends with the next bytes that
come, and a redirect is not followed: prompts hold what the robot recorded, and go to the server
that the settings name or to nobody. Proxies of the environment serve, except for this machine's
own addresses. Other providers are reached by litellm's own clients.
"""

from __future__ import annotations

from collections.abc import Iterator
import threading
from urllib.request import getproxies, proxy_bypass

import httpx

from emv_ros.agent.models.calls import current_call

# No reply of text comes near it; embeddings of a batch have a few MB.
MAX_REPLY_BYTES = 16 * 2**20
OWN_ADDRESSES = ('localhost', '127.0.0.1', '::1')


def client() -> httpx.Client:
    """Return a client for litellm's `client_session`; time limits come with each call."""
    return httpx.Client(transport=_Bounded(), follow_redirects=False)


def proxy_for(scheme: str, host: str) -> str:
    """Return the proxy that the environment names for an address, '' where it goes direct."""
    if host in OWN_ADDRESSES or proxy_bypass(host):
        return ''
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get('all') or ''
    return proxy if not proxy or '://' in proxy else f'http://{proxy}'


class _Bounded(httpx.BaseTransport):
    """Sends a request directly or by a proxy, and bounds what comes back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._routes: dict[str, httpx.HTTPTransport] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._route(request.url).handle_request(request)
        response.request = request
        headers = httpx.Headers([
            (name, value) for name, value in response.headers.multi_items()
            if name.lower() not in ('content-encoding', 'content-length', 'transfer-encoding')])
        return httpx.Response(response.status_code, headers=headers, stream=_Body(response),
                              extensions=response.extensions)

    def close(self) -> None:
        with self._lock:
            for route in self._routes.values():
                route.close()

    def _route(self, url: httpx.URL) -> httpx.HTTPTransport:
        proxy = proxy_for(url.scheme, url.host)
        with self._lock:
            if proxy not in self._routes:
                self._routes[proxy] = httpx.HTTPTransport(proxy=proxy or None)
            return self._routes[proxy]


class _Body(httpx.SyncByteStream):
    """The decoded body of a response, as far as it may be read."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        call, size = current_call.get(), 0
        for block in self._response.iter_bytes():
            size += len(block)
            if size > MAX_REPLY_BYTES:
                raise httpx.DecodingError(
                    f'the reply is larger than {MAX_REPLY_BYTES:,} bytes')
            if call is not None and call.given_up.is_set():
                raise httpx.ReadError('the call was given up')
            yield block

    def close(self) -> None:
        self._response.close()
