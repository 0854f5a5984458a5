"""A real HTTP server on loopback that speaks OpenAI's chat protocol and misbehaves on demand.

Each request is answered by the next of the behaviours it was given (the last one again and again).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import json
import threading
from typing import Any


@dataclass(frozen=True)
class Behaviour:
    """How one request is answered.

    `status` and `text` as they go out; `headers` besides; `hang`: never answer; `drip_s`: one
    byte in so many seconds; `cut`: close after so many bytes of the body.
    """

    text: str | None = 'hello'
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    hang: bool = False
    drip_s: float = 0.0
    cut: int | None = None
    raw: bytes | None = None


@dataclass
class Provider:
    """The running server: where it is and what it was asked."""

    address: str
    behaviours: list[Behaviour]
    requests: list[dict[str, Any]] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)
    arrived: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)

    def next(self) -> Behaviour:
        """Return the behaviour of the request that came last."""
        return self.behaviours[min(len(self.requests), len(self.behaviours)) - 1]


@contextmanager
def provider(*behaviours: Behaviour) -> Iterator[Provider]:
    """Run a server for the `with` block."""
    state = Provider('', list(behaviours) or [Behaviour()])
    server = ThreadingHTTPServer(('127.0.0.1', 0), _handler(state))
    server.daemon_threads = True
    state.address = f'http://127.0.0.1:{server.server_port}'
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(state: Provider) -> type[BaseHTTPRequestHandler]:
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
            with lock:
                state.requests.append(json.loads(body))
                state.authorizations.append(self.headers.get('Authorization', ''))
                behaviour = state.next()
            state.arrived.set()
            if behaviour.hang:
                state.closing.wait(60)
                return
            self._answer(behaviour)

        def _answer(self, behaviour: Behaviour) -> None:
            data = _body(behaviour)
            self.send_response(behaviour.status)
            self.send_header('Content-Type', 'application/json')
            self.send_header('Content-Length', str(len(data)))
            for name, value in behaviour.headers:
                self.send_header(name, value)
            self.end_headers()
            if behaviour.cut is not None:
                data = data[:behaviour.cut]
            if behaviour.drip_s:
                for index in range(len(data)):
                    if state.closing.wait(behaviour.drip_s):
                        return
                    self.wfile.write(data[index:index + 1])
                    self.wfile.flush()
            else:
                self.wfile.write(data)
            self.close_connection = behaviour.cut is not None

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


def _body(behaviour: Behaviour) -> bytes:
    if behaviour.raw is not None:
        return behaviour.raw
    if behaviour.status != 200:
        return json.dumps({'error': {
            'message': behaviour.text, 'type': 'error', 'code': behaviour.status}}).encode()
    return json.dumps({
        'id': 'r1', 'object': 'chat.completion', 'created': 1, 'model': 'fake',
        'choices': [{'index': 0, 'finish_reason': 'stop',
                     'message': {'role': 'assistant', 'content': behaviour.text}}],
        'usage': {'prompt_tokens': 11, 'completion_tokens': 3, 'total_tokens': 14}}).encode()
