"""What holds for any life: the tree is a tree, whatever comes, in whatever order, however it ends.

`EMV_PROPERTY_EXAMPLES=200` makes the search a long one.
"""

from contextlib import contextmanager
from dataclasses import replace
import os
from pathlib import Path
import tempfile

from hypothesis import HealthCheck, example, given, settings, strategies as st
from life_parts import (
    DAY_S,
    SETTINGS,
    Scripted,
    at,
    goal,
    is_plain,
    joints,
    listed,
    narrate,
    notice,
    open_memory,
    say,
    see,
    shape,
    span,
)
from sqlalchemy import event, select
from whole import below_days, calendar, check_whole

from emv_ros.memory import schema
from emv_ros.records import ImageRecord, Pose
from emv_ros.tree import stretch
from emv_ros.tree.consolidate import consolidate
from emv_ros.tree.reopening import reopen

YEAR_S = 365 * DAY_S
NAMES = st.sampled_from(['A', 'B', 'C'])
# Three days with pauses, much of it at the same few moments; now and then a broken clock.
WHEN = st.one_of(
    st.integers(0, 120), st.integers(0, 3 * DAY_S),
    st.sampled_from([0, 10, 20, 54_000 - 5, 54_000, 54_005]),
    st.sampled_from([DAY_S * 40, DAY_S * 301, YEAR_S * 75, -YEAR_S * 54]))
LENGTH = st.integers(0, 4000)
STACK = st.lists(NAMES, max_size=3)
STATUS = st.sampled_from(['succeeded', 'failed', 'aborted', 'canceled'])


def picture(seconds):
    return ImageRecord(stamp_ns=at(seconds), camera='wrist', sha256='0' * 64,
                       media_type='image/png', width=1, height=1)


def pose(seconds):
    return Pose(stamp_ns=at(seconds), frame='map', position=(0.0, 0.0, 0.0))


RECORDS = st.one_of(
    st.builds(lambda name, at, length, stack, status: span(
        name, at, at + length, stack, status, source_id=f'{name}{at}{length}'),
        NAMES, WHEN, LENGTH, STACK, STATUS),
    st.builds(lambda name, at, stack: span(name, at, at, stack)[1:], NAMES, WHEN, STACK),
    st.builds(lambda name, at, stack: span(name, at, at, stack)[:1], NAMES, WHEN, STACK),
    st.builds(lambda name, at, parent: span(
        name, at, at + 5, source_id=f'{name}{at}', parent_source_id=parent),
        NAMES, WHEN, st.sampled_from(['A0', 'B10', 'C20'])),
    st.builds(lambda at, text: [say(at, text)], WHEN, NAMES),
    st.builds(lambda at, count, step: [say(at + n * step, f'w{n}') for n in range(count)],
              WHEN, st.integers(10, 30), st.integers(1, 200)),
    st.builds(lambda at, name: [see(at, name)], WHEN, NAMES),
    st.builds(lambda at, name, length: [notice(name, at, at + length)], WHEN, NAMES, LENGTH),
    st.builds(lambda at, name, length: [narrate(name, at, at + length)], WHEN, NAMES, LENGTH),
    st.builds(lambda at, name, length: [goal(name, at, at + length)], WHEN, NAMES, LENGTH),
    st.builds(lambda at, make: [make(at)], WHEN, st.sampled_from([joints, picture, pose])))


@st.composite
def lives(draw):
    """Return batches of records, some of them told twice, in an order of their own.

    A number stands for a clock that was set to that second: a new session.
    """
    batches = draw(st.lists(RECORDS, min_size=1, max_size=20))
    again = draw(st.lists(st.integers(0, len(batches) - 1), max_size=4))
    batches += [batches[place] for place in again]
    resets = [[second] for second in draw(st.lists(st.integers(0, 200), max_size=2))]
    return draw(st.permutations([*batches, *resets]))


LIVES = lives()
# A robot that says nothing now, and one whose clock reads what it reads.
NOW = st.sampled_from([None, 0, 3600, DAY_S * 2, DAY_S * 50])
EXAMPLES = int(os.environ.get('EMV_PROPERTY_EXAMPLES', '0'))


def thorough(examples):
    return settings(max_examples=EXAMPLES or examples, deadline=None, derandomize=not EXAMPLES,
                    suppress_health_check=list(HealthCheck), print_blob=True)


@contextmanager
def memory(name='a'):
    """Yield an empty memory, in main memory where there is a folder for it."""
    shm = Path('/dev/shm')
    place = shm if shm.is_dir() and os.access(shm, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder, \
            open_memory(Path(folder) / name) as store:
        yield store


def tell(store, batches):
    for batch in batches:
        if isinstance(batch[0], int):
            store.begin_session('r2', at(batch[0]))
        else:
            store.add_many(batch)


def one_group(messages):
    """Put all that is listed into one group, or, for every third length, reply with nonsense."""
    if is_plain(messages):
        return listed(messages)[0].partition(' ')[2][:200]
    count = messages[1]['content'].count('\n') - 1
    return 'nonsense' if count % 3 == 0 else (
        f'{{"groups": [{{"first": 1, "last": {count}, "summary": "things happened"}}]}}')


def settle(store, tree_settings, model=None, now=None):
    """Consolidate until nothing is left to do; the tree is whole each time."""
    now_ns = None if now is None else at(now)
    for _ in range(30):
        report = consolidate(store, tree_settings, model=model, now_ns=now_ns)
        check_whole(store, tree_settings)
        if not (report.events or report.goals or report.summaries or report.model_calls):
            return
    raise AssertionError('a consolidation without end')


@thorough(8)
@given(LIVES, st.booleans(), st.booleans(), NOW)
def test_any_life_makes_one_tree(life, has_model, model_groups, now):
    with memory() as store:
        tell(store, life)
        settle(store, replace(SETTINGS, model_groups=model_groups, call_budget=1000),
               Scripted(one_group) if has_model else None, now)


@thorough(8)
@given(LIVES, st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(2, 50),
       st.booleans())
def test_bit_by_bit_covers_the_same_as_at_once(life, steps, chunk, has_model):
    """In any order and pieces: the tree is whole each time, and the same in the end."""
    usual = stretch.CHUNK
    with memory('a') as once, memory('b') as bits:
        tell(once, life)
        shape(once)
        waiting = list(life)
        stretch.CHUNK = chunk
        try:
            for step in range(len(life)):
                part = waiting[:steps[step % len(steps)]]
                waiting = waiting[len(part):]
                if not part:
                    break
                tell(bits, part)
                shape(bits, model=Scripted(one_group) if has_model else None)
                check_whole(bits, SETTINGS)
        finally:
            stretch.CHUNK = usual
        assert below_days(bits) == below_days(once)
        assert calendar(bits) == calendar(once)


@thorough(6)
@given(LIVES, st.lists(st.tuples(st.integers(0, 10 ** 6), st.integers(0, 2)), min_size=1,
                       max_size=6))
def test_what_is_removed_leaves_the_tree_of_the_rest(life, picks):
    """Also of records that were moved by a correction of their time."""
    with memory('a') as once, memory('b') as store:
        tell(store, life)
        shape(store)
        for number, move in picks:
            with store.writing() as session:
                rows = [(kind, row) for kind, table in sorted(schema.KINDS.items())
                        if hasattr(table, 'pending') for row in session.scalars(select(table))]
                if not rows:
                    break
                kind, row = rows[number % len(rows)]
                reopen(session, kind, [row.id])
                later_ns = move * DAY_S * 10 ** 9
                if not move:
                    session.delete(row)
                elif kind in ('utterance', 'scene') and row.stamp_ns + later_ns < 7 * 10 ** 18:
                    row.stamp_ns, row.pending = row.stamp_ns + later_ns, True
                    if getattr(row, 'end_ns', None) is not None:
                        row.end_ns += later_ns
            settle(store, SETTINGS)
        copy(store, once)
        shape(once)
        assert below_days(store) == below_days(once)
        assert calendar(store) == calendar(once)


def copy(store, other):
    """Give another memory the records of the first, as if it had heard of nothing else."""
    tables = [schema.RobotRow, schema.SessionRow, *(
        table for table in schema.KINDS.values() if hasattr(table, 'pending')),
        schema.SceneObjectRow, schema.SceneRelationRow]
    with store.reading() as session, other.writing() as target:
        for table in tables:
            columns = [column.name for column in table.__table__.columns]
            for row in session.scalars(select(table)):
                values = {name: getattr(row, name) for name in columns}
                target.merge(table(**(values | ({'pending': True} if 'pending' in values else {}))))
            target.flush()


class PowerFails(BaseException):
    """What nothing in the tree catches."""


@contextmanager
def power_failing(store, countdown, within):
    """Let power fail at the n-th commit, or `within` a transaction at the n-th statement."""
    left = [countdown]

    def fail(*_):
        left[0] -= 1
        if left[0] == 0:
            raise PowerFails
    name = 'before_cursor_execute' if within else 'commit'
    event.listen(store._engine, name, fail)
    try:
        yield left
    finally:
        event.remove(store._engine, name, fail)


@thorough(8)
@given(LIVES, st.lists(st.tuples(st.integers(1, 60), st.booleans()), min_size=1, max_size=4),
       st.integers(2, 20), st.booleans())
def test_whenever_power_fails_it_goes_on(life, failures, chunk, has_model):
    usual = stretch.CHUNK
    with memory('a') as once, memory('b') as store:
        tell(once, life)
        shape(once)
        tell(store, life)
        stretch.CHUNK = chunk
        try:
            for countdown, within in failures:
                try:
                    with power_failing(store, countdown * (5 if within else 1), within):
                        shape(store, model=Scripted(one_group) if has_model else None)
                except PowerFails:
                    pass
                check_whole(store)
        finally:
            stretch.CHUNK = usual
        settle(store, SETTINGS, Scripted(one_group) if has_model else None)
        assert below_days(store) == below_days(once)
        assert calendar(store) == calendar(once)


@example([[say(0, 'a')], [0], [say(0, 'a')]])
@thorough(4)
@given(LIVES)
def test_a_second_consolidation_changes_nothing(life):
    with memory() as store:
        tell(store, life)
        shape(store, model=Scripted(one_group))
        before = rows(store)
        report = consolidate(store, SETTINGS, model=Scripted([]))
        assert (report.events, report.goals, report.summaries, report.model_calls) == (0, 0, 0, 0)
        assert rows(store) == before


def rows(store):
    with store.reading() as session:
        return {row.id: {column.name: getattr(row, column.name)
                         for column in schema.NodeRow.__table__.columns}
                for row in session.scalars(select(schema.NodeRow))}
