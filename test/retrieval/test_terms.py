from __future__ import annotations

import pytest

from emv_ros.retrieval.terms import MAX_TERMS, search_terms, squash, stems


@pytest.mark.parametrize(('text', 'terms'), [
    ('When did you first see the soy milk?', ['first', 'see', 'soy', 'milk']),
    ('ReceiveObjectFromHuman', ['receiveobjectfromhuman', 'receive', 'object', 'human']),
    ('mug_1 or mug-2', ['mug', '1', '2']),
    ('', []),
    ('what did you do?', []),
    ('"milk" AND NEAR(cup*)', ['milk', 'near', 'cup']),
    ('🥛 \0\ud800', []),
    ('Milch und 牛奶', ['milch', '牛奶']),
])
def test_search_terms(text: str, terms: list[str]) -> None:
    assert search_terms(text) == terms


def test_terms_are_bounded() -> None:
    assert len(search_terms(' '.join(f'word{n}' for n in range(1000)))) == MAX_TERMS


def test_stems_meet_across_number_and_camel_case() -> None:
    assert stems('PlaceCups') == stems('place the cup') == {'place', 'cup'}


def test_squash_keeps_what_tells_two_things_apart() -> None:
    assert squash('I see, mug 1!') == squash('i see mug  1')
    assert squash('mug 1') != squash('mug 2')
