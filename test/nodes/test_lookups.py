"""Typed look-ups without DDS: requests that go wrong, and what is known at a question's time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time

from emv_ros import srv
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.nodes.lookups import Lookups
from emv_ros.records import ImageRecord, Node
from emv_ros.retrieval.search import Searcher
from emv_ros.settings import MemorySettings, RetrievalSettings
from emv_ros.timeline import SECOND_NS

NOON_S = 1_772_366_400


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    """Two events within one goal."""
    with MemoryStore.open(MemorySettings(robot='r1'), tmp_path) as opened:
        with opened.writing() as session:
            opened.robot_id(session, 'r1')
        with opened.node_writer() as writer:
            events = [writer.add(_node(2, start_s, start_s + 10, f'event {start_s}'))
                      for start_s in (0, 20)]
            writer.add(_node(3, 0, 30, 'goal'), (), events)
        yield opened


def _node(level: int, start_s: int, end_s: int, summary: str) -> Node:
    return Node(robot='r1', level=level, start_ns=(NOON_S + start_s) * SECOND_NS,
                end_ns=(NOON_S + end_s) * SECOND_NS, summary=summary)


def lookups(store: MemoryStore) -> Lookups:
    return Lookups(store, Searcher(store, RetrievalSettings(embedder='none')))


@pytest.mark.parametrize(('after_s', 'shown'), [
    (0, []), (15, ['event 0']), (31, ['goal']), (None, ['goal'])])
def test_the_roots_are_those_of_the_time_of_the_question(
        store: MemoryStore, after_s: int | None, shown: list[str]) -> None:
    asked_at = Time(sec=0 if after_s is None else NOON_S + after_s)
    found = lookups(store).episodes(
        srv.GetEpisodes.Request(query_time=asked_at), srv.GetEpisodes.Response())
    assert [node.summary for node in found.nodes] == shown


def test_an_id_that_no_database_can_hold_is_the_request_s_fault(store: MemoryStore) -> None:
    found = lookups(store).episodes(
        srv.GetEpisodes.Request(node_ids=['n' + '9' * 30]), srv.GetEpisodes.Response())
    assert found.status == found.STATUS_INVALID_REQUEST


def test_a_node_of_another_robot_is_refused(store: MemoryStore) -> None:
    for robots, status in (([], 1), (['r1'], 1), (['r2'], 2), (['r2', 'r1'], 1)):
        found = lookups(store).episodes(srv.GetEpisodes.Request(node_ids=['n1'], robots=robots),
                                        srv.GetEpisodes.Response())
        assert (found.status, len(found.nodes)) == (status, int(status == 1)), found.message


def test_a_node_that_went_since_it_was_found_spoils_nothing(
        store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    get = store.get
    monkeypatch.setattr(store, 'get', lambda kind, key: get(kind, 999 if key == 1 else key))
    found = lookups(store).search(
        srv.SearchEpisodicMemory.Request(text='event'), srv.SearchEpisodicMemory.Response())
    assert found.status == found.STATUS_OK
    assert [node.summary for node in found.nodes] == ['event 20']


def test_a_picture_that_is_gone_says_why(store: MemoryStore) -> None:
    for second in range(2):
        store.add_image(b'any bytes', ImageRecord(
            stamp_ns=(NOON_S + second) * SECOND_NS, camera='head', sha256='',
            media_type='image/jpeg', width=1, height=1))
    with store.writing() as session:
        session.get_one(schema.ImageRow, 1).gone = 'retention'
    one, both = (lookups(store).images(
        srv.GetEvidenceImage.Request(evidence_ids=ids), srv.GetEvidenceImage.Response())
        for ids in (['i1'], ['i1', 'i2']))
    assert (one.status, one.message, one.images) == (
        one.STATUS_NOT_FOUND, 'the picture i1 was dropped by retention', [])
    assert (both.status, both.message, both.image_ids) == (
        both.STATUS_OK, 'the picture i1 was dropped by retention', ['i2'])
    found = lookups(store).images(
        srv.GetEvidenceImage.Request(evidence_ids=['n1']), srv.GetEvidenceImage.Response())
    assert (found.image_ids, found.message) == (['i2'], '')
