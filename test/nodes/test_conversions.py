"""Records to messages and back, with the right values."""

from __future__ import annotations

import math

import pytest

pytest.importorskip('rclpy')

from emv_ros import action, msg, srv
from emv_ros.agent.answers import Answer, EvidenceItem, Progress, QueryStatus
from emv_ros.errors import RecordError
from emv_ros.nodes import conversions
from emv_ros.nodes.topic_state import TopicHealth
from emv_ros.records import ID_LETTERS, Node, SkillEvent, Status
from emv_ros.timeline import SECOND_NS

pytestmark = pytest.mark.ros


@pytest.mark.parametrize('stamp_ns, sec, nanosec', [
    (None, 0, 0), (5 * SECOND_NS + 12, 5, 12), (5 * SECOND_NS + 120_000_000, 5, 120_000_000),
    (2**31 * SECOND_NS, 2**31 - 1, 999_999_999)])
def test_times(stamp_ns, sec, nanosec):
    time = conversions.time_to_ros(stamp_ns)
    assert (time.sec, time.nanosec) == (sec, nanosec)
    if stamp_ns is None or sec < 2**31 - 1:
        assert conversions.time_from_ros(time) == stamp_ns


def constants(kind, prefix):
    return {name: getattr(kind, name) for name in dir(kind) if name.startswith(prefix)}


def test_enums_twin_the_constants():
    response = srv.QueryEpisodicMemory.Response
    assert constants(response, 'STATUS_') == {
        f'STATUS_{item}': number for number, item in enumerate(QueryStatus)}
    assert constants(msg.SkillEvent, 'STATUS_') == {
        f'STATUS_{item.name}': number for number, item in enumerate(Status)}
    assert constants(msg.TopicStatus, 'STATE_') == {
        f'STATE_{item.name}': int(item) for item in TopicHealth}
    kinds = constants(msg.Evidence, 'KIND_')
    assert {f'KIND_{name.upper()}': number for name, number in conversions.KINDS.items()} == {
        name: number for name, number in kinds.items() if name != 'KIND_UNKNOWN'}
    assert set(ID_LETTERS) - {'query'} <= set(conversions.KINDS)
    feedback = action.QueryEpisodicMemory.Feedback
    assert set(conversions.PHASES.values()) | {'PHASE_UNKNOWN'} == set(
        constants(feedback, 'PHASE_'))
    assert set(conversions.COUNTS) == set(msg.RecordCounts.get_fields_and_field_types())


def test_a_question_without_a_time_is_asked_now():
    request = srv.QueryEpisodicMemory.Request(question='When?', robots=['a', ''])
    request.end.sec = 9
    question = conversions.question_from_ros(request, 77)
    assert (question.text, question.query_time_ns, question.robots) == ('When?', 77, ('a',))
    assert (question.start_ns, question.end_ns) == (None, 9 * SECOND_NS)
    request.query_time.sec = 5
    assert conversions.question_from_ros(request, 77).query_time_ns == 5 * SECOND_NS


@pytest.mark.parametrize('change', [
    {'question': ' '}, {'time_limit_s': -1.0}, {'time_limit_s': math.nan},
    {'session_id': 'yesterday'}])
def test_a_request_that_makes_no_sense(change):
    request = srv.QueryEpisodicMemory.Request(**{'question': 'When?', **change})
    with pytest.raises(RecordError):
        conversions.question_from_ros(request, 1)


def test_a_window_backwards():
    request = srv.GetEvents.Request()
    request.start.sec, request.end.sec = 9, 8
    with pytest.raises(RecordError, match='ends before'):
        conversions.window_from_ros(request)


def test_an_answer():
    item = EvidenceItem(id='u4', kind='utterance', robot='r', start_ns=3 * SECOND_NS,
                        end_ns=4 * SECOND_NS, text='hello')
    answer = Answer(status=QueryStatus.LIMIT, answer='a', message='m', evidence=(item,), query_id=8,
                    rounds=2, prompt_tokens=10, completion_tokens=5, duration_s=1.5, model='x')
    result = conversions.answer_to_ros(answer, srv.QueryEpisodicMemory.Response())
    assert (result.status, result.query_id, result.rounds) == (result.STATUS_LIMIT, 'q8', 2)
    assert (result.evidence[0].id, result.evidence[0].kind) == ('u4', msg.Evidence.KIND_UTTERANCE)
    assert math.isnan(result.evidence[0].score)


def test_progress():
    feedback = conversions.progress_to_ros(
        Progress(phase='thinking', round=2), 3.0, action.QueryEpisodicMemory.Feedback())
    assert (feedback.phase, feedback.round) == (feedback.PHASE_MODEL, 2)


def test_parameters_read_back():
    from emv_ros.ingest.skills import parameters_of

    parameters = {'text': 'cup', 'digits': '7', 'word': 'true', 'number': 2.5, 'flag': False,
                  'nested': {'a': [1, None]}, 'empty': '', 'quoted': '"x"'}
    assert parameters_of(conversions.parameters_to_ros(parameters)) == parameters


def test_an_event_that_runs_and_a_node():
    event = conversions.event_to_ros(SkillEvent(
        id=3, stamp_ns=SECOND_NS, skill='wipe', status=Status.RUNNING, goal_stack=('tidy',),
        transitions=(('preparing', SECOND_NS), ('running', 2 * SECOND_NS))))
    assert (event.id, event.has_end, list(event.transition_statuses)) == ('s3', False, [1, 2])
    node = conversions.node_to_ros(Node(
        id=4, robot='r', level=3, start_ns=SECOND_NS, end_ns=2 * SECOND_NS, summary='s', name='g',
        status='failed', parent_id=9, prompt_tokens=3, completion_tokens=4), [5, 6])
    assert (node.id, node.parent_id, list(node.child_ids)) == ('n4', 'n9', ['n5', 'n6'])
    assert (node.status, node.tokens) == (msg.SkillEvent.STATUS_FAILED, 7)
