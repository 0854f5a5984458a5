"""Forgetting over real DDS: preview, confirm, feedback, cancel, one at a time, errors told."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Time
from stand_in import result_of, sent, wait_until

from emv_ros import srv
from emv_ros.action import ForgetMemory
from emv_ros.memory.clearing import alone
from emv_ros.memory.store import MemoryStore
from emv_ros.msg import Evidence
from emv_ros.records import SkillReport, Status, Utterance
from emv_ros.settings import MemorySettings
from emv_ros.timeline import SECOND_NS

pytestmark = pytest.mark.ros
START_S = 1_750_000_000
SECRET = 'quetzalcoatl77'
Feedback, Result = ForgetMemory.Feedback, ForgetMemory.Result


def at(seconds):
    return (START_S + seconds) * SECOND_NS


@pytest.fixture
def served(start):
    with MemoryStore.open(MemorySettings(), start.folder) as store:
        store.add_many([
            Utterance(stamp_ns=at(0), speaker='Anna', text=f'the word is {SECRET}'),
            Utterance(stamp_ns=at(10), speaker='Ben', text='bring the milk'),
            *(Utterance(stamp_ns=at(100 + n), speaker='Ben', text=f'number {n}')
              for n in range(40)),
            SkillReport(stamp_ns=at(20), skill='Fetch', status=Status.SUCCEEDED)])
    return start('query', model__model='none', retrieval__embedder='none')


@pytest.fixture
def client(robot):
    client = robot.action_client(ForgetMemory, 'forget_memory')
    yield client
    robot.end(client)


def files_with(folder):
    return [file.name for file in folder.rglob('*')
            if file.is_file() and SECRET.encode() in file.read_bytes()]


def speech(robot, text):
    found = robot.call(srv.SearchEpisodicMemory, 'search_episodic_memory', text=text, k=5)
    return [item.text for item in found.evidence]


def test_a_preview_then_for_good(served, robot, client, start):
    asked = {'text': SECRET, 'author': 'Anna', 'reason': 'asked to'}
    reply = result_of(sent(client, ForgetMemory.Goal(**asked)))
    told = reply.result
    assert (reply.status, told.status) == (GoalStatus.STATUS_SUCCEEDED, Result.STATUS_OK)
    assert told.counts.utterances == 1 and not told.audit_id and files_with(start.folder)
    assert SECRET in ' '.join(speech(robot, SECRET))

    steps = []
    handle = sent(client, ForgetMemory.Goal(confirm=True, **asked),
                  lambda message: steps.append(message.feedback.phase))
    done = result_of(handle).result
    assert (done.status, done.counts.utterances, done.audit_id) == (Result.STATUS_OK, 1, '1')
    assert done.bytes_freed >= 0 and done.duration_s > 0
    wait_until(lambda: Feedback.PHASE_INDEX in steps, 'the last phase')
    assert {Feedback.PHASE_COUNTING, Feedback.PHASE_RECORDS, Feedback.PHASE_SUMMARIES} <= set(steps)
    assert SECRET not in ' '.join(speech(robot, SECRET)) and files_with(start.folder) == []
    assert speech(robot, 'milk')  # what the open node keeps of search still fits


@pytest.mark.parametrize(('fields', 'status', 'words'), [
    ({}, 'INVALID_REQUEST', 'nothing says'),
    ({'ids': ['mug']}, 'INVALID_REQUEST', "'mug'"),
    ({'ids': ['u999']}, 'NOT_FOUND', 'u999'),
    ({'robots': ['r9'], 'text': 'x'}, 'NOT_FOUND', "'r9'"),
    ({'text': 'giraffe'}, 'NOT_FOUND', 'no record fits'),
    ({'kinds': [99]}, 'INVALID_REQUEST', '99'),
    ({'kinds': [Evidence.KIND_NODE]}, 'INVALID_REQUEST', 'by id'),
    ({'start': Time(sec=START_S + 5), 'end': Time(sec=START_S)}, 'INVALID_REQUEST', 'ends before'),
    ({'ids': ['u1'], 'confirm': True}, 'INVALID_REQUEST', 'author'),
    ({'speakers': ['ben'], 'confirm': True, 'author': 'x'}, 'INVALID_REQUEST', 'max_share')])
def test_what_is_refused_is_told(shared, robot, fields, status, words):
    client, folder = shared
    reply = result_of(sent(client, ForgetMemory.Goal(**fields)))
    assert reply.status == GoalStatus.STATUS_ABORTED
    assert reply.result.status == getattr(Result, f'STATUS_{status}')
    assert words in reply.result.message, reply.result.message
    assert files_with(folder)


@pytest.fixture(scope='module')
def shared(start_all, robot):
    with MemoryStore.open(MemorySettings(), start_all.folder) as store:
        store.add_many(Utterance(stamp_ns=at(n), speaker='Ben', text=f'{SECRET} {n}')
                       for n in range(40))
    start_all('query', model__model='none', retrieval__embedder='none')
    client = robot.action_client(ForgetMemory, 'forget_memory')
    yield client, start_all.folder
    robot.end(client)


def test_while_another_forgets_it_is_busy_and_questions_are_answered(shared, robot):
    client, folder = shared
    goal = ForgetMemory.Goal(ids=['u1'], confirm=True, author='x')
    with alone(folder):
        busy = result_of(sent(client, goal)).result
        assert busy.status == Result.STATUS_BUSY and 'another forgetting' in busy.message
    # A writer holds the database: the forgetting waits for it, and nobody for the forgetting.
    with MemoryStore.open(MemorySettings(), folder) as store:
        with store.writing():
            handle = sent(client, goal)
            assert speech(robot, SECRET)
            wait_until(handle.cancel_goal_async().done, 'the answer to the cancel')
        reply = result_of(handle)
        assert reply.status == GoalStatus.STATUS_CANCELED
        assert reply.result.status == Result.STATUS_CANCELED
        assert store.get('utterance', 1).text.startswith(SECRET)
    forced = ForgetMemory.Goal(speakers=['BEN'], confirm=True, author='x', force=True)
    assert result_of(sent(client, forced)).result.counts.utterances == 40
    assert files_with(folder) == []
