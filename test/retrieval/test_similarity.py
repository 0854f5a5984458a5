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
