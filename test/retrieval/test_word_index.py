"""The full-text indices of SQLite and of PostgreSQL find the same documents by the same words."""

from __future__ import annotations

from pathlib import Path

from databases import database_url
import postgresql
import pytest
from small_memories import say

from emv_ros.memory.database import sqlite_url
from emv_ros.memory.queries import Window
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.lexical import find_words
from emv_ros.retrieval.scope import Scope
from emv_ros.retrieval.word_index import word_index

TEXTS = (
    'I put the Mugs on the shelf', 'the mug', 'a red_mug/blue-cup, 12.5 cm!', 'café Crème', 'cafe',
    'loading the dishwasher', 'the dishwasher was loaded twice', 'https://robot.local/a/b?c=d',
    'ann@example.org', 'grüße aus der küche', 'GRÜSSE', '3 cups, 4th cup, 7', 'v1.2.3 of map_7b',
    'kitchen–hall', '“quoted” words…', '<b>bold</b> &amp; more', 'пойди на кухню', 'naïve',
    '日本語 の 本', 'ready-made', 'readymade', "Ann's bag", 'flies and fly', 'running runs ran',
    '-5 degrees', '1e5', '12abc', 'abc12', 'the generalization of general things', 'sky skies',
    'happy happily happiness', 'C++ and C#', '50%', "don't", '½ cup', '2½ cups', '12 m²', '① first',
    '/home/ann/notes.txt')
TERMS = (
    'mug', 'mugs', 'red', 'blue', 'cup', 'cups', 'cafe', 'café', 'creme', 'load', 'loaded',
    'dishwasher', 'robot', 'local', 'a', 'example', 'org', 'ann', 'küche', 'kuche', 'grüße',
    'GRÜSSE', '3', '4th', '7', '12', '5', '7b', 'v1', '2', 'hall', 'quoted', 'words', 'bold',
    'b', 'amp',
    'кухню', 'naive', '本', 'ready', 'readymade', 's', 'fly', 'flies', 'run', 'runs', 'ran', '1e5',
    '12abc', 'abc12', 'general', 'generalization', 'sky', 'happy', 'happiness', 'c', '50',
    'don', 't', 'notes', 'txt', 'home', 'the', 'map', 'the mug', 'ready made', '"', "'",
    '½', '2½', '1', 'm²', '²', 'm', '①', '⅓', '%', '_', '&', '!', '')


@pytest.fixture
def both(tmp_path: Path, postgresql_server: postgresql.Server,
         monkeypatch: pytest.MonkeyPatch) -> list[MemoryStore]:
    monkeypatch.setenv('EMV_TEST_SERVER', postgresql_server.url(''))
    return [MemoryStore(tmp_path / name, url, 'r1') for name, url in (
        ('file', sqlite_url(tmp_path / 'file')), ('server', database_url(tmp_path / 'server')))]


def test_each_word_finds_the_same(both: list[MemoryStore]) -> None:
    found = []
    for store in both:
        say(store, *TEXTS)
        with store, store.reading() as session:
            index = word_index(session)
            found.append({term: {TEXTS[row[0] - 1] for row in index.rows([term], 1, len(TEXTS))}
                          for term in TERMS})
            assert all(index.count(term, 3, 9) == len(index.rows([term], 3, 9))
                       for term in TERMS)
    assert found[1] == found[0]


def test_the_best_are_the_same(both: list[MemoryStore]) -> None:
    found = []
    for store in both:
        say(store, *TEXTS, 'the mug', 'a plate', 'THE MUG!')
        with store, store.reading() as session:
            found.append([(group.key, group.count, group.first_id, group.last_id)
                          for terms in (['mug', 'cup'], ['dishwasher', 'loaded'], ['kitchen'])
                          for group in find_words(session, terms, Scope(Window()), 9)])
    assert sorted(found[1]) == sorted(found[0])
    assert found[1][0] == found[0][0]
