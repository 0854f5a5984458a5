"""What is too old or too much goes, in its order; what waits does not, and what went says so."""

from datetime import datetime
import hashlib
import os
from pathlib import Path
import random
import subprocess
import sys
import threading
import time
from zoneinfo import ZoneInfo

from databases import database_url, is_postgresql
from memory_parts import at, joints, said
import pytest
from sqlalchemy import func, select, update

from emv_ros.errors import PictureGoneError
from emv_ros.memory import schema
from emv_ros.memory.clip_writer import Mark, set_mark
from emv_ros.memory.dropped_files import NOTE, clear_dropped
from emv_ros.memory.memory_size import database_bytes, used_bytes
from emv_ros.memory.retention import preview, retain
from emv_ros.memory.retention_rules import rules_of
from emv_ros.memory.store import MemoryStore
from emv_ros.records import (
    ImageRecord,
    Node,
    Observation,
    Pose,
    QueryRecord,
    Scene,
    SceneObject,
    SkillEvent,
    Status,
)
from emv_ros.settings import RetentionSettings, Settings, with_values
from emv_ros.timeline import SECOND_NS, from_datetime

pytestmark = pytest.mark.both_databases
DAY_S = 86_400


def settings(**values):
    """Return settings of retention that allow any share, where that is not told."""
    share = values.pop('max_share', 1.0)
    detector = values.pop('detector', '')
    return with_values(Settings(), {
        'memory.max_share': share, 'perception.detector': detector,
        **{f'retention.{name}': value for name, value in values.items()}})


def shoot(memory, *seconds, size=1000, **fields):
    """Store pictures of their own bytes, and return their ids; for speed, nothing is forced."""
    records = []
    for second in seconds:
        data = f'{second} {fields}'.encode().ljust(size, b'.')
        records.append(ImageRecord(
            stamp_ns=at(second), sha256=hashlib.sha256(data).hexdigest(), size_bytes=size,
            media_type='image/jpeg', width=4, height=3, **({'camera': 'head'} | fields)))
        path = memory.pictures.path(records[-1].sha256, 'image/jpeg')
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return memory.add_many(records)


def settle(memory):
    """Let all that is stored be consolidated."""
    with memory.writing() as session:
        for kind in ('image', 'joint_sample', 'pose', 'utterance', 'skill_event', 'annotation',
                     'scene', 'observation'):
            session.execute(update(schema.KINDS[kind]).values(pending=False))


def gone(memory):
    with memory.reading() as session:
        return sorted(session.scalars(
            select(schema.ImageRow.id).where(schema.ImageRow.gone == 'retention')))


def run(memory, now_s=30 * DAY_S, force=False, free=10**12, **values):
    return retain(memory, settings(**values), now_ns=at(now_s), force=force,
                  time_limit_s=1e9, free_bytes=lambda _: free, fresh_s=0.0)


def files(memory):
    return sorted(path.name for path in memory.pictures)


@pytest.mark.parametrize('zone, now, days, first_kept', [
    ('America/Los_Angeles', '2024-03-12 01:00', 2, '2024-03-10T08:00:00+00:00'),  # 23 hours long
    ('America/Los_Angeles', '2024-03-12 01:00', 1, '2024-03-11T07:00:00+00:00'),
    ('America/Los_Angeles', '2024-11-05 23:00', 2, '2024-11-03T07:00:00+00:00'),  # 25 hours long
    ('America/Los_Angeles', '2024-11-05 23:00', 1, '2024-11-04T08:00:00+00:00'),
    ('Pacific/Auckland', '2024-04-09 08:00', 2, '2024-04-06T11:00:00+00:00'),
    ('Pacific/Auckland', '2024-04-09 08:00', 1, '2024-04-07T12:00:00+00:00'),
    ('Pacific/Auckland', '2024-09-30 00:30', 1, '2024-09-28T12:00:00+00:00'),
    ('Pacific/Auckland', '2024-09-30 00:30', 0, None),
])
def test_a_local_day_goes_or_stays_as_a_whole(tmp_path, zone, now, days, first_kept):
    now_ns = from_datetime(datetime.fromisoformat(now), ZoneInfo(zone))
    if first_kept is None:
        assert rules_of(RetentionSettings(picture_days=days), now_ns, ZoneInfo(zone)) == []
        return
    cut_ns = from_datetime(datetime.fromisoformat(first_kept))
    with MemoryStore(tmp_path, database_url(tmp_path), 'robot', zone) as memory:
        for number, stamp_ns in enumerate((cut_ns - SECOND_NS, cut_ns - 1, cut_ns, now_ns)):
            memory.add_image(bytes([number]), ImageRecord(
                stamp_ns=stamp_ns, camera='head', sha256='', media_type='image/jpeg', width=1,
                height=1))
        settle(memory)
        done = retain(memory, settings(picture_days=days), now_ns=now_ns, fresh_s=0.0)
        assert (gone(memory), done.dropped['image'], len(files(memory))) == ([1, 2], 2, 2)


def test_nothing_goes_where_nothing_is_set(memory):
    shoot(memory, 0, 1)
    settle(memory)
    assert run(memory).dropped == {} and gone(memory) == []


def test_what_is_dropped_says_so_and_its_file_goes(memory):
    shoot(memory, 0, 10 * DAY_S)
    settle(memory)
    with memory.writing() as session:
        session.add(schema.PictureEmbeddingRow(image_id=1, model='m', vector=b'\0\0\0\0'))
    done = run(memory, 11 * DAY_S, picture_days=5)
    assert (done.dropped, done.size_bytes, done.files) == ({'image': 1}, 1000, 1)
    with pytest.raises(PictureGoneError, match='^the picture i1 was dropped by retention$'):
        memory.picture(1)
    assert memory.get('image', 1).gone == 'retention' and len(memory.picture(2)) == 1000
    with memory.reading() as session:
        assert session.scalars(select(schema.PictureEmbeddingRow)).all() == []
        assert session.get(schema.StateRow, NOTE) is None
        audit, = session.scalars(select(schema.AuditRow))
        assert (audit.author, audit.reason, audit.counts, audit.stamp_ns) == (
            'retention', 'age', {'image': 1}, at(11 * DAY_S))
    assert run(memory, 11 * DAY_S, picture_days=5).dropped == {}


def test_a_file_that_another_picture_needs_stays(memory):
    same = b'the same wall'
    for second in (0, 10 * DAY_S):
        memory.add_image(same, ImageRecord(
            stamp_ns=at(second), camera='head', sha256='', media_type='image/jpeg', width=1,
            height=1))
    settle(memory)
    done = run(memory, 11 * DAY_S, picture_days=5)
    assert (gone(memory), done.files, memory.picture(2)) == ([1], 0, same)


def test_a_file_that_somebody_is_about_to_name_stays_for_now(memory):
    shoot(memory, 0)
    settle(memory)
    retain(memory, settings(picture_days=5), now_ns=at(11 * DAY_S))  # it was written just now
    assert gone(memory) == [1] and len(files(memory)) == 1
    kept = memory.keep_picture(f'{0} {{}}'.encode().ljust(1000, b'.'), ImageRecord(
        stamp_ns=at(11 * DAY_S), camera='head', sha256='', media_type='image/jpeg', width=4,
        height=3))
    assert clear_dropped(memory) == 0
    memory.add(kept)
    assert clear_dropped(memory, 0.0) == 0 and len(memory.picture(2)) == 1000
    with memory.reading() as session:
        assert session.get(schema.StateRow, NOTE) is None


def test_a_file_that_was_put_aside_when_the_process_was_killed(memory):
    first, second = shoot(memory, 0, 1)
    settle(memory)
    paths = []
    for key in (first, second):
        record = memory.get('image', key)
        paths.append(memory.pictures.path(record.sha256, record.media_type))
        paths[-1].replace(paths[-1].with_name(f'.{paths[-1].name}.gone'))
    with memory.writing() as session:
        session.get(schema.ImageRow, first).gone = 'retention'
        session.add(schema.StateRow(key=NOTE, value={'files': [
            [memory.get('image', key).sha256, 'image/jpeg'] for key in (first, second)]}))
    assert clear_dropped(memory, 0.0) == 1
    assert len(memory.picture(second)) == 1000 and files(memory) == [paths[1].name]
    assert list(memory.pictures.folder.rglob('*.gone')) == []


def test_what_waits_never_goes_by_age(memory):
    shoot(memory, *range(4))
    memory.add_many([joints(0, 1.0), said(0, 'hello')])
    settle(memory)
    with memory.writing() as session:
        session.get(schema.ImageRow, 2).pending = True
        session.execute(update(schema.JointSampleRow).values(pending=True))
        session.execute(update(schema.UtteranceRow).values(pending=True))
        set_mark(session, 1, 'head', 1, Mark(at(2), 3))  # the clip of the last goes on
    done = run(memory, picture_days=1, evidence_days=1, motion_days=1, utterance_days=1)
    assert (gone(memory), done.dropped) == ([1, 3], {'image': 2})
    assert (memory.counts()['joint_sample'], memory.counts()['utterance']) == (1, 1)


def test_where_a_detector_looks_pictures_wait_for_it(memory):
    shoot(memory, 0)
    settle(memory)
    assert run(memory, picture_days=1, detector='household').dropped == {}
    assert run(memory, 31 * DAY_S, picture_days=1).dropped == {'image': 1}


def test_stamps_of_a_simulated_clock_have_no_age(memory):
    memory.begin_session(start_ns=0, clock_source='sim')
    shoot(memory, 0)
    settle(memory)
    assert run(memory, picture_days=1, evidence_days=1).dropped == {}


def fill_evidence(memory):
    """Store ten pictures: 2 is a crop, 4 is cited, 6 is near cited words, 8 of a cited scene."""
    shoot(memory, *range(0, 100, 10))
    memory.add_many([said(52, 'bring the cup'), said(500, 'nobody cites this'),
                     Scene(stamp_ns=at(70), camera='head', image_id=8, objects=()),
                     Observation(stamp_ns=at(10), end_ns=at(20), name='cup')])
    with memory.writing() as session:
        session.add(schema.ObservationImageRow(
            observation_id=1, image_id=2, bbox=[0, 0, 2, 2], is_crop=True))
    memory.log_query(QueryRecord(
        question='where?', status='ANSWERED', stamp_ns=at(1), query_time_ns=at(1), robots=(),
        answer='there', evidence=('i4', 'u1', 'g1', 'n7', 'x', 'i999999')))
    settle(memory)


def test_what_biographies_and_answers_show_stays_longer(memory):
    fill_evidence(memory)
    assert run(memory, picture_days=5).dropped == {'image': 6}
    assert gone(memory) == [1, 3, 5, 7, 9, 10]
    assert run(memory, picture_days=5, evidence_days=31).dropped == {}
    assert run(memory, 33 * DAY_S, picture_days=5, evidence_days=31).dropped == {'image': 4}
    assert gone(memory) == list(range(1, 11))


def event(memory, start_s, end_s):
    with memory.node_writer() as writer:
        return writer.add(Node(robot='robot', level=2, start_ns=at(start_s), end_ns=at(end_s),
                               summary='something happened'))


def test_old_pictures_are_thinned_evenly(memory):
    shoot(memory, *range(0, 300, 10))
    shoot(memory, 5, 15, camera='wrist')
    event(memory, 100, 140)
    settle(memory)
    done = run(memory, thin_days=1, thin_period_s=60.0)
    with memory.reading() as session:
        kept = [(camera, (stamp_ns - at(0)) // SECOND_NS) for camera, stamp_ns in session.execute(
            select(schema.ImageRow.camera, schema.ImageRow.stamp_ns).where(
                schema.ImageRow.gone == '').order_by(schema.ImageRow.stamp_ns))]
    # One a minute; where the event's first and last picture stay, the minute counts from them.
    assert kept == [('head', 0), ('wrist', 5), ('head', 60), ('head', 100), ('head', 140),
                    ('head', 200), ('head', 260)]
    assert done.dropped == {'image': 25}
    assert run(memory, thin_days=1, thin_period_s=60.0).dropped == {}


def test_too_much_at_once_is_refused_and_told(memory):
    shoot(memory, *range(20))
    shoot(memory, *(20 * DAY_S + second for second in range(10)))
    memory.add_many([joints(second, 1.0) for second in range(5)])
    settle(memory)
    done = run(memory, 21 * DAY_S, picture_days=5, motion_days=5, max_share=0.5)
    assert (gone(memory), done.dropped) == ([], {'joint_sample': 5})  # of few any share may go
    assert len(done.refused) == 1 and '20 of 30 rows of the kind image' in done.refused[0]
    assert run(memory, 21 * DAY_S, picture_days=5, max_share=0.5).dropped == {}
    assert run(memory, 21 * DAY_S, picture_days=5, max_share=0.5, force=True).dropped == {
        'image': 20}
    assert run(memory, 22 * DAY_S, picture_days=5, max_share=0.5).refused == []


def test_the_guard_counts_what_is_left_not_what_is_gone_already(memory):
    shoot(memory, *range(40))
    shoot(memory, *(20 * DAY_S + second for second in range(30)))
    settle(memory)
    with memory.writing() as session:
        session.execute(update(schema.ImageRow).where(schema.ImageRow.id <= 40).values(
            gone='retention'))
    done = run(memory, 30 * DAY_S, picture_days=5, max_share=0.5)
    assert '30 of 30' in done.refused[0]


def test_scenes_go_after_their_pictures(memory):
    shoot(memory, 0, 10)
    memory.add_many([
        Scene(stamp_ns=at(0), camera='head', image_id=1, objects=(SceneObject(name='cup'),)),
        Scene(stamp_ns=at(10), camera='head', objects=(SceneObject(name='cup'),)),
        Scene(stamp_ns=at(20), camera='head', objects=(SceneObject(name='cup'),))])
    settle(memory)
    assert run(memory, scene_days=2).dropped == {'scene': 1}  # the one without a picture
    assert run(memory, 31 * DAY_S, picture_days=2, scene_days=2).dropped == {
        'image': 2, 'scene': 2}
    with memory.reading() as session:
        assert session.scalar(select(func.count()).select_from(schema.SceneObjectRow)) == 0


def test_runs_that_go_on_and_words_go_by_their_own_age_alone(memory):
    memory.add_many([
        said(0, 'hello'),
        SkillEvent(stamp_ns=at(0), skill='Grasp', status=Status.SUCCEEDED, end_ns=at(5)),
        SkillEvent(stamp_ns=at(0), skill='Guard', status=Status.SUCCEEDED, end_ns=at(29 * DAY_S)),
        Pose(stamp_ns=at(0), frame='map', position=(0, 0, 0))])
    settle(memory)
    assert run(memory, picture_days=1, motion_days=1, scene_days=1).dropped == {'pose': 1}
    assert run(memory, event_days=5).dropped == {'skill_event': 1}
    assert memory.get('skill_event', 2).skill == 'Guard'
    assert run(memory, utterance_days=5).dropped == {'utterance': 1}
    with memory.reading() as session:  # and so does what is searched
        assert session.scalars(select(schema.DocumentRow.kind)).all() == ['skill_event']


def test_of_a_full_memory_pictures_thin_out_first_then_motion_then_scenes(memory):
    shoot(memory, *range(16), size=20_000)
    memory.add_many([joints(second, *range(2)) for second in range(700)])
    memory.add_many([Scene(stamp_ns=at(second), camera='c', objects=(SceneObject(name='cup'),))
                     for second in range(30)])
    memory.add_many([said(second, 'words ' * 20) for second in range(30)])
    event(memory, 4, 11)
    with memory.writing() as session:
        session.add(schema.SceneRow(robot_id=1, session_id=1, stamp_ns=at(6), camera='head',
                                    image_id=7, extra={}, pending=False))
    settle(memory)
    now = 1000.0

    def size_of(limit):
        return retain(memory, settings(max_bytes=limit), now_ns=at(now), fresh_s=0.0)

    used = used_bytes(memory)
    assert size_of(used).dropped == {}
    # Each second one, the oldest first, but 5 and 12 (of the event) and 7 (of a scene).
    assert size_of(round((used - 60_000) / 0.98)).dropped == {'image': 3}
    assert gone(memory) == [2, 4, 8]
    now += 1  # the pass goes on behind that, and ends; then it begins again
    done = size_of(round((used - 140_000) / 0.98))
    assert done.dropped == {'image': 4} and gone(memory) == [2, 3, 4, 8, 10, 13, 15]
    if is_postgresql():
        return
    done = size_of(1)
    assert list(done.dropped) == ['image', 'joint_sample', 'scene']
    assert (done.dropped['joint_sample'], done.dropped['scene']) == (700, 31)
    assert gone(memory) == list(range(1, 17))
    assert memory.counts()['utterance'] == 30 and 'not enough of it may go' in done.notes[-1]


def test_files_that_several_pictures_share_count_once(memory):
    """The size that is kept is that of the files; room is made until there is some."""
    def rows(first_s, count):
        return [ImageRecord(
            stamp_ns=at(first_s + number), camera='head', media_type='image/jpeg', width=4,
            height=3, size_bytes=1000, sha256=memory.get('image', 1 + number % 4).sha256)
            for number in range(count)]

    def pictures():
        with memory.reading() as session:
            database = database_bytes(session)
        return used_bytes(memory) - database, sum(
            path.stat().st_size for path in memory.pictures)

    shoot(memory, 0, 1, 2, 3)
    memory.add_many(rows(4, 36))
    settle(memory)
    assert pictures() == (4000, 4000)
    done = run(memory, min_free_bytes=10_000, free=8_700)  # 1500 are wanted
    assert (done.files, gone(memory)) == (2, list(range(2, 41, 2)))
    assert pictures() == (2000, 2000)
    memory.add_many(rows(100, 1))
    memory.add_many(rows(200, 1))
    assert pictures() == (2000, 2000)


@pytest.mark.parametrize('stamp_s, clock', [(5, 'sim'), (400 * DAY_S, 'wall')])
def test_room_is_made_also_of_what_has_no_age(memory, stamp_s, clock):
    memory.begin_session(start_ns=0, clock_source=clock)
    shoot(memory, *(stamp_s + number for number in range(10)))
    settle(memory)
    assert run(memory, picture_days=1, evidence_days=1).dropped == {}
    done = run(memory, min_free_bytes=10_000, free=8_000)
    assert done.dropped == {'image': 3} and gone(memory) == [2, 4, 6]


def test_rows_go_only_where_they_give_room(memory):
    """The bytes of a server are not counted: no joint samples are dropped for them."""
    shoot(memory, *range(6))
    memory.add_many([joints(second, 1.0) for second in range(10)])
    settle(memory)
    done = run(memory, max_bytes=1)
    dropped = {'image': 6} if is_postgresql() else {'image': 6, 'joint_sample': 10}
    assert dict(done.dropped) == dropped
    assert preview(memory, settings(max_bytes=1), now_ns=at(30 * DAY_S)).dropped == {}


def test_a_nearly_full_disk_costs_pictures_alone(memory):
    shoot(memory, *range(40), size=1000)
    memory.add_many([joints(second, 1.0) for second in range(10)])
    settle(memory)
    with memory.writing() as session:
        session.get(schema.ImageRow, 1).pending = True
    limit = 100_000
    assert run(memory, min_free_bytes=limit, free=limit).dropped == {}
    done = run(memory, min_free_bytes=limit, free=limit - 3_000)
    # Three thousand are wanted, and two in a hundred of the limit more.
    assert (done.dropped, gone(memory)) == ({'image': 5}, [3, 5, 7, 9, 11])
    assert 'the disk is nearly full' in done.notes[0]
    done = run(memory, min_free_bytes=limit, free=0)
    assert done.dropped == {'image': 35} and gone(memory) == list(range(1, 41))
    assert memory.counts()['joint_sample'] == 10
    assert done.notes[-1] == 'no more pictures may go now: make room on the disk'


def test_a_nearly_full_disk_takes_no_more_than_the_share_at_once(memory):
    shoot(memory, *range(40))
    settle(memory)
    done = run(memory, min_free_bytes=10**9, free=0, max_share=0.25)
    assert done.dropped == {'image': 10} and 'the next run goes on' in done.notes[1]


def test_the_preview_tells_what_the_run_does(memory):
    fill_evidence(memory)
    memory.add_many([joints(second, 1.0) for second in range(5)])
    settle(memory)
    asked = settings(picture_days=5, motion_days=5, min_free_bytes=10)
    told = preview(memory, asked, now_ns=at(30 * DAY_S), free_bytes=lambda _: 10)
    assert (gone(memory), told.dropped) == ([], {'image': 6, 'joint_sample': 5})
    done = retain(memory, asked, now_ns=at(30 * DAY_S), free_bytes=lambda _: 10)
    assert (done.dropped, done.size_bytes) == (told.dropped, told.size_bytes)
    assert told.lines() == ['6 pictures, 5 joint samples would go by age']


def test_a_run_that_is_stopped_goes_on(memory):
    shoot(memory, *range(450), size=10)
    settle(memory)
    stop = threading.Event()
    stop.set()
    done = retain(memory, settings(picture_days=5), now_ns=at(30 * DAY_S), cancel=stop)
    assert (done.dropped, done.is_done) == ({}, False)
    done = run(memory, picture_days=5)
    assert done.dropped == {'image': 450} and done.is_done and files(memory) == []


def test_a_run_that_is_killed_leaves_no_row_that_promises_what_is_gone(memory):
    shoot(memory, *range(900), size=10)
    memory.add_many([joints(second, 1.0) for second in range(600)])
    settle(memory)
    environment = os.environ | {'PYTHONPATH': os.pathsep.join(sys.path)}
    chance = random.Random(7)
    kills = 0
    for _ in range(4):
        before = len(files(memory))
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name('retention_worker.py')),
             str(memory.folder)], env=environment)
        until = time.monotonic() + 120
        wanted = before - chance.randrange(20, 150)
        while process.poll() is None and len(files(memory)) > wanted:
            assert time.monotonic() < until
            time.sleep(0.002)
        if process.poll() is None:
            process.kill()
            kills += 1
        process.wait()
        there = set(files(memory))
        with memory.reading() as session:
            for row in session.scalars(select(schema.ImageRow).where(schema.ImageRow.gone == '')):
                assert memory.pictures.path(row.sha256, row.media_type).name in there
    assert kills >= 3
    run(memory, picture_days=1, motion_days=1)
    assert files(memory) == [] and list(memory.pictures.folder.rglob('.*.gone')) == []
    assert len(gone(memory)) == 900 and memory.counts()['joint_sample'] == 0
    with memory.reading() as session:
        audits = session.scalars(select(schema.AuditRow.counts)).all()
    assert sum(counts.get('image', 0) for counts in audits) == 900
    assert sum(counts.get('joint_sample', 0) for counts in audits) == 600
