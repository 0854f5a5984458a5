"""same(): whether a thing was the same one in two tasks, as it was seen or as runs call it."""

from households import Household, ScriptedModel, code
import pytest

from emv_ros.agent.answers import QueryStatus
from emv_ros.records import Observation, SkillReport, Status
from emv_ros.timeline import HOUR_NS, MINUTE_NS

NOW = '2025-03-09 12:00'
ONE, TWO = "goals(when='March 3')", "goals(when='March 4')"


def bring(home: Household, day: int, *things: str, seen: str = '', event: str = 'given') -> None:
    """Let the robot bring coffee on a day of March with things, one of them seen as `seen`."""
    date = f'2025-03-0{day}'
    home.run('BringCoffee', f'{date} 09:00', f'{date} 09:05', parameters={'person': 'Ada'})
    for number, thing in enumerate(things):
        home.run('Grasp', f'{date} 09:0{number + 1}', f'{date} 09:0{number + 1}:20',
                 stack=['BringCoffee'], parameters={'object': thing})
    if seen:
        home.store.add(Observation(
            stamp_ns=home.at(f'{date} 09:01'), end_ns=home.at(f'{date} 09:02'), name='mug',
            instance=seen, event=event))


@pytest.mark.parametrize(('first', 'second', 'told'), [
    ('mug_1', 'mug_1', 'Yes'), ('mug_1', 'mug_2', 'No'), ('mug_of_ada', 'mug_of_bea', 'No')])
def test_by_what_runs_call_it(home: Household, first: str, second: str, told: str) -> None:
    bring(home, 3, first, 'spoon_1')
    bring(home, 4, second, 'spoon_1')
    with home.console(NOW) as console:
        assert console.value(f"same('mug', {ONE}, {TWO})") == told
        assert console.value(f"same('spoon', {ONE}[0], {TWO})") == 'Yes'


@pytest.mark.parametrize(('second', 'told'), [('white', 'Yes'), ('black', 'No')])
def test_sightings_tell_like_things_apart_that_runs_do_not(
        home: Household, second: str, told: str) -> None:
    bring(home, 3, 'mug', seen='white')
    bring(home, 4, 'mug', seen=second)
    with home.console(NOW) as console:
        assert console.value(f"same('mug', {ONE}, {TWO})") == told


def test_what_is_not_told_is_an_error(home: Household) -> None:
    bring(home, 3, 'mug')  # the name of its kind tells nothing
    bring(home, 4, 'mug_1', 'mug_2')
    bring(home, 5, 'mug_1', seen='white', event='')  # it only stood there
    bring(home, 6, 'mug_1')
    with home.console(NOW) as console:
        for code_, error in (
                (f"same('mug', {ONE}, {TWO})", 'which mug it was is not told: no record tells'),
                (f"same('mug', {TWO}, {TWO})", 'it may be mug_1, mug_2'),
                (f"same('mug', {ONE}, goals(when='March 8'))", 'one of them has no rows'),
                (f"same('', {ONE}, {TWO})", 'takes the name of a thing'),
                ("same('mug', 's99', 's98')", 'no id that was shown'),
                (f"same('mug', {ONE})", 'argument')):
            assert error in console.run(code_).error
        days = "goals(when='March 5'), goals(when='March 6')"
        assert console.value(f"same('mug', {days})") == 'Yes'


def test_an_answer_rests_on_the_two_tasks(home: Household) -> None:
    bring(home, 3, 'mug_1')
    bring(home, 4, 'mug_2')
    home.consolidate()
    model = ScriptedModel([code(
        f'one = {ONE}', f'two = {TWO}', "answer(same('mug', one, two), evidence=one + two)")])
    answer = home.ask('You brought Ada a coffee on March 3 and on March 4. Was that the same mug?',
                      model, NOW)
    assert (answer.status, answer.answer) == (QueryStatus.ANSWERED, 'No')
    assert [item.id for item in answer.evidence] == ['s1', 's3'] and answer.rounds == 1


def test_what_was_done_meanwhile_for_another_task_tells_nothing(home: Household) -> None:
    bring(home, 3, 'mug_1')
    bring(home, 4, 'mug_1')
    home.run('Clean', '2025-03-04 09:00', '2025-03-04 09:05')  # by the same robot, and by another
    home.run('Grasp', '2025-03-04 09:02', '2025-03-04 09:03', stack=['Clean'],
             parameters={'object': 'mug_2'})
    home.run('Grasp', '2025-03-04 09:02', '2025-03-04 09:03', stack=['BringCoffee'], robot='r2',
             parameters={'object': 'mug_3'})
    home.run('Pour', '2025-03-04 09:03', '2025-03-04 09:04', stack=['BringCoffee'],
             parameters={'object': 'coffee_7', 'target': 'mug_1'})
    home.store.add(Observation(
        stamp_ns=home.at('2025-03-04 09:01'), end_ns=home.at('2025-03-04 09:02'), name='mug',
        robot='r2', instance='black', event='given'))
    with home.console(NOW) as console:
        one, two = (f"[r for r in goals(text='coffee', when='March {day}') if r.robot == 'r1']"
                    for day in (3, 4))
        assert console.value(f"same('mug', {one}, {two})") == 'Yes'
        assert console.value(f"same('coffee mug', {one}, {two})") == 'Yes'


def test_a_task_that_still_runs_lasts_until_now(home: Household) -> None:
    bring(home, 3, 'mug_1')
    home.run('BringCoffee', '2025-03-09 11:50', parameters={'person': 'Ada'})
    home.run('Grasp', '2025-03-09 11:55', '2025-03-09 11:55:20', stack=['BringCoffee'],
             parameters={'object': 'mug_2'})
    with home.console(NOW) as console:
        assert console.value(f"same('mug', {ONE}, goals(when='today'))") == 'No'


def test_of_a_time_of_which_clocks_tell_two_each_is_apart(home: Household) -> None:
    first_ns = home.at('2025-10-26 02:10')  # before clocks go back, and an hour later
    for hour in range(2):
        home.store.add_many([SkillReport(
            stamp_ns=first_ns + hour * HOUR_NS + offset_ns, skill='Fetch', status=status,
            source_id=f'{hour}', parameters={'object': f'mug_{hour}'})
            for offset_ns, status in ((0, Status.RUNNING), (MINUTE_NS, Status.SUCCEEDED))])
    with home.console('2025-10-27 12:00') as console:
        console.run("rows = goals(text='fetch')")
        assert console.value("same('mug', rows[0], rows[1])") == 'No'
