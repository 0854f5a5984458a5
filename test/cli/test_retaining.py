"""`emv retain` and `emv consolidate`: old records make room, as far as the settings let them."""

from __future__ import annotations

from emv_ros.cli import EXIT_FAILED

EVENTS = ('--set', 'retention.event_days=30')


def test_nothing_goes_where_nothing_is_set(filled) -> None:
    told = filled('retain')
    assert (told.status, told.out) == (0, 'nothing goes\n')
    assert 'let everything stay' in told.err


def test_a_dry_run_tells_and_the_run_does(filled) -> None:
    assert filled('consolidate', '--no-model', '--no-vectors').status == 0
    told = filled(*EVENTS, '--json', 'retain', '--dry-run')
    assert told.status == 0 and told.json['dry_run'] is True
    assert told.json['by_reason'] == {'age': {'skill_event': 3}}
    assert filled('show', 's1').status == 0
    done = filled(*EVENTS, 'retain')
    assert done.status == 0 and ['skill', 'events', 'age', '3'] in [
        line.split() for line in done.out.splitlines()]
    assert filled('show', 's1').status == 1
    node = next(item for number in range(1, 20)
                if (item := filled('--json', 'show', f'n{number}')).status == 0
                and 'OpenFridge' in str(item.json))
    assert node.json['dropped_by_retention'] == ['skill_event']


def test_what_waits_for_consolidation_stays(filled) -> None:
    assert filled(*EVENTS, '--json', 'retain', '--dry-run').json['dropped'] == {}
    done = filled(*EVENTS, '--json', 'consolidate', '--no-model', '--no-vectors')
    assert done.json['retention']['dropped'] == {'skill_event': 3}


def test_too_much_at_once_is_refused_until_it_is_forced(filled, experience) -> None:
    lines = experience.read_text('utf-8')
    more = ''.join(lines.splitlines(keepends=True)[4].replace('13:04:00', f'14:{minute:02}:00')
                   for minute in range(30))
    other = experience.with_name('more.jsonl')
    other.write_text(more, 'utf-8')
    assert filled('import', str(other)).status == 0
    assert filled('consolidate', '--no-model', '--no-vectors').status == 0
    told = filled(*EVENTS, 'retain')
    assert told.status == EXIT_FAILED and 'memory.max_share' in told.err
    assert filled('show', 's1').status == 0
    assert filled(*EVENTS, 'retain', '--force').status == 0
    assert filled('show', 's1').status == 1
