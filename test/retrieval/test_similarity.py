from __future__ import annotations

import pytest

from emv_ros.retrieval.embedders import MiniLmEmbedder
from emv_ros.retrieval.similarity import Similarity

SUMMARIES = [
    'Served tea to a guest in the living room',
    'Loaded the dishwasher with plates and cups',
    'Charged at the docking station',
]


@pytest.mark.parametrize('has_vectors', [True, False])
def test_words_and_meaning_find_the_right_one(minilm: MiniLmEmbedder, has_vectors: bool) -> None:
    similarity = Similarity(minilm if has_vectors else None)
    assert similarity.best('Did you load the dishwasher?', SUMMARIES)[0][0] == 1
    assert similarity.best('', SUMMARIES) == []
    assert similarity.best('dishwasher', []) == []


@pytest.mark.parametrize('has_vectors', [True, False])
def test_no_match_gives_nothing(minilm: MiniLmEmbedder, has_vectors: bool) -> None:
    similarity = Similarity(minilm if has_vectors else None)
    assert similarity.best('quantum chromodynamics', SUMMARIES) == []


def test_vectors_find_what_words_do_not(minilm: MiniLmEmbedder) -> None:
    asked = 'When was your battery recharged?'
    assert Similarity().best(asked, SUMMARIES) == []
    assert Similarity(minilm).best(asked, SUMMARIES, k=1)[0][0] == 2


def test_stored_vectors_are_used_and_only_so_many_texts_get_new_ones(
        minilm: MiniLmEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, given = 'When was your battery recharged?', list(minilm.embed(SUMMARIES))
    embedded: list[str] = []

    class Counted:
        name, threshold = minilm.name, 0.3

        def embed(self, texts: list[str]) -> object:
            embedded.extend(texts)
            return minilm.embed(texts)

    similarity = Similarity(Counted())  # type: ignore[arg-type]
    assert similarity.best(asked, SUMMARIES, k=1, known=given)[0][0] == 2
    assert embedded == [asked]
    assert similarity.best(asked, SUMMARIES, k=1, known=[None, given[1], None])[0][0] == 2
    assert embedded == [asked, SUMMARIES[0], SUMMARIES[2]]
    monkeypatch.setattr('emv_ros.retrieval.similarity.MAX_FRESH', 2)
    embedded.clear()
    many = [f'Placed cup {n} on shelf' for n in range(50)]
    assert similarity.best('Where is cup 37?', many, k=1)[0][0] == 37  # by its words
    assert len(embedded) == 2
    # A vector of another model's size counts for nothing.
    assert similarity.best('dishwasher', SUMMARIES, known=[given[0][:8]] * 3)[0][0] == 1
