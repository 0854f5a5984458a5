from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
import random

from databases import database_url
import numpy as np
import pytest
from small_memories import NOON_NS, Reordered, say
from sqlalchemy import delete, select, update

from emv_ros.errors import ModelError
from emv_ros.memory import schema
from emv_ros.memory.queries import ALL, Window
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Node
from emv_ros.retrieval.embedders import MiniLmEmbedder, TextEmbedder, Vectors
from emv_ros.retrieval.index import count_missing, embed_missing
from emv_ros.retrieval.scope import KINDS, Rows, Scope
from emv_ros.retrieval.vector_index import VectorIndex
from emv_ros.timeline import SECOND_NS

pytestmark = pytest.mark.both_databases

THINGS = ('milk', 'cup', 'spoon', 'plate', 'sponge', 'apple', 'bottle', 'lamp', 'chair', 'book',
          'phone', 'shoe', 'towel', 'hammer', 'flower')


def fresh_index(store: MemoryStore, embedder: TextEmbedder) -> VectorIndex:
    index = VectorIndex(store, embedder.name, embedder.dimension)
    with store.reading() as session:
        index.refresh(session)
    return index


def nearest(store: MemoryStore, index: VectorIndex, embedder: TextEmbedder, text: str,
            window: Window = ALL) -> str:
    """Return the text of the document nearest to a text, '' where there is none."""
    with store.reading() as session:
        index.refresh(session)
        scope = Scope.of(store, session, window)
        found = index.search(embedder.embed([text])[0], scope, session, 1, -1.0)
        return session.get_one(schema.DocumentRow, found[0].first_id).text if found else ''


def forget(store: MemoryStore, *texts: str) -> None:
    with store.writing() as session:
        session.execute(delete(schema.DocumentRow).where(schema.DocumentRow.text.in_(texts)))


def test_add_ten_forget_three_add_five(store: MemoryStore, minilm: MiniLmEmbedder,
                                       tmp_path: Path) -> None:
    index = fresh_index(store, minilm)
    # Another process, as far as the database can tell.
    with MemoryStore(tmp_path, database_url(tmp_path), 'r1') as other:
        say(other, *(f'a {thing}' for thing in THINGS[:10]))
        assert embed_missing(other, minilm) == 10
        assert all(nearest(store, index, minilm, f'a {thing}') == f'a {thing}'
                   for thing in THINGS[:10])
        forget(other, 'a cup', 'a sponge', 'a book')
        say(other, *(f'a {thing}' for thing in THINGS[10:]), start_s=20)
        assert embed_missing(other, minilm) == 5
    left = [thing for thing in THINGS if thing not in ('cup', 'sponge', 'book')]
    for seen in (index, fresh_index(store, minilm)):
        assert [nearest(store, seen, minilm, f'a {thing}') for thing in left] == [
            f'a {thing}' for thing in left]
        assert nearest(store, seen, minilm, 'a book') != 'a book'
        assert len(seen) == 12


@pytest.mark.parametrize('changed', [(3,), (2, 3), (3, 2), (1, 2, 3), (1,), (1, 3)])
def test_rows_written_anew_in_place_are_noticed(
        store: MemoryStore, minilm: MiniLmEmbedder, changed: tuple[int, ...]) -> None:
    """The database gives stamps of deleted rows out again: counts, ids and stamps all agree."""
    say(store, 'a milk', 'a cup', 'a spoon')
    embed_missing(store, minilm)
    index = fresh_index(store, minilm)
    new = {at: f'a {THINGS[at + 6]}' for at in changed}
    with store.writing() as session:
        for at, text in new.items():
            session.get_one(schema.DocumentRow, at).text = text
        session.execute(delete(schema.EmbeddingRow).where(
            schema.EmbeddingRow.document_id.in_(changed)))
    for at in changed:  # one by one, in this order
        embed_missing(store, minilm, limit=1, newest_first=at == max(changed))
    embed_missing(store, minilm)
    assert len(index) == 3
    for text in new.values():
        assert nearest(store, index, minilm, text) == text
    vectors = minilm.embed([f'a {THINGS[at - 1]}' for at in changed])
    with store.reading() as session:
        for vector in vectors:
            assert index.search(vector, Scope(ALL), session, 9, 0.95) == []


def test_any_order_of_changes_ends_as_the_database_stands(
        store: MemoryStore, minilm: MiniLmEmbedder) -> None:
    chance = random.Random(4)
    index = fresh_index(store, minilm)
    for step in range(60):
        with store.reading() as session:
            ids = list(session.scalars(select(schema.DocumentRow.id)))
        action = chance.choice(('add', 'add', 'change', 'forget', 'embed', 'embed'))
        if action == 'add':
            say(store, f'thing {step}', f'other thing {step}', start_s=step)
        elif action == 'embed':
            embed_missing(store, minilm, limit=chance.randrange(1, 4),
                          newest_first=chance.random() < 0.5)
        elif ids:
            some = chance.sample(ids[-4:], min(len(ids), 4, chance.randrange(1, 4)))
            change(store, some, f'changed {step}' if action == 'change' else '')
        if chance.random() < 0.5:
            assert contents(store, index) == contents(store, fresh_index(store, minilm))


def change(store: MemoryStore, ids: list[int], text: str) -> None:
    """Give documents another text, which takes their vectors; '' forgets them."""
    row = schema.DocumentRow
    with store.writing() as session:
        if not text:
            session.execute(delete(row).where(row.id.in_(ids)))
            return
        session.execute(delete(schema.EmbeddingRow).where(
            schema.EmbeddingRow.document_id.in_(ids)))
        for at in ids:
            session.get_one(row, at).text = f'{text} {at}'


def contents(store: MemoryStore, index: VectorIndex) -> dict[int, tuple[bytes, int]]:
    """Return what the index holds: {document: (vector, group)}."""
    with store.reading() as session:
        index.refresh(session)
    kept = index.vectors.to_arrays()
    groups = index._rows['group'][index._rows.find(kept['ids'])]
    return {document: (vector.tobytes(), group) for document, vector, group in zip(
        kept['ids'].tolist(), kept['matrix'], groups.tolist(), strict=True)}


@pytest.mark.parametrize('dimension', [384, 100])
def test_another_model_keeps_its_own_vectors(
        store: MemoryStore, minilm: MiniLmEmbedder, dimension: int) -> None:
    say(store, 'a milk', 'a cup', 'a spoon')
    embed_missing(store, minilm)
    other = Reordered(minilm, 'other', dimension)
    index = fresh_index(store, other)
    assert (len(index), index.ignored) == (0, 3)
    assert embed_missing(store, other) == 3
    assert nearest(store, index, other, 'a cup') == 'a cup'
    assert (len(index), index.ignored) == (3, 3)
    assert nearest(store, fresh_index(store, minilm), minilm, 'a spoon') == 'a spoon'


def test_vectors_of_another_length_under_one_name_are_made_anew(
        store: MemoryStore, minilm: MiniLmEmbedder) -> None:
    say(store, 'a milk', 'a cup')
    embed_missing(store, Reordered(minilm, minilm.name, 100))
    index = fresh_index(store, minilm)
    assert (len(index), index.ignored) == (0, 2)
    assert embed_missing(store, minilm) == 2
    assert nearest(store, index, minilm, 'a cup') == 'a cup'
    assert index.ignored == 0


def test_embedding_stops_when_asked_and_goes_on_later(
        store: MemoryStore, minilm: MiniLmEmbedder) -> None:
    say(store, *(f'thing {n}' for n in range(70)))
    calls = iter([False, True])
    assert embed_missing(store, minilm, cancel=lambda: next(calls)) == 64
    with store.reading() as session:
        assert count_missing(session, minilm) == 6
    assert embed_missing(store, minilm, limit=4, newest_first=True) == 4
    assert embed_missing(store, minilm) == 2
    assert embed_missing(store, minilm) == 0


def test_texts_that_change_while_others_are_embedded_keep_none_of_those_waiting(
        store: MemoryStore, minilm: MiniLmEmbedder) -> None:
    say(store, *(f'thing {n}' for n in range(5)))

    class Changing(Reordered):
        def embed(self, texts):  # type: ignore[no-untyped-def]
            with store.writing() as session:
                for row in session.scalars(select(schema.DocumentRow).where(
                        schema.DocumentRow.text.in_(texts))):
                    row.text += ' anew'
            return minilm.embed(texts)

    changing = Changing(minilm, minilm.name, 384)
    assert embed_missing(store, changing, batch=2, limit=5) == 0
    with store.reading() as session:
        assert sorted(session.scalars(select(schema.DocumentRow.text))) == [
            f'thing {n} anew' for n in range(5)]
    assert embed_missing(store, minilm, batch=2, newest_first=True) == 5


def test_a_text_that_changes_while_it_is_embedded_gets_no_stale_vector(
        store: MemoryStore, minilm: MiniLmEmbedder) -> None:
    say(store, 'a milk', 'a cup')

    class Slow(Reordered):
        def embed(self, texts):  # type: ignore[no-untyped-def]
            with store.writing() as session:
                session.execute(update(schema.DocumentRow).where(
                    schema.DocumentRow.text == 'a cup').values(text='a shoe'))
            return minilm.embed(texts)

    assert embed_missing(store, Slow(minilm, minilm.name, 384), limit=2) == 1
    assert embed_missing(store, minilm) == 1
    assert nearest(store, fresh_index(store, minilm), minilm, 'a shoe') == 'a shoe'


def test_mask_and_sql_agree(store: MemoryStore, minilm: MiniLmEmbedder) -> None:
    say(store, 'one', 'two', 'three', 'four', robot='r1')
    say(store, 'five', 'six', start_s=1, robot='r2')
    with store.node_writer() as writer:
        for at in range(4):
            writer.add(Node(robot='r1', level=4, start_ns=NOON_NS + at * SECOND_NS,
                            end_ns=NOON_NS + (at + 2) * SECOND_NS, summary=f'node {at}'))
    points = [None, *(NOON_NS + half * SECOND_NS // 2 for half in (0, 1, 2, 4, 5, 6, 20))]
    with store.reading() as session:
        rows = session.scalars(select(schema.DocumentRow)).all()
        arrays = Rows(
            np.array([row.id for row in rows]), np.array([row.robot_id for row in rows]),
            np.array([KINDS.index(row.kind) for row in rows], np.int8),
            np.array([row.start_ns for row in rows]), np.array([row.end_ns for row in rows]))
        for robots in ((), ('r2',), ('nobody',)):
            for kinds in (None, ('node',), ('utterance', 'nonsense')):
                for start in points:
                    for end in points:
                        window = Window(robots=robots, start_ns=start, end_ns=end, before_ns=end)
                        scope = Scope.of(store, session, window, kinds)
                        by_sql = set(session.scalars(
                            select(schema.DocumentRow.id).where(*scope.conditions())))
                        assert set(arrays.document[scope.mask(arrays)].tolist()) == by_sql


def test_an_open_node_that_grew_is_found_in_its_new_span(
        store: MemoryStore, minilm: MiniLmEmbedder) -> None:
    with store.node_writer() as writer:
        node = writer.add(Node(robot='r1', level=3, start_ns=NOON_NS, end_ns=NOON_NS + SECOND_NS,
                               summary='tidying up the kitchen', is_open=True))
    embed_missing(store, minilm)
    index = fresh_index(store, minilm)
    with store.node_writer() as writer:
        writer.update(node, end_ns=NOON_NS + 60 * SECOND_NS)
    later = Window(start_ns=NOON_NS + 30 * SECOND_NS)
    assert nearest(store, index, minilm, 'tidy', later) == 'tidying up the kitchen'


class Refusing:
    """An embedder that does not take some texts, as a provider does with those too long for it."""

    def __init__(self, embedder: TextEmbedder, *refused: str) -> None:
        self._embedder, self._refused = embedder, refused
        self.name, self.dimension = embedder.name, embedder.dimension
        self.calls = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls += 1
        if any(word in text for text in texts for word in self._refused):
            raise ModelError('a text is too long')
        return self._embedder.embed(texts)


def test_a_text_that_is_refused_costs_no_other(
        store: MemoryStore, minilm: MiniLmEmbedder) -> None:
    say(store, *(f'a {thing}' for thing in THINGS))
    nothing = Refusing(minilm, '')
    with pytest.raises(ModelError, match='too long'):
        embed_missing(store, nothing)
    assert nothing.calls == 2  # it is at fault, and not one text
    with pytest.raises(ModelError, match='too long'):
        embed_missing(store, Refusing(minilm, 'milk', 'lamp'), batch=4)
    with store.reading() as session:
        assert count_missing(session, minilm) == 2


def test_documents_that_have_vectors_are_passed_over(
        store: MemoryStore, minilm: MiniLmEmbedder) -> None:
    say(store, *(f'a {thing}' for thing in THINGS[:6]))
    with store.reading() as session:
        ids = list(session.scalars(select(schema.DocumentRow.id).order_by(schema.DocumentRow.id)))
    assert embed_missing(store, minilm, documents=ids[:2]) == 2
    assert embed_missing(store, minilm, batch=2, documents=ids) == 4
