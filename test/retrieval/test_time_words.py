from __future__ import annotations

from datetime import datetime

import pytest

from emv_ros.retrieval.time_words import AskedTimes, asked_times, is_timeless
from emv_ros.timeline import MAX_NS, from_datetime, parse_zone

BERLIN = parse_zone('Europe/Berlin')


def at(text: str) -> int:
    """Return the stamp of a local time: '26 19:00' or '26 19:00:05' in June 2024."""
    day, clock = text.split()
    return from_datetime(datetime.fromisoformat(f'2024-06-{day}T{clock}'), BERLIN)


def asked(text: str) -> AskedTimes:
    return asked_times(text, at('27 18:00'), BERLIN)  # a Thursday


@pytest.mark.parametrize(('text', 'words', 'first', 'last'), [
    ('What did we do yesterday after lunch with the mug?', 'What did we do with the mug?',
     '26 12:00', '26 18:00'),
    ('What stood there on 26 June between 7 and 8 pm?', 'What stood there ?',
     '26 19:00', '26 20:00'),
    ('between 7 and 8 pm on 26 June', '', '26 19:00', '26 20:00'),
    ('What did you do yesterday after 3 pm?', 'What did you do ?', '26 15:00', '27 00:00'),
    ('yesterday before noon', '', '26 00:00', '26 12:00'),
    ('on the 3rd of June after 5pm', '', '03 17:00', '04 00:00'),
    ('on 26 June until 19:00', '', '26 00:00', '26 19:00'),
    ('What was there on the 26th?', 'What was there ?', '26 00:00', '27 00:00'),
    ('What fell yesterday between 10 and 12?', 'What fell ?', '26 10:00', '26 12:00'),
    ('mugs from 9 to 11 this morning', 'mugs', '27 09:00', '27 11:00'),
    ('Who came in the first week of June?', 'Who came ?', '01 00:00', '08 00:00'),
    ('this morning', '', '27 05:00', '27 12:00'),
    ('from 26 June 19:00 until 27 June 10:00', '', '26 19:00', '27 10:00'),
    ('mugs last week', 'mugs', '17 00:00', '24 00:00'),
    ('objects from June 26 ?', 'objects ?', '26 00:00', '27 00:00'),
    ('the day after 25 June', '', '26 00:00', '27 00:00'),
    ('Who came the day before yesterday?', 'Who came ?', '25 00:00', '26 00:00'),
])
def test_a_day_or_a_range_is_a_window(text: str, words: str, first: str, last: str) -> None:
    found = asked(text)
    assert found.window is not None
    assert (found.window.start_ns, found.window.end_ns) == (at(first), at(last))
    assert (found.words, found.moments) == (words, ())


def test_since_and_before_leave_one_end_open() -> None:
    since, before = asked('mugs since Monday').window, asked('mugs before yesterday').window
    assert since is not None and before is not None
    assert (since.start_ns, since.end_ns) == (at('24 00:00'), MAX_NS)
    assert (before.start_ns, before.end_ns) == (0, at('26 00:00'))


@pytest.mark.parametrize(('text', 'words', 'first', 'last'), [
    ('the "lid" seen at 2024-06-26 12:20:42 moved', 'the "lid" seen moved',
     '26 12:20:40', '26 12:20:45'),
    ('What did you do at June 26 shortly after 8 PM?', 'What did you do ?',
     '26 20:00', '26 20:31'),
    ('around 14:00', '', '27 13:50', '27 14:11'),
    ('two hours ago', '', '27 15:50', '27 16:11'),
])
def test_a_time_of_day_is_a_moment(text: str, words: str, first: str, last: str) -> None:
    found = asked(text)
    assert [(span.start_ns, span.end_ns) for span in found.moments] == [(at(first), at(last))]
    assert (found.words, found.window) == (words, None)


def test_the_second_date_of_a_range_is_that_of_the_first() -> None:
    found = asked('the butter in this video? (2024-06-26 13:06:06 to 13:06:39)').window
    assert found is not None
    assert (found.start_ns, found.end_ns) == (at('26 13:06:06'), at('26 13:06:40'))


def test_when_a_recording_began_is_no_time_of_what_is_asked() -> None:
    found = asked('Which recipes were done? (recording 2024-06-26 13:55:02)')
    assert found == AskedTimes('Which recipes were done?')


def test_several_ranges_are_places_to_look_at() -> None:
    found = asked('between 10:00 and 11:00 yesterday, and between 15:00 and 16:00 yesterday?')
    assert found.window is None
    assert [(span.start_ns, span.end_ns) for span in found.moments] == [
        (at('26 10:00'), at('26 11:00')), (at('26 15:00'), at('26 16:00'))]


@pytest.mark.parametrize('text', [
    'Did you see May in the kitchen?', 'What can you do for me now?', 'at last the second mug',
    'a second mug', 'static for more than 203 seconds', 'for at least 1 hour or overnight',
    'What do you see in the morning?', 'the first 10 cups', 'the "26 June" calendar', '', '"',
    'the first week', 'cups 2 and 3', '3 to 5 spoons', 'between', 'from to and', '25:99',
    'on 31 February', 'March on, sun', 'a' * 5000])
def test_other_words_are_no_times(text: str) -> None:
    assert asked(text) == AskedTimes(' '.join(text.split()))


@pytest.mark.parametrize(('text', 'first', 'last'), [
    ('in May 2023', '2023-05-01', '2023-06-01'), ('June 2023', '2023-06-01', '2023-07-01'),
    ('on 28 February 2023 after 2 pm', '2023-02-28T14:00', '2023-03-01')])
def test_a_year_that_is_told_holds(text: str, first: str, last: str) -> None:
    found = asked(f'who came {text}').window
    assert found is not None
    assert (found.start_ns, found.end_ns) == tuple(
        from_datetime(datetime.fromisoformat(day), BERLIN) for day in (first, last))


def test_a_day_of_another_year_is_not_this_year_s() -> None:
    found = asked('who came on 29 February 2023').window
    assert found is None or found.end_ns < at('01 00:00')
    assert found is None or found.start_ns < from_datetime(datetime(2023, 3, 1), BERLIN)


@pytest.mark.parametrize('text', ['Where is the 3rd cup?', 'What stood on the 2nd shelf?'])
def test_what_is_counted_is_no_day(text: str) -> None:
    assert asked(text) == AskedTimes(text)


@pytest.mark.parametrize(('text', 'timeless'), [
    ('where is the red mug?', True), ('the mug said "yesterday"', True), ('', True),
    ('what was on the table yesterday?', False), ('after lunch', False), ('at 12:20', False),
    ('two hours ago', False)])
def test_what_names_no_time_reads_the_same_at_any_moment(text: str, timeless: bool) -> None:
    assert is_timeless(text) == timeless
