"""A memory for each test of the tree."""

from collections.abc import Iterator
from pathlib import Path

from life_parts import open_memory
import pytest

from emv_ros.memory.store import MemoryStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_memory(tmp_path / 'memory') as memory:
        yield memory
