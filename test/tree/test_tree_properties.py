"""What holds for any life: the tree is a tree, whatever comes, in whatever order."""

from pathlib import Path
import tempfile

from hypothesis import HealthCheck, given, settings, strategies as st
from life_parts import (
    DAY_S,
    Scripted,
    below_days,
    check_whole,
    goal,
    joints,
    narrate,
    notice,
    open_memory,
    say,
    see,
    shape,
    span,
)

from emv_ros.tree import stretch

NAMES = st.sampled_from(['A', 'B', 'C'])
# Three days with pauses, much of it at the same few moments.
WHEN = st.one_of(st.integers(0, 120), st.integers(0, 3 * DAY_S), st.sampled_from(
    [0, 10, 20, 54_000 - 5, 54_000, 54_005]))
LENGTH = st.integers(0, 4000)
STACK = st.lists(NAMES, max_size=3)
STATUS = st.sampled_from(['succeeded', 'failed', 'aborted', 'canceled'])

RECORDS = st.one_of(
    st.builds(lambda name, at, length, stack, status: span(
        name, at, at + length, stack, status, source_id=f'{name}{at}{length}'),
        NAMES, WHEN, LENGTH, STACK, STATUS),
    st.builds(lambda name, at, stack: span(name, at, at, stack)[1:], NAMES, WHEN, STACK),
    st.builds(lambda name, at, stack: span(name, at, at, stack)[:1], NAMES, WHEN, STACK),
    st.builds(lambda at, text: [say(at, text)], WHEN, NAMES),
    st.builds(lambda at, name: [see(at, name)], WHEN, NAMES),
    st.builds(lambda at, name, length: [notice(name, at, at + length)], WHEN, NAMES, LENGTH),
    st.builds(lambda at, name, length: [narrate(name, at, at + length)], WHEN, NAMES, LENGTH),
    st.builds(lambda at, name, length: [goal(name, at, at + length)], WHEN, NAMES, LENGTH),
    st.builds(lambda at: [joints(at)], WHEN))
LIVES = st.lists(RECORDS, min_size=1, max_size=25)
THOROUGH = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


def one_group(messages):
    """Put all that is listed into one group, or, for every third length, reply with nonsense."""
    count = messages[1]['content'].count('\n') - 1
    return 'nonsense' if count % 3 == 0 else (
        f'{{"groups": [{{"first": 1, "last": {count}, "summary": "things happened"}}]}}')


@THOROUGH
@given(LIVES, st.booleans())
def test_any_life_makes_one_tree(life, has_model):
    with tempfile.TemporaryDirectory() as folder, open_memory(Path(folder)) as store:
        shape(store, [record for records in life for record in records],
              model=Scripted(one_group) if has_model else None)
        check_whole(store)


@THOROUGH
@given(LIVES, st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(2, 50))
def test_bit_by_bit_covers_the_same_as_at_once(life, steps, chunk):
    """In any order and pieces: the tree is whole each time, and the same in the end."""
    usual = stretch.CHUNK
    with (tempfile.TemporaryDirectory() as folder,
          open_memory(Path(folder) / 'a') as once, open_memory(Path(folder) / 'b') as bits):
        shape(once, [record for records in life for record in records])
        waiting = list(life)
        stretch.CHUNK = chunk
        try:
            for step in range(len(life)):
                part = waiting[:steps[step % len(steps)]]
                waiting = waiting[len(part):]
                shape(bits, [record for records in part for record in records])
                check_whole(bits)
        finally:
            stretch.CHUNK = usual
        assert below_days(bits) == below_days(once)
