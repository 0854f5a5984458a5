"""What retention drops is gone from the records, while the tree keeps its words, and says so."""

from life_parts import DAY_S, SETTINGS, at, goal, joints, say, see, span
import pytest
from sqlalchemy import func, select

from emv_ros.memory import schema
from emv_ros.memory.details import details
from emv_ros.memory.dropped import marked_within
from emv_ros.memory.queries import Window, members
from emv_ros.memory.retention import retain
from emv_ros.records import ImageRecord, Pose
from emv_ros.settings import Settings, with_values
from emv_ros.timeline import parse_zone
from emv_ros.tree.consolidate import consolidate, waiting_records
from emv_ros.tree.reopening import reopen
from emv_ros.tree.view import TreeView

pytestmark = pytest.mark.both_databases

DAYS = {'motion_days': 2, 'scene_days': 2, 'event_days': 2, 'utterance_days': 2,
        'picture_days': 2}


def live(store):
    """Store a morning: a goal with runs and scenes, words, scenes alone, a stretch of motion."""
    store.add_many([
        goal('tidy the kitchen', 0, 100), *span('MoveTo', 5, 30), *span('Grasp', 40, 90),
        see(10, 'table', 'cup'), see(50, 'cup'), see(60, 'cup', 'hand'), say(95, 'thank you'),
        see(1000, 'sofa'), see(1010, 'sofa', 'cat'), say(1100, 'where is the cat'),
        *(joints(second) for second in range(2000, 2300, 10)),
        *(Pose(stamp_ns=at(second), frame='map', position=(0, 0, 0))
          for second in range(2000, 2300, 10)),
        *(ImageRecord(stamp_ns=at(second), camera='head', sha256=f'{second:064x}',
                      media_type='image/jpeg', width=2, height=2)
          for second in (1005, 2005, 2105)),
        say(30 * DAY_S, 'a month later')])
    consolidate(store, SETTINGS)


def nodes(store, level=3):
    """Return what stands in the rows of nodes up to a level, by id."""
    row = schema.NodeRow
    with store.reading() as session:
        return {node.id: (node.level, node.start_ns, node.end_ns, node.name, node.status,
                          node.summary, node.parent_id)
                for node in session.scalars(select(row).where(row.level <= level))}


def drop(store, **days):
    return retain(store, with_values(Settings(), {
        'memory.max_share': 1.0, **{f'retention.{name}': value
                                    for name, value in (days or DAYS).items()}}),
        now_ns=at(30 * DAY_S + 3600), fresh_s=0.0)


def documents(store):
    row = schema.DocumentRow
    with store.reading() as session:
        return sorted(map(tuple, session.execute(
            select(row.ref_id, row.text).where(row.kind == 'node'))))


@pytest.mark.parametrize('days', [DAYS, {'motion_days': 2}, {'scene_days': 2},
                                  {'utterance_days': 2, 'event_days': 2}])
def test_the_tree_keeps_its_words(store, days):
    live(store)
    before, found = nodes(store, 12), documents(store)
    assert drop(store, **days).dropped.total() > 0
    assert (nodes(store, 12), documents(store)) == (before, found)
    assert sum(waiting_records(store, 'r2').values()) == 0
    report = consolidate(store, SETTINGS)
    assert (report.records, nodes(store, 12)) == (0, before)


@pytest.mark.sqlite_only  # many moments; test_reopening.py has late records on a server
@pytest.mark.parametrize('days', [DAYS, {'scene_days': 2}])
@pytest.mark.parametrize('late', [55, 92, 500, 1005, 2100])
def test_what_comes_late_finds_its_place_beside_what_is_kept(store, days, late):
    live(store)
    before = nodes(store)
    drop(store, **days)
    store.add_many([say(late, 'I come late'), see(late + 1, 'dog'), joints(late + 2)])
    consolidate(store, SETTINGS)
    with store.reading() as session:
        lost = marked_within(session, 1, at(0), at(3000))
        above = set(lost)
        for node_id in lost:
            while (node_id := before.get(node_id, (None,))[-1]) in before:
                above.add(node_id)
        homes = {(kind, ref_id): node_id for kind, ref_id, node_id in session.execute(select(
            schema.NodeMemberRow.kind, schema.NodeMemberRow.ref_id,
            schema.NodeMemberRow.node_id))}
        words = session.scalar(select(schema.UtteranceRow.id).where(
            schema.UtteranceRow.text == 'I come late'))
        roots = session.scalars(select(schema.NodeRow.id).where(
            schema.NodeRow.parent_id.is_(None))).all()
        parents = {row.id: row.parent_id for row in session.execute(
            select(schema.NodeRow.id, schema.NodeRow.parent_id))}
    assert lost
    after = nodes(store)
    # What lost records, and what holds it, is what it was; only groups above may be others.
    assert {key: after[key][:6] for key in above} == {key: before[key][:6] for key in above}
    node_id = homes['utterance', words]
    assert len(roots) == 1
    for key in (node_id, *above):
        while parents[key] is not None:
            key = parents[key]
        assert key == roots[0]
    assert sum(waiting_records(store, 'r2').values()) == 0


def test_a_node_says_what_it_lost(store):
    live(store)
    drop(store, scene_days=2, motion_days=2)
    view = TreeView(store, Window(), parse_zone('UTC'))
    lost = {}
    for node_id in nodes(store):
        item = details(store, 'node', node_id)
        lost[item.values['summary'] or item.values['name']] = item.lost
        assert all(kind in schema.KINDS for kind, _ in (*item.members, *members(store, node_id)))
        view.records(node_id)  # what is left can be read
    # Without pictures of their own, all scenes and the whole motion went.
    assert [kinds for summary, kinds in lost.items() if 'sofa' in summary][0] == ('scene',)
    assert [kinds for summary, kinds in lost.items() if 'joint samples' in summary] == [
        ('joint_sample', 'pose')]
    assert [kinds for summary, kinds in lost.items() if 'where is the cat' in summary] == [()]


def test_words_that_are_taken_back_are_not_kept_by_a_mark(store):
    live(store)
    drop(store, scene_days=2)
    with store.reading() as session:
        grasp = session.scalar(select(schema.SkillEventRow.id).where(
            schema.SkillEventRow.skill == 'Grasp'))
    with store.writing() as session:
        reopen(session, 'skill_event', [grasp])
        session.delete(session.get(schema.SkillEventRow, grasp))
    consolidate(store, SETTINGS)
    with store.reading() as session:
        assert session.scalar(select(func.count()).select_from(schema.NodeRow).where(
            schema.NodeRow.summary.contains('Grasp') | schema.NodeRow.summary.contains('…')
            | (schema.NodeRow.name == 'Grasp'))) == 0
