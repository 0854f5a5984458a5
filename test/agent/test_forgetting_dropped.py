"""What the tree says of records that retention dropped is forgotten with their time."""

from collections.abc import Iterator
from pathlib import Path

from databases import database_url
import pytest
from sqlalchemy import select

from emv_ros.agent.forgetting import forget
from emv_ros.errors import NotFoundError
from emv_ros.memory import schema
from emv_ros.memory.choosing import Choice
from emv_ros.memory.retention import retain
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Scene, SceneObject
from emv_ros.settings import Settings, TreeSettings, with_values
from emv_ros.timeline import SECOND_NS, parse_stamp
from emv_ros.tree.consolidate import consolidate

pytestmark = pytest.mark.both_databases

NOON_NS = parse_stamp('2024-03-01T12:00:00Z')[0]
SECRET = 'quetzalcoatl'


def at(seconds: float) -> int:
    return NOON_NS + round(seconds * SECOND_NS)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryStore]:
    """Scenes of two hours, of which only the tree tells any more."""
    folder = tmp_path / 'memory'
    with MemoryStore(folder, database_url(folder), 'r1') as store:
        store.add_many([Scene(stamp_ns=at(second), objects=(SceneObject(name=name),))
                        for second, name in ((0, SECRET), (10, SECRET), (7200, 'sofa'))])
        consolidate(store, TreeSettings())
        retain(store, with_values(Settings(), {
            'memory.max_share': 1.0, 'retention.scene_days': 1}), now_ns=at(30 * 86_400))
        assert store.counts()['scene'] == 0
        yield store


def said(store: MemoryStore) -> str:
    with store.reading() as session:
        return ' '.join((*session.scalars(select(schema.NodeRow.summary)),
                         *session.scalars(select(schema.DocumentRow.text))))


@pytest.mark.parametrize(('choice', 'is_gone'), [
    (Choice(end_ns=at(60)), True), (Choice(start_ns=at(5), end_ns=at(60)), True),
    (Choice(kinds=frozenset({'scene'}), end_ns=at(60)), True),
    (Choice(kinds=frozenset({'pose'}), end_ns=at(60)), False),
    (Choice(start_ns=at(60), end_ns=at(3600)), False)])
def test_a_time_is_forgotten_also_where_only_the_tree_tells_of_it(memory, choice, is_gone) -> None:
    assert SECRET in said(memory) and 'sofa' in said(memory)
    if not is_gone:
        with pytest.raises(NotFoundError, match='no record fits'):
            forget(memory, choice, author='ann', reason='guests', stamp_ns=at(9000))
        assert SECRET in said(memory)
        return
    done = forget(memory, choice, author='ann', reason='guests', stamp_ns=at(9000))
    assert done.numbers['nodes_rewritten'] >= 1 and SECRET not in said(memory)
    consolidate(memory, TreeSettings())
    assert SECRET not in said(memory) and 'sofa' in said(memory) and '…' not in said(memory)
