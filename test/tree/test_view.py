"""What a reader sees: children, days, overlaps, records, nothing after the question."""

from dataclasses import replace

from life_parts import DAY_S, UTC, at, joints, say, see, shape, span, told
import pytest
from sqlalchemy import event

from emv_ros.errors import NotFoundError
from emv_ros.memory.queries import Window
from emv_ros.records import ImageRecord
from emv_ros.timeline import Interval, parse_zone
from emv_ros.tree.branches import grow, way_to
from emv_ros.tree.cells import cells, clipped, padded
from emv_ros.tree.render import render_node, render_tree
from emv_ros.tree.texts import clip
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


def test_what_was_recorded_beside_the_first_and_last_event_belongs_to_their_day(store):
    samples = store.add_many([joints(-20), joints(40), joints(DAY_S - 30), joints(DAY_S + 50)])
    shape(store, [*span('Go', 0, 30), *span('Stay', DAY_S, DAY_S + 30)])
    view = the_view(store)
    assert [view.covering('joint_sample', sample).name for sample in samples] == [
        'day 2024-03-04', 'day 2024-03-04', 'day 2024-03-05', 'day 2024-03-05']
    assert view.covering('joint_sample', store.add(joints(DAY_S + 60))) is None  # it waits


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


def test_what_stands_in_parentheses(store):
    shape(store, [*span('Cook', 0, 3600), *span('Stir', 60, 120, ['Cook']),
                  *span('Fry', 4000, 4001, status='running')[:1]])
    day = the_view(store).root
    with store.node_writer() as writer:
        writer.update(day.id, made_by='model')
    first, cook, stir, fry = render_tree(the_view(store)).splitlines()
    assert first.split(') ')[0].endswith('(model, open')
    assert '(' not in cook.split('succeeded')[0] and '(' not in stir  # goals need no maker
    assert '(open) … Fry' in fry
    assert '(model, open, 2 below)' in render_tree(the_view(store), depth=0)
    only, below = render_tree(the_view(store), level=3).splitlines()
    assert '(model, open, 1 below)' in only and '(1 below) ✓ Cook' in below
    for maker, word in (('calendar', 'template'), ('rule', 'rule')):
        with store.node_writer() as writer:
            writer.update(day.id, made_by=maker)
        assert f'({word}, open)' in render_tree(the_view(store))


def test_too_many_children_are_cut_with_the_command_that_shows_them(store):
    shape(store, [*span('Count', 0, 900), *(run for n in range(500) for run in span(
        f'Tick{n}', n, n + 0.01, ['Count']))])
    view = the_view(store)
    count = find(view, 'Count')
    lines = render_tree(view, tops=[count]).splitlines()
    assert len(lines) == 52
    assert lines[-1] == f'  … 450 more: emv tree n{count.id} --children 500'
    assert len(render_tree(view, tops=[count], most=500).splitlines()) == 501
    one, = grow(view, [count], most=3)
    assert ([child.node.name for child in one.children], one.more, one.below) == (
        ['Tick0', 'Tick1', 'Tick2'], 497, 0)


def test_branches_are_those_that_the_view_has_node_by_node(life):
    life.add_many([replace(record, robot='r3') for record in span('Fly', 100, 200)])
    shape(life)

    def told_of(branch):
        return branch.node, [told_of(child) for child in branch.children]

    for window in ({}, {'robots': ('r3',)}, {'before_ns': at(3000)},
                   {'start_ns': at(60), 'end_ns': at(DAY_S)}, {'before_ns': 0}):
        view = the_view(life, **window)

        def walked(node, view=view):
            return node, [walked(child) for child in view.children(node.id or 0)]

        branch, = grow(view, [view.root])
        assert told_of(branch) == walked(view.root)
        assert branch.more == branch.below == 0


def test_branches_take_a_few_queries_whatever_the_number_of_nodes(store):
    shape(store, [run for n in range(400) for run in span(f'Step{n}', n * 100, n * 100 + 50)])
    queries = []
    event.listen(store._engine, 'before_cursor_execute',
                 lambda *args: queries.append(args[2]))
    view = the_view(store)
    branch, = grow(view, [view.root])
    depth, level = 1, [branch]
    while level := [child for parent in level for child in parent.children]:
        depth += 1
    assert len(queries) < 12 * depth
    queries.clear()
    branch, = grow(view, [view.root], level=8, most=2)
    assert branch.below > 0 and not branch.children and len(queries) < 20


def test_the_way_to_a_record(life):
    view = the_view(life)
    stir = find(view, 'Stir')
    branch, names = way_to(view, stir.id), []
    while True:
        names.append((branch.node.name, branch.more))
        if not branch.children:
            break
        branch, = branch.children
    assert names == [('week 2024-03 W10', 1), ('day 2024-03-04', 1), ('Cook', 1), ('Stir', 0)]


@pytest.mark.parametrize('width', [1, 12, 30, 60, 200])
def test_no_line_is_wider_than_the_terminal(store, width):
    shape(store, [*span('Open', 0, 900), *span('打开冰箱门' * 12, 1, 800, ['Open']),
                  say(5, '😀👍🏽❤️ ' * 30), say(6, 'e\u0301' * 100), say(7, 'word ' * 50),
                  *(run for n in range(12) for run in span(
                      f'S{n}', 10 + n, 400 - n, [f'S{m}' for m in range(n)]))])
    lines = render_tree(the_view(store), width=width).splitlines()
    assert all(cells(line) <= width for line in lines)
    if width >= 12:
        assert all(line.split()[0][0] == 'n' for line in lines)  # the id is always there
    if width == 60:
        assert any('冰箱门打' in line for line in lines)  # cut where no space is


@pytest.mark.parametrize(('text', 'width'), [
    ('milk', 4), ('冰箱', 4), ('e\u0301', 1), ('👍', 2), ('❤️', 2), ('가나', 4), ('½…', 2), ('', 0)])
def test_cells(text, width):
    assert cells(text) == width
    assert clipped(text, width) == text
    assert cells(padded(text, 9)) == 9


def test_texts_without_spaces_are_not_lost_where_they_are_cut():
    assert clip('用户说 ' + '打开冰箱门' * 200, 60) == '用户说 ' + ('打开冰箱门' * 11) + '…'
    assert clip('opens the fridge door', 17) == 'opens the…'


@pytest.mark.parametrize(('text', 'width', 'cut'), [
    ('opens the fridge door', 17, 'opens the fridge…'), ('opens the fridge', 13, 'opens the…'),
    ('冰箱门打开了', 7, '冰箱门…'), ('冰箱门打开了', 8, '冰箱门…'),
    ('a 冰箱门打开了没有', 10, 'a 冰箱门…'),
    ('NavigateToNamedLocation', 10, 'NavigateT…'), ('milk, tea', 7, 'milk…'), ('milk', 0, '')])
def test_a_cut_falls_between_words_where_there_are_some(text, width, cut):
    assert clipped(text, width) == cut
