"""Stamps to the nanosecond, intervals, zones and calendar days."""

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
import time
from zoneinfo import ZoneInfo

from hypothesis import given, strategies as st
import pytest

from emv_ros import timeline
from emv_ros.errors import TimeExpressionError
from emv_ros.timeline import (
    HOUR_NS,
    MAX_NS,
    SECOND_NS,
    Interval,
    day_span,
    days_between,
    format_duration,
    format_rfc3339,
    format_span,
    format_stamp,
    from_datetime,
    local_date,
    parse_stamp,
    parse_zone,
    system_zone,
    to_datetime,
    zone_name,
)

BERLIN = ZoneInfo('Europe/Berlin')
ZONES = [UTC, BERLIN, ZoneInfo('America/Los_Angeles'), ZoneInfo('Pacific/Auckland'),
         ZoneInfo('Asia/Kathmandu'), ZoneInfo('Africa/Monrovia'), timezone(timedelta(hours=13)),
         timezone(timedelta(hours=-3, minutes=-30))]


class TestStamps:

    def test_nanoseconds_are_told_apart(self) -> None:
        for text, stamp_ns in (('1970-01-01T00:00:05.000000012Z', 5 * SECOND_NS + 12),
                               ('1970-01-01T00:00:05.120Z', 5 * SECOND_NS + 120_000_000),
                               ('1970-01-01T00:00:05.12Z', 5 * SECOND_NS + 120_000_000),
                               ('1970-01-01T00:00:05Z', 5 * SECOND_NS)):
            assert parse_stamp(text) == (stamp_ns, UTC)
        assert format_rfc3339(5 * SECOND_NS + 12) == '1970-01-01T00:00:05.000000012+00:00'
        assert format_rfc3339(5 * SECOND_NS + 120_000_000) == '1970-01-01T00:00:05.120000000+00:00'

    @given(st.integers(0, MAX_NS - 1), st.sampled_from(ZONES))
    def test_what_is_written_is_read_back(self, stamp_ns: int, zone: timezone) -> None:
        text = format_rfc3339(stamp_ns, zone)
        assert parse_stamp(text)[0] == stamp_ns
        whole = stamp_ns - stamp_ns % 1000
        assert from_datetime(to_datetime(stamp_ns, zone)) == whole

    @pytest.mark.parametrize(('text', 'seconds', 'offset_h'), [
        ('2024-02-29T23:30:00+13:00', 1_709_202_600, 13),
        ('2024-02-29t10:30:00z', 1_709_202_600, 0),
        ('2024-02-29 06:30:00 -0400', 1_709_202_600, -4),
        (' 2024-02-29T10:30:00,000+00:00 ', 1_709_202_600, 0),
        ('2024-02-29T10:30:00.0000000009Z', 1_709_202_600, 0)])
    def test_rfc_3339(self, text: str, seconds: int, offset_h: int) -> None:
        stamp_ns, zone = parse_stamp(text)
        assert stamp_ns == seconds * SECOND_NS
        assert zone.utcoffset(None) == timedelta(hours=offset_h)

    @pytest.mark.parametrize('text', [
        '', 'now', '2024-02-29T10:30:00', '2024-02-30T10:30:00Z', '2023-02-29T10:30:00Z',
        '2024-02-29T24:30:00Z', '2024-02-29T10:30:60Z', '24-02-29T10:30:00Z', '2024-02-29',
        '2024-02-29T10:30:00+25:00', '2024-02-29T10:30:00+05:75', '0000-01-01T00:00:00Z',
        '0001-01-01T00:00:00+13:00', '9999-12-31T23:59:59-13:00', '２０２４-02-29T10:30:00Z', None])
    def test_what_is_no_time(self, text: str) -> None:
        with pytest.raises(TimeExpressionError):
            parse_stamp(text)

    def test_naive_is_local_and_aware_is_not(self) -> None:
        naive = datetime(2024, 7, 1, 12)
        assert from_datetime(naive) == parse_stamp('2024-07-01T12:00:00Z')[0]
        assert from_datetime(naive, BERLIN) == parse_stamp('2024-07-01T12:00:00+02:00')[0]
        aware = naive.replace(tzinfo=UTC)
        assert from_datetime(aware, BERLIN) == from_datetime(naive)

    def test_the_hour_that_comes_twice(self) -> None:
        first = datetime(2024, 10, 27, 2, 30)
        assert from_datetime(first, BERLIN) == parse_stamp('2024-10-27T02:30:00+02:00')[0]
        assert from_datetime(first.replace(fold=1), BERLIN) - from_datetime(first, BERLIN) == (
            HOUR_NS)
        for offset in ('+02:00', '+01:00'):
            text = f'2024-10-27T02:30:00.000000000{offset}'
            assert format_rfc3339(parse_stamp(text)[0], BERLIN) == text

    def test_outside_the_calendar(self) -> None:
        for stamp_ns in (-10**20, 10**21, 2**70):
            with pytest.raises(TimeExpressionError):
                to_datetime(stamp_ns)
        with pytest.raises(TimeExpressionError):
            from_datetime(datetime(1, 1, 1), timezone(timedelta(hours=13)))
        with pytest.raises(TimeExpressionError):
            day_span(date.max, UTC)

    def test_before_the_epoch(self) -> None:
        assert format_rfc3339(-1) == '1969-12-31T23:59:59.999999999+00:00'
        assert parse_stamp('1969-12-31T23:59:59.999999999Z')[0] == -1


class TestIntervals:

    @pytest.mark.parametrize(('first', 'second', 'is_so'), [
        ((0, 10), (9, 20), True), ((0, 10), (10, 20), False), ((0, 10), (3, 4), True),
        ((0, 10), (0, 1), True), ((0, 10), (9, 10), True), ((5, 5), (5, 5), True),
        ((5, 5), (0, 5), False), ((5, 5), (5, 9), True), ((5, 5), (0, 6), True)])
    def test_half_open(self, first: tuple[int, int], second: tuple[int, int],
                       is_so: bool) -> None:
        assert Interval(*first).overlaps(Interval(*second)) is is_so
        assert Interval(*second).overlaps(Interval(*first)) is is_so

    def test_contains(self) -> None:
        span, instant = Interval(5, 10), Interval(5, 5)
        assert [span.contains(stamp) for stamp in (4, 5, 9, 10)] == [False, True, True, False]
        assert [instant.contains(stamp) for stamp in (4, 5, 6)] == [False, True, False]
        assert (span.last_ns, instant.last_ns) == (9, 5)

    def test_none_runs_backwards(self) -> None:
        with pytest.raises(TimeExpressionError, match='ends before it starts'):
            Interval(10, 9)


class TestZones:

    @pytest.mark.parametrize(('name', 'canonical', 'hours'), [
        ('', 'UTC', 0), ('utc', 'UTC', 0), ('Z', 'UTC', 0), ('UTC+13', 'UTC+13:00', 13),
        ('+02:00', 'UTC+02:00', 2), ('utc-3', 'UTC-03:00', -3), ('GMT+5:30', 'UTC+05:30', 5.5),
        ('-0330', 'UTC-03:30', -3.5), ('UTC+00:00', 'UTC', 0)])
    def test_offsets(self, name: str, canonical: str, hours: float) -> None:
        zone = parse_zone(name)
        assert zone.utcoffset(None) == timedelta(hours=hours)
        assert zone_name(zone) == canonical
        assert parse_zone(canonical) == zone

    def test_names(self) -> None:
        assert zone_name(parse_zone('Europe/Berlin')) == 'Europe/Berlin'

    @pytest.mark.parametrize('name', ['Mars/Olympus', 'UTC+25', '+05:75', '../etc/passwd', 'Europe',
                                      'UTC+', '\0', 'a' * 500])
    def test_what_is_no_zone(self, name: str) -> None:
        with pytest.raises(TimeExpressionError):
            parse_zone(name)

    def test_that_of_the_system(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv('TZ', ':Asia/Tokyo')
        assert system_zone() == 'Asia/Tokyo'
        monkeypatch.setenv('TZ', 'EST5EDT,M3.2.0,M11.1.0')  # a rule, not a name
        link = tmp_path / 'localtime'
        link.symlink_to('/usr/share/zoneinfo/Europe/Berlin')
        monkeypatch.setattr(timeline, 'LOCAL_ZONE_FILE', link)
        assert system_zone() == 'Europe/Berlin'
        monkeypatch.setattr(timeline, 'LOCAL_ZONE_FILE', tmp_path / 'nothing')
        monkeypatch.setenv('TZ', 'UTC+3')  # of POSIX: three hours west
        time.tzset()
        assert system_zone() == 'UTC-03:00'
        monkeypatch.delenv('TZ')
        time.tzset()


class TestDays:

    @pytest.mark.parametrize(('day', 'zone', 'hours'), [
        (date(2024, 3, 31), BERLIN, 23), (date(2024, 10, 27), BERLIN, 25),
        (date(2024, 2, 29), BERLIN, 24), (date(2024, 12, 31), ZoneInfo('Pacific/Auckland'), 24),
        (date(2024, 3, 10), ZoneInfo('America/Los_Angeles'), 23)])
    def test_days_have_23_to_25_hours(self, day: date, zone: ZoneInfo, hours: int) -> None:
        span = day_span(day, zone)
        assert span.end_ns - span.start_ns == hours * HOUR_NS
        assert local_date(span.start_ns, zone) == local_date(span.last_ns, zone) == day
        assert local_date(span.end_ns, zone) == day + timedelta(days=1)

    def test_thirteen_hours_ahead_of_utc(self) -> None:
        zone = parse_zone('UTC+13')
        span = day_span(date(2024, 1, 1), zone)
        assert format_stamp(span.start_ns) == '2023-12-31 11:00:00'
        assert format_stamp(span.start_ns, zone) == '2024-01-01 00:00:00'

    def test_those_that_a_span_touches(self) -> None:
        start_ns = parse_stamp('2024-02-28T23:50:00Z')[0]
        midnight_ns = parse_stamp('2024-02-29T00:00:00Z')[0]
        for end_ns, count in ((midnight_ns, 1), (midnight_ns + 1, 2),
                              (midnight_ns + 24 * HOUR_NS, 2), (start_ns, 1)):
            assert len(list(days_between(Interval(start_ns, end_ns), UTC))) == count
        assert list(days_between(Interval(midnight_ns, midnight_ns), UTC)) == [date(2024, 2, 29)]

    def test_several_days(self) -> None:
        span = day_span(date(2024, 10, 26), BERLIN, 3)
        assert span.end_ns - span.start_ns == 73 * HOUR_NS


class TestWords:

    def test_spans(self) -> None:
        noon_ns = parse_stamp('2024-03-01T12:00:00Z')[0]
        for seconds, text in ((0, '2024-03-01 12:00:00'), (0.4, '2024-03-01 12:00:00'),
                              (65, '2024-03-01 12:00:00 to 12:01:05'),
                              (86_400, '2024-03-01 12:00:00 to 2024-03-02 12:00:00')):
            span = Interval(noon_ns, noon_ns + round(seconds * SECOND_NS))
            assert format_span(span) == text

    @pytest.mark.parametrize(('seconds', 'text'), [
        (0, '0.0 s'), (12.34, '12.3 s'), (59.94, '59.9 s'), (59.96, '1 min 00 s'),
        (245, '4 min 05 s'), (3599.6, '1 h 00 min 00 s'), (3723, '1 h 02 min 03 s'),
        (360_000, '100 h 00 min 00 s'), (-5, '0.0 s')])
    def test_durations(self, seconds: float, text: str) -> None:
        assert format_duration(round(seconds * SECOND_NS)) == text
