"""The replay: when messages are due, what it refuses, and that nothing is lost over real topics."""

import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

from limits import SOON_S
import pytest

from emv_ros.demo.replay import Question, Recording, read_questions, read_recording
from emv_ros.errors import ImportFileError
from emv_ros.ingest.bag_salvage import RawMessage, Topic
from emv_ros.timeline import HOUR_NS, SECOND_NS

HERE = Path(__file__).parent
REPLAY = [sys.executable, '-m', 'emv_ros.nodes.replay', '--ros-args']


def recording(*stamps_ns: int) -> Recording:
    topic = Topic('/words', 'std_msgs/msg/String')
    return Recording(Path('bag'), [RawMessage(topic, stamp_ns, b'') for stamp_ns in stamps_ns])


def test_a_long_pause_counts_as_five_seconds_and_all_fits_into_the_duration():
    # pauses of 5 s, 3 h (counts 5 s) and 10 s (counts 5 s): 15 s in all, squeezed into 3 s
    made = recording(0, 5 * SECOND_NS, 3 * HOUR_NS + 5 * SECOND_NS, 3 * HOUR_NS + 15 * SECOND_NS)
    assert made.due_s(3.0) == [0.0, 1.0, 2.0, 3.0]


def test_one_message_or_no_duration_is_due_at_once():
    assert recording(7).due_s(60.0) == [0.0]
    assert recording(7, 7).due_s(60.0) == [0.0, 0.0]
    assert recording(0, SECOND_NS).due_s(0.0) == [0.0, 0.0]


def test_what_is_no_bag_is_refused_by_name(tmp_path):
    with pytest.raises(ImportFileError, match='absent.mcap'):
        read_recording(tmp_path / 'absent.mcap')
    with pytest.raises(ImportFileError, match='holds no bag'):
        read_recording(tmp_path)


def test_a_bag_that_is_cut_off_is_refused(tmp_path):
    whole = next((HERE.parents[1] / 'emv_ros/demo/recording/household').glob('*.mcap')).read_bytes()
    (tmp_path / 'cut.mcap').write_bytes(whole[:len(whole) // 2])
    with pytest.raises(ImportFileError, match='cannot be replayed'):
        read_recording(tmp_path / 'cut.mcap')


def test_five_questions_of_which_one_is_spoken():
    questions = read_questions()
    assert [question.via for question in questions].count('service') == 4
    assert [question.via for question in questions].count('speech') == 1
    expected = json.loads((HERE / 'expected.json').read_text(encoding='utf-8'))
    assert [question.text for question in questions] == [one['question'] for one in expected]


@pytest.mark.parametrize(('content', 'complaint'), [
    ('{', 'cannot read'), ('{}', 'no list'), ('[{"via": "speech"}]', 'question 1 .* no text'),
    ('[{"question": "a"}, {"question": "b", "via": "mail"}]', "question 2 .* 'mail'")])
def test_bad_questions_are_refused_by_their_number(tmp_path, content, complaint):
    file = tmp_path / 'questions.json'
    file.write_text(content, encoding='utf-8')
    with pytest.raises(ImportFileError, match=complaint):
        read_questions(file)


def test_a_question_goes_to_the_service_by_default(tmp_path):
    file = tmp_path / 'questions.json'
    file.write_text('[{"question": " why? "}]', encoding='utf-8')
    assert read_questions(file) == [Question('why?', 'service')]


def environment(domain: int) -> dict[str, str]:
    return {**os.environ, 'ROS_DOMAIN_ID': str(domain), 'PYTHONPATH': str(HERE.parents[1])}


@pytest.mark.ros
def test_nothing_is_lost_between_two_processes():
    sent = read_recording()
    listener = subprocess.Popen(
        [sys.executable, str(HERE / 'listener.py'), '90'], env=environment(71),
        stdout=subprocess.PIPE, text=True)
    try:
        replay = subprocess.run(
            [*REPLAY, '-p', 'duration_s:=12.0'], env=environment(71), capture_output=True,
            text=True, timeout=120, check=False)
        heard, _ = listener.communicate(timeout=120)
    finally:
        listener.kill()
    assert replay.returncode == 0, replay.stderr
    account = json.loads(replay.stdout)
    assert account['published'] == sent.counts()
    assert account['messages'] == len(sent.messages)
    assert account['is_whole']
    assert all(account['confirmed'].values())
    assert 12.0 <= account['duration_s'] < 20.0
    stamps = json.loads(heard)
    assert {topic: len(found) for topic, found in stamps.items()} == sent.counts()
    # Read by the generated classes, each message says when it was recorded.
    for topic in stamps.keys() - {'/asr', '/speech'}:
        assert stamps[topic] == [
            message.log_ns for message in sent.messages if message.topic.name == topic], topic


@pytest.mark.ros
@pytest.mark.parametrize(('arguments', 'status', 'complaint'), [
    (['recording:=/nowhere/at.mcap'], 1, '/nowhere/at.mcap'),
    (['duration_s:=-1.0'], 2, 'must not be negative'),
    (['duration_s:=soon'], 2, 'duration_s'),
    (['wait_s:=0.5'], 1, 'nobody listens to any of /asr, /camera/image_raw/compressed')])
def test_it_says_why_it_cannot_replay(arguments, status, complaint):
    options = [part for argument in arguments for part in ('-p', argument)]
    ended = subprocess.run([*REPLAY, *options], env=environment(72), capture_output=True, text=True,
                           timeout=60, check=False)
    assert ended.returncode == status
    assert complaint in ended.stderr
    assert not ended.stdout


@pytest.mark.ros
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(number):
    listener = subprocess.Popen(
        [sys.executable, str(HERE / 'listener.py'), '60'], env=environment(73),
        stdout=subprocess.DEVNULL)
    replay = subprocess.Popen(
        [*REPLAY, '-p', 'duration_s:=100.0'], env=environment(73), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)
    try:
        line = replay.stderr.readline()  # said when the first message goes out
        assert 'replaying' in line
        replay.send_signal(number)
        begin_s = time.monotonic()
        stdout, stderr = replay.communicate(timeout=30)
        assert time.monotonic() - begin_s < SOON_S
    finally:
        listener.kill()
        replay.kill()
        listener.wait()
    assert replay.returncode == 0, stderr
    assert 'Traceback' not in stderr
    assert not stdout or not json.loads(stdout)['is_whole']
