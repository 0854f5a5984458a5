"""Thresholds by what a person says of pairs: the sample, the proposal, the command."""

from __future__ import annotations

from dataclasses import replace

from entity_parts import apart, entity, see
import numpy as np
import pytest

from emv_ros.biography import calibration
from emv_ros.biography.calibration import Pair, propose
from emv_ros.biography.calibration_groups import likeness_of, propose_group
from emv_ros.biography.rules import group_similarity_of, thresholds_of
from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import BiographySettings


def looks_of(store: MemoryStore, ref_id: int, angle: float) -> None:
    """Give an observation looks at an angle in a plane: cosines are those of differences."""
    vector = np.array([np.cos(angle), np.sin(angle)], '<f4')
    with store.writing() as session:
        session.add(schema.AppearanceRow(
            observation_id=ref_id, model='test-looks', vector=vector.tobytes()))


@pytest.fixture
def seen(memory: MemoryStore) -> list[int]:
    ids = [see(memory, 100 * place) for place in range(4)]
    for ref_id, angle in zip(ids, (0.0, 0.3, 0.6, 1.5), strict=True):
        looks_of(memory, ref_id, angle)
    return ids


def test_the_sample_is_of_those_alike_and_not_seen_apart(
        memory: MemoryStore, seen: list[int]) -> None:
    assert calibration.model_of(memory, 'r1') == 'test-looks'
    apart(memory, seen[1], seen[2])
    pairs = calibration.sample(memory, 'r1', 'test-looks', (0.9, 0.8), 10)
    # Of the six pairs three are like enough, of which one was seen apart.
    assert [({pair.first_id, pair.second_id}, round(pair.cosine, 3)) for pair in pairs] == [
        ({seen[0], seen[1]}, 0.955), ({seen[0], seen[2]}, 0.825)]
    assert pairs == calibration.sample(memory, 'r1', 'test-looks', (0.9, 0.8), 10)
    assert len(calibration.sample(memory, 'r1', 'test-looks', (0.9, 0.8), 1)) == 1


def test_without_looks_there_is_no_sample(memory: MemoryStore) -> None:
    see(memory, 0)
    assert calibration.model_of(memory, 'r1') == ''
    assert calibration.sample(memory, 'r1', 'any', (0.9, 0.8), 10) == []


PAIRS = [Pair(1, 2, 0.96), Pair(3, 4, 0.9), Pair(5, 6, 0.84), Pair(7, 8, 0.7)]


def test_match_lies_above_all_that_is_different() -> None:
    made = propose(PAIRS, {1: True, 2: False, 3: True, 4: False}, (0.8, 0.6))
    # Half way between the most alike of two things (0.90) and the next pair of one (0.96); 5 % from
    # 0.84 to 0.96 for the other.
    assert (made.match, made.consistent, made.same, made.different) == (0.93, 0.846, 2, 2)
    assert propose(PAIRS, {1: False}, (0.8, 0.6)).match == 0.97


def test_where_all_are_the_same_match_goes_down_only() -> None:
    assert propose(PAIRS, {1: True, 3: True}, (0.9, 0.6)).match == 0.84
    assert propose(PAIRS, {1: True}, (0.9, 0.6)).match == 0.9
    for told in ({}, {5: True}, {0: False}):
        with pytest.raises(ValueError, match='numbers from 1 to 4'):
            propose(PAIRS, told, (0.8, 0.6))


def test_what_is_kept_is_used_by_association(memory: MemoryStore, seen: list[int]) -> None:
    pairs = calibration.sample(memory, 'r1', 'test-looks', (0.9, 0.8), 10)
    calibration.keep_shown(memory, 'test-looks', pairs)
    assert calibration.shown(memory, 'test-looks') == pairs
    made = propose(pairs, {1: True, 2: False}, (0.9, 0.8))
    calibration.keep(memory, 'test-looks', made)
    with memory.reading() as session:
        assert thresholds_of(session, 'test-looks', BiographySettings(), (0.75, 0.6)) == (
            made.match, made.consistent)


def test_group_follows_from_pairs_of_two_entities(memory: MemoryStore) -> None:
    """Three entities of one look each: likeness is the cosine by what is assumed of one alone."""
    ids = [see(memory, 100 * place, entity_id=entity(memory)) for place in range(3)]
    for ref_id, angle in zip(ids, (0.0, 0.3, 0.7), strict=True):
        looks_of(memory, ref_id, angle)
    within = see(memory, 500, entity_id=1)
    pairs = [Pair(ids[0], ids[1], 0.955), Pair(ids[1], ids[2], 0.921), Pair(ids[0], within, 0.9)]
    likeness = likeness_of(memory, 'r1', 'test-looks', pairs, 0.9)
    assert {key: round(value, 4) for key, value in likeness.items()} == {
        1: round(np.cos(0.3) / 0.9, 4), 2: round(np.cos(0.4) / 0.9, 4)}
    # Above the pair that is different; down to what is the same; as it was where nothing is told.
    assert propose_group(likeness, {1: True, 2: False}, 0.99) == round(np.cos(0.4) / 0.9 + 0.005, 3)
    assert propose_group(likeness, {2: True}, 1.05) == round(np.cos(0.4) / 0.9, 3)
    assert propose_group(likeness, {3: True}, 0.99) == 0.99
    assert propose_group(likeness, {2: False}, 0.0) == 0.0
    made = replace(propose(pairs, {1: True}, (0.9, 0.8)), group=0.97)
    calibration.keep(memory, 'test-looks', made)
    with memory.reading() as session:
        assert group_similarity_of(session, 'test-looks', BiographySettings()) == 0.97
        assert group_similarity_of(
            session, 'test-looks', BiographySettings(group_similarity=0.9)) == 0.9
