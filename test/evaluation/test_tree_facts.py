"""The shape of a tree that was put together by hand, also where it is broken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from databases import database_url
import pytest

from emv_ros.evaluation.tree_facts import tree_facts
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Node, Pose, Utterance

pytestmark = pytest.mark.both_databases


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path, database_url(tmp_path), 'r2') as memory:
        yield memory


def grow(store: MemoryStore) -> list[int]:
    """Put four utterances under three events, two of them in a goal, all in a day."""
    words = store.add_many([Utterance(stamp_ns=at, speaker='a', text='hello') for at in range(4)])
    with store.node_writer() as writer:
        def node(level: int, members: list[int] = (), children: list[int] = ()) -> int:
            return writer.add(
                Node(robot='r2', level=level, start_ns=0, end_ns=4, summary='s' * level),
                [('utterance', key) for key in members], children)

        events = [node(2, words[:1]), node(2, words[1:2]), node(2, words[2:])]
        day = node(8, children=[node(3, children=events[:2]), events[2]])
    return [*events, day]


def test_a_whole_tree(store):
    grow(store)
    facts = tree_facts(store)
    assert (facts.nodes, facts.roots, facts.depth, facts.longest_text) == (5, 1, 3, 8)
    assert facts.nodes_by_level == {2: 3, 3: 1, 8: 1}
    assert [(level.level, level.nodes, level.fewest, level.median, level.most)
            for level in facts.fan_out] == [(3, 1, 2, 2, 2), (8, 1, 2, 2, 2)]
    assert (facts.records, facts.records_waiting, facts.one_path) == (4, 4, 1.0)


def test_a_record_without_a_node_has_no_path(store):
    grow(store)
    store.add(Utterance(stamp_ns=9, speaker='a', text='late'))
    assert tree_facts(store).one_path == 4 / 5


def test_a_circle_leads_to_no_root(store):
    first, second, *_ = grow(store)
    with store.writing() as session:
        session.get_one(schema.NodeRow, first).parent_id = second
        session.get_one(schema.NodeRow, second).parent_id = first
    assert tree_facts(store).one_path == 2 / 4


def test_two_roots_are_none(store):
    first, *_ = grow(store)
    with store.writing() as session:
        session.get_one(schema.NodeRow, first).parent_id = None
    facts = tree_facts(store)
    assert (facts.roots, facts.one_path) == (2, 0.0)


def test_raw_records_lie_in_the_span_of_one_day(store):
    grow(store)  # the day spans 0 to 4
    with store.node_writer() as writer:
        writer.add(Node(robot='r2', level=8, start_ns=4, end_ns=9, summary='the next'))
    store.add_many([Pose(stamp_ns=at, frame='map', position=(0.0, 0.0, 0.0))
                    for at in (0, 3, 4, 9, 10)])
    facts = tree_facts(store)
    assert (facts.raw_records, facts.raw_in_one_day) == (5, 3 / 5)  # 4 is in both, 10 in none


def test_nothing(store):
    facts = tree_facts(store)
    assert (facts.nodes, facts.depth, facts.fan_out, facts.one_path) == (0, 0, [], 1.0)
