"""What was seen apart stays apart, though the observations that showed it are forgotten."""

from __future__ import annotations

from entity_parts import NOON_NS, apart, held, look, said
import pytest

from emv_ros.agent.forgetting import forget
from emv_ros.biography import corrections
from emv_ros.biography.association import associate
from emv_ros.biography.rebuild import rebuild
from emv_ros.errors import CorrectionError
from emv_ros.memory.lives import TOLD_APART, namesakes
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import BiographySettings

pytestmark = pytest.mark.both_databases

THRESHOLDS = 0.75, 0.60


def two_like(store: MemoryStore) -> list[int]:
    """See two like mugs twice in one picture, each once more alone before and after."""
    ids = [look(store, 60 * at + side, 0) for at in range(2) for side in range(2)]
    for at in (0, 2):
        apart(store, ids[at], ids[at + 1])
    ids += [look(store, 300, 0), look(store, 360, 0)]
    associate(store, BiographySettings(), 'r1', THRESHOLDS)
    return ids


def forgotten(store: MemoryStore, *ids: int) -> None:
    forget(store, [('observation', key) for key in ids], author='Anna', reason='',
           stamp_ns=NOON_NS)


def test_one_word_is_kept_for_two_entities(memory: MemoryStore) -> None:
    """Of like looks the entity that was seen last gets the next: so 3 to the second, 4 to 1."""
    one, two, three, four, five, six = two_like(memory)
    assert held(memory) == {1: [one, four, five, six], 2: [two, three]}
    forgotten(memory, one, four)
    assert held(memory) == {1: [five, six], 2: [two, three]}
    assert said(memory) == {(two, five, 'different')}


def test_a_merge_is_refused_and_a_rebuild_joins_nothing(memory: MemoryStore) -> None:
    first, second = look(memory, 0, 0), look(memory, 1, 0)
    apart(memory, first, second)
    associate(memory, BiographySettings(), 'r1', THRESHOLDS)
    more = look(memory, 60, 0)  # joins the one that was seen last
    associate(memory, BiographySettings(), 'r1', THRESHOLDS)
    assert held(memory) == {1: [first], 2: [second, more]}
    forgotten(memory, second)
    assert held(memory) == {1: [first], 2: [more]}
    assert said(memory) == {(first, more, 'different')}
    with pytest.raises(CorrectionError, match='as an observation that is forgotten told'):
        corrections.merge(memory, [1, 2], author='Anna', stamp_ns=NOON_NS)
    rebuild(memory, BiographySettings(), 'r1', THRESHOLDS)
    assert sorted(held(memory).values()) == [[first], [more]]
    with memory.reading() as session:
        assert namesakes(session, [1])[1] == [(2, TOLD_APART)]


def test_nothing_is_said_where_what_stays_tells_it(memory: MemoryStore) -> None:
    ids = [look(memory, 60 * at + side, 0) for at in range(2) for side in range(2)]
    apart(memory, ids[0], ids[1])
    apart(memory, ids[2], ids[3])
    associate(memory, BiographySettings(), 'r1', THRESHOLDS)
    assert len(held(memory)) == 2
    forgotten(memory, ids[0])
    assert said(memory) == set()


def test_nothing_is_left_of_what_goes_as_a_whole(memory: MemoryStore) -> None:
    first, second = look(memory, 0, 0), look(memory, 1, 0)
    apart(memory, first, second)
    associate(memory, BiographySettings(), 'r1', THRESHOLDS)
    forgotten(memory, first)
    assert said(memory) == set() and list(held(memory).values()) == [[second]]
