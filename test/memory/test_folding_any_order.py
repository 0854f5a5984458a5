"""Whatever the order in which the reports of a run arrive, the run comes out the same."""

from hypothesis import HealthCheck, given, settings, strategies as st
from memory_parts import report
import pytest

from emv_ros.memory import queries
from emv_ros.memory.store import MemoryStore
from emv_ros.records import SkillEvent, SkillReport

pytestmark = pytest.mark.both_databases

STATES = ('preparing', 'running')


@st.composite
def one_run(draw: st.DrawFn) -> list[SkillReport]:
    """Return the reports of a run within the late tolerance, in order: states, then the end."""
    tenths = sorted(draw(st.sets(st.integers(0, 290), min_size=2, max_size=9)))
    *before, last = tenths
    begins_running = draw(st.integers(0, len(before)))
    reports = [report(tenth / 10, STATES[place >= begins_running])
               for place, tenth in enumerate(before)]
    if draw(st.booleans()):
        reports.append(report(last / 10, draw(st.sampled_from(
            ('succeeded', 'failed', 'aborted', 'canceled')))))
    return reports


def fold(session_id: int, memory: MemoryStore, batches: list[list[SkillReport]]) -> SkillEvent:
    from dataclasses import replace

    for batch in batches:
        memory.add_many([replace(item, session_id=session_id) for item in batch])
    event, = (event for event in queries.skill_events(memory) if event.session_id == session_id)
    return replace(event, id=None, session_id=None)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_order_of_arrival(memory: MemoryStore, data: st.DataObject) -> None:
    in_order = data.draw(one_run())
    shuffled = data.draw(st.permutations(in_order))
    cut = data.draw(st.integers(0, len(shuffled)))
    first, second = (memory.begin_session() for _ in range(2))
    assert fold(first, memory, [in_order]) == fold(
        second, memory, [shuffled[:cut], shuffled[cut:]])
