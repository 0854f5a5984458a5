"""The ROS interfaces: documented field by field, free of clashes, and there when installed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
import re

import pytest

from emv_ros import records

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(path for kind in ('msg', 'srv', 'action') for path in (ROOT / kind).iterdir())
RESULTS = {'STATUS_UNKNOWN': 0, 'STATUS_OK': 1, 'STATUS_NOT_FOUND': 2,
           'STATUS_INVALID_REQUEST': 3, 'STATUS_UNSUPPORTED': 4, 'STATUS_ERROR': 5}
CONSTANT = re.compile(r'^u?int\d+ ([A-Z][A-Z0-9_]*)=(\d+)$')
FIELD = re.compile(r'^[A-Za-z0-9_/]+(?:\[\d*\])? ([a-z][a-z0-9_]*)$')

every_file = pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)


def parts(path: Path) -> list[list[str]]:
    """Return the lines of each part (request, response, …) of an interface."""
    return [part.splitlines() for part in path.read_text('utf-8').split('\n---\n')]


def constants(lines: list[str]) -> dict[str, int]:
    return {match[1]: int(match[2]) for match in map(CONSTANT.match, lines) if match}


def fields(lines: list[str]) -> list[str]:
    return [match[1] for match in map(FIELD.match, lines) if match]


def classes(path: Path) -> list[type]:
    """Return the generated class of each part, in the order of the file."""
    generated = getattr(import_module(f'emv_ros.{path.parent.name}'), path.stem)
    names = {'msg': [], 'srv': ['Request', 'Response'], 'action': ['Goal', 'Result', 'Feedback']}
    return [getattr(generated, name) for name in names[path.parent.name]] or [generated]


@every_file
def test_each_line_is_understood(path):
    for line in path.read_text('utf-8').splitlines():
        assert not line or line.startswith('#') or line == '---' or CONSTANT.match(line) \
            or FIELD.match(line), line
        assert len(line) <= 100, line


@every_file
def test_each_field_has_one_comment_above_it(path):
    for lines in parts(path):
        for number, line in enumerate(lines):
            if FIELD.match(line):
                assert number and lines[number - 1].startswith('# '), f'{line} has no comment'
                assert not lines[number + 1:] or not lines[number + 1], f'no gap after {line}'


@every_file
def test_the_file_says_what_it_is_for(path):
    assert path.read_text('utf-8').startswith('# ')


@every_file
def test_constants_have_a_prefix_a_number_of_their_own_and_an_unknown(path):
    for lines in parts(path):
        groups: dict[str, list[int]] = {}
        for name, value in constants(lines).items():
            prefixes = [field for field in ('made_by', 'status', 'state', 'kind', 'method',
                                            'operation', 'phase')
                        if name.startswith(field.upper() + '_')]
            assert prefixes, name
            assert {prefixes[0], prefixes[0] + 's'} & set(fields(lines)), f'no field for {name}'
            groups.setdefault(prefixes[0], []).append(value)
        for prefix, values in groups.items():
            assert values == list(range(len(values))), prefix
            assert f'{prefix.upper()}_UNKNOWN' in constants(lines)


@pytest.mark.parametrize('path', [path for path in FILES if path.parent.name != 'msg'
                                  and path.stem != 'QueryEpisodicMemory'], ids=lambda p: p.name)
def test_results_have_the_same_numbers_everywhere(path):
    assert RESULTS.items() <= constants(parts(path)[1]).items()
    assert fields(parts(path)[1])[:2] == ['status', 'message']


def test_service_and_action_ask_and_answer_alike():
    service, action = (parts(ROOT / kind / f'QueryEpisodicMemory.{kind}')
                       for kind in ('srv', 'action'))
    assert service[0][1:] == action[0][1:]
    assert service[1] == action[1]


def test_skill_states_are_those_of_the_records():
    states = constants(parts(ROOT / 'msg' / 'SkillEvent.msg')[0])
    assert states == {f'STATUS_{status.name}': i for i, status in enumerate(records.Status)}


def test_evidence_kinds_cover_the_records_with_ids():
    kinds = constants(parts(ROOT / 'msg' / 'Evidence.msg')[0])
    asked_not_found = {'query'}
    for name in set(records.ID_LETTERS) - asked_not_found:
        assert f'KIND_{name.upper()}' in kinds


@pytest.mark.ros
@every_file
def test_the_generated_modules_are_those_of_these_files(path):
    pytest.importorskip('emv_ros.msg')
    for generated, lines in zip(classes(path), parts(path), strict=True):
        assert list(generated.get_fields_and_field_types()) == fields(lines)
        assert {name: getattr(generated, name) for name in constants(lines)} == constants(lines)
