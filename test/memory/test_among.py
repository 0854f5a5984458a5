"""A column among many numbers: one parameter, whatever their count."""

from pathlib import Path

from memory_parts import said
import pytest
from sqlalchemy import bindparam, select
from sqlalchemy.dialects import postgresql

from emv_ros.memory.among import Numbers, among
from emv_ros.memory.schema import UtteranceRow
from emv_ros.memory.store import MemoryStore
from emv_ros.settings import MemorySettings

pytestmark = pytest.mark.both_databases


@pytest.mark.parametrize(('numbers', 'found'), [
    ([], []), ([2], [2]), ([3, 1, 3, 99, -1], [1, 3]), (range(2, 5000), [2, 3])])
def test_rows_of_the_numbers_are_found(tmp_path: Path, numbers: list[int],
                                       found: list[int]) -> None:
    with MemoryStore.open(MemorySettings(robot='r'), tmp_path) as memory:
        memory.add_many([said(second, 'a') for second in range(3)])
        row = UtteranceRow
        with memory.reading() as session:
            direct = select(row.id).where(among(row.id, numbers), row.text == 'a')
            later = select(row.id).where(among(row.id, bindparam('ids', type_=Numbers())))
            assert sorted(session.scalars(direct)) == found
            assert sorted(session.scalars(later, {'ids': numbers})) == found


def test_a_server_takes_them_as_an_array() -> None:
    told = str(select(UtteranceRow.id).where(among(UtteranceRow.id, [1, 2])).compile(
        dialect=postgresql.dialect()))  # type: ignore[no-untyped-call]
    assert 'utterance.id IN (SELECT unnest(' in told and 'BIGINT[]' in told
