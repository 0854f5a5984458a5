"""An empty memory and the real default embedder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from databases import database_url
import pytest

from emv_ros.errors import ModelUnavailableError
from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.embedders import MiniLmEmbedder
from emv_ros.settings import MemorySettings


@pytest.fixture(scope='session')
def minilm() -> MiniLmEmbedder:
    try:
        return MiniLmEmbedder()
    except ModelUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    url = database_url(tmp_path).render_as_string()
    with MemoryStore.open(MemorySettings(url=url, robot='r1'), tmp_path) as opened:
        yield opened
