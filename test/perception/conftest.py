"""An empty memory."""

from collections.abc import Iterator
from pathlib import Path

from databases import database_url
import pytest

from emv_ros.memory.store import MemoryStore


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryStore]:
    folder = tmp_path / 'memory'
    with MemoryStore(folder, database_url(folder), 'robot', busy_timeout_s=5.0) as store:
        yield store
