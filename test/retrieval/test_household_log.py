"""Search on a real robot's log of two evenings; skipped where the log is not at hand."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path

import pytest

from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.records import SkillReport, Status, Utterance
from emv_ros.retrieval.embedders import MiniLmEmbedder
from emv_ros.retrieval.excerpts import excerpts
from emv_ros.retrieval.finding import Finder
from emv_ros.retrieval.index import embed_missing
from emv_ros.retrieval.search import Searcher
from emv_ros.settings import MemorySettings, RetrievalSettings
from emv_ros.timeline import parse_stamp, parse_zone
from emv_ros.token_estimate import estimate as tokens_of

LOG = Path(__file__).resolve().parents[3] / 'shared' / 'data' / 'armar7_june.jsonl'
pytestmark = pytest.mark.skipif(not LOG.exists(), reason='the log is not at hand')
KARLSRUHE = parse_zone('Europe/Berlin')


@pytest.fixture(scope='module')
def searcher(tmp_path_factory: pytest.TempPathFactory,
             minilm: MiniLmEmbedder) -> Iterator[Searcher]:
    with MemoryStore.open(MemorySettings(robot='armar7'), tmp_path_factory.mktemp('log')) as store:
        store.add_many(records())
        embed_missing(store, minilm)
        yield Searcher(store, RetrievalSettings(), minilm)


@pytest.fixture(scope='module')
def finder(searcher: Searcher) -> Finder:
    return Finder(searcher.store, searcher)


def records() -> Iterator[SkillReport | Utterance]:
    for line in LOG.read_text(encoding='utf-8').splitlines():
        item = json.loads(line)
        stamp_ns = parse_stamp(item['t'])[0]
        if item['type'] == 'skill':
            yield SkillReport(
                stamp_ns=stamp_ns, skill=item['skill'], status=Status(item['status']),
                goal_stack=tuple(item['goal_stack']), parameters=item['parameters'])
        elif item['type'] == 'speech':
            yield Utterance(stamp_ns=stamp_ns, speaker=item['speaker'], text=item['text'])


@pytest.mark.parametrize('asked', ['receive object', 'Did you get something from a person?'])
def test_receiving_comes_first(searcher: Searcher, asked: str) -> None:
    best = searcher.search(asked, k=3).hits
    assert any('ReceiveObjectFromHuman' in hit.text for hit in best)


def test_milk_was_first_spoken_of_on_the_first_evening(finder: Finder) -> None:
    text = excerpts(finder.find('milk', kinds=['utterance']), KARLSRUHE).text
    assert '2024-06-26 19:37:19' in text
    assert 'I can see an apple tea, and a milk' in text


def test_milk_is_not_known_before_it_was_seen(searcher: Searcher) -> None:
    before = Window(before_ns=parse_stamp('2024-06-26T19:30:00+02:00')[0])
    assert not any('milk' in hit.text for hit in searcher.search('milk', before).hits)


def test_what_never_happened_finds_no_word_and_nothing_near(searcher: Searcher) -> None:
    for asked in ('When did you water the plants?', 'quantum chromodynamics'):
        assert not any((hit.similarity or 0) > 0.4 for hit in searcher.search(asked).hits)


def test_sixteen_units_are_sixteen_things(searcher: Searcher) -> None:
    hits = searcher.search('what can you see now').hits
    assert len({hit.text for hit in hits}) == len(hits) > 4
    assert max(hit.repeats for hit in hits) > 1


def test_what_the_robot_did_shortly_after_eight(finder: Finder) -> None:
    found = finder.find('What did you do on June 26 shortly after 8 PM?', zone=KARLSRUHE)
    told = excerpts(found, KARLSRUHE, 500)
    assert tokens_of(told.text) <= 500
    assert any('ReceiveObjectFromHuman' in unit.text for unit in told.shown)
    first = Window(start_ns=parse_stamp('2024-06-26T20:00:00+02:00')[0],
                   end_ns=parse_stamp('2024-06-26T20:31:00+02:00')[0])
    assert all(span.overlaps(first.start_ns or 0, first.end_ns or 0)
               for span in found.units[0].spans[:1])
