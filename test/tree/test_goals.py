"""Nesting of goals (L3), on hand-made logs."""

from life_parts import DAY_S, UTC, at, below_days, check_whole, goal, say, shape, span
import pytest
from sqlalchemy import select

from emv_ros.memory import schema
from emv_ros.memory.queries import Window
from emv_ros.records import SkillReport, Status
from emv_ros.timeline import parse_zone
from emv_ros.tree.levels import name_of, path_named, path_of
from emv_ros.tree.render import render_tree
from emv_ros.tree.view import TreeView

DAY = 'day 2024-03-04'


def test_a_run_belongs_to_the_run_that_its_stack_names_last(store):
    assert shape(store, [
        *span('HomePose', 0, 10), *span('MoveToNamed', 1, 9, ['HomePose']),
        *span('MoveToPosition', 2, 8, ['HomePose', 'MoveToNamed'])]) == (
        8, DAY, [(3, 'HomePose', [(3, 'MoveToNamed', [(2, 'MoveToPosition')])])])
    check_whole(store)


def test_of_two_runs_of_a_goal_the_one_that_is_going_on_takes_the_child(store):
    tree = shape(store, [*span('Home', 0, 5), *span('Move', 1, 4, ['Home']),
                         *span('Home', 10, 15), *span('Move', 11, 14, ['Home'])])
    assert tree == (8, DAY, [(3, 'Home', [(2, 'Move')]), (3, 'Home', [(2, 'Move')])])


def test_goals_that_only_reported_their_end_hold_what_began_before(store):
    ends = [('Position', ['Home', 'Named'], 1.0), ('Named', ['Home'], 1.027), ('Home', [], 1.079)]
    tree = shape(store, [SkillReport(stamp_ns=at(when), skill=name, status=Status.SUCCEEDED,
                                     goal_stack=tuple(stack)) for name, stack, when in ends])
    assert tree == (8, DAY, [(3, 'Home', [(3, 'Named', [(2, 'Position')])])])
    check_whole(store)


def test_a_goal_without_a_run_of_its_own_is_made_from_its_name(store):
    tree = shape(store, [*span('Step', 0, 5, ['Cook rice']), *span('Step', 100, 110, ['Cook rice']),
                         *span('Step', 5000, 5001, ['Cook rice'])])
    assert tree == (8, DAY, [(3, 'Cook rice', [(2, 'Step'), (2, 'Step')]),
                             (3, 'Cook rice', [(2, 'Step')])])


def test_the_parent_is_found_by_its_source_id(store):
    tree = shape(store, [*span('Outer', 0, 10, source_id='a'),
                         *span('Inner', 2, 3, source_id='b', parent_source_id='a'),
                         *span('Deep', 2.2, 2.5, source_id='c', parent_source_id='b')])
    assert tree == (8, DAY, [(3, 'Outer', [(3, 'Inner', [(2, 'Deep')])])])


def test_a_circle_of_parents_is_no_trap(store):
    shape(store, [*span('A', 0, 10, source_id='a', parent_source_id='b'),
                  *span('B', 1, 9, source_id='b', parent_source_id='a')])
    check_whole(store)


def test_a_goal_grows_with_a_child_that_ends_after_it(store):
    shape(store, [*span('Outer', 0, 10), *span('Inner', 5, 20, ['Outer'])])
    outer = next(row for row in below_days(store) if row[3] == 'Outer')
    assert outer[:2] == (at(0), at(20))
    assert outer[5] == 'Outer succeeded after 10.0 s: Inner'


def test_failed_and_aborted_goals_say_so_with_their_parts_counted(store):
    face = [report for n in range(12)
            for report in span('LookAtHumanFace', 10 + n, 10.4 + n, ['Receive'])]
    shape(store, [*span('Receive', 0, 73, status='failed'), *span('OpenHand', 1, 2, ['Receive']),
                  *face, *span('CloseHand', 60, 61, ['Receive'], status='aborted')])
    top = next(row for row in below_days(store) if row[3] == 'Receive')
    assert top[4] == 'failed'
    assert top[5] == ('Receive failed after 1 min 13 s: OpenHand, LookAtHumanFace ×12, '
                      'CloseHand (aborted)')


def test_three_thousand_children_make_a_short_text(store):
    reports = [report for n in range(1500) for name in ('LookLeft', f'Step{n}')
               for report in span(name, n, n + 0.4, ['Tour'])]
    shape(store, [*span('Tour', 0, 1600), *reports])
    top = next(row for row in below_days(store) if row[3] == 'Tour')
    assert len(top[5]) <= 600
    assert 'LookLeft ×1500' in top[5] and 'more' in top[5]
    check_whole(store)


def test_annotated_goals_hold_what_begins_in_them_the_latest_first(store):
    tree = shape(store, [goal('Cook', 0, 100), goal('Wash up', 50, 200), *span('Stir', 10, 20),
                         *span('Rinse', 60, 70), say(150, 'done')])
    assert tree == (8, DAY, [(3, 'Cook', [(2, 'Stir')]),
                             (3, 'Wash up', [(2, 'Rinse'), (2, 'user said "done"')])])


def test_an_annotated_goal_inside_another_is_its_child(store):
    tree = shape(store, [goal('Breakfast', 0, 1000), goal('Coffee', 100, 200),
                         *span('Pour', 150, 160)])
    assert tree == (8, DAY, [(3, 'Breakfast', [(3, 'Coffee', [(2, 'Pour')])])])


def test_a_goal_across_midnight_belongs_to_the_day_it_starts_in(store):
    late = 14.9 * 3600  # 23:54
    tree = shape(store, [*span('Charge', late, late + 1500),
                         *span('Dock', late + 1000, late + 1100, ['Charge']),
                         *span('Wake', DAY_S, DAY_S + 5)])
    assert tree == (9, 'week 2024-03 W10', [
        (8, DAY, [(3, 'Charge', [(2, 'Dock')])]), (8, 'day 2024-03-05', [(2, 'Wake')])])
    check_whole(store)


def test_the_day_is_that_of_the_zone(store):
    tree = shape(store, [*span('Wake', 0, 1)], zone=parse_zone('Pacific/Auckland'))
    assert tree[1] == 'day 2024-03-04'  # 22:00 there
    tree = shape(store, [*span('Wake', 14_400, 14_401)], zone=parse_zone('Pacific/Auckland'))
    assert [child[1] for child in tree[2]] == ['day 2024-03-04', 'day 2024-03-05']


def test_a_run_without_an_end_is_open_until_it_is_told(store):
    store.add_many([SkillReport(stamp_ns=at(0), skill='Cook', status=Status.RUNNING),
                    *span('Stir', 5, 6, ['Cook'])])
    shape(store)
    first = below_days(store)
    store.add(SkillReport(stamp_ns=at(50), skill='Cook', status=Status.SUCCEEDED))
    shape(store)
    assert [row[4] for row in first if row[3] == 'Cook'] == ['running']
    cook = next(row for row in below_days(store) if row[3] == 'Cook')
    assert cook[:2] == (at(0), at(50))
    assert cook[5] == 'Cook succeeded after 50.0 s: Stir'
    check_whole(store)


def test_names_of_periods_read_back():
    from datetime import date, timedelta

    for offset in range(0, 1200, 7):
        path = path_of(date(2023, 12, 25) + timedelta(days=offset))
        for length in range(5):
            assert path_named(name_of(path[:length])) == path[:length]


DEEP = 1500


@pytest.mark.parametrize('reports', [
    [SkillReport(stamp_ns=at(0), skill='Grasp', status=Status.SUCCEEDED,
                 goal_stack=tuple(f'goal {part}' for part in range(DEEP)))],
    [SkillReport(stamp_ns=at(part), skill=f'Go {part}', status=Status.RUNNING,
                 source_id=f'c{part}', parent_source_id=f'c{part - 1}') for part in range(DEEP)],
    [SkillReport(stamp_ns=at(part), skill=f'Go {part}', status=Status.RUNNING,
                 source_id=f'c{part}', parent_source_id=f'c{part + 1}') for part in range(DEEP)],
], ids=['stack', 'parents first', 'parents last'])
def test_a_source_that_nests_without_end_loses_nothing_and_stops_nobody(store, reports):
    shape(store, [*reports, *span('Wave', 90_000, 90_001)])
    check_whole(store)
    with store.reading() as session:
        names = set(session.scalars(select(schema.NodeRow.name)))
    assert names >= {'Wave', *(report.skill for report in reports)}
    shown = render_tree(TreeView(store, Window(), UTC), width=10_000)
    deepest = max(len(line) - len(line.lstrip()) for line in shown.splitlines()) // 2
    assert 64 <= deepest <= 64 + 6  # levels above the goals: episode, day, root, groups
