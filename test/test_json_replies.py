"""JSON out of replies as models really write them."""

import pytest

from emv_ros.errors import ModelReplyError
from emv_ros.json_replies import json_of


@pytest.mark.parametrize(('text', 'value'), [
    ('{"a": 1}', {'a': 1}),
    ('{}', {}),
    ('[1, 2]', [1, 2]),
    ('7', 7),
    ('```json\n{"a": [1]}\n```', {'a': [1]}),
    ('```\n{"a": 1}\n```\nHope it helps!', {'a': 1}),
    ('Here it is: {"a": 1} as you asked.', {'a': 1}),
    ('In [brackets]: {"a": 1}', {'a': 1}),
    ('{"a": 1,}', {'a': 1}),
    ('[1, 2, ]', [1, 2]),
    ('{"a": "one\ntwo"}', {'a': 'one\ntwo'}),
    ('{"a": "x, }",}', {'a': 'x, }'}),
    ('```json\n{"a": 1', None),
    ('{"a": "the robot mo', None),
    ('[{"start": 1, "end":', None),
])
def test_json_of(text: str, value: object) -> None:
    if value is None:
        with pytest.raises(ModelReplyError, match='cut off'):
            json_of(text)
    else:
        assert json_of(text) == value


@pytest.mark.parametrize(('text', 'problem'), [
    ('', 'empty'),
    ('I cannot do that.', 'holds no JSON'),
    ("{'a': 1}", 'not valid.*line 1'),
    ('{"a": 1 "b": 2}', "not valid: Expecting ',' delimiter"),
])
def test_json_of_names_the_problem(text: str, problem: str) -> None:
    with pytest.raises(ModelReplyError, match=problem):
        json_of(text)
