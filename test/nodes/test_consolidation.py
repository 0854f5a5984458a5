"""The consolidation node over real DDS: on its timer, when asked, canceled inside a model call."""

from __future__ import annotations

import time

from limits import SOON_S
import pytest

pytest.importorskip('rclpy')

from action_msgs.msg import GoalStatus
from slow_model import SlowModel, serving
from stand_in import result_of, sent, wait_until

from emv_ros import srv
from emv_ros.action import Consolidate
from emv_ros.memory import queries
from emv_ros.memory.store import MemoryStore
from emv_ros.msg import EpisodeNode, SkillEvent
from emv_ros.records import SkillReport, Status
from emv_ros.settings import MemorySettings
from emv_ros.timeline import HOUR_NS, SECOND_NS

pytestmark = pytest.mark.ros
NOON_NS = 1_750_000_000 * SECOND_NS


def filled(folder, runs=6):
    """Return a memory with runs of a skill, two hours apart."""
    with MemoryStore.open(MemorySettings(), folder) as store:
        for run in range(runs):
            for second, status in ((0, Status.RUNNING), (9, Status.SUCCEEDED)):
                store.add(SkillReport(
                    stamp_ns=NOON_NS + run * 2 * HOUR_NS + second * SECOND_NS, skill='Wipe',
                    status=status, source_id=f'run{run}', goal_stack=('Clean',)))
    return folder


def test_on_its_timer_and_when_asked(start, robot, tmp_path):
    folder = filled(tmp_path / 'memory')
    quiet = {'model__model': 'none', 'retrieval__embedder': 'none'}
    start('consolidation', folder, tree__period_s=600.0, **quiet)
    start('query', folder, **quiet)
    client = robot.action_client(Consolidate, 'consolidate')
    steps = []
    reply = result_of(sent(client, Consolidate.Goal(), lambda item: steps.append(item.feedback)))
    assert reply.status == GoalStatus.STATUS_SUCCEEDED, reply.result
    done = reply.result
    assert (done.status, done.unconsolidated, done.tokens) == (done.STATUS_OK, 0, 0)
    assert done.nodes_made >= 6
    assert {step.phase for step in steps} >= {steps[0].PHASE_EVENTS, steps[0].PHASE_INDEX}
    again = result_of(sent(client, Consolidate.Goal())).result
    assert (again.status, again.nodes_made, again.nodes_removed) == (again.STATUS_OK, 0, 0)
    refused = result_of(sent(client, Consolidate.Goal(rebuild=True)))
    assert refused.status == GoalStatus.STATUS_ABORTED
    assert refused.result.status == refused.result.STATUS_UNSUPPORTED and refused.result.message

    found = robot.call(srv.GetEpisodes, 'get_episodes', level=2)
    assert [(node.name, node.status) for node in found.nodes] == [
        ('Wipe', SkillEvent.STATUS_SUCCEEDED)] * 6
    assert all(node.made_by == EpisodeNode.MADE_BY_RULE for node in found.nodes)
    root, = robot.call(srv.GetEpisodes, 'get_episodes').nodes
    assert root.child_ids and root.start.sec == 1_750_000_000
    below = robot.call(srv.GetEpisodes, 'get_episodes', node_ids=[root.id], depth=1).nodes
    assert [node.id for node in below] == [root.id, *root.child_ids]
    status = wait_until(
        lambda: (now := robot.statuses['consolidation']).last_consolidation.sec and now, 'status')
    assert abs(status.last_consolidation.sec - time.time()) < 60
    robot.end(client)


def test_the_timer_takes_what_comes(start, robot, tmp_path):
    folder = filled(tmp_path / 'memory', runs=1)
    start('consolidation', folder, tree__period_s=0.3, model__model='none',
          retrieval__embedder='none')
    with MemoryStore.open(MemorySettings(), folder) as store:
        wait_until(lambda: queries.nodes(store, level=2), 'an event')
        store.add(SkillReport(stamp_ns=NOON_NS + HOUR_NS, skill='Rest', status=Status.SUCCEEDED))
        wait_until(lambda: len(queries.nodes(store, level=2)) == 2, 'the next event')


def test_cancel_inside_a_model_call(start, robot, tmp_path):
    folder = filled(tmp_path / 'memory', runs=40)
    model = SlowModel('{}', 30.0)
    with serving(model) as url:
        start('consolidation', folder, tree__period_s=600.0, retrieval__embedder='none',
              model__model='openai/slow', model__api_base=url)
        client = robot.action_client(Consolidate, 'consolidate')
        handle = sent(client, Consolidate.Goal())
        wait_until(lambda: model.calls, 'a call of the model', 40)
        began = time.monotonic()
        handle.cancel_goal_async()
        reply = result_of(handle)
        assert time.monotonic() - began < SOON_S
        assert reply.status == GoalStatus.STATUS_CANCELED
        assert reply.result.status == reply.result.STATUS_CANCELED
        assert reply.result.nodes_made >= 40  # what was done stays
        robot.end(client)
