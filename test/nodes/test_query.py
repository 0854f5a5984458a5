"""Questions and look-ups over real DDS, with a real model behind HTTP that is slow."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from action_msgs.msg import GoalStatus
from sample import PNG, filled
from stand_in import asking, result_of, sent, wait_until
from std_msgs.msg import String

from emv_ros import action, srv
from emv_ros.msg import Evidence, SkillEvent

pytestmark = pytest.mark.ros
@pytest.fixture(scope='module')
def served(start_all):
    """A query node without a model."""
    start_all('query', filled(start_all.folder), model__model='none', retrieval__embedder='none')


def test_look_ups(served, robot):
    found = robot.call(srv.GetEvents, 'get_events', skill='grasp object')
    assert (found.status, found.total) == (found.STATUS_OK, 2)
    first, second = found.events
    assert (first.skill, first.status, second.status) == (
        'GraspObject', SkillEvent.STATUS_SUCCEEDED, SkillEvent.STATUS_FAILED)
    assert first.start.sec == 1_750_000_000 and first.end.sec == 1_750_000_005 and first.has_end
    assert list(first.transition_statuses) == [
        SkillEvent.STATUS_RUNNING, SkillEvent.STATUS_SUCCEEDED]
    # The text 7 stays a text, the number 2 a number.
    assert {item.key: item.value for item in first.parameters} == {
        'object': 'milk', 'code': '"7"', 'force': '2'}
    failed = robot.call(
        srv.GetEvents, 'get_events', statuses=[SkillEvent.STATUS_FAILED], newest_first=True)
    assert [event.id for event in failed.events] == [second.id]
    assert robot.call(srv.GetEvents, 'get_events', skill='dance').status == found.STATUS_NOT_FOUND
    bad = robot.call(srv.GetEvents, 'get_events', statuses=[99])
    assert bad.status == bad.STATUS_INVALID_REQUEST and '99' in bad.message

    found = robot.call(srv.SearchEpisodicMemory, 'search_episodic_memory', text='bring milk')
    assert found.status == found.STATUS_OK and found.method == found.METHOD_LEXICAL
    assert found.evidence[0].kind in (Evidence.KIND_UTTERANCE, Evidence.KIND_SKILL_EVENT)

    found = robot.call(srv.GetEvidenceImage, 'get_evidence_image', evidence_ids=[first.id])
    assert bytes(found.images[0].data) == PNG and found.images[0].header.frame_id == 'head'
    assert list(found.evidence_ids) == [first.id] and found.image_ids[0].startswith('i')
    missing = robot.call(srv.GetEvidenceImage, 'get_evidence_image', evidence_ids=['i99'])
    assert missing.status == missing.STATUS_NOT_FOUND and '99' in missing.message
    odd = robot.call(srv.GetEvidenceImage, 'get_evidence_image', evidence_ids=['milk'])
    assert odd.status == odd.STATUS_INVALID_REQUEST

    found = robot.call(srv.GetEpisodes, 'get_episodes')
    assert found.status == found.STATUS_NOT_FOUND and found.message
    found = robot.call(srv.GetBiography, 'get_biography', name='cup', max_observations=1)
    assert found.total == 2 and {item.id for item in found.entities} == {'cup_1', 'cup_2'}
    cup = next(item for item in found.entities if item.id == 'cup_1')
    assert cup.observation_count == 2 and len(cup.observations) == 1 and len(cup.also_seen) == 1
    found = robot.call(srv.GetBiography, 'get_biography', entity_ids=['cup_2', 'e3'])
    assert found.total == 1 and found.entities[0].id == 'cup_2'
    page = robot.call(srv.GetBiography, 'get_biography', name='cup', limit=1, offset=1)
    assert page.total == 2 and [item.id for item in page.entities] == ['cup_2']
    missing = robot.call(srv.GetBiography, 'get_biography', entity_ids=['e3'])
    assert missing.status == missing.STATUS_NOT_FOUND and missing.message

    found = robot.call(srv.SearchEpisodicMemory, 'search_episodic_memory', text='cup')
    seen = {item.id: [part.id for part in item.observations] for item in found.entities}
    assert seen == {'cup_1': ['o1', 'o3'], 'cup_2': ['o2']}

    def page(offset):
        return robot.call(srv.SearchEpisodicMemory, 'search_episodic_memory', text='cup', k=1,
                          offset=offset)

    whole = robot.call(srv.SearchEpisodicMemory, 'search_episodic_memory', text='cup', k=50)
    assert not whole.is_limited and whole.total > 1
    shown = [item.id for offset in range(whole.total)
             for found in [page(offset)] for item in (*found.nodes, *found.evidence)]
    assert len(set(shown)) == len(shown) == whole.total
    beyond = page(whole.total)
    assert beyond.status == beyond.STATUS_OK and beyond.total == whole.total
    assert not beyond.evidence and not beyond.nodes


def test_without_a_model_a_question_is_looked_up(served, robot):
    answer = robot.call(srv.QueryEpisodicMemory, 'query_episodic_memory',
                        question='Who asked to bring the milk?')
    assert answer.status == answer.STATUS_RETRIEVED_ONLY and 'milk' in answer.answer
    assert answer.evidence and answer.query_id.startswith('q') and answer.message
    empty = robot.call(srv.QueryEpisodicMemory, 'query_episodic_memory', question='  ')
    assert empty.status == empty.STATUS_ERROR and 'empty' in empty.message
    client = asking(robot)
    reply = result_of(sent(client, action.QueryEpisodicMemory.Goal(question='milk?')))
    assert reply.status == GoalStatus.STATUS_SUCCEEDED
    assert reply.result.status == reply.result.STATUS_RETRIEVED_ONLY
    robot.end(client)


def test_a_question_from_the_callback_of_another_node(served, robot):
    client = robot.node.create_client(srv.QueryEpisodicMemory, 'query_episodic_memory')
    assert client.wait_for_service(20)
    answers = []

    def ask(message):
        request = srv.QueryEpisodicMemory.Request(question=message.data)
        client.call_async(request).add_done_callback(lambda done: answers.append(done.result()))

    robot.node.create_subscription(String, 'heard', ask, 10)
    robot.publisher(String, 'heard').publish(String(data='Who wanted the milk?'))
    answer = wait_until(lambda: answers, 'an answer')[0]
    assert answer.status == answer.STATUS_RETRIEVED_ONLY
    robot.node.destroy_client(client)
