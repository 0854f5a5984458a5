"""Runs that name the run they are part of by its id: parts of tasks, and no tasks."""

from households import Household
import pytest

from emv_ros.memory import queries
from emv_ros.memory.queries import Window
from emv_ros.records import SkillReport, Status
from emv_ros.timeline import SECOND_NS

pytestmark = pytest.mark.both_databases

NOW = '2025-03-10 12:00'


@pytest.fixture
def kitchen(home: Household) -> Household:
    # The id 'x' means a run of each day; a part may be reported just before the run around it.
    for day, name in (('2025-03-04', 'SetTable'), ('2025-03-05', 'ClearTable')):
        home.run('Grasp', f'{day} 09:59:59', f'{day} 10:01', 'failed', source_id=f'g{day}',
                 parent_source_id='x', parameters={'object': 'red cup'})
        home.run(name, f'{day} 10:00', f'{day} 10:10', source_id='x')
    home.run('CloseHand', '2025-03-04 10:00:10', '2025-03-04 10:00:20', source_id='h',
             parent_source_id='g2025-03-04')
    home.run('Lift', '2025-03-04 10:02', '2025-03-04 10:03', source_id='l', parent_source_id='x')
    home.run('Wave', '2025-03-06 10:00', '2025-03-06 10:01', source_id='w',
             parent_source_id='lost')
    home.run('Spin', '2025-03-07 10:00', '2025-03-07 10:01', source_id='a', parent_source_id='b')
    home.run('Turn', '2025-03-07 10:00', '2025-03-07 10:01', source_id='b', parent_source_id='a')
    return home


@pytest.mark.parametrize(('expression', 'printed'), [
    # One whose parent is lost is at the top; of a circle each is within the other.
    ('names(goals())', 'SetTable, ClearTable, Wave'),
    ("[r.goal for r in events(skill='grasp')]", "['SetTable', 'ClearTable']"),
    ("events(skill='close hand')[0].goal", 'SetTable > Grasp'),
    ("len(events(goal='set table'))", '4'),
    ("[r.goal for r in events(when='March 7')]", "['Turn', 'Spin']"),
    ("names(goals_with('red cup'))", 'SetTable, ClearTable'),
    ("names(goals_with('close hand'))", 'SetTable'),
    ("len(goals(status='failed'))", '0'),
    ("names(after(goals(text='set table')[0]))", 'ClearTable'),
    ("names(after(events(skill='grasp')[0]))", 'Lift')])
def test_values(kitchen: Household, expression: str, printed: str) -> None:
    with kitchen.console(NOW) as console:
        assert console.value(expression) == printed


def test_what_was_not_told_yet_tells_nothing(kitchen: Household) -> None:
    """Half a second before the run around it came, a part stands alone."""
    asked = Window(before_ns=kitchen.at('2025-03-04 10:00'))
    assert [event.goal_stack for event in queries.skill_events(kitchen.store, asked)] == [()]


def test_each_robot_has_ids_of_its_own(home: Household) -> None:
    home.run('Wash', '2025-03-04 10:00', '2025-03-04 10:10', source_id='x')
    home.run('Scrub', '2025-03-04 10:01', '2025-03-04 10:02', source_id='y',
             parent_source_id='x', robot='r2')
    assert [(event.skill, event.goal_stack) for event in queries.skill_events(home.store)] == [
        ('Wash', ()), ('Scrub', ())]


def test_many_parts_at_once(home: Household) -> None:
    def run(skill: str, second: int, source_id: str, parent: str = '') -> SkillReport:
        at_ns = home.at('2025-03-04 00:00') + second * SECOND_NS
        return SkillReport(stamp_ns=at_ns, end_ns=at_ns + SECOND_NS, skill=skill,
                           status=Status.SUCCEEDED, source_id=source_id, parent_source_id=parent)
    home.store.add_many(
        run('Scrub', second, f's{second}', f'w{second}') if is_part else
        run('Wash', second, f'w{second}') for second in range(0, 6000, 10)
        for is_part in (False, True))
    assert len(queries.skill_events(home.store, top_only=True)) == 600
    assert len(queries.skill_events(home.store, goal='wash')) == 1200
