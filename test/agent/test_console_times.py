"""Times as models write them, in the console: each case with its right value."""

from households import BERLIN, Household, open_memory
import pytest

NOW = '2025-03-10 12:00'


@pytest.fixture
def day(home: Household) -> Household:
    home.run('Sweep', '2025-03-09 14:00', '2025-03-09 14:05')
    home.run('Wipe', '2025-03-09 14:37', '2025-03-09 14:40')
    home.run('Dust', '2025-03-09 23:50', '2025-03-10 00:20')
    home.run('Polish', '2025-03-10 00:30', '2025-03-10 00:40')
    return home


@pytest.mark.parametrize(('arguments', 'found'), [
    ("when='yesterday 14:00'", 'Sweep'),  # not the one at 14:37
    ("when='yesterday 14:37'", 'Wipe'),
    ("when='yesterday'", 'Sweep, Wipe, Dust'),
    ("when='today'", 'Dust, Polish'),  # over midnight: on both days
    ("when='2025-03-10 00:00'", 'Dust'),
    ("when='2025-03-09 23:55 to 2025-03-10 00:10'", 'Dust'),
    ("start='2025-03-09 14:30', end='2025-03-09 23:00'", 'Wipe'),
    ('start=datetime(2025, 3, 9, 14, 30), end=datetime(2025, 3, 9, 15)', 'Wipe'),
    ('start=datetime(2025, 3, 9, 13, 30, tzinfo=timezone.utc),'
     ' end=datetime(2025, 3, 9, 14, tzinfo=timezone.utc)', 'Wipe'),
    ('when=date(2025, 3, 9)', 'Sweep, Wipe, Dust'),
    ('when=(datetime(2025, 3, 9, 14), datetime(2025, 3, 9, 14, 10))', 'Sweep'),
    ('when=now().date()', 'Dust, Polish'),
    ("when='2025-03-09T13:02:00Z'", 'Sweep'),
    ("when='March 9'", 'Sweep, Wipe, Dust'),
    ("when='last 12 hours'", 'Dust, Polish'),
    ("when='2025-03-08'", ''),
])
def test_windows(day: Household, arguments: str, found: str) -> None:
    with day.console(NOW) as console:
        assert console.lines('from datetime import timezone\n'
                             f'print(names(events({arguments})))') == ([found] if found else [''])


@pytest.mark.parametrize('argument', ["'the other day'", '5', 'float("nan")', 'timedelta(1)', "''",
                                      'events', '[1]', "b'x'", '{}', 'True'])
def test_no_times_are_told(day: Household, argument: str) -> None:
    with day.console(NOW) as console:
        output = console.run(f'events(when={argument})')
        assert output.error.startswith('ValueError: '), output
        assert console.value('len(events())') == '4'


def test_an_end_before_its_start_is_told(day: Household) -> None:
    with day.console(NOW) as console:
        output = console.run("events(start='2025-03-09', end='2025-03-07')")
        assert output.error == "ValueError: '2025-03-07' lies before '2025-03-09'"


def test_the_days_at_the_ends_of_months(home: Household) -> None:
    for when in ('2023-12-31 23:00', '2024-01-31 10:00', '2024-02-29 10:00', '2024-03-31 10:00'):
        home.run(f'On{when[5:10].replace("-", "")}', when, when.replace(':00', ':30'))
    with home.console('2024-03-31 12:00') as console:
        for asked, found in (('31 January', 'On0131'), ('29 February', 'On0229'),
                             ('31 December', 'On1231'), ('two months ago', 'On0131'),
                             ('last month', 'On0229'), ('January', 'On0131')):
            assert console.value(f'names(events(when={asked!r}))') == found, asked


def test_a_zone_thirteen_hours_ahead(tmp_path) -> None:  # type: ignore[no-untyped-def]
    home = open_memory(tmp_path, 'UTC+13:00')
    home.run('Sweep', '2025-03-09 00:10', '2025-03-09 00:20')  # 8 March 11:10 UTC
    home.consolidate()
    with home.console('2025-03-09 12:00') as console:
        assert console.value("events(when='today')[0].when") == '2025-03-09 00:10:00 to 00:20:00'
        assert console.value("len(events(when='yesterday'))") == '0'
        assert console.value('[n.day for n in days()]') == "['2025-03-09']"
        assert console.value('now()') == '2025-03-09 12:00:00'
    home.store.close()


def test_the_hour_that_comes_twice(home: Household) -> None:
    # 26 October 2025: 02:30 CEST is 00:30 UTC, 02:30 CET is 01:30 UTC.
    home.store.robots()
    for utc in ('00:30', '01:30'):
        start = home.at(f'2025-10-26T{utc}:00+00:00')
        home.run('Sweep', f'2025-10-26T{utc}:00+00:00', f'2025-10-26T{utc}:40+00:00')
        assert start
    assert home.zone == BERLIN
    with home.console('2025-10-26 12:00') as console:
        assert console.value("len(events(when='02:30'))") == '2'
        assert console.value("len(events(start='02:00', end='02:45'))") == '2'
        assert console.value("len(events(when='2025-10-26 00:30Z'))") == '1'
        assert console.value('[r.time for r in events()]') == "['02:30:00', '02:30:00']"


def test_rows_compare_with_naive_times_and_a_hint_tells_so(day: Household) -> None:
    with day.console(NOW) as console:
        late = console.value('[r.name for r in events() if r.start > datetime(2025, 3, 9, 20)]')
        assert late == "['Dust', 'Polish']"
        output = console.run('from datetime import timezone\n'
                             'events()[0].start > datetime(2025, 3, 9, tzinfo=timezone.utc)')
        assert 'TypeError' in output.error
