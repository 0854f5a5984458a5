"""Where a long stretch is cut into groups."""

from dataclasses import replace

from life_parts import SETTINGS as DEFAULTS, at, say, see, shape, span
import pytest
from whole import check_whole

from emv_ros.memory.schema import NodeRow
from emv_ros.tree.partition import by_pauses, fits, has_room

SETTINGS = replace(DEFAULTS, fan_out=4)


def node(start, end=None, summary='Go', name='Go'):
    return NodeRow(level=2, start_ns=at(start), end_ns=at(start if end is None else end),
                   summary=summary, name=name)


def said(start, text='more', speaker='user'):
    return node(start, summary=f'{speaker} said "{text}"', name='')


def saw(start):
    return node(start, summary='saw mug', name='')


def lengths(nodes, settings=SETTINGS):
    return [len(part) for part in by_pauses(nodes, settings)]


def test_equal_pauses_are_cut_evenly():
    assert lengths([node(n * 10) for n in range(4)]) == [4]
    assert lengths([node(n * 10) for n in range(5)]) == [3, 2]
    assert lengths([node(n * 10) for n in range(12)]) == [4, 4, 4]


def test_the_longest_pause_is_where_it_is_cut():
    starts = [0, 10, 100, 110, 120, 130]
    assert lengths([node(start) for start in starts]) == [2, 4]
    assert lengths([node(start, start + 5) for start in (0, 10, 20, 90, 100, 110)]) == [3, 3]


def test_pauses_longer_than_a_goals_always_cut():
    assert lengths([node(0), node(1000), node(1010)]) == [1, 2]


def test_what_goes_on_makes_no_pause():
    """The long run in the middle spans what seems the longest pause."""
    assert lengths([node(0), node(10), node(20, 500), node(30), node(490), node(560)]) == [2, 4]


def test_a_request_stays_with_its_deed():
    nodes = [node(0), node(10), node(20), said(30), node(42), node(50), node(60)]
    assert lengths(nodes) == [3, 4]
    own = [node(0), node(10), node(20), said(30, speaker='robot'), node(42), node(50), node(60)]
    assert lengths(own) == [4, 3]


@pytest.mark.parametrize('count', [5, 9, 16, 40])
def test_sightings_do_not_count_but_groups_stay_bounded(count):
    nodes = sorted([*(saw(n * 10 + 5) for n in range(count)), *(node(n * 40) for n in range(4))],
                   key=lambda item: item.start_ns)
    parts = by_pauses(nodes, SETTINGS)
    assert [item for part in parts for item in part] == nodes
    assert all(fits(part, 4) and len(part) <= 8 for part in parts)
    if count == 5:
        assert len(parts) == 2  # nine nodes, of which four tell something


def test_room_is_for_what_tells_something():
    assert has_room([node(0), *(saw(n) for n in range(6))], 4)
    assert not has_room([saw(n) for n in range(8)], 4)
    assert not has_room([node(n) for n in range(4)], 4)
    assert fits([node(n) for n in range(4)], 4) and not fits([node(n) for n in range(5)], 4)


def test_closed_groups_stay_when_more_follows(store):
    shape(store, [say(n * 10, f'w{n}') for n in range(20)])
    first = shape(store)[2][0]
    for more in range(20, 40):
        tree = shape(store, [say(more * 10, f'w{more}'), see(more * 10 + 5, 'mug')])
        assert tree[2][0] == first
        check_whole(store, DEFAULTS)


def test_a_late_record_does_not_make_a_group_too_long(store):
    shape(store, [say(n * 10, f'w{n}') for n in range(20)])
    for late in range(20):
        shape(store, [*span('Late', late * 0.4 + 0.2, late * 0.4 + 0.3)])
        check_whole(store, DEFAULTS)
