"""`emv forget`: a preview, then for good; what cannot be forgotten is refused."""

from __future__ import annotations

from pathlib import Path

from emv_ros.cli import EXIT_FAILED, EXIT_USAGE


def test_without_yes_it_only_tells_what_would_go(filled, tmp_path: Path) -> None:
    told = filled('forget', 'o1', '--reason', 'asked to')
    assert told.status == 0 and told.out.startswith('would go: 1 observations')
    assert '--yes' in told.err
    assert filled('show', 'o1').status == 0


def test_with_yes_it_is_gone_and_cannot_be_forgotten_again(filled, tmp_path: Path) -> None:
    done = filled('--json', 'forget', 'o1', '--reason', 'asked to', '--author', 'ann', '--yes')
    assert done.json['forgotten'] is True and done.json['numbers']['observations'] == 1
    assert filled('show', 'o1').status == 1
    again = filled('forget', 'o1', '--reason', 'asked to', '--yes')
    assert again.status == EXIT_FAILED and 'there is no observation o1' in again.err
    assert b'moved' not in (tmp_path / 'memory' / 'memory.db').read_bytes()


def test_other_ids_are_refused_by_name(filled) -> None:
    told = filled('forget', 'o1', 'u1', '--reason', 'r', '--yes')
    assert told.status == EXIT_FAILED and 'u1' in told.err and 'cannot be forgotten yet' in told.err
    assert filled('show', 'o1').status == 0
    assert filled('forget', 'mug', '--reason', 'r').status == EXIT_USAGE
    assert filled('forget', 'o1').status == EXIT_USAGE
    assert filled('forget', 'o1', '--reason', ' ', '--yes').status == EXIT_USAGE
