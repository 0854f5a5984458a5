"""An empty memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from emv_ros.memory.database import sqlite_url
from emv_ros.memory.store import MemoryStore


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryStore]:
    folder = tmp_path / 'memory'
    with MemoryStore(folder, sqlite_url(folder), 'robot', busy_timeout_s=5.0) as store:
        yield store
