"""Status reports fold into runs: late, doubled, repeated, parallel, numbered by their source."""

from typing import Any

from memory_parts import at, report
import pytest

from emv_ros.memory import queries
from emv_ros.memory.store import MemoryStore
from emv_ros.records import SkillEvent, SkillReport

pytestmark = pytest.mark.both_databases


def runs(memory: MemoryStore, *reports: SkillReport, apart: bool = False) -> list[SkillEvent]:
    """Store the reports in one transaction, or each in one of its own."""
    for batch in [[item] for item in reports] if apart else [reports]:
        memory.add_many(batch)
    return queries.skill_events(memory)


def told(event: SkillEvent) -> tuple[Any, ...]:
    return (event.stamp_ns - at(0), event.status.value,
            None if event.end_ns is None else event.end_ns - at(0), event.reports)


def seconds(start: float, status: str, end: float | None, reports: int) -> tuple[Any, ...]:
    return (round(start * 1e9), status, None if end is None else round(end * 1e9), reports)


@pytest.mark.parametrize('apart', [False, True])
class TestOneRun:

    def test_states_in_order(self, memory: MemoryStore, apart: bool) -> None:
        event, = runs(memory, report(0, 'preparing'), report(1, 'running'),
                      report(4, 'succeeded'), apart=apart)
        assert told(event) == seconds(0, 'succeeded', 4, 3)
        assert event.transitions == (
            ('preparing', at(0)), ('running', at(1)), ('succeeded', at(4)))
        assert event.last_report_ns == at(4)

    def test_exact_duplicates(self, memory: MemoryStore, apart: bool) -> None:
        event, = runs(memory, *[report(0, 'running')] * 3, *[report(4, 'failed')] * 3, apart=apart)
        assert told(event) == seconds(0, 'failed', 4, 6)

    def test_the_end_comes_first(self, memory: MemoryStore, apart: bool) -> None:
        event, = runs(memory, report(4, 'succeeded'), report(1, 'running'),
                      report(0, 'preparing'), apart=apart)
        assert told(event) == seconds(0, 'succeeded', 4, 3)

    def test_a_late_repeat_of_the_first_state(self, memory: MemoryStore, apart: bool) -> None:
        event, = runs(memory, report(0.5, 'running'), report(0.3, 'running'),
                      report(2, 'succeeded'), apart=apart)
        assert told(event) == seconds(0.3, 'succeeded', 2, 3)

    def test_a_late_repeat_of_a_state_in_between(self, memory: MemoryStore, apart: bool) -> None:
        event, = runs(memory, report(1, 'preparing'), report(2, 'running'),
                      report(1.5, 'preparing'), apart=apart)
        assert told(event) == seconds(1, 'running', None, 3)

    def test_an_end_told_again_earlier(self, memory: MemoryStore, apart: bool) -> None:
        event, = runs(memory, report(0, 'running'), report(6, 'succeeded'),
                      report(5, 'succeeded'), apart=apart)
        assert told(event) == seconds(0, 'succeeded', 5, 3)

    def test_over_midnight(self, memory: MemoryStore, apart: bool) -> None:
        late = 11.9 * 3600
        event, = runs(memory, report(late, 'running'), *(
            report(late + 30 * step, 'running') for step in range(1, 30)),
            report(late + 900, 'succeeded'), apart=apart)
        assert told(event) == seconds(late, 'succeeded', late + 900, 31)

    def test_words_of_the_latest_report_stay(self, memory: MemoryStore, apart: bool) -> None:
        event, = runs(memory, report(0, 'running', narration='reaching'),
                      report(4, 'succeeded', narration='got it'),
                      report(1, 'running', narration='closing'), apart=apart)
        assert event.narration == 'got it'

    def test_a_whole_span_told_twice(self, memory: MemoryStore, apart: bool) -> None:
        event, = runs(memory, report(0, 'succeeded', until=9), report(0, 'succeeded', until=9),
                      apart=apart)
        assert told(event) == seconds(0, 'succeeded', 9, 2)


@pytest.mark.parametrize('apart', [False, True])
class TestSeveralRuns:

    def test_one_after_the_other(self, memory: MemoryStore, apart: bool) -> None:
        found = runs(memory, report(0, 'running'), report(4, 'succeeded'),
                     report(5, 'running'), report(8, 'failed'), apart=apart)
        assert [told(event) for event in found] == [
            seconds(0, 'succeeded', 4, 2), seconds(5, 'failed', 8, 2)]

    def test_one_begins_at_the_instant_at_which_another_ends(
            self, memory: MemoryStore, apart: bool) -> None:
        found = runs(memory, report(0, 'running'), report(4, 'succeeded'),
                     report(4, 'running'), report(8, 'succeeded'), apart=apart)
        assert [told(event) for event in found] == [
            seconds(0, 'succeeded', 4, 2), seconds(4, 'succeeded', 8, 2)]

    def test_two_arms_at_once(self, memory: MemoryStore, apart: bool) -> None:
        left, right = {'arm': 'left'}, {'arm': 'right'}
        found = runs(memory, report(0, 'running', parameters=left),
                     report(1, 'running', parameters=right),
                     report(3, 'failed', parameters=left),
                     report(5, 'succeeded', parameters=right), apart=apart)
        assert [(event.parameters['arm'], *told(event)) for event in found] == [
            ('left', *seconds(0, 'failed', 3, 2)), ('right', *seconds(1, 'succeeded', 5, 2))]

    def test_under_another_goal(self, memory: MemoryStore, apart: bool) -> None:
        found = runs(memory, report(0, 'running', goal_stack=('Cook',)),
                     report(1, 'succeeded', goal_stack=('Clean',)), apart=apart)
        assert [event.goal_stack for event in found] == [('Cook',), ('Clean',)]

    def test_a_state_again_after_a_long_silence(self, memory: MemoryStore, apart: bool) -> None:
        found = runs(memory, report(0, 'running'), report(61, 'running'), apart=apart)
        assert [told(event) for event in found] == [
            seconds(0, 'running', None, 1), seconds(61, 'running', None, 1)]

    def test_a_source_that_tells_only_ends(self, memory: MemoryStore, apart: bool) -> None:
        found = runs(memory, report(0, 'succeeded'), report(1, 'succeeded'),
                     report(1, 'succeeded'), apart=apart)
        assert [told(event) for event in found] == [
            seconds(0, 'succeeded', 0, 1), seconds(1, 'succeeded', 1, 2)]

    def test_numbers_of_the_source(self, memory: MemoryStore, apart: bool) -> None:
        found = runs(memory, report(0, 'running', source_id='1'),
                     report(1, 'running', source_id='2'),
                     report(2, 'canceled', source_id='1'),
                     report(3, 'succeeded', source_id='2', goal_stack=('Cook',)), apart=apart)
        assert [(event.source_id, event.goal_stack, *told(event)) for event in found] == [
            ('1', (), *seconds(0, 'canceled', 2, 2)),
            ('2', ('Cook',), *seconds(1, 'succeeded', 3, 2))]

    def test_a_number_that_is_given_out_again(self, memory: MemoryStore, apart: bool) -> None:
        found = runs(memory, report(0, 'running', source_id='1'),
                     report(2, 'succeeded', source_id='1'),
                     report(500, 'running', source_id='1'), apart=apart)
        assert [told(event) for event in found] == [
            seconds(0, 'succeeded', 2, 2), seconds(500, 'running', None, 1)]


def test_what_is_over_stays_over(memory: MemoryStore) -> None:
    event, = runs(memory, report(0, 'running', source_id='1'), report(2, 'failed', source_id='1'),
                  report(3, 'succeeded', source_id='1'), report(3.5, 'running', source_id='1'))
    assert told(event) == seconds(0, 'failed', 2, 4)
    assert event.transitions == (('running', at(0)), ('failed', at(2)))


def test_ten_reports_a_second_for_five_minutes(memory: MemoryStore) -> None:
    reports = [report(step / 10, 'running') for step in range(3000)]
    for start in range(0, 3000, 500):
        memory.add_many(reports[start:start + 500])
    event, = runs(memory, report(300, 'succeeded'))
    assert told(event) == seconds(0, 'succeeded', 300, 3001)


def test_a_session_has_its_own_runs(memory: MemoryStore) -> None:
    first, second = (memory.begin_session(start_ns=at(0)) for _ in range(2))
    found = runs(memory, report(0, 'running', session_id=first),
                 report(1, 'succeeded', session_id=second))
    assert [(event.session_id, event.status.value) for event in found] == [
        (first, 'running'), (second, 'succeeded')]


def test_a_long_run_ends_after_a_hundred_short_ones(memory: MemoryStore) -> None:
    memory.add(report(0, 'running', parameters={'object': 'door'}))
    for number in range(100):
        memory.add_many([
            report(number + 1, 'running', parameters={'object': 'cup'}),
            report(number + 1.5, 'succeeded', parameters={'object': 'cup'})])
    found = runs(memory, report(200, 'failed', parameters={'object': 'door'}))
    assert len(found) == 101
    assert told(found[0]) == seconds(0, 'failed', 200, 2)


def test_a_report_from_long_before_what_is_loaded(memory: MemoryStore) -> None:
    memory.add_many([report(100 * number + offset, status) for number in range(100)
                     for offset, status in ((0, 'running'), (9, 'succeeded'))])
    found = runs(memory, report(100 * 3 + 5, 'running'), report(100 * 3 + 50, 'running'),
                 report(100 * 3 + 55, 'succeeded'))
    assert len(found) == 101
    assert told(found[3]) == seconds(300, 'succeeded', 309, 3)
    assert told(found[4]) == seconds(350, 'succeeded', 355, 2)
