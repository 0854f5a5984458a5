"""Times in words: what they mean, by values worked out on paper."""

from datetime import UTC, date, datetime, timedelta, timezone

from hypothesis import given, strategies as st
import pytest

from emv_ros.errors import TimeExpressionError
from emv_ros.timeline import Interval, from_datetime, parse_stamp, parse_zone
from emv_ros.whens import parse_until, parse_when

BERLIN = parse_zone('Europe/Berlin')
THURSDAY = '2024-06-27T15:20:37+02:00'


def stamp(text: str) -> int:
    return parse_stamp(text)[0]


def span(first: str, last: str) -> Interval:
    return Interval(stamp(first), stamp(last))


def summer(first: str, last: str) -> Interval:
    """Return a span of Berlin's summer time, from 'MM-DD HH:MM:SS' of 2024."""
    return span(f'2024-{first}+02:00', f'2024-{last}+02:00')


@pytest.mark.parametrize(('text', 'first', 'last'), [
    # exact times
    ('2024-06-27T13:03:18+02:00', '06-27 13:03:18', '06-27 13:03:19'),
    ('2024-06-27T11:03:18Z', '06-27 13:03:18', '06-27 13:03:19'),
    ('2024-06-27 13:03:18', '06-27 13:03:18', '06-27 13:03:19'),
    ('2024-06-27 13:03', '06-27 13:03:00', '06-27 13:04:00'),
    ('2024-06-27T13:03', '06-27 13:03:00', '06-27 13:04:00'),
    ('2024-06-27', '06-27 00:00:00', '06-28 00:00:00'),
    ('27.06.2024', '06-27 00:00:00', '06-28 00:00:00'),
    ('2024-06', '06-01 00:00:00', '07-01 00:00:00'),
    # clocks: the latest that has begun
    ('14:00', '06-27 14:00:00', '06-27 14:01:00'),
    ('at 00:00', '06-27 00:00:00', '06-27 00:01:00'),
    ('15:20', '06-27 15:20:00', '06-27 15:21:00'),
    ('16:00', '06-26 16:00:00', '06-26 16:01:00'),
    ('today 16:00', '06-27 16:00:00', '06-27 16:01:00'),
    ('8 PM', '06-26 20:00:00', '06-26 20:01:00'),
    ('12am', '06-27 00:00:00', '06-27 00:01:00'),
    ('12 pm', '06-27 12:00:00', '06-27 12:01:00'),
    ('noon', '06-27 12:00:00', '06-27 12:01:00'),
    ('14:00:05', '06-27 14:00:05', '06-27 14:00:06'),
    ('yesterday 24:00', '06-27 00:00:00', '06-27 00:01:00'),
    ('2024-06-26 24:00', '06-27 00:00:00', '06-27 00:01:00'),
    ('2024-06-26T24:00', '06-27 00:00:00', '06-27 00:01:00'),
    ('2024-06-26T24:00:00+02:00', '06-27 00:00:00', '06-27 00:00:01'),
    ('2 p.m.', '06-27 14:00:00', '06-27 14:01:00'),
    ('at 2 p.m. on June 26', '06-26 14:00:00', '06-26 14:01:00'),
    ('11:30 a.m. yesterday', '06-26 11:30:00', '06-26 11:31:00'),
    ('12:30 am', '06-27 00:30:00', '06-27 00:31:00'),
    ('12:30 pm', '06-27 12:30:00', '06-27 12:31:00'),
    ('midnight', '06-27 00:00:00', '06-27 00:01:00'),
    # hours without more, of a day or a part of it
    ('yesterday between 10 and 12', '06-26 10:00:00', '06-26 12:00:00'),
    ('from 9 to 11 this morning', '06-27 09:00:00', '06-27 11:00:00'),
    ('between 7 and 9 yesterday evening', '06-26 19:00:00', '06-26 21:00:00'),
    ('last night between 10 and 11', '06-26 22:00:00', '06-26 23:00:00'),
    ('yesterday from 10 to 12:30', '06-26 10:00:00', '06-26 12:30:00'),
    ('on 26 June between 2 and 4', '06-26 14:00:00', '06-26 16:00:00'),
    ('between 14 and 16 on Monday', '06-24 14:00:00', '06-24 16:00:00'),
    ('2024-06-26 23:50 to 00:20', '06-26 23:50:00', '06-27 00:20:00'),
    ('Monday 9 to 5', '06-24 09:00:00', '06-24 17:00:00'),
    ('the first week of June', '06-01 00:00:00', '06-08 00:00:00'),
    ('last week of May', '05-25 00:00:00', '06-01 00:00:00'),
    ('third week of this month', '06-15 00:00:00', '06-22 00:00:00'),
    # days
    ('today', '06-27 00:00:00', '06-28 00:00:00'),
    ('Yesterday.', '06-26 00:00:00', '06-27 00:00:00'),
    ('the day before yesterday', '06-25 00:00:00', '06-26 00:00:00'),
    ('Monday', '06-24 00:00:00', '06-25 00:00:00'),
    ('on Thursday', '06-27 00:00:00', '06-28 00:00:00'),
    ('last Thursday', '06-20 00:00:00', '06-21 00:00:00'),
    ('June 26', '06-26 00:00:00', '06-27 00:00:00'),
    ('26 June', '06-26 00:00:00', '06-27 00:00:00'),
    ('the 26th of June, 2024', '06-26 00:00:00', '06-27 00:00:00'),
    ('the 26th', '06-26 00:00:00', '06-27 00:00:00'),
    ('the 28th', '05-28 00:00:00', '05-29 00:00:00'),
    ('the 31st', '05-31 00:00:00', '06-01 00:00:00'),
    # a day and a part of it
    ('June 26 at 8 PM', '06-26 20:00:00', '06-26 20:01:00'),
    ('8 pm on 26 June 2024', '06-26 20:00:00', '06-26 20:01:00'),
    ('3 days ago at 14:00', '06-24 14:00:00', '06-24 14:01:00'),
    ('this morning', '06-27 05:00:00', '06-27 12:00:00'),
    ('yesterday evening', '06-26 18:00:00', '06-27 00:00:00'),
    ('last night', '06-26 18:00:00', '06-27 06:00:00'),
    ('tonight', '06-27 21:00:00', '06-28 06:00:00'),
    # stretches
    ('this week', '06-24 00:00:00', '07-01 00:00:00'),
    ('last week', '06-17 00:00:00', '06-24 00:00:00'),
    ('last month', '05-01 00:00:00', '06-01 00:00:00'),
    ('June', '06-01 00:00:00', '07-01 00:00:00'),
    ('June 2024', '06-01 00:00:00', '07-01 00:00:00'),
    ('the week before last', '06-10 00:00:00', '06-17 00:00:00'),
    ('the month before last', '04-01 00:00:00', '05-01 00:00:00'),
    ('last weekend', '06-22 00:00:00', '06-24 00:00:00'),
    ('this weekend', '06-29 00:00:00', '07-01 00:00:00'),
    ('the last day of last month', '05-31 00:00:00', '06-01 00:00:00'),
    ('the first day of this month', '06-01 00:00:00', '06-02 00:00:00'),
    ('the last day of the month', '06-30 00:00:00', '07-01 00:00:00'),
    ('the last day of last week', '06-23 00:00:00', '06-24 00:00:00'),
    ('the first day of June', '06-01 00:00:00', '06-02 00:00:00'),
    ('the 31st of last month', '05-31 00:00:00', '06-01 00:00:00'),
    # back from now
    ('a fortnight ago', '06-13 00:00:00', '06-14 00:00:00'),
    ('now', '06-27 15:20:37', '06-27 15:20:37'),
    ('2 hours ago', '06-27 13:20:37', '06-27 13:21:37'),
    ('half an hour ago', '06-27 14:50:37', '06-27 14:51:37'),
    ('ten seconds ago', '06-27 15:20:27', '06-27 15:20:28'),
    ('two days ago', '06-25 00:00:00', '06-26 00:00:00'),
    ('a week ago', '06-20 00:00:00', '06-21 00:00:00'),
    ('two months ago', '04-27 00:00:00', '04-28 00:00:00'),
    ('in the last 2 hours', '06-27 13:20:37', '06-27 15:20:37'),
    ('last three days', '06-24 15:20:37', '06-27 15:20:37'),
    ('earlier today', '06-27 00:00:00', '06-27 15:20:37'),
    ('since yesterday', '06-26 00:00:00', '06-27 15:20:37'),
    ('since 14:00', '06-27 14:00:00', '06-27 15:20:37'),
    ('since 16:00', '06-26 16:00:00', '06-27 15:20:37'),  # of yesterday: the latest begun
    # ranges
    ('between 10:00 and 11:00', '06-27 10:00:00', '06-27 11:00:00'),
    ('2024-06-26 10:10-10:20', '06-26 10:10:00', '06-26 10:20:00'),
    ('26 June from 10:00 to 11:00', '06-26 10:00:00', '06-26 11:00:00'),
    ('10:00 to 11:00 yesterday', '06-26 10:00:00', '06-26 11:00:00'),
    ('23:50 to 00:20', '06-26 23:50:00', '06-27 00:20:00'),
    ('Monday to Wednesday', '06-24 00:00:00', '06-27 00:00:00'),
])
def test_the_span_that_words_mean(text, first, last):
    assert parse_when(text, stamp(THURSDAY), BERLIN) == summer(first, last)


@pytest.mark.parametrize(('text', 'now', 'day'), [
    ('two months ago', '2024-03-31', '2024-01-31'),
    ('a month ago', '2024-03-31', '2024-02-29'),
    ('one month ago', '2023-03-31', '2023-02-28'),
    ('a year ago', '2024-02-29', '2023-02-28'),
    ('4 years ago', '2024-02-29', '2020-02-29'),
    ('29 February', '2023-06-01', '2020-02-29'),
    ('29 February', '1903-03-01', None),
    ('yesterday', '2024-03-01', '2024-02-29'),
    ('yesterday', '2025-01-01', '2024-12-31'),
    ('31 December', '2025-01-01', '2024-12-31'),
    ('31 December', '2024-12-31', '2024-12-31'),
    ('31 January', '2024-01-30', '2023-01-31'),
    ('12 months ago', '2024-01-31', '2023-01-31'),
    ('25 months ago', '2024-01-31', '2021-12-31'),
    ('the last day of February', '2024-06-01', '2024-02-29'),
    ('the last day of February 2023', '2024-06-01', '2023-02-28'),
    ('the last day of last month', '2024-03-31', '2024-02-29'),
    ('the last day of last month', '2024-01-01', '2023-12-31'),
    ('the last day of last year', '2024-06-01', '2023-12-31'),
    ('the first day of last year', '2024-02-29', '2023-01-01'),
    ('the 29th of last month', '2024-03-31', '2024-02-29'),
    ('the 30th of last month', '2024-03-31', None),
    ('the 0th of last month', '2024-03-31', None),
    ('30 February', '2024-03-31', None),
    ('the last day of last February 30', '2024-03-31', None),
])
def test_the_ends_of_months_and_years(text, now, day):
    now_ns = stamp(f'{now}T12:00:00Z')
    if day is None:
        with pytest.raises(TimeExpressionError):
            parse_when(text, now_ns, UTC)
        return
    start = stamp(f'{day}T00:00:00Z')
    assert parse_when(text, now_ns, UTC) == Interval(start, start + 86_400_000_000_000)


@pytest.mark.parametrize(('text', 'first', 'last'), [
    # 27 October 2024: 03:00 summer time is 02:00 winter time again
    ('2024-10-27', '2024-10-27T00:00:00+02:00', '2024-10-28T00:00:00+01:00'),
    ('2024-10-27 01:59', '2024-10-27T01:59:00+02:00', '2024-10-27T02:00:00+02:00'),
    ('2024-10-27 02:30', '2024-10-27T02:30:00+02:00', '2024-10-27T02:31:00+01:00'),
    ('27 October 2024 02:30', '2024-10-27T02:30:00+02:00', '2024-10-27T02:31:00+01:00'),
    ('2024-10-27 02:59', '2024-10-27T02:59:00+02:00', '2024-10-27T03:00:00+01:00'),
    ('2024-10-27 03:00', '2024-10-27T03:00:00+01:00', '2024-10-27T03:01:00+01:00'),
    ('2024-10-27T02:30:00+01:00', '2024-10-27T02:30:00+01:00', '2024-10-27T02:30:01+01:00'),
    ('2024-10-27 01:00 to 02:30', '2024-10-27T01:00:00+02:00', '2024-10-27T02:30:00+01:00'),
    # 31 March 2024: 02:00 winter time is 03:00 summer time at once
    ('2024-03-31', '2024-03-31T00:00:00+01:00', '2024-04-01T00:00:00+02:00'),
    ('2024-03-31 02:30', '2024-03-31T03:30:00+02:00', '2024-03-31T03:31:00+02:00'),
])
def test_the_days_on_which_clocks_change(text, first, last):
    now_ns = stamp('2024-11-10T12:00:00+01:00')
    assert parse_when(text, now_ns, BERLIN) == span(first, last)


def test_hours_back_are_hours_that_passed_and_days_are_of_the_calendar():
    after_change = stamp('2024-10-27T12:00:00+01:00')
    assert parse_when('12 hours ago', after_change, BERLIN).start_ns == stamp(
        '2024-10-27T01:00:00+02:00')
    assert parse_when('last 1 days', after_change, BERLIN).start_ns == stamp(
        '2024-10-26T12:00:00+02:00')


def test_a_zone_far_east_has_its_own_day():
    auckland = parse_zone('UTC+13:00')
    now_ns = stamp('2024-12-31T12:00:00Z')  # there 01:00 on New Year's Day
    assert parse_when('today', now_ns, auckland) == span(
        '2025-01-01T00:00:00+13:00', '2025-01-02T00:00:00+13:00')
    assert parse_when('31 December', now_ns, auckland).start_ns == stamp('2024-12-30T11:00:00Z')
    assert parse_when('last year', now_ns, auckland) == span(
        '2024-01-01T00:00:00+13:00', '2025-01-01T00:00:00+13:00')


def test_a_midnight_that_does_not_exist():
    santiago = parse_zone('America/Santiago')  # on 8 September 2024 the day began at 01:00
    day = parse_when('2024-09-08', stamp('2024-09-10T12:00:00Z'), santiago)
    assert day == span('2024-09-08T01:00:00-03:00', '2024-09-09T00:00:00-03:00')


def test_datetimes_and_dates():
    naive = datetime(2024, 6, 27, 13, 3, 18, 400)
    start = stamp('2024-06-27T13:03:18.0004+02:00')
    now_ns = stamp(THURSDAY)
    assert parse_when(naive, now_ns, BERLIN) == Interval(start, start + 1000)
    aware = naive.replace(tzinfo=timezone(timedelta(hours=13)))
    assert parse_when(aware, now_ns, BERLIN).start_ns == from_datetime(aware)
    assert parse_when(date(2024, 6, 27), now_ns, BERLIN) == summer(
        '06-27 00:00:00', '06-28 00:00:00')


def test_decimals_keep_their_nanoseconds():
    found = parse_when('2024-06-27T13:03:18.000000012+02:00', 0, UTC)
    assert found.start_ns == stamp('2024-06-27T13:03:18+02:00') + 12
    assert found.end_ns - found.start_ns == 1


@pytest.mark.parametrize(('text', 'until'), [
    ('14:00', '06-27 14:00:00'), ('2024-06-27 13:03:18', '06-27 13:03:18'),
    ('yesterday', '06-27 00:00:00'), ('2024-06-26', '06-27 00:00:00'),
    ('this morning', '06-27 12:00:00'), ('2 hours ago', '06-27 13:20:37'),
    ('now', '06-27 15:20:37')])
def test_how_far_until_reaches(text, until):
    assert parse_until(text, stamp(THURSDAY), BERLIN) == stamp(f'2024-{until}+02:00')


@pytest.mark.parametrize('text', [
    '', ' ', 'foo', 'soon', '25:00', '14:60', '13 pm', '0 am', '24:01', '32 June', '30 February',
    '2024-02-30', '2023-02-29', '06/27/2024', '2024-13-01', '0000-01-01', '1969-12-31',
    '9999-01-01', '99999 years ago', '999999 days ago', '1000000000 days ago', 'last week 14:00',
    'yesterday to the day before yesterday', '2024-06-27T13:03:61', 'yesterday yesterday',
    '2024-06-27 13:03 +99:00', '-1 days ago', '2024-06-26T24:01', '2024-06-26 24:00:01',
    'last day of yesterday', 'last day of the first day of June', '13 p.m.',
    'the first day of 30 February', 'weekend before last weekend',
    '1.5 hours ago', '\u0663 days ago', 'x' * 5000, 'to ' * 40,
    'last tuesday last tuesday', '14:00 14:00', '\x00'])
def test_what_is_no_time_is_refused_by_its_text(text):
    with pytest.raises(TimeExpressionError) as caught:
        parse_when(text, stamp(THURSDAY), BERLIN)
    assert repr(text)[1:20] in str(caught.value) or text[:10] in str(caught.value)


@pytest.mark.parametrize('thing', [None, 14, 3.5, ['yesterday']])
def test_other_things_are_refused(thing):
    with pytest.raises(TimeExpressionError):
        parse_when(thing, 0, UTC)


WORDS = ('last', 'this', 'first', 'day', 'before', 'weekend', 'p.m.', 'fortnight', 'week',
         'month', 'monday', 'june', '31', '29', 'february', '26th', '14:00',
         '2', 'days', 'hours', 'ago', 'to', 'between', 'and', 'morning', '8', 'pm', '2024', 'year',
         'yesterday', '-', 'a', 'couple', 'of', 'now', '2024-10-27', '02:30', '24:00', 'noon')


@given(st.one_of(st.text(max_size=40), st.lists(st.sampled_from(WORDS), max_size=6).map(' '.join)),
       st.integers(0, 7_258_118_399 * 10**9),
       st.sampled_from(('UTC', 'Europe/Berlin', 'Pacific/Auckland', 'America/Santiago', '-11:00')))
def test_any_text_means_a_span_or_is_refused(text, now_ns, zone):
    try:
        found = parse_when(text, now_ns, parse_zone(zone))
        until = parse_until(text, now_ns, parse_zone(zone))
    except TimeExpressionError:
        return
    assert 0 <= found.start_ns <= until <= found.end_ns
