"""Files of questions as people write them, with what they get wrong in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emv_ros.errors import ImportFileError
from emv_ros.evaluation.questions import GoldKind, read_questions

GOOD: dict[str, Any] = {'id': 'k1', 'question': 'How often?', 'answer': 'twice'}
TIME = '2024-06-27T13:04:00+02:00'


def written(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / 'mine_qa.jsonl'
    path.write_text(''.join(f'{line}\n' for line in lines), 'utf-8')
    return path


@pytest.mark.parametrize(('fields', 'told'), [
    ({'gold': {'kind': 'number'}}, 'value'),
    ({'gold': {'kind': 'number', 'value': 'many'}}, 'value'),
    ({'gold': {'kind': 'number', 'value': float('nan')}}, 'value'),
    ({'gold': {'kind': 'number', 'value': True}}, 'value'),
    ({'gold': {'kind': 'duration', 'value': 3, 'precision_s': float('nan')}}, 'precision_s'),
    ({'gold': {'kind': 'duration', 'value': 3, 'precision_s': -1}}, 'precision_s'),
    ({'gold': {'kind': 'yes_no', 'value': 2}}, 'value'),
    ({'gold': {'kind': 'days_ago'}}, 'value'),
    ({'gold': {'kind': 'time'}}, 'times'),
    ({'gold': {'kind': 'time', 'times': TIME}}, 'times'),
    ({'gold': {'kind': 'time', 'times': ['2024-06-27T13:04:00']}}, 'offset'),
    ({'gold': {'kind': 'list', 'items': 'tea'}}, 'items'),
    ({'gold': {'kind': 'list', 'items': ['tea', []]}}, 'items'),
    ({'gold': {'kind': 'list', 'items': [3]}}, 'items'),
    ({'gold': {'kind': 'list'}}, 'items'),
    ({'gold': {'kind': 'list', 'items': ['tea'], 'ordered': 'no'}}, 'ordered'),
    ({'gold': {'kind': 'choice', 'value': 0}}, 'answer_index'),
    ({'gold': {'kind': 'guess'}}, 'guess'),
    ({'gold': 'twice'}, 'gold'),
    ({'gold': {}}, 'kind'),
    ({'answer_index': 1}, 'choices'),
    ({'choices': 'tea', 'answer_index': 1}, 'choices'),
    ({'choices': ['tea', 'milk'], 'answer_index': 2}, 'answer_index'),
    ({'choices': ['tea', 'milk'], 'answer_index': True}, 'answer_index'),
    ({'choices': ['tea', 'milk'], 'answer_index': 0.6}, 'answer_index'),
    ({'choices': ['tea', 'Tea '], 'answer_index': 0}, 'choices'),
    ({'choices': ['tea'], 'answer_index': 0}, 'choices'),
    ({'question': None}, 'question'), ({'question': '  '}, 'question'),
    ({'question': ['How?']}, 'question'), ({'id': ['k1']}, 'id'),
    ({'query_time': '2024-06-27T13:04:00'}, 'offset'),
    ({'query_time': 5}, 'RFC 3339'),
    ({'evidence': [[TIME]]}, 'evidence'), ({'evidence': [TIME]}, 'evidence'),
    ({'evidence': TIME}, 'evidence'),
    ({'evidence': [[TIME, '2024-06-27T13:03:00+02:00']]}, 'ends before it starts')])
def test_what_is_wrong_with_a_question_is_named_with_its_line(
        tmp_path: Path, fields: dict[str, Any], told: str) -> None:
    path = written(tmp_path, json.dumps(GOOD), '', json.dumps(GOOD | fields))
    with pytest.raises(ImportFileError, match='line 3') as error:
        read_questions(path)
    assert told in str(error.value).rpartition('line 3')[2]


@pytest.mark.parametrize('line', ['[]', '3', 'null', '"How?"', '{', '{}'])
def test_a_line_that_is_no_question_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(ImportFileError, match='line 1: no question'):
        read_questions(written(tmp_path, line))


def test_line_separators_within_a_question_end_no_line(tmp_path: Path) -> None:
    text = 'How\u2028often\u0085 or \u000cwhen?'
    path = written(tmp_path, '\ufeff' + json.dumps(GOOD | {'question': text}, ensure_ascii=False))
    found, = read_questions(path)
    assert found.text == text


def test_questions_that_are_right_are_read(tmp_path: Path) -> None:
    numbered, choice, yes, nothing, text = read_questions(written(tmp_path, *map(json.dumps, (
        {'question': 'How often?', 'gold': {'kind': 'number', 'value': '2'}},
        {'question': 'Which?', 'choices': [1.5, 'milk'], 'answer_index': 1},
        {'question': 'Was it?', 'gold': {'kind': 'yes_no', 'value': True}},
        {'question': 'What?', 'gold': {'kind': 'list', 'items': []}, 'answer': 'nothing'},
        {'id': 7, 'question': 'Why?', 'choices': None, 'gold': None, 'evidence': None}))))
    assert (numbered.id, numbered.gold and numbered.gold.value) == ('1', 2.0)
    assert choice.gold is not None and (choice.gold.kind, choice.gold.value, choice.gold.text) == (
        GoldKind.CHOICE, 1, 'milk')
    assert yes.gold is not None and yes.gold.value == 1.0
    assert nothing.gold is not None and nothing.gold.items == ()
    assert (text.id, text.gold) == ('7', None)
