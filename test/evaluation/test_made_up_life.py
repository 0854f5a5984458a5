"""The life that is made up: the same for the same seed, alike from day to day, without trend."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest

from emv_ros.evaluation.life.days import L0_KINDS, ZONE, Life, keep_pictures
from emv_ros.evaluation.life.home import PLACES
from emv_ros.memory.database import sqlite_url
from emv_ros.memory.rows import KIND_OF
from emv_ros.memory.store import MemoryStore
from emv_ros.records import ImageRecord, SkillReport, Status
from emv_ros.timeline import local_date, parse_zone

PICTURES = {place: ImageRecord(stamp_ns=0, camera='head', sha256='0' * 64, media_type='image/png',
                               width=32, height=24) for place in PLACES}


@pytest.fixture(scope='module')
def life() -> Life:
    return Life(3, PICTURES)


def test_the_same_seed_is_the_same_life_whichever_day_is_asked_for_first(life):
    assert Life(3, PICTURES).day(9) == life.day(9)
    assert life.day(9).records != life.day(16).records
    assert Life(4, PICTURES).day(9).records != life.day(9).records


def test_a_day_lies_in_its_date_in_order_of_time(life):
    for number in (1, 84, 85):  # the clocks change on day 84
        day = life.day(number)
        stamps = [record.stamp_ns for record in day.records]
        assert stamps == sorted(stamps)
        assert {local_date(stamp, parse_zone(ZONE)) for stamp in stamps} == {day.date}
        assert stamps[-1] < day.end_ns
    assert life.day(1).date.isoweekday() == 1


def test_each_run_begins_and_ends_and_names_the_goal_around_it(life):
    reports = [record for record in life.day(2).records if isinstance(record, SkillReport)]
    runs: dict[str, list[SkillReport]] = {}
    for report in reports:
        runs.setdefault(report.source_id, []).append(report)
    assert len(runs) > 30
    for said in runs.values():
        assert said[0].status is Status.PREPARING
        assert said[-1].status in (Status.SUCCEEDED, Status.FAILED)
        assert len({(report.skill, report.goal_stack) for report in said}) == 1
        if said[0].parent_source_id:
            assert runs[said[0].parent_source_id][0].skill == said[0].goal_stack[-1]
        else:
            assert not said[0].goal_stack
    assert max(len(report.goal_stack) for report in reports) >= 2


def test_days_are_alike_in_amount_and_have_failures_and_words(life):
    days = [life.day(number) for number in range(1, 29)]
    counts = [Counter(type(record).__name__ for record in day.records) for day in days]
    raw = [count['ImageRecord'] + count['JointSample'] + count['Pose'] for count in counts]
    # About 2,000 records of L0 a day; no week stands out.
    weeks = [fmean(raw[week:week + 7]) for week in range(0, 28, 7)]
    assert all(1600 < week < 2200 for week in weeks)
    assert all(count['Utterance'] >= 10 and count['Scene'] >= 40 for count in counts)
    assert {day.episodes for day in days} == {5}
    assert any(record.status is Status.FAILED for day in days for record in day.records
               if isinstance(record, SkillReport))


@pytest.mark.parametrize('seed', range(5))
def test_no_seed_leads_a_day_into_a_dead_end(seed):
    other = Life(seed, PICTURES)
    assert all(len(other.day(number).records) > 1000 for number in range(1, 15))


def test_a_day_can_be_stored_with_its_pictures(tmp_path: Path):
    with MemoryStore(tmp_path, sqlite_url(tmp_path), 'robot', ZONE) as store:
        day = Life(1, keep_pictures(store)).day(1)
        store.add_many(day.records)
        counts = store.counts()
        assert counts['skill_report'] == sum(isinstance(one, SkillReport) for one in day.records)
        for kind in (*L0_KINDS[:4], 'scene', 'observation'):
            assert counts[kind] == sum(KIND_OF.get(type(one)) == kind for one in day.records)
        assert store.picture(1).startswith(b'\x89PNG')
        assert len(list(store.pictures)) == len(PLACES)
