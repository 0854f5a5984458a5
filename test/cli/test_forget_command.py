"""`emv forget`: a preview, then for good; by ids, day, speaker, words; what is wrong is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from emv_ros.cli import EXIT_FAILED, EXIT_USAGE


def test_without_yes_it_only_tells_what_would_go(filled) -> None:
    told = filled('forget', 'o1')
    assert told.status == 0 and told.out.startswith('would go, of robot:')
    assert ['observations', '1'] in [line.split() for line in told.out.splitlines()]
    assert '--yes' in told.err
    assert filled('show', 'o1').status == 0


def test_with_yes_it_is_gone_and_cannot_be_forgotten_again(filled, tmp_path: Path) -> None:
    done = filled('--json', 'forget', 'o1', '--reason', 'asked to', '--author', 'ann', '--yes')
    assert done.json['forgotten'] is True and done.json['numbers']['observations'] == 1
    assert done.json['audit'] == 1
    assert filled('show', 'o1').status == 1
    again = filled('forget', 'o1', '--reason', 'asked to', '--yes')
    assert again.status == EXIT_FAILED and 'there is no observation o1' in again.err
    assert b'moved' not in (tmp_path / 'memory' / 'memory.db').read_bytes()


def numbers(told) -> dict[str, int]:
    return {name: number for name, number in told.json['numbers'].items() if name in (
        'utterances', 'skill_events', 'scenes', 'observations')}


@pytest.mark.parametrize(('words', 'expected'), [
    (('--day', '2024-06-26'), {'skill_events': 2}),
    (('--from', '2024-06-27 13:04', '--to', '2024-06-27 13:06:10'),
     {'skill_events': 1, 'scenes': 1, 'observations': 1}),
    (('--speaker', 'ROBOT'), {'utterances': 1}),
    (('--text', 'soy  MILK'), {'utterances': 1}),
    (('--text', 'milk', '--kind', 'skill_event'), {'skill_events': 2}),
    (('--kind', 'scene', '--day', '2024-06-27'), {'scenes': 1}),
    (('u1', 's1'), {'utterances': 1, 'skill_events': 1}),
    (('u1', 's1', '--kind', 'utterance'), {'utterances': 1})])
def test_conditions_choose_together(filled, words, expected) -> None:
    told = filled('--json', 'forget', *words)
    assert told.status == 0 and numbers(told) == expected and not told.json['forgotten']


def test_what_is_wrong_is_told(filled) -> None:
    for words, reason in (
            ((), 'nothing says what is to be forgotten'), (('mug',), "'mug' is no id"),
            (('--text', ' '), 'blank'), (('o1', '--yes'), '--reason'),
            (('--from', '2024-06-29', '--to', '2024-06-27'), 'before the start'),
            (('--speaker', 'ann', '--kind', 'scene'), 'a speaker says utterances')):
        told = filled('forget', *words)
        assert told.status == EXIT_USAGE and reason in told.err, words
    assert filled('forget', '--kind', 'node').status == EXIT_USAGE
    for words, reason in (
            (('--robot', 'r9', '--kind', 'pose'), "'r9'"), (('--text', 'giraffe'), 'no record'),
            (('u1', 'u99'), 'there is no utterance u99'),
            (('--text', 'soy milk', '--reason', 'Soy milk!', '--yes'), 'repeats')):
        told = filled('forget', *words)
        assert told.status == EXIT_FAILED and reason in told.err, words
    assert filled('show', 'u1').status == 0
