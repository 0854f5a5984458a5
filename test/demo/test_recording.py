"""The shipped recording agrees with the simulator that made it, and with the story it tells.

All is recomputed from the messages, which are read with rosbags alone. What a picture shows only
the simulator knows: the robot's own eyes must find it out.
"""

from collections import Counter
from datetime import datetime
import io
import json
from pathlib import Path
import sys
from zoneinfo import ZoneInfo

import numpy as np
from PIL import Image
import pytest
from rosbags.highlevel import AnyReader

from emv_ros.demo.replay import RECORDING, read_recording

CHECKOUT = Path(__file__).resolve().parents[2]
TRUTH = json.loads((Path(__file__).parent / 'truth.json').read_text(encoding='utf-8'))
SUCCEEDED, FAILED, ABORTED = 3, 4, 5
CAMERA = '/camera/image_raw/compressed'
BERLIN = ZoneInfo('Europe/Berlin')


@pytest.fixture(scope='module')
def messages():
    """Return the messages by topic, each with its log time."""
    found = {}
    with AnyReader([RECORDING]) as reader:
        for connection, log_ns, data in reader.messages():
            found.setdefault(connection.topic, []).append(
                (log_ns, reader.deserialize(data, connection.msgtype)))
    return found


@pytest.fixture(scope='module')
def runs(messages):
    """Return the reports of each run of a skill, in order."""
    found = {}
    for log_ns, report in messages['/skill_events']:
        found.setdefault(report.id, []).append((log_ns, report))
    return found


@pytest.fixture(scope='module')
def robot():
    """Return the robot of the simulator after its three days."""
    sys.path.insert(0, str(CHECKOUT / 'scripts'))
    try:
        from make_demo_recording import simulate
        return simulate()
    finally:
        sys.path.remove(str(CHECKOUT / 'scripts'))


def nanoseconds(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000) * 1_000_000


def stamp_of(message) -> int:
    return message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec


def test_it_is_small_enough_to_ship():
    assert sum(file.stat().st_size for file in RECORDING.iterdir()) <= 8_000_000


def test_it_holds_the_messages_that_the_simulator_made(messages):
    assert {topic: len(found) for topic, found in messages.items()} == TRUTH['messages']
    assert read_recording().counts() == dict(sorted(TRUTH['messages'].items()))


def test_three_days_and_every_stamp_is_that_of_the_recording(messages):
    days = {datetime.fromtimestamp(log_ns / 1e9, BERLIN).date() for log_ns, _ in messages['/odom']}
    assert len(days) == 3
    for topic in messages.keys() - {'/asr', '/speech'}:
        assert all(stamp_of(message) == log_ns for log_ns, message in messages[topic]), topic


def test_the_script_makes_the_same_messages_again(robot):
    sys.path.insert(0, str(CHECKOUT / 'scripts'))
    try:
        from household.truth import truth_of
    finally:
        sys.path.remove(str(CHECKOUT / 'scripts'))
    assert truth_of(robot) == TRUTH
    again = sorted(robot.recording.messages, key=lambda message: message[0])
    shipped = read_recording().messages
    assert [(stamp_ns, topic) for stamp_ns, topic, _ in again] == [
        (message.log_ns, message.topic.name) for message in shipped]
    # An encoder of another version may write a picture in other bytes: that is not ours to test.
    assert all(made == message.data for (_, topic, made), message in zip(
        again, shipped, strict=True) if topic != CAMERA)


def test_runs_of_skills_are_those_of_the_simulator(runs):
    names = {1: 'preparing', 2: 'running', 3: 'succeeded', 4: 'failed'}
    found = [{
        'id': run, 'skill': reports[-1][1].skill, 'status': names[reports[-1][1].status],
        'goals': reports[-1][1].goal_stack, 'parent': reports[-1][1].parent_id,
        'parameters': {pair.key: pair.value for pair in reports[-1][1].parameters}}
        for run, reports in runs.items()]
    assert found == [
        {key: run[key] for key in ('id', 'skill', 'status', 'goals', 'parent', 'parameters')}
        for run in TRUTH['runs']]
    for run in TRUTH['runs']:
        reports = runs[run['id']]
        assert reports[0][0] // 1_000_000 == nanoseconds(run['start']) // 1_000_000
        assert reports[-1][0] // 1_000_000 == nanoseconds(run['end']) // 1_000_000
        assert [report.status for _, report in reports[:2]] == [1, 2]


def test_a_parent_is_the_run_that_was_going_on_around(runs):
    for reports in runs.values():
        _, last = reports[-1]
        if last.parent_id:
            parent = runs[last.parent_id]
            assert [*parent[0][1].goal_stack, parent[0][1].skill] == last.goal_stack
            assert parent[0][0] < reports[0][0] <= reports[-1][0] <= parent[-1][0]
        else:
            assert last.goal_stack == []
    assert max(len(reports[0][1].goal_stack) for reports in runs.values()) == 2


def test_exactly_two_skills_fail(runs):
    ends = [reports[-1][1] for reports in runs.values()]
    assert Counter(end.status for end in ends)[ABORTED] == 0
    failures = [(end.skill, end.goal_stack, end.narration) for end in ends if end.status == FAILED]
    assert failures == [
        ('GraspObject', ['LoadDishwasher', 'MoveObject'], 'The bowl slipped out of the gripper.'),
        ('PourWater', [], 'The water bottle is empty.')]
    assert failures == [(one['skill'], one['goals'], one['why']) for one in TRUTH['failures']]


def relations_at(robot, instance):
    """Return when and where a thing was, by the relations of each sight of it."""
    found = []
    for sight in robot.sights:
        if instance in {item['instance'] for item in sight.objects}:
            found.append((sight.stamp_ns, [
                (predicate, other) if subject == instance else (predicate, subject)
                for subject, predicate, other in sight.relations
                if instance == subject and predicate in ('on', 'in') or (
                    instance == other and predicate in ('holds', 'drinks_from'))]))
    return found


def test_the_mug_goes_from_shelf_to_user_to_table_to_sink(robot):
    seen = relations_at(robot, 'red_mug_1')
    assert all(len(where) == 1 for _, where in seen)
    way = [seen[0][1][0]]
    for _, (where,) in seen:
        if where != way[-1]:
            way.append(where)
    assert way == [
        ('on', 'shelf'), ('holds', 'gripper'), ('on', 'counter'), ('holds', 'gripper'),
        ('holds', 'user'), ('drinks_from', 'user'), ('on', 'table'), ('holds', 'gripper'),
        ('in', 'sink')]
    drinking = [at_ns for at_ns, where in seen if where == [('drinks_from', 'user')]]
    began, ended = (nanoseconds(event['at']) for event in TRUTH['events']
                    if event['kind'] in ('drinks', 'drank'))
    assert began <= drinking[0] and drinking[-1] <= ended + 1_000_000


def test_the_other_mug_stays_on_the_shelf(robot):
    seen = relations_at(robot, 'red_mug_2')
    assert len(seen) > 300
    assert {tuple(where) for _, where in seen} == {(('on', 'shelf'),)}


def test_things_were_last_seen_where_they_are(robot):
    for instance, place in TRUTH['last_place'].items():
        seen = relations_at(robot, instance)
        if place != 'dishwasher':  # which is shut
            assert seen[-1][1][0][1] == place, instance


def test_no_report_tells_which_of_two_like_things_it_was(runs, robot):
    instances = set(robot.world.things)
    named = {pair.value for reports in runs.values() for _, report in reports
             for pair in report.parameters}
    assert not named & instances
    assert {'red mug', 'plant', 'water bottle'} <= named


def is_white(pixels: np.ndarray) -> np.ndarray:
    return (pixels.min(axis=-1) > 150) & (np.ptp(pixels, axis=-1) < 70)


def test_pictures_show_two_red_mugs_that_differ(messages, robot):
    whites = {'red_mug_1': [], 'red_mug_2': []}
    for (at_ns, picture), sight in zip(messages[CAMERA], robot.sights, strict=True):
        assert at_ns == sight.stamp_ns
        pixels = np.asarray(Image.open(io.BytesIO(picture.data.tobytes())), np.int16)
        assert pixels.shape == (240, 320, 3)
        for item in sight.objects:
            x1, y1, x2, y2 = item['bbox']
            assert 0 <= x1 < x2 <= 320 and 0 <= y1 < y2 <= 240, item['instance']
            if item['name'] == 'red mug' and x2 - x1 > 24:
                inside = pixels[y1 + 1:y2, x1 + 1:x2]
                is_red = (inside[..., 0] > 100) & (inside[..., 1:].max(axis=2) < 90)
                assert is_red.mean() > 0.2, (item['instance'], at_ns)
                # The middle of the body, below the rim: where the one has its band.
                middle = inside[len(inside) // 2:, 8:18]
                whites[item['instance']].append(is_white(middle).mean())
    assert min(len(found) for found in whites.values()) > 100
    assert np.median(whites['red_mug_1']) > 0.3
    assert np.median(whites['red_mug_2']) < 0.1


def test_joints_move_smoothly_within_reach(messages):
    positions = np.array([state.position for _, state in messages['/joint_states']])
    assert all(state.name == [f'arm_joint_{n}' for n in range(1, 8)]
               for _, state in messages['/joint_states'])
    assert positions.shape[1] == 7
    assert np.abs(positions).max() < 2.2
    velocities = np.array([state.velocity for _, state in messages['/joint_states']])
    assert 0.3 < np.abs(velocities).max() < 2.0


def test_the_base_drives_no_faster_than_it_can(messages):
    path = [(log_ns, message.pose.pose.position) for log_ns, message in messages['/odom']]
    for (before_ns, a), (after_ns, b) in zip(path, path[1:], strict=False):
        if after_ns - before_ns < 5_000_000_000:
            speed = np.hypot(b.x - a.x, b.y - a.y) / ((after_ns - before_ns) / 1e9)
            assert speed < 1.0


def test_nobody_ever_says_a_phone_number(messages):
    words = [message.text for _, message in messages['/speech']]
    words += [message.data for _, message in messages['/asr']]
    assert any('number' in text for text in words)
    assert not any(character.isdigit() for text in words for character in text)


def test_the_robots_own_words_are_marked(messages):
    for _, utterance in messages['/speech']:
        assert utterance.is_own == (utterance.speaker == 'robot')
    assert {utterance.speaker for _, utterance in messages['/speech']} == {
        'user', 'robot', 'courier', 'Clara'}
