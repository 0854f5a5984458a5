"""Whether a question names somebody, as a speaker whom it does not name is left out."""

import pytest

from emv_ros.agent.asked import is_named


@pytest.mark.parametrize(('name', 'question', 'expected'), [
    ('Bea', 'What did Bea say?', True),
    ('bea', "What were Bea's words?", True),
    ('Bea Smith', 'What did Bea say about rain?', True),
    ('R2D2', 'What did R2D2 say?', True),
    ('J', 'What did J say?', True),
    ('Will', 'What did Will say?', True),
    ('Özge', 'Was hat ÖZGE gesagt?', True),
    ('C++ (1', 'Who mentioned rain?', False),
    ('the cook', 'Who mentioned the rain?', False),
    ('Bea', 'Who mentioned the beach?', False)])
def test_people_are_named_by_any_word_of_their_name(
        name: str, question: str, expected: bool) -> None:
    assert is_named(name, question) is expected
