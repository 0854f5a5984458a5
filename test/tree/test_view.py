"""What a reader sees: children, days, overlaps, records, nothing after the question."""

from dataclasses import replace

from life_parts import DAY_S, UTC, at, joints, say, see, shape, span, told
import pytest

from emv_ros.errors import NotFoundError
from emv_ros.memory.queries import Window
from emv_ros.records import ImageRecord
from emv_ros.timeline import Interval, parse_zone
from emv_ros.tree.render import render_node, render_tree
from emv_ros.tree.view import TreeView


def the_view(store, **window):
    return TreeView(store, Window(**window), UTC)


def find(view, name, node_id=None):
    node = view.root if node_id is None else view.node(node_id)
    if name in (node.name, node.summary):
        return node
    return next((found for child in view.children(node.id)
                 if (found := find(view, name, child.id)) is not None), None)


@pytest.fixture
def life(store):
    shape(store, [*span('Cook', 0, 3600, status='failed'), *span('Stir', 60, 120, ['Cook']),
                  say(600, 'is it done?'), *span('Serve', 4000, 4010),
                  *span('Wake', 2 * DAY_S, 2 * DAY_S + 5), see(2 * DAY_S + 1, 'mug')])
    return store


def test_paths_and_children(life):
    view = the_view(life)
    stir = find(view, 'Stir')
    assert [node.name for node in view.path(stir.id)] == [
        'week 2024-03 W10', 'day 2024-03-04', 'Cook', 'Stir']
    assert [child.name for child in view.children(find(view, 'Cook').id)] == ['Stir', '']
    assert view.children(stir.id) == []
    with pytest.raises(NotFoundError, match='n9999'):
        view.node(9999)


def test_children_that_overlap_an_interval_as_intervals(life):
    view = the_view(life)
    day = find(view, 'day 2024-03-04')
    inside = Interval(at(600), at(1200))  # ten minutes within an hour
    assert [node.name for node in view.overlapping(day.id, inside)] == ['Cook']
    assert [node.name for node in view.overlapping(day.id, Interval(at(3600), at(4000)))] == []
    assert [node.name for node in view.overlapping(day.id, Interval(at(3900), at(4001)))] == [
        'Serve']
    words = view.overlapping(find(view, 'Cook').id, Interval(at(600), at(600)))
    assert [node.summary for node in words] == ['user said "is it done?"']


def test_days_that_have_records(life):
    view = the_view(life)
    assert [node.name for node in view.days()] == ['day 2024-03-04', 'day 2024-03-06']
    assert [node.name for node in view.days(at(DAY_S), at(3 * DAY_S))] == ['day 2024-03-06']


def test_records_of_a_node_and_below(life):
    view = the_view(life)
    records = view.records(find(view, 'Cook').id)
    assert [getattr(record, 'skill', getattr(record, 'text', '')) for record in records] == [
        'Cook', 'Stir', 'is it done?']
    (run, scene) = view.records(find(view, 'Wake').id)
    assert (run.skill, scene.objects[0].name) == ('Wake', 'mug')
    assert len(view.records(view.root.id, limit=3)) == 3


def test_records_are_those_of_the_window_where_a_node_reaches_out_of_it(life):
    view = the_view(life, start_ns=at(90), end_ns=at(600))
    assert [record.skill for record in view.records(view.root.id)] == ['Cook', 'Stir']
    view = the_view(life, start_ns=at(600), end_ns=at(4000))
    assert [getattr(record, 'skill', 'words') for record in view.records(view.root.id)] == [
        'Cook', 'words']


def test_the_node_that_covers_a_record(life):
    view = the_view(life)
    (run, scene) = view.records(find(view, 'Wake').id)
    assert view.covering('scene', scene.id).name == 'Wake'
    assert view.covering('skill_event', run.id).name == 'Wake'
    sample = life.add(joints(90))
    assert view.covering('joint_sample', sample).name == 'Stir'
    assert view.covering('scene', 12345) is None


def test_an_event_of_pictures_gives_its_pictures(store):
    store.add_many([ImageRecord(stamp_ns=at(n), camera='c', sha256=str(n), media_type='image/png',
                                width=1, height=1) for n in range(5)])
    shape(store)
    view = the_view(store)
    event = view.children(view.root.id)[0]
    assert [record.sha256 for record in view.records(event.id)] == list('01234')
    narrow = the_view(store, start_ns=at(1), end_ns=at(3))
    assert [record.sha256 for record in narrow.records(event.id)] == list('12')


def test_nothing_later_than_the_question_is_seen(life):
    view = the_view(life, before_ns=at(3000))
    assert told(view) == (13, view.root.summary, [(2, 'Stir'), (2, 'user said "is it done?"')])
    assert 'Serve' not in view.root.summary and 'failed' not in view.root.summary
    cook = find(the_view(life), 'Cook')
    with pytest.raises(NotFoundError):
        view.node(cook.id)
    assert [node.name or node.summary for node in view.days()] == [
        'Stir', 'user said "is it done?"']
    assert [node.name for node in view.path(find(view, 'Stir').id)] == ['', 'Stir']
    after = the_view(life, before_ns=at(DAY_S))
    assert after.root.name == 'day 2024-03-04'
    assert after.covering('skill_event', find(the_view(life), 'Wake').id) is None


def test_several_robots_have_a_virtual_root(life):
    life.add_many([replace(record, robot='r3') for record in span('Fly', 100, 200)])
    shape(life)
    view = the_view(life)
    assert (view.root.id, view.root.robot) == (0, 'r2, r3')
    assert {child.robot for child in view.children(0)} == {'r2', 'r3'}
    assert the_view(life, robots=('r3',)).root.name == 'day 2024-03-04'
    with pytest.raises(NotFoundError):
        the_view(life, robots=('r3',)).node(find(view, 'Stir').id)


def test_a_span_of_the_window_hides_what_lies_outside(life):
    view = the_view(life, start_ns=at(DAY_S), end_ns=at(3 * DAY_S))
    assert [child.name for child in view.children(view.root.id)] == ['day 2024-03-06']


def test_lines_for_a_terminal(life):
    view = TreeView(life, Window(), parse_zone('Europe/Berlin'))
    stir, cook = find(view, 'Stir'), find(view, 'Cook')
    assert render_node(stir, view.zone) == (
        f'n{stir.id} L2 2024-03-04 10:01:00 to 10:02:00 ✓ Stir succeeded after 1 min 00 s')
    lines = render_tree(view, tops=view.days()[:1]).splitlines()
    assert lines[1].startswith(f'  n{cook.id} L3 10:00:00 to 11:00:00 ✗ Cook failed after 1 h')
    assert lines[2] == f'    n{stir.id} L2 10:01:00 to 10:02:00 ✓ Stir succeeded after 1 min 00 s'
    assert all(len(line) <= 60 for line in render_tree(view, width=60).splitlines())
    levels = {line.split()[1] for line in render_tree(view, level=8).splitlines()}
    assert levels == {'L9', 'L8'}
    assert len(render_tree(view, depth=0).splitlines()) == 1
