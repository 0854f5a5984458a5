"""A real HTTP server on loopback that speaks OpenAI's chat protocol and misbehaves on demand.

Each request is answered by the next of the behaviours it was given (the last one again and again).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import json
import threading
from typing import Any

Request = dict[str, Any]
COUNTED = {'prompt_tokens': 11, 'completion_tokens': 3, 'total_tokens': 14}


@dataclass(frozen=True)
class Behaviour:
    """How one request is answered.

    `status` and `text` as they go out, `text` also made of the request; `headers` besides; `hang`:
    never answer; `hold`: answer once this is set; `drip_s`: one byte in so many seconds; `cut`:
    close after so many bytes of the body; `flood`: a text of so many bytes instead of `text`;
    `message`, `finish`, `usage` (None: none) and `raw` in the place of what a sound provider sends.
    """

    text: str | Callable[[Request], str] | None = 'hello'
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    hang: bool = False
    hold: threading.Event | None = None
    drip_s: float = 0.0
    cut: int | None = None
    flood: int = 0
    message: dict[str, Any] | None = None
    finish: str | None = 'stop'
    usage: Any = field(default_factory=lambda: COUNTED)
    raw: bytes | None = None


@dataclass
class Provider:
    """The running server: where it is, what it was asked, how many bytes of floods it sent."""

    address: str
    behaviours: list[Behaviour | Callable[[Request], Behaviour]]
    requests: list[Request] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)
    sent: int = 0
    arrived: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)

    def next(self) -> Behaviour:
        """Return the behaviour of the request that came last."""
        chosen = self.behaviours[min(len(self.requests), len(self.behaviours)) - 1]
        return chosen if isinstance(chosen, Behaviour) else chosen(self.requests[-1])


@contextmanager
def provider(*behaviours: Behaviour | Callable[[Request], Behaviour]) -> Iterator[Provider]:
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
                state.requests.append(json.loads(body or b'{}'))
                state.authorizations.append(self.headers.get('Authorization', ''))
                behaviour = state.next()
                request = state.requests[-1]
            state.arrived.set()
            if behaviour.hang:
                state.closing.wait(60)
                return
            if behaviour.hold is not None:
                behaviour.hold.wait(60)
            try:
                self._answer(behaviour, request)
            except ConnectionError:  # the client has left
                self.close_connection = True

        do_GET = do_POST  # noqa: N815 - what a followed redirect may become

        def _answer(self, behaviour: Behaviour, request: Request) -> None:
            data = _body(behaviour, request)
            self.send_response(behaviour.status)
            self.send_header('Content-Type', 'application/json')
            self.send_header('Content-Length', str(len(data) + behaviour.flood))
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
                head, mark, tail = data.partition(b'FLOOD') if behaviour.flood else (data, b'', b'')
                self.wfile.write(head + mark)
                self._flood(behaviour.flood)
                self.wfile.write(tail)
            self.close_connection = behaviour.cut is not None

        def _flood(self, size: int) -> None:
            block = b'x' * 2**16
            while size > 0:
                self.wfile.write(block[:size])
                state.sent += min(size, len(block))
                size -= len(block)

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def handle(self) -> None:
            with suppress(ConnectionError):
                super().handle()

    return Handler


def _body(behaviour: Behaviour, request: Request) -> bytes:
    if behaviour.raw is not None:
        return behaviour.raw
    text = behaviour.text(request) if callable(behaviour.text) else behaviour.text
    if behaviour.status != 200:
        return json.dumps({'error': {
            'message': text, 'type': 'error', 'code': behaviour.status}}).encode()
    message = behaviour.message or {
        'role': 'assistant', 'content': 'FLOOD' if behaviour.flood else text}
    return json.dumps({
        'id': 'r1', 'object': 'chat.completion', 'created': 1, 'model': 'fake',
        'choices': [{'index': 0, 'finish_reason': behaviour.finish, 'message': message}],
        **({} if behaviour.usage is None else {'usage': behaviour.usage})}).encode()
