from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import json
import threading
import time

from limits import SOON_S
import numpy as np
import pytest

from emv_ros.errors import ModelError, ModelTimeoutError, ModelUnavailableError
from emv_ros.retrieval import embedders
from emv_ros.retrieval.embedders import LitellmEmbedder, MiniLmEmbedder, make_embedder
from emv_ros.settings import RetrievalSettings


def test_vectors_have_unit_length_and_do_not_depend_on_the_batch(minilm: MiniLmEmbedder) -> None:
    texts = ['a cup', 'the robot grasped the milk in the kitchen', '', 'x' * 100_000, '🥛\ud800']
    together = minilm.embed(texts)
    assert together.shape == (5, 384)
    assert together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    for row, text in zip(together, texts, strict=True):
        np.testing.assert_array_equal(row, minilm.embed([text])[0])


def test_what_means_the_same_is_nearer(minilm: MiniLmEmbedder) -> None:
    asked, near, far = minilm.embed([
        'Where is my coffee mug?', 'I put the cup on the table', 'Battery voltage is low'])
    assert asked @ near > asked @ far + 0.2


def test_none_is_no_embedder() -> None:
    assert make_embedder(RetrievalSettings(embedder='none')) is None


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedders, 'WEIGHTS', ('no_such_package', 'model.onnx', ''))
    with pytest.raises(ModelUnavailableError, match='no_such_package'):
        make_embedder(RetrievalSettings())


def test_weights_with_another_sum_are_refused(
        minilm: MiniLmEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedders, 'VOCABULARY', (*embedders.VOCABULARY[:2], 'f' * 64))
    with pytest.raises(ModelUnavailableError, match='not the expected file of weights'):
        make_embedder(RetrievalSettings())


class Provider(BaseHTTPRequestHandler):
    """An OpenAI-compatible server on loopback; vectors of three numbers, in falling order."""

    def do_POST(self) -> None:  # noqa: N802
        asked = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        self.server.keys.append(self.headers.get('Authorization'))  # type: ignore[attr-defined]
        if asked['input'] == ['hang']:
            self.server.released.wait(20)  # type: ignore[attr-defined]
        rows = [{'object': 'embedding', 'index': at, 'embedding': [3.0, 4.0, float(len(text) == 1)]}
                for at, text in enumerate(asked['input'])]
        if asked['input'] == ['few']:
            rows = []
        body = json.dumps({'object': 'list', 'model': 'm', 'data': rows[::-1],
                           'usage': {'prompt_tokens': 1, 'total_tokens': 1}}).encode()
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def provider() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(('127.0.0.1', 0), Provider)
    server.daemon_threads = True
    server.keys, server.released = [], threading.Event()  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.released.set()  # type: ignore[attr-defined]
    server.shutdown()
    thread.join()
    server.server_close()


def litellm_settings(server: ThreadingHTTPServer, **changed: object) -> RetrievalSettings:
    values = {'embedder': 'openai/tiny', 'api_key_env': 'EMV_TEST_KEY',
              'api_base': f'http://127.0.0.1:{server.server_address[1]}', **changed}
    return RetrievalSettings(**values)  # type: ignore[arg-type]


def test_litellm_embeds_in_order_with_the_named_key(
        provider: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('EMV_TEST_KEY', 'k1')
    embedder = make_embedder(litellm_settings(provider))
    assert isinstance(embedder, LitellmEmbedder)
    assert embedder.dimension == 3
    np.testing.assert_allclose(embedder.embed(['one', 'x'])[0], [0.6, 0.8, 0], atol=1e-6)
    assert embedder.embed(['one', 'x'])[1][2] > 0
    assert set(provider.keys) == {'Bearer k1'}  # type: ignore[attr-defined]


def test_litellm_failures_are_told_apart(
        provider: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelUnavailableError, match='EMV_TEST_KEY'):
        LitellmEmbedder(litellm_settings(provider)).embed(['one'])
    monkeypatch.setenv('EMV_TEST_KEY', 'k1')
    with pytest.raises(ModelError, match='0 texts|for 1 texts|gave'):
        LitellmEmbedder(litellm_settings(provider)).embed(['few'])
    begun = time.monotonic()
    with pytest.raises(ModelTimeoutError):
        LitellmEmbedder(litellm_settings(provider, deadline_s=0.5)).embed(['hang'])
    assert time.monotonic() - begun < SOON_S
    away = litellm_settings(provider, api_base='http://127.0.0.1:9')
    with pytest.raises(ModelError):
        LitellmEmbedder(away).embed(['one'])
