"""A language model on loopback that speaks OpenAI's protocol, and takes its time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import json
import threading


class SlowModel:
    """Replies with `reply` after `delay_s`; `calls` counts requests, `hold` stops the wait."""

    def __init__(self, reply: str, delay_s: float) -> None:
        self.reply, self.delay_s = reply, delay_s
        self.calls = 0
        self.hold = threading.Event()


@contextmanager
def serving(model: SlowModel) -> Iterator[str]:
    """Serve the model, and yield its base URL."""
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # noqa: N802
            self.rfile.read(int(self.headers['Content-Length']))
            model.calls += 1
            model.hold.wait(model.delay_s)
            body = json.dumps({
                'id': 'x', 'object': 'chat.completion', 'created': 0, 'model': 'slow',
                'choices': [{'index': 0, 'finish_reason': 'stop',
                             'message': {'role': 'assistant', 'content': model.reply}}],
                'usage': {'prompt_tokens': 10, 'completion_tokens': 5, 'total_tokens': 15},
            }).encode()
            try:
                self.send_response(200)
                self.send_header('Content-Type', 'application/json')
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the asker has left

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f'http://127.0.0.1:{server.server_port}/v1'
    finally:
        model.hold.set()
        server.shutdown()
        thread.join()
        server.server_close()
