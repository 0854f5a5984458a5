"""Times asked: hours within a node, midnight, ends of months, empty days, very wide nodes."""

from __future__ import annotations

from pathlib import Path

from households import BERLIN, Household, ScriptedModel, code, open_memory
import pytest

from emv_ros.agent.answers import QueryStatus
from emv_ros.agent.asked_times import asked_times
from emv_ros.agent.console.windows import Clock
from emv_ros.agent.prompt import fixed_messages
from emv_ros.timeline import parse_stamp, parse_zone

NOW = '2025-03-10 12:00'


@pytest.fixture
def hour(home: Household) -> Household:
    """A goal from 10:00 to 11:00 with three parts, an hour's walk, and two events after two."""
    home.run('Cook', '2025-03-09 10:00', '2025-03-09 11:00')
    for name, start, end in (('Peel', '10:00', '10:05'), ('Stir', '10:08', '10:25'),
                             ('Serve', '10:50', '10:59')):
        home.run(name, f'2025-03-09 {start}', f'2025-03-09 {end}', stack=['Cook'])
    home.run('Walk', '2025-03-09 12:00', '2025-03-09 13:00')
    home.run('Sweep', '2025-03-09 14:00', '2025-03-09 14:05')
    home.run('Wipe', '2025-03-09 14:37', '2025-03-09 14:40')
    home.consolidate()
    return home


def names(console, command: str) -> list[str]:  # type: ignore[no-untyped-def]
    return eval(console.value(f'[n.name for n in {command}]'))  # type: ignore[no-any-return]


# Hours within a node

@pytest.mark.parametrize(('arguments', 'found'), [
    ("'10:10', '10:20'", ['Stir']),
    ("'10:10 to 10:20'", ['Stir']),
    ("'10:10-10:20'", ['Stir']),
    ('time(10, 10), time(10, 20)', ['Stir']),
    ('datetime(2025, 3, 9, 10, 10), datetime(2025, 3, 9, 10, 20)', ['Stir']),
    ('datetime(2025, 3, 9, 9, 10, tzinfo=timezone.utc), '
     'datetime(2025, 3, 9, 9, 20, tzinfo=timezone.utc)', ['Stir']),
    ('datetime(2025, 3, 9, 10, 10), datetime(2025, 3, 9, 9, 20, tzinfo=timezone.utc)', ['Stir']),
    ("'10:04', '10:09'", ['Peel', 'Stir']),
    ("'10:05', '10:08'", ['Cook']),  # between two parts, in the goal
    ("'10:30', '10:40'", ['Cook']),
    ("'12:10', '12:20'", ['Walk']),  # an event that contains the window, without parts
    ('time(12, 10)', ['Walk']),
    ("'13:10', '13:20'", []),
    ("'at 14:00'", ['Sweep']),  # not the one at 14:37
    ("'14:37'", ['Wipe']),
    ("'14:00', '15:00'", ['Sweep', 'Wipe']),
    ('date(2025, 3, 9)', ['Cook', 'Walk', 'Sweep', 'Wipe']),
])
def test_hours_within_a_day(hour: Household, arguments: str, found: list[str]) -> None:
    with hour.console(NOW) as console:
        console.run('from datetime import timezone')
        assert names(console, f'memory.expand({arguments})') == found
        told = [] if found else ['nothing is recorded in that time']
        assert console.library.shown.notes == told


def test_hours_within_a_node_of_an_hour(hour: Household) -> None:
    with hour.console(NOW) as console:
        cook = "memory.expand('10:30')[0]"
        assert names(console, f"{cook}.expand('10:10', '10:20')") == ['Stir']
        assert names(console, f"{cook}.expand('10:30', '10:40')") == ['Cook']
        assert names(console, f"{cook}.expand('12:10', '12:20')") == []
        stir = "memory.expand('10:10', '10:20')[0]"
        assert names(console, f"{stir}.expand('10:10', '10:20')") == ['Stir']  # a leaf
        assert names(console, f"{stir}.expand('10:30')") == []
        output = console.run(f"{cook}.expand('10:20', '10:10')")
        assert output.error == "ValueError: '10:10' lies before '10:20'"
        assert console.run('memory.expand(time(25, 0))').error.startswith('ValueError: hour')


def test_naive_and_aware_times_in_the_console(hour: Household) -> None:
    with hour.console(NOW) as console:
        console.run('from datetime import timezone')
        for arguments in ('when=datetime(2025, 3, 9, 14, 2)',
                          'when=datetime(2025, 3, 9, 13, 2, tzinfo=timezone.utc)',
                          'when=datetime(2025, 3, 10, 2, 2, tzinfo=timezone(timedelta(hours=13)))',
                          "when='2025-03-09T14:02:00+01:00'", "when='2025-03-09T13:02:00Z'",
                          'start=datetime(2025, 3, 9, 14), '
                          'end=datetime(2025, 3, 9, 13, 30, tzinfo=timezone.utc)',
                          'when=(time(14, 0), time(14, 2))'):
            # A time of day is the latest that has begun: seen from noon, yesterday's.
            assert console.value(f'names(events({arguments}))') == 'Sweep', arguments
        assert console.value('events()[0].start.tzinfo') == 'None'


# Indices and slices

@pytest.mark.parametrize(('expression', 'printed'), [
    ('[n.name for n in day[-2:]]', "['Sweep', 'Wipe']"),
    ('[n.name for n in day[:2]]', "['Cook', 'Walk']"),
    ('[n.name for n in day[::2]]', "['Cook', 'Sweep']"),
    ('[n.name for n in day[::-1]]', "['Wipe', 'Sweep', 'Walk', 'Cook']"),
    ('[n.name for n in day[3:1]]', '[]'),
    ('[n.name for n in day[2:99]]', "['Sweep', 'Wipe']"),
    ('day[-1].name', 'Wipe'), ('day[-4].name', 'Cook'), ('day[0][1].name', 'Stir'),
    ('[n.name for n in day.expand(-1)]', "['Wipe']"),
    ('[n.name for n in day.expand(1, 3)]', "['Walk', 'Sweep']"),
    ('[n.name for n in day.expand(-2, 4)]', "['Sweep', 'Wipe']"),
    ('[n.name for n in day.expand(3, 1)]', '[]'),
    ('[n.name for n in day.children[-1:]]', "['Wipe']"),
    ('len(day[0])', '3'), ('day[-1].children', '[]'),
])
def test_indices_and_slices(hour: Household, expression: str, printed: str) -> None:
    with hour.console(NOW) as console:
        console.run('day = memory')
        assert console.value(expression) == printed


def test_an_index_that_is_not_there(hour: Household) -> None:
    with hour.console(NOW) as console:
        assert console.run('memory[-5]').error.startswith('IndexError')
        assert console.run('memory.expand(-5)').error == (
            'ValueError: there is no child -5: this node has 4')


# Midnight

@pytest.fixture
def midnight(home: Household) -> Household:
    """A goal over midnight, an empty day, a day with one event."""
    home.run('Charge', '2025-03-05 23:50', '2025-03-06 00:20')
    home.run('Dock', '2025-03-06 00:05', '2025-03-06 00:10', stack=['Charge'])
    home.run('Mop', '2025-03-08 09:00', '2025-03-08 09:10')
    home.consolidate()
    return home


@pytest.mark.parametrize(('when', 'found'), [
    ('2025-03-05', 'Charge'), ('2025-03-06', 'Charge, Dock'), ('2025-03-06 00:00', 'Charge'),
    ('2025-03-05 24:00', 'Charge'), ('2025-03-05T24:00', 'Charge'), ('6 March 12 am', 'Charge'),
    ('midnight on 6 March', 'Charge'), ('2025-03-06 00:07', 'Charge, Dock'),
    ('2025-03-05 00:00', ''), ('2025-03-06 12 pm', ''), ('2025-03-06 12:05 am', 'Charge, Dock'),
    ('2025-03-05 23:50 to 00:20', 'Charge, Dock'), ('2025-03-06 00:20', ''),
    ('2025-03-07', ''), ('2025-03-08', 'Mop'), ('last weekend', 'Mop'), ('2025-03-09', '')])
def test_a_goal_over_midnight(midnight: Household, when: str, found: str) -> None:
    with midnight.console(NOW) as console:
        assert console.value(f'names(events(when={when!r}))') == found


def test_days_around_midnight(midnight: Household) -> None:
    with midnight.console(NOW) as console:
        for when, days in (('2025-03-05', "['2025-03-05']"), ('2025-03-06', "['2025-03-05']"),
                           ('2025-03-07', '[]'), ('2025-03-08', "['2025-03-08']")):
            assert console.value(f'[n.day for n in days({when!r})]') == days
        assert names(console, "memory.expand('2025-03-06 00:07')") == ['Dock']
        assert names(console, "memory.expand('2025-03-06 00:15')") == ['Charge']
        assert names(console, "memory.expand('2025-03-07')") == []


def test_a_late_record_for_a_summarised_day(midnight: Household) -> None:
    midnight.run('Dust', '2025-03-08 08:00', '2025-03-08 08:05')
    midnight.run('Vacuum', '2025-03-07 15:00', '2025-03-07 15:30')  # on the day that was empty
    with midnight.console(NOW) as console:
        assert console.value("names(events(when='2025-03-08'))") == 'Dust, Mop'
        assert console.value("[n.day for n in days('2025-03-07')]") == '[]'
    midnight.consolidate()
    with midnight.console(NOW) as console:
        assert console.value("[n.day for n in days('2025-03-07')]") == "['2025-03-07']"
        assert names(console, "days('2025-03-08')[0]") == ['Dust', 'Mop']
        assert 'Dust' in console.value("days('2025-03-08')[0].summary")
        assert names(console, "memory.expand('2025-03-08 08:02')") == ['Dust']


# Days of the calendar

@pytest.mark.parametrize(('question', 'times'), [
    ('What did you do on 31 January?', ['2024-01-31']),
    ('What did you do on 29 February?', ['2024-02-29']),
    ('What did you do on 31 December?', ['2023-12-31']),
    ('What did you do two months ago?', ['2024-01-31']),  # seen from 31 March
    ('What did you do on the last day of last month?', ['2024-02-29']),
    ('What happened on the first day of this month?', ['2024-03-01']),
    ('What happened the week before last?', ['2024-03-11 to 2024-03-17']),
    ('What happened on the 31st of last month?', ['']),
    ('What happened on 30 February?', ['']),
    ('Did you sweep on the 30th of February 2024?', ['']),
    ('What happened on 29 February 2023?', ['']),  # not 29 February of another year
    ('What happened on 31.02.2024 at 14:00?', ['']),  # not 14:00 of another day
    ('Between 30 February and 2 March?', ['', '2024-03-02']),
    ('What is on the 32nd shelf?', []),
    ('What did you do at 2 p.m. on March 3?', ['2024-03-03 14:00']),
    ('What did you do at 12 am on March 3?', ['2024-03-03 00:00']),
    ('What did you do at 12:30 pm yesterday?', ['2024-03-30 12:30']),
    ('What happened at 24:00 on March 3?', ['2024-03-04 00:00']),
    ('What happened at 25:00?', []),
])
def test_days_that_a_question_names(question: str, times: list[str]) -> None:
    zone = parse_zone(BERLIN)
    now_ns, _ = parse_stamp('2024-03-31T12:00:00+02:00')
    found = asked_times(question, Clock(now_ns, zone, now_ns))
    assert [item.when for item in found] == times
    assert [item.span is None for item in found] == [not when for when in times]


def test_a_day_that_does_not_exist_is_told(hour: Household) -> None:
    model = ScriptedModel([code("not_recorded('there is no such day')")])
    answer = hour.ask('What did you do on 30 February?', model)
    assert "Time asked: 'on 30 February' is no day of the calendar" in model.last_prompt
    assert (answer.status, answer.evidence) == (QueryStatus.NOT_RECORDED, ())


def test_the_hour_that_comes_twice_and_the_one_that_does_not_come(home: Household) -> None:
    # 26 October 2025: 02:30 twice; 30 March 2025: from 02:00 to 03:00 at once.
    home.run('Early', '2025-10-26T00:30:00+00:00', '2025-10-26T00:35:00+00:00')
    home.run('Late', '2025-10-26T01:30:00+00:00', '2025-10-26T01:35:00+00:00')
    home.run('Spring', '2025-03-30T01:10:00+00:00', '2025-03-30T01:20:00+00:00')  # 03:10
    home.consolidate()
    with home.console('2025-11-10 12:00') as console:
        console.run('from datetime import timezone')
        for when, found in (
                ("'2025-10-26 02:30'", 'Early, Late'), ("'2025-10-26 01:59'", ''),
                ("'2025-10-26 02:00 to 03:00'", 'Early, Late'),
                ("'2025-10-26T02:31:00+02:00'", 'Early'), ("'2025-10-26T02:31:00+01:00'", 'Late'),
                ('datetime(2025, 10, 26, 0, 31, tzinfo=timezone.utc)', 'Early'),
                ('date(2025, 10, 26)', 'Early, Late'), ("'2025-03-30 03:10'", 'Spring'),
                ("'2025-03-30 02:10'", 'Spring')):  # skipped: the hour after it
            assert console.value(f'names(events(when={when}))') == found, when
        assert names(console, "memory.expand('2025-10-26 02:30')") == ['Early', 'Late']
        assert console.value("days('2025-10-26')[0].when") == '2025-10-26 02:30:00 to 02:35:00'


def test_a_zone_thirteen_hours_ahead_has_its_own_days(tmp_path: Path) -> None:
    home = open_memory(tmp_path, 'UTC+13:00')
    home.run('Sweep', '2024-12-31 23:50', '2025-01-01 00:20')  # 31 December, 10:50 UTC
    home.run('Mop', '2025-01-01 09:00', '2025-01-01 09:05')
    home.consolidate()
    with home.console('2025-01-02 00:30') as console:
        for when, found in (('31 December', 'Sweep'), ('yesterday', 'Sweep, Mop'), ('today', ''),
                            ('last year', 'Sweep'), ('this year', 'Sweep, Mop'),
                            ('yesterday 00:00', 'Sweep'), ('2024-12-31 24:00', 'Sweep'),
                            ('2024-12-31T11:05:00Z', 'Sweep')):
            assert console.value(f'names(events(when={when!r}))') == found, when
        assert console.value('[n.day for n in days()]') == "['2024-12-31', '2025-01-01']"
    home.store.close()


# Nothing in memory

def test_a_day_without_records_knows_no_no(midnight: Household) -> None:
    """On 8 March memory holds other things: no. On 7 March it holds nothing: not recorded."""
    nothing = code("print(events(skill='Vacuum'))"), code("not_recorded('')")
    answer = midnight.ask('Did you vacuum on 8 March?', ScriptedModel(list(nothing)))
    assert answer.status is QueryStatus.ANSWERED and answer.answer.startswith('No, nothing')
    assert '(2025-03-08)' in answer.answer and len(answer.evidence) == 1
    for question in ('Did you vacuum on 7 March?', 'Did you vacuum on 30 February?',
                     'Did you vacuum today?', 'When did you vacuum?'):
        answer = midnight.ask(question, ScriptedModel(list(nothing)))
        assert answer.status is QueryStatus.NOT_RECORDED, question
        assert (answer.answer, answer.evidence) == ('', ())
    # The goal over midnight lies on 6 March too.
    answer = midnight.ask('Did you vacuum on 6 March?', ScriptedModel(list(nothing)))
    assert answer.answer.startswith('No, nothing')


def test_an_empty_memory_invents_nothing(home: Household) -> None:
    model = ScriptedModel([code("answer('At 14:00.')")])
    answer = home.ask('What did you do at 14:00?', model)
    assert (answer.status, answer.answer) == (QueryStatus.NOT_RECORDED, '')
    assert model.prompts == []  # there was nothing to ask a model about


def test_what_no_record_bears_out_is_no_answer(midnight: Household) -> None:
    model = ScriptedModel([code("answer('You vacuumed at 15:00 on 7 March.', evidence=['n1'])")])
    answer = midnight.ask('When did you vacuum on 7 March?', model)
    assert answer.status is not QueryStatus.ANSWERED
    assert '15:00' not in answer.answer


# Prompts

def test_the_beginning_of_every_prompt_stays_the_same(hour: Household) -> None:
    steps = ['memory.expand()', "memory.expand('10:10', '10:20')", 'memory[0].expand()',
             "rows = events(skill='Sweep')\nanswer(f'At {times(rows)}.', evidence=rows)"]
    model = ScriptedModel([code(step) for step in steps])
    answer = hour.ask('When did you sweep?', model)
    assert answer.status is QueryStatus.ANSWERED
    fixed = fixed_messages()
    assert all(messages[:len(fixed)] == fixed for messages in model.prompts)
    trees = [messages[-1]['content'].partition('\nTree:\n')[2] for messages in model.prompts]
    assert trees[0] == '' and 'Cook' in trees[1] and 'Stir' in trees[2]
    assert len(set(trees)) == 4  # and it stands last

