"""Simulated histories: the truth is what the records say, and lives differ by seed alone."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from emv_ros.evaluation.histories.days import ZONE, live
from emv_ros.evaluation.histories.experience import write_experience
from emv_ros.evaluation.histories.make import EXPERIENCE, make_history
from emv_ros.evaluation.histories.question_set import ask
from emv_ros.evaluation.questions import read_questions
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Pose, SkillReport, Status, Utterance
from emv_ros.settings import Settings
from emv_ros.timeline import HOUR_NS, local_date, parse_zone

ZONE_INFO = parse_zone(ZONE)


@pytest.fixture(scope='module')
def century():
    return live(100, 1)


def reports_of(history):
    """Return the final report of each run, with its start, in order of the ends."""
    starts = {}
    for record in history.records:
        if isinstance(record, SkillReport):
            starts.setdefault(record.source_id, record.stamp_ns)
            if record.status.is_final:
                yield starts[record.source_id], record


def test_the_same_seed_is_the_same_life(century):
    assert live(100, 1).records == century.records
    assert live(100, 2).records != century.records
    assert ask(live(25, 3).truth, 3, 3) == ask(live(25, 3).truth, 3, 3)


@pytest.mark.parametrize('episodes', [1, 5, 25, 100])
def test_days_have_one_to_five_tasks_and_some_have_none(episodes):
    truth = live(episodes, 7).truth
    assert len(truth.tasks) == episodes
    amounts = Counter(local_date(task.start_ns, ZONE_INFO) for task in truth.tasks)
    assert min(amounts.values()) >= 1 and max(amounts.values()) <= 5
    assert truth.days == sorted(set(truth.days))
    assert set(amounts) <= set(truth.days)
    if episodes == 100:
        assert len(amounts) < len(truth.days) and len(set(amounts.values())) == 5


def test_a_long_history_has_many_kinds_failures_and_two_like_things(century):
    tasks = century.truth.tasks
    assert len({task.kind for task in tasks}) >= 16
    assert len({task.do for task in tasks}) >= 40
    assert 3 <= sum(task.failed for task in tasks) <= 30
    used = Counter(thing for task in tasks for thing in task.things)
    assert used['red_mug_1'] and used['red_mug_2']
    assert used['green_folder_1'] and used['green_folder_2']
    assert any(step.reason for task in tasks if not task.failed for step in task.steps)


def test_tasks_follow_one_another_with_time_between(century):
    for first, second in pairwise(century.truth.tasks):
        assert second.start_ns > first.end_ns + HOUR_NS // 2
    stamps = [record.stamp_ns for record in century.records]
    assert stamps == sorted(stamps)


def test_the_truth_is_what_was_reported(century):
    told = [(start, end.stamp_ns, end.skill, end.status, end.narration)
            for start, end in reports_of(century) if not end.goal_stack]
    assert told == [(task.start_ns, task.end_ns, task.skill, task.status, task.reason)
                    for task in century.truth.tasks]
    steps = Counter((end.skill, start, end.stamp_ns, end.status)
                    for start, end in reports_of(century) if end.goal_stack)
    assert steps == Counter((step.skill, step.start_ns, step.end_ns, step.status)
                            for task in century.truth.tasks for step in task.steps)
    assert [(one.speaker, one.text, one.span.start_ns) for one in century.truth.sayings] == [
        (record.speaker, record.text, record.stamp_ns) for record in century.records
        if isinstance(record, Utterance)]


def test_things_are_where_the_last_report_put_them(century):
    last = {}
    for _, end in reports_of(century):
        if end.skill == 'PlaceObject' and end.status is Status.SUCCEEDED:
            last[end.parameters['object']] = end.parameters['destination']
    known = {instance: placed.where for instance in last
             if (placed := century.truth.latest(instance, century.records[-1].stamp_ns)).seen
             and placed.where not in ('Clara', 'Henrik')}
    assert len(known) > 5
    assert known == {instance: last[instance] for instance in known}


def test_who_asked_is_who_spoke_the_wish(century):
    for task in century.truth.tasks:
        span = century.truth.request(task)
        assert bool(span) is bool(task.person)
        if span:
            assert [record.speaker for record in century.records
                    if isinstance(record, Utterance) and record.stamp_ns == span[0].start_ns
                    ] == [task.person]
            assert 0 < task.start_ns - span[0].start_ns < 15 * 10**9


def test_a_memory_and_its_questions_are_made(tmp_path):
    told = []
    path = make_history(tmp_path / 'small', 5, 3, Settings(), None, 2, told.append)
    history = live(5, 3)
    assert read_questions(path) == ask(history.truth, 3, 2)
    assert told
    with MemoryStore.open(Settings().memory, tmp_path / 'small') as store:
        counts = store.counts()
    assert counts['skill_event'] == sum(1 for _ in reports_of(history))
    assert counts['utterance'] == len(history.truth.sayings)
    assert counts['scene'] > 5
    lines = (tmp_path / 'small' / EXPERIENCE).read_text('utf-8').splitlines()
    assert len(lines) == len(history.records)


def test_what_cannot_be_made_is_refused(tmp_path):
    with pytest.raises(ValueError, match='at least one episode, not 0'):
        make_history(tmp_path, 0, 1, Settings(), None)
    with pytest.raises(TypeError, match='no line of an experience file for a Pose'):
        write_experience(tmp_path / 'pose.jsonl', [
            Pose(stamp_ns=1, frame='map', position=(0.0, 0.0, 0.0))], ZONE_INFO)
