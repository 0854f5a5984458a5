"""Words that match too much for BM25 over all rows: nearly its order, in bounded work."""

from __future__ import annotations

import random

import pytest
from small_memories import NOON_NS, say
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.queries import ALL, Window
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval import common_words
from emv_ros.retrieval.common_words import WordRows
from emv_ros.retrieval.graph import Graph
from emv_ros.retrieval.lexical import Group, find_words
from emv_ros.retrieval.scope import Scope
from emv_ros.timeline import SECOND_NS

COMMON = ('red', 'blue', 'large', 'small', 'kitchen', 'garden', 'moved', 'washed')
NAMES = [f'{first}{second}' for first in ('bar', 'dol', 'kem', 'tif') for second in (
    'go', 'ran', 'sel', 'vik')]


@pytest.fixture
def crowd(store: MemoryStore) -> MemoryStore:
    """Return a memory of 1500 texts, in which each common word stands in hundreds."""
    chance = random.Random(2)
    say(store, *(' '.join((
        *chance.sample(COMMON, 3), *(['indeed'] * chance.randrange(4)),
        *([chance.choice(NAMES)] if chance.random() < 0.2 else []))) for _ in range(1500)))
    return store


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bound the work to what makes a crowd of 1500 texts."""
    monkeypatch.setattr(common_words, 'MAX_RARE', 100)
    monkeypatch.setattr(common_words, 'MAX_PASSED', 400)
    monkeypatch.setattr(common_words, 'LOT', 64)
    monkeypatch.setattr(common_words, 'MAX_READ', 512)


def both(session: Session, *terms: str, limit: int = 20,
         scope: Scope | None = None) -> tuple[list[Group], list[Group]]:
    """Return what bounded work finds, and BM25 over all rows."""
    scope = scope or Scope(ALL)
    return (find_words(session, terms, scope, limit, max_ranked=0),
            find_words(session, terms, scope, limit, max_ranked=1_000_000))


@pytest.mark.parametrize('name', NAMES[:4])
@pytest.mark.parametrize('others', [(), ('red',), ('kitchen', 'washed'), COMMON[:5]])
def test_with_a_rare_word_the_order_is_that_of_bm25(
        crowd: MemoryStore, tight: None, name: str, others: tuple[str, ...]) -> None:
    with crowd.reading() as session:
        found, exact = both(session, name, *others, limit=10)
    assert found[0].key == exact[0].key
    assert len({group.key for group in found} & {group.key for group in exact}) >= 9


def test_common_words_find_texts_that_hold_them_all(crowd: MemoryStore, tight: None) -> None:
    with crowd.reading() as session:
        found, _ = both(session, 'red', 'kitchen', 'moved')
        for group in found[:5]:
            words = session.get_one(schema.DocumentRow, group.first_id).text.split()
            assert {'red', 'kitchen', 'moved'} <= set(words)
        one, _ = both(session, 'washed')
        assert len(one) == 20
        assert both(session, 'nowhere') == ([], [])
        assert both(session, 'nowhere', NAMES[0])[0] == both(session, NAMES[0])[0]


def test_rows_are_counted_and_passed_within_bounds(
        crowd: MemoryStore, tight: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common_words, 'OFTEN', 10)
    monkeypatch.setattr(common_words, 'SAMPLE', 4)
    with crowd.reading() as session:
        rows = WordRows(session, ['red', NAMES[0], 'nowhere'], None)
        assert (rows.all_documents, rows.low, rows.high) == (1500, 1, 1500)
        assert list(rows.counts) == [NAMES[0], 'red']
        true = len(WordRows(session, ['red'], None).rows(['red'], 0))
        assert rows.counts['red'] == pytest.approx(true, rel=0.3)
        assert len(rows.rows(['red'], true)) == pytest.approx(400, rel=0.3)
        words = sum(len(text.split()) for text, in session.connection().exec_driver_sql(
            'SELECT text FROM document').all())
        assert rows.average == pytest.approx(words / 1500)


def test_a_narrow_window_is_searched_whole(crowd: MemoryStore, tight: None) -> None:
    window = Window(start_ns=NOON_NS + 700 * SECOND_NS, end_ns=NOON_NS + 730 * SECOND_NS)
    graph = Graph(crowd)
    with crowd.reading() as session:
        graph.refresh(session)
        scope = Scope(window)
        visible = graph.documents(scope, graph.seen(scope))
        assert visible.tolist() == list(range(701, 731))
        found = find_words(session, ['red', 'moved'], scope, 50, visible, max_ranked=0)
        exact = find_words(session, ['red', 'moved'], scope, 50, max_ranked=1_000_000)
        assert {group.key for group in found} == {group.key for group in exact}
        assert find_words(session, ['red'], scope, 50, visible[:0], max_ranked=0) == []


def test_equal_texts_are_one_group(store: MemoryStore, tight: None) -> None:
    say(store, *['I am ready'] * 90, 'I am ready!', 'ready for tea')
    with store.reading() as session:
        found, exact = both(session, 'ready')
    assert found == exact
    assert max(group.count for group in found) == 91
