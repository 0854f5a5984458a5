"""In a dense stream a stretch begins where nothing before it matters: the tree is the same."""

from random import Random

from life_parts import (
    SETTINGS,
    below_days,
    check_whole,
    goal,
    joints,
    notice,
    open_memory,
    say,
    see,
    span,
)
import pytest

from emv_ros.tree import context, growth, stretch
from emv_ros.tree.consolidate import consolidate

NAMES = 'ABCDE'


@pytest.fixture
def lengths(monkeypatch):
    """Return a list that gets, of each stretch, how many seconds it began before what waited."""
    found = []

    def load(session, robot_id, robot, within):
        dirty = stretch.find_dirty(session, robot_id, 10 ** 12, [])
        found.append((dirty.start_ns - within.start_ns) / 1e9)
        return stretch.load(session, robot_id, robot, within)
    monkeypatch.setattr(growth, 'load', load)
    return found


def a_record(random, second):
    """Return the reports of a record of whatever kind that begins at a second."""
    name = random.choice(NAMES)
    stack = random.choices(NAMES, k=random.choice([0, 0, 1, 2]))
    if random.random() < 0.5:  # goals that do not come again
        stack = [f'{name}{second // 40}' for name in stack]
    length = random.choice([0, 1, 3, 20])
    return random.choice([
        lambda: span(name, second, second + length, stack),
        lambda: span(name, second, second + length, stack),
        lambda: span(name, second, second + length, stack, source_id=f'{name}{second // 90}'),
        lambda: span(name, second, second, source_id=f'x{second}',
                     parent_source_id=f'{random.choice(NAMES)}{second // 90}'),
        lambda: span(name, second, second, stack)[1:],
        lambda: span(name, second, second, stack)[:random.random() < 0.05],
        lambda: [say(second, f'word {second}', is_own=random.random() < 0.3)],
        lambda: [see(second, random.choice(NAMES))],
        lambda: [notice(name, second, second + length)],
        lambda: [goal(name, second, second + 30)] if random.random() < 0.1 else [],
        lambda: [joints(second)]])()


def is_same_bit_by_bit(folder, seed):
    """Whether a life that is told as it goes on, some of it late, becomes the tree of at once."""
    random = Random(seed)
    records = [(second + random.choice([0, 0, 0, 0, random.randint(0, 400)]), record)
               for second in sorted(random.choices(range(1800), k=random.choice([60, 200])))
               for record in a_record(random, second)]
    records.sort(key=lambda item: item[0])
    with open_memory(folder / f'bits{seed}') as bits, open_memory(folder / f'once{seed}') as once:
        # The same reports in the same order: runs are folded as they come.
        for begin in range(0, 2400, 80):
            part = [record for told, record in records if begin <= told < begin + 80]
            for memory in (bits, once):
                memory.add_many(part)
            consolidate(bits, SETTINGS)
        consolidate(once, SETTINGS)
        check_whole(bits, SETTINGS)
        return below_days(bits) == below_days(once)


@pytest.mark.parametrize('seed', [2, 7])
def test_bit_by_bit_is_at_once(tmp_path, monkeypatch, lengths, seed):
    monkeypatch.setattr(stretch, 'CHUNK', 2)
    assert is_same_bit_by_bit(tmp_path, seed)


def errands(first, count):
    """Return runs at one a second, ten in a goal, of which only the ends are told."""
    return [report for number in range(first, first + count)
            for report in span('Grasp', number, number, [f'errand {number // 10}'])[1:]]


def consolidated(store, lengths, more):
    """Return how many seconds before what waits the stretch began."""
    store.add_many(more)
    lengths.clear()
    consolidate(store, SETTINGS)
    check_whole(store, SETTINGS)
    return lengths[0]


def test_a_minute_of_a_dense_stream_costs_the_same(store, monkeypatch, lengths):
    monkeypatch.setattr(stretch, 'CHUNK', 30)
    assert [consolidated(store, lengths, errands(100 * part, 100)) for part in range(5)] == [
        SETTINGS.goal_gap_s, 70, 70, 70, 70]


@pytest.mark.parametrize('early, late', [
    (span('Carry', 55, 56)[:1], []),  # an open run
    ([], span('Wash', 350, 350, ['errand 5'])[1:]),  # a goal that goes on
    ([], span('errand 5', 350, 350)[1:]),  # the end of a goal that was made of its name
    (span('Lift', 55, 56, source_id='a', parent_source_id='b'),
     span('Move', 350, 360, source_id='b'))])  # a run that was named before
def test_what_reaches_back_is_looked_for_as_far_as_ever(
        tmp_path, store, monkeypatch, lengths, early, late):
    monkeypatch.setattr(stretch, 'CHUNK', 30)
    parts = [[*errands(0, 100), *early], errands(100, 200), [*errands(300, 50), *late]]
    for part in parts:
        length = consolidated(store, lengths, part)
    assert length > 250
    with open_memory(tmp_path / 'once') as once:
        for part in parts:
            once.add_many(part)
        consolidate(once, SETTINGS)
        assert below_days(store) == below_days(once)


def test_the_cut_is_where_all_before_has_ended():
    tops = [stretch.Top(number, start, end, name) for number, (start, end, name) in enumerate(
        [(0, 5, 'A'), (5, 9, 'B'), (6, 20, 'C'), (10, 12, 'D'), (21, 22, ''), (23, 40, 'E')])]
    assert [context._cut(tops, limit) for limit in (0, 5, 10, 22, 23, 90)] == [0, 0, 0, 0, 5, 5]
