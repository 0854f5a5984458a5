"""Small memories for the tests of the agent."""

from collections.abc import Iterator
from pathlib import Path
import shutil

from households import Household, open_memory
import pytest


@pytest.fixture(scope='session')
def empty_memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a memory without records: a copy is quicker than a new one."""
    folder = tmp_path_factory.mktemp('empty')
    open_memory(folder).store.close()
    return folder


@pytest.fixture
def home(tmp_path: Path, empty_memory: Path) -> Iterator[Household]:
    """Return an empty memory in Berlin."""
    shutil.copytree(empty_memory, tmp_path, dirs_exist_ok=True)
    house = open_memory(tmp_path)
    yield house
    house.store.close()


@pytest.fixture
def days(home: Household) -> Household:
    """Return a memory of one task on each of two days."""
    home.run('Vacuum', '2025-03-05 14:00', '2025-03-05 14:30')
    home.run('Mop', '2025-03-06 09:00', '2025-03-06 09:10')
    home.consolidate()
    return home
