"""Pictures found by a model of a provider on loopback, whose space is that of colours."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import json
import threading
from typing import Any

import cv2
import numpy as np
import pytest
from small_memories import NOON_NS, add_node, say, see
from sqlalchemy import delete, func, select

from emv_ros.memory import schema
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ImageRecord
from emv_ros.retrieval.embedders import MiniLmEmbedder
from emv_ros.retrieval.excerpts import unit_line
from emv_ros.retrieval.finding import Finder
from emv_ros.retrieval.picture_search import PictureSearch
from emv_ros.retrieval.picture_vectors import PictureEmbedder, embed_pictures, make_picture_embedder
from emv_ros.retrieval.search import Searcher
from emv_ros.settings import MemorySettings, ModelSettings, RetrievalSettings, Settings
from emv_ros.timeline import HOUR_NS, SECOND_NS, parse_zone

RED, GREEN, BLUE = (200, 20, 20), (20, 200, 20), (20, 20, 200)
NAMED = {'red': RED, 'green': GREEN, 'blue': BLUE}


class Colours(BaseHTTPRequestHandler):
    """Embeds a picture by its mean colour, and a text by the colours that it names.

    One axis less than colours are seen by 'tiny', another model; pictures with a black corner are
    refused.
    """

    def do_POST(self) -> None:  # noqa: N802
        asked = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        server: Any = self.server
        server.asked.append((asked['input'], self.headers.get('Authorization')))
        if server.hangs:
            server.released.wait(20)
        try:
            rows = [self._row(item) for item in asked['input']]
            if asked['model'] == 'tiny':
                rows = [row[:2] for row in rows]
            status, reply = 200, {'object': 'list', 'model': asked['model'], 'data': [
                {'object': 'embedding', 'index': at, 'embedding': row}
                for at, row in enumerate(rows)],
                'usage': {'prompt_tokens': 1, 'total_tokens': 1}}
        except ValueError as error:
            status, reply = 400, {'error': {'message': str(error), 'type': 'bad', 'code': 400}}
        body = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _row(self, item: Any) -> list[float]:
        server: Any = self.server
        text = item if isinstance(item, str) else item.get('text') or item['image']
        if text.startswith('data:'):
            text = text.split(',')[1]
        elif isinstance(item, str) or 'text' in item:
            sums = np.sum([NAMED[word] for word in NAMED if word in text], axis=0)
            return [float(value) for value in np.broadcast_to(sums, 3)]
        pixels = cv2.imdecode(
            np.frombuffer(base64.b64decode(text), np.uint8), cv2.IMREAD_COLOR)
        server.sizes.append(pixels.shape[:2])
        if pixels[0, 0].max() < 10:
            raise ValueError('no such pictures')
        return [float(value) for value in pixels.mean(axis=(0, 1))[::-1]]

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def provider() -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(('127.0.0.1', 0), Colours)
    server.daemon_threads = True
    server.asked, server.sizes, server.hangs = [], [], False
    server.released = threading.Event()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def settings(provider: Any, monkeypatch: pytest.MonkeyPatch) -> RetrievalSettings:
    monkeypatch.setenv('EMV_TEST_KEY', 'k1')
    return RetrievalSettings(
        embedder='none', picture_embedder='openai/colours', picture_api_key_env='EMV_TEST_KEY',
        picture_api_base=f'http://127.0.0.1:{provider.server_address[1]}',
        picture_similarity=0.5)


def take(store: MemoryStore, colour: tuple[int, int, int], at_s: int, camera: str = 'wrist',
         robot: str = '', size: int = 64) -> int:
    """Add a picture of one colour and return its id."""
    pixels = np.full((size, 2 * size, 3), colour[::-1], np.uint8)
    data = cv2.imencode('.jpg', pixels)[1].tobytes()
    return store.add_image(data, ImageRecord(
        stamp_ns=NOON_NS + at_s * SECOND_NS, camera=camera, sha256='', media_type='image/jpeg',
        width=2 * size, height=size, robot=robot))


def made(settings: RetrievalSettings) -> PictureEmbedder:
    embedder = make_picture_embedder(settings)
    assert embedder is not None
    return embedder


def vectors(store: MemoryStore) -> dict[int, tuple[str, int]]:
    row = schema.PictureEmbeddingRow
    with store.reading() as session:
        return {item.image_id: (item.model, item.size) for item in session.execute(
            select(row.image_id, row.model, func.length(row.vector).label('size')))}


def images_of(found: Any) -> list[int]:
    return [span.ref_id for unit in found.units if unit.kind == 'image' for span in unit.spans]


def test_pictures_get_vectors_newest_first_scaled_down_and_depth_none(
        store: MemoryStore, settings: RetrievalSettings, provider: Any) -> None:
    first, second = take(store, RED, 0, size=600), take(store, BLUE, 1, size=600)
    depth = cv2.imencode('.png', np.full((4, 4), 900, np.uint16))[1].tobytes()
    store.add_image(depth, ImageRecord(
        stamp_ns=NOON_NS, camera='d', sha256='', media_type='image/png', width=4, height=4,
        is_depth=True))
    embedder = made(settings)
    assert embed_pictures(store, embedder, 1).made == 1
    assert vectors(store) == {second: ('openai/colours', 12)}
    assert embed_pictures(store, embedder, 100).made == 1
    assert embed_pictures(store, embedder, 100).made == 0
    assert sorted(vectors(store)) == [first, second]
    assert set(provider.sizes) == {(256, 512)}
    assert {key for _, key in provider.asked} == {'Bearer k1'}


def test_without_the_setting_nothing_is_loaded_or_sent(
        store: MemoryStore, settings: RetrievalSettings, provider: Any) -> None:
    take(store, RED, 0)
    say(store, 'something red')
    off = replace(settings, picture_embedder='')
    assert make_picture_embedder(off) is None
    asking = PictureSearch(store, off)
    assert asking.ask('something red') == (None, [])
    assert asking.load() is None
    found = Finder(store, Searcher(store, off)).find('something red')
    assert [unit.kind for unit in found.units] == ['utterance']
    assert 'picture' not in found.note
    assert provider.asked == []


def test_a_memory_without_pictures_asks_nobody(
        store: MemoryStore, settings: RetrievalSettings, provider: Any) -> None:
    assert embed_pictures(store, made(settings), 100).made == 0
    assert provider.asked == []


def test_a_picture_is_found_and_what_it_shows(
        store: MemoryStore, settings: RetrievalSettings) -> None:
    red, blue, green = take(store, RED, 10), take(store, BLUE, 700), take(store, GREEN, 1500)
    mug, = see(store, 'mug', start_s=10)
    with store.writing() as session:
        session.add(schema.ObservationImageRow(
            observation_id=mug, image_id=red, bbox=None, is_crop=False))
    event = add_node(store, 2, 690, 710, 'the sink was seen', [('image', blue)])
    later = add_node(store, 2, 1490, 1510, 'the plant was watered')
    embed_pictures(store, made(settings), 100)
    finder = Finder(store, Searcher(store, settings))
    found = finder.find('Is there anything red?')
    assert found.note == 'found by words only (text vectors are switched off)'
    assert {(unit.kind, unit.spans[0].ref_id) for unit in found.units} == {
        ('image', red), ('observation', mug)}
    line = next(unit_line(unit, parse_zone('UTC')) for unit in found.units if unit.kind == 'image')
    assert line == f'i{red} 2026-03-01 12:00:10 "picture of camera wrist"'
    for word, node, image in (('blue', event, blue), ('green', later, green)):
        shown = {(unit.kind, unit.spans[0].ref_id) for unit in finder.find(word).units}
        assert {('image', image), ('node', node)} <= shown
    assert images_of(finder.find('red', kinds=['image'])) == [red]
    assert images_of(finder.find('red', kinds=['observation'])) == []
    assert [unit.kind for unit in finder.find('red', kinds=['observation']).units] == [
        'observation']


def test_near_pictures_of_one_camera_are_one_unit(
        store: MemoryStore, settings: RetrievalSettings) -> None:
    near = [take(store, RED, at_s) for at_s in (0, 20, 40)]
    other, far = take(store, RED, 30, camera='head'), take(store, RED, 4000)
    embed_pictures(store, made(settings), 100)
    found = Finder(store, Searcher(store, settings)).find('red')
    units = [[span.ref_id for span in unit.spans] for unit in found.units]
    assert sorted(units) == [near, [other], [far]]


def test_robots_window_and_the_time_of_the_question_hold(
        store: MemoryStore, settings: RetrievalSettings) -> None:
    early, late = take(store, RED, 0), take(store, RED, 7200)
    others = take(store, RED, 0, robot='r2')
    embed_pictures(store, made(settings), 100)
    finder = Finder(store, Searcher(store, settings))
    hour_ns = NOON_NS + HOUR_NS
    for window, wanted in (
            (Window(), {early, late, others}), (Window(robots=('r2',)), {others}),
            (Window(robots=('r1',), before_ns=hour_ns), {early}),
            (Window(start_ns=hour_ns), {late}), (Window(before_ns=NOON_NS), set()),
            (Window(start_ns=NOON_NS, end_ns=hour_ns), {early, others}),
            (Window(robots=('nobody',)), set())):
        assert set(images_of(finder.find('red', window))) == wanted, window


def test_what_went_never_comes_back_and_what_came_is_found(
        store: MemoryStore, settings: RetrievalSettings) -> None:
    first, second = take(store, RED, 0), take(store, RED, 600)
    embedder = made(settings)
    embed_pictures(store, embedder, 100)
    finder = Finder(store, Searcher(store, settings))
    assert set(images_of(finder.find('red'))) == {first, second}
    with MemoryStore.open(MemorySettings(robot='r1'), store.folder) as other:
        with other.writing() as session:
            session.execute(delete(schema.ImageRow).where(schema.ImageRow.id == first))
        third = take(other, RED, 1200)
        found = finder.find('red')
        assert set(images_of(found)) == {second}
        assert '1 of 2 pictures have no vector yet' in found.note
        embed_pictures(other, embedder, 100)
    found = finder.find('red')
    assert set(images_of(found)) == {second, third}
    assert 'pictures' not in found.note
    assert sorted(vectors(store)) == [second, third]


def test_another_model_or_size_is_noticed(
        store: MemoryStore, settings: RetrievalSettings) -> None:
    red = take(store, RED, 0)
    embed_pictures(store, made(settings), 100)
    tiny = replace(settings, picture_embedder='openai/tiny')
    found = Finder(store, Searcher(store, tiny)).find('red')
    assert images_of(found) == []
    assert '1 of 1 pictures have no vector yet' in found.note
    assert embed_pictures(store, made(tiny), 100).made == 1
    assert images_of(Finder(store, Searcher(store, tiny)).find('red')) == [red]
    with store.writing() as session:  # the same name, and vectors of another length
        row = session.get(schema.PictureEmbeddingRow, (red, 'openai/colours'))
        assert row is not None
        row.vector = b'1234'
    assert images_of(Finder(store, Searcher(store, settings)).find('red')) == []
    assert embed_pictures(store, made(settings), 100).made == 1
    assert images_of(Finder(store, Searcher(store, settings)).find('red')) == [red]


def test_pictures_that_are_refused_or_damaged_are_counted_and_the_others_done(
        store: MemoryStore, settings: RetrievalSettings, caplog: pytest.LogCaptureFixture) -> None:
    good, refused, gone = take(store, RED, 0), take(store, (0, 0, 0), 1), take(store, BLUE, 2)
    image = store.get('image', gone)
    store.pictures.delete(image.sha256, image.media_type)
    run = embed_pictures(store, made(settings), 100)
    assert (run.made, run.failed) == (1, 2)
    assert run.problem.startswith('2 pictures get no vectors')
    assert list(vectors(store)) == [good]
    assert len([item for item in caplog.records if 'get no vectors' in item.message]) == 1
    assert refused not in vectors(store)


def test_a_provider_that_is_away_is_told_once_and_left_alone(
        store: MemoryStore, settings: RetrievalSettings, provider: Any,
        caplog: pytest.LogCaptureFixture) -> None:
    take(store, RED, 0)
    say(store, 'something red')
    provider.hangs = True
    slow = replace(settings, deadline_s=0.5)
    run = embed_pictures(store, made(slow), 100)
    assert run.made == 0
    assert 'within 0.5 s' in run.problem
    finder = Finder(store, Searcher(store, slow))
    for _ in range(3):
        found = finder.find('something red')
        assert [unit.kind for unit in found.units] == ['utterance']
        assert 'pictures were not searched' in found.note
    told = [item for item in caplog.records if 'leaves out pictures' in item.message]
    assert len(told) == 1  # so it was asked once


def test_a_missing_key_is_named(
        store: MemoryStore, settings: RetrievalSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('EMV_TEST_KEY')
    take(store, RED, 0)
    assert 'EMV_TEST_KEY' in embed_pictures(store, made(settings), 100).problem
    assert 'EMV_TEST_KEY' in Finder(store, Searcher(store, settings)).find('red').note


def test_the_pictures_go_out_as_jina_takes_them(
        store: MemoryStore, settings: RetrievalSettings, provider: Any) -> None:
    red = take(store, RED, 0)
    take(store, BLUE, 600)
    jina = replace(settings, picture_embedder='jina_ai/jina-clip-v2')
    assert embed_pictures(store, made(jina), 100).made == 2
    sent = [item for asked, _ in provider.asked for item in asked if isinstance(item, dict)]
    assert [list(item) for item in sent] == [['image'], ['image']]
    found = Finder(store, Searcher(store, jina)).find('data: what is red?')
    assert images_of(found) == [red]


def test_commands_make_and_show_them(
        store: MemoryStore, settings: RetrievalSettings, provider: Any,
        capsys: pytest.CaptureFixture[str]) -> None:
    from emv_ros.cli import main

    red = take(store, RED, 0)
    given = ['--memory', str(store.folder), '--json', *(
        part for name in ('embedder', 'picture_embedder', 'picture_api_key_env',
                          'picture_api_base', 'picture_similarity')
        for part in ('--set', f'retrieval.{name}={getattr(settings, name)}'))]
    assert main([*given, 'consolidate', '--no-model']) == 0
    assert json.loads(capsys.readouterr().out)['picture_vectors'] == 1
    assert main([*given, 'search', 'red', '--kind', 'picture']) == 0
    hit, = json.loads(capsys.readouterr().out)['hits']
    assert (hit['id'], hit['kind']) == (f'i{red}', 'image')


def test_pictures_are_fused_with_words_and_vectors(
        store: MemoryStore, settings: RetrievalSettings, minilm: MiniLmEmbedder) -> None:
    red = take(store, RED, 10)
    mug, plate = see(store, 'mug', 'plate', start_s=10)
    said, = say(store, 'something red lies there', start_s=5000)
    with store.writing() as session:
        session.add(schema.ObservationImageRow(
            observation_id=mug, image_id=red, bbox=None, is_crop=False))
    embed_pictures(store, made(settings), 100)
    asked = 'Is there something red?'
    settings = replace(settings, min_similarity=0.5)  # above what a mug has to do with it
    without = replace(settings, picture_embedder='')
    before = Searcher(store, without, minilm).search(asked)
    assert [(hit.kind, hit.ref_id) for hit in before.hits] == [('utterance', said)]
    result = Searcher(store, settings, minilm).search(asked)
    assert [(hit.kind, hit.ref_id) for hit in result.hits] == [
        ('utterance', said), ('observation', mug)]
    assert [hit.image_id for hit in result.pictures] == [red]
    found = Finder(store, Searcher(store, settings, minilm)).find(asked)
    assert [(unit.kind, unit.spans[0].ref_id) for unit in found.units][0] == ('utterance', said)
    assert {unit.kind for unit in found.units} == {'utterance', 'observation', 'image'}
    assert plate not in [unit.spans[0].ref_id for unit in found.units if unit.kind == 'observation']


def test_a_consolidation_makes_them_and_tells_what_went_wrong(
        store: MemoryStore, settings: RetrievalSettings, provider: Any) -> None:
    from emv_ros.agent.models.client import ModelClient
    from emv_ros.nodes.consolidation_run import Consolidation, Request

    pictures = [take(store, colour, at) for at, colour in enumerate((RED, BLUE, GREEN))]
    chosen = Settings(retrieval=replace(settings, pictures_a_run=2),
                      model=ModelSettings(model='none'))
    consolidation = Consolidation(store, chosen, ModelClient(chosen.model))
    for made_by_then in (pictures[1:], pictures):
        outcome = consolidation.run(Request(without_model=True), threading.Event(),
                                    lambda step: None)
        assert (outcome.status, outcome.message) == ('ok', '')
        assert sorted(vectors(store)) == made_by_then
    take(store, (0, 0, 0), 3)
    outcome = consolidation.run(Request(without_model=True), threading.Event(), lambda step: None)
    assert outcome.status == 'ok'
    assert 'pictures get no vectors' in outcome.message


def test_a_picture_is_evidence_for_an_answer(
        store: MemoryStore, settings: RetrievalSettings) -> None:
    from emv_ros.agent.console.rows import ROWS

    red = take(store, RED, 0)
    embed_pictures(store, made(settings), 100)
    unit, = Finder(store, Searcher(store, settings)).find('red').units
    row = ROWS[unit.kind](store.get(unit.kind, unit.spans[0].ref_id), parse_zone('UTC'))
    assert (row['id'], row['kind']) == (f'i{red}', 'image')
