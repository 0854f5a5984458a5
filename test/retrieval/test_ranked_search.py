from __future__ import annotations

from pathlib import Path
import threading

from databases import database_url
import pytest
from small_memories import NOON_NS, Reordered, say
from sqlalchemy import delete, func, select

from emv_ros.errors import ModelUnavailableError
from emv_ros.memory import schema
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Node, SkillReport, Status
from emv_ros.retrieval.embedders import MiniLmEmbedder
from emv_ros.retrieval.index import embed_missing
from emv_ros.retrieval.search import Searcher
from emv_ros.settings import MemorySettings, RetrievalSettings
from emv_ros.timeline import SECOND_NS

pytestmark = pytest.mark.both_databases

WORDS_ONLY = RetrievalSettings(embedder='none')


def texts(searcher: Searcher, text: str, window: Window = Window(), **options: object) -> list[str]:  # noqa: B008
    return [hit.text for hit in searcher.search(text, window, **options).hits]  # type: ignore[arg-type]


def run_skill(store: MemoryStore, skill: str, status: Status, start_s: int, end_s: int,
              **fields: object) -> int:
    common = {'skill': skill, 'source_id': f'{skill}{start_s}', **fields}
    first, last = store.add_many([
        SkillReport(stamp_ns=NOON_NS + start_s * SECOND_NS, status=Status.RUNNING, **common),  # type: ignore[arg-type]
        SkillReport(stamp_ns=NOON_NS + end_s * SECOND_NS, status=status, **common)])  # type: ignore[arg-type]
    assert first == last
    return first


@pytest.mark.parametrize('asked', [
    '"', "'", '*', '(', 'NEAR(a b)', 'a AND', 'NOT', '-milk', '^milk', 'text:milk', '"" OR ""',
    '🥛', '\0', '\ud800', 'x' * 100_000, '%', '_', '\\', ';drop table document', '{a b}',
    'a + b', '\n'])
def test_no_text_breaks_a_search(store: MemoryStore, minilm: MiniLmEmbedder, asked: str) -> None:
    say(store, 'the milk', 'a cup')
    for searcher in (Searcher(store, WORDS_ONLY), Searcher(store, RetrievalSettings(), minilm)):
        searcher.search(asked)
    with store.reading() as session:
        assert sorted(session.scalars(select(schema.DocumentRow.text))) == ['a cup', 'the milk']


@pytest.mark.parametrize('asked', [
    'receive object', 'ReceiveObjectFromHuman', 'receiveobjectfromhuman', 'receiving objects',
    'Did you ever receive an object from a human?'])
def test_names_are_found_as_people_and_programs_write_them(store: MemoryStore, asked: str) -> None:
    run_skill(store, 'ReceiveObjectFromHuman', Status.FAILED, 0, 9)
    run_skill(store, 'OpenHand', Status.SUCCEEDED, 20, 21)
    hits = Searcher(store, WORDS_ONLY).search(asked).hits
    assert [(hit.kind, hit.ref_id, hit.robot) for hit in hits] == [('skill_event', 1, 'r1')]
    assert (hits[0].start_ns, hits[0].end_ns) == (NOON_NS, NOON_NS + 9 * SECOND_NS)


def test_meaning_is_found_without_a_shared_word(store: MemoryStore, minilm: MiniLmEmbedder) -> None:
    say(store, 'I put the mug on the shelf', 'The battery is nearly empty', 'Good morning!')
    result = Searcher(store, RetrievalSettings(), minilm).search('Where is the cup?')
    assert result.hits[0].text == 'I put the mug on the shelf'
    assert result.hits[0].similarity is not None
    assert result.note == ''


def test_equal_texts_collapse_to_first_count_and_last(
        store: MemoryStore, minilm: MiniLmEmbedder) -> None:
    say(store, *['I am ready'] * 119, 'I am ready!', 'Ready to serve the tea', 'The tea is ready')
    embed_missing(store, minilm)
    for searcher in (Searcher(store, WORDS_ONLY), Searcher(store, RetrievalSettings(), minilm)):
        hits = searcher.search('ready').hits
        assert len(hits) == 3
        many = next(hit for hit in hits if hit.repeats > 1)
        assert (many.repeats, many.ref_id, many.last_ref_id) == (120, 1, 120)
        assert many.start_ns == NOON_NS
        assert many.last_ns == NOON_NS + 119 * SECOND_NS


def test_nothing_after_the_time_of_the_question(store: MemoryStore, minilm: MiniLmEmbedder) -> None:
    run_skill(store, 'GraspCup', Status.FAILED, 0, 10)
    say(store, 'I lost the cup', start_s=20)
    with store.node_writer() as writer:
        writer.add(Node(robot='r1', level=4, start_ns=NOON_NS, end_ns=NOON_NS + 20 * SECOND_NS,
                        summary='The cup was lost'))
    for searcher in (Searcher(store, WORDS_ONLY), Searcher(store, RetrievalSettings(), minilm)):
        assert len(searcher.search('cup').hits) == 3
        hit, = searcher.search('cup', Window(before_ns=NOON_NS + 5 * SECOND_NS)).hits
        assert 'running' in hit.text
        assert 'failed' not in hit.text
        assert hit.end_ns == NOON_NS
        hit, = searcher.search('cup', Window(before_ns=NOON_NS + 11 * SECOND_NS)).hits
        assert 'failed' in hit.text


def test_what_came_later_has_no_say_in_the_order(store: MemoryStore, tmp_path: Path) -> None:
    early = ['a red cup', 'a blue cup', 'the red bowl broke', 'red red paint',
             'blue paint on a cup']
    before = Window(before_ns=NOON_NS + 100 * SECOND_NS)
    say(store, *early)
    with MemoryStore.open(MemorySettings(robot='r1'), tmp_path / 'long') as long:
        say(long, *early)
        # A word that was rare becomes the commonest of all, and texts become long.
        say(long, *(f'red {number} ' + 'and so on ' * 20 for number in range(300)), start_s=200)
        for asked in ('red cup', 'blue red', 'red paint', 'cup bowl red'):
            assert texts(Searcher(long, WORDS_ONLY), asked, before) == (
                texts(Searcher(store, WORDS_ONLY), asked, before)), asked


def test_a_word_in_all_that_was_there_then_is_estimated_without_harm(
        store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('emv_ros.retrieval.common_words.MAX_PASSED', 8)
    say(store, *(f'red {number}' for number in range(40)))
    say(store, *(f'blue {number}' for number in range(400)), start_s=200)
    before = Window(before_ns=NOON_NS + 100 * SECOND_NS)
    assert len(texts(Searcher(store, WORDS_ONLY), 'red', before, k=5)) == 5


def test_windows_robots_and_kinds(store: MemoryStore, minilm: MiniLmEmbedder) -> None:
    say(store, 'cup one', 'cup two', 'cup three')
    say(store, 'cup of r2', robot='r2')
    run_skill(store, 'GraspCup', Status.SUCCEEDED, 0, 3)
    for searcher in (Searcher(store, WORDS_ONLY), Searcher(store, RetrievalSettings(), minilm)):
        window = Window(start_ns=NOON_NS + SECOND_NS, end_ns=NOON_NS + 2 * SECOND_NS)
        assert set(texts(searcher, 'cup', window, kinds=['utterance'])) == {'cup two'}
        assert texts(searcher, 'cup', Window(robots=('r2',))) == ['cup of r2']
        assert [hit.kind for hit in searcher.search('cup', kinds=['skill_event']).hits] == [
            'skill_event']
        result = searcher.search('cup', Window(robots=('nobody',)))
        assert result.hits == []
        assert 'nothing was recorded' in result.note
        assert len(searcher.search('cup', k=2).hits) == 2


def test_notes_say_what_is_missing(store: MemoryStore, minilm: MiniLmEmbedder) -> None:
    few = RetrievalSettings(fresh_texts=2)
    assert 'holds nothing' in Searcher(store, few, minilm).search('milk').note
    assert 'nothing was asked' in Searcher(store, few, minilm).search('  ').note
    say(store, 'the milk', 'a cup', 'a spoon', 'a plate', 'a fork')
    result = Searcher(store, few, minilm).search('milk')
    assert [hit.text for hit in result.hits][0] == 'the milk'
    assert '3 of 5 texts have no vector yet' in result.note
    result = Searcher(store, WORDS_ONLY).search('what did you do?')
    assert 'by words only' in result.note
    assert 'no word to search for' in result.note


def test_without_the_model_the_search_goes_on_by_words(
        store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    say(store, 'the milk')

    def refuse(_: object) -> None:
        raise ModelUnavailableError('the package is not installed')

    monkeypatch.setattr('emv_ros.retrieval.search.make_embedder', refuse)
    result = Searcher(store, RetrievalSettings()).search('milk')
    assert [hit.text for hit in result.hits] == ['the milk']
    assert 'the package is not installed' in result.note


def test_a_model_that_fails_at_a_search_leaves_the_words(
        store: MemoryStore, minilm: MiniLmEmbedder) -> None:
    class Gone(Reordered):
        def embed(self, texts):  # type: ignore[no-untyped-def]
            raise ModelUnavailableError('the server is gone')

    say(store, 'the milk')
    searcher = Searcher(store, RetrievalSettings(), Gone(minilm, 'gone', 384))
    result = searcher.search('milk')
    assert [hit.text for hit in result.hits] == ['the milk']
    assert 'the server is gone' in result.note
    assert searcher.near('milk', ['the milk', 'a cup'])[0] > 0.5


def test_a_fresh_record_is_found_at_once_and_a_forgotten_one_never(
        store: MemoryStore, minilm: MiniLmEmbedder, tmp_path: Path) -> None:
    searcher = Searcher(store, RetrievalSettings(), minilm)
    say(store, 'The battery is nearly empty')
    assert texts(searcher, 'Where is the cup?') == []
    with MemoryStore(tmp_path, database_url(tmp_path), 'r1') as other:
        say(other, 'I put the mug on the shelf', start_s=5)
        assert texts(searcher, 'Where is the cup?') == ['I put the mug on the shelf']
        with other.writing() as session:  # whoever deletes a record deletes its text and vector
            session.execute(delete(schema.UtteranceRow).where(
                schema.UtteranceRow.text.contains('mug')))
            assert [session.scalar(select(func.count()).select_from(table)) for table in (
                schema.DocumentRow, schema.EmbeddingRow)] == [1, 1]
        assert texts(searcher, 'Where is the cup?') == []
        assert texts(searcher, 'mug') == []


def test_searches_from_several_threads_agree(store: MemoryStore, minilm: MiniLmEmbedder) -> None:
    say(store, *(f'thing {n}' for n in range(50)), 'I put the mug on the shelf')
    searcher = Searcher(store, RetrievalSettings(fresh_texts=10), minilm)
    found: list[list[str]] = []
    threads = [threading.Thread(
        target=lambda: found.append(texts(searcher, 'the mug', k=1))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [['I put the mug on the shelf']] * 6

