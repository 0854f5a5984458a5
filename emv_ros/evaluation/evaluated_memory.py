"""A memory made of one experience file for an evaluation: imported, consolidated, with vectors.

No language model is asked: what is measured is the same wherever it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from emv_ros.biography.upkeep import keep
from emv_ros.commands.private import private_sink
from emv_ros.errors import ImportFileError, StoreError
from emv_ros.ingest.importing import import_path
from emv_ros.ingest.privacy import WordFilter
from emv_ros.memory.store import MemoryStore
from emv_ros.memory.writer import BatchWriter
from emv_ros.perception.symbolic import observe_scenes
from emv_ros.retrieval.embedders import TextEmbedder
from emv_ros.retrieval.index import embed_missing
from emv_ros.settings import Settings
from emv_ros.tree.consolidate import consolidate

# A file is read faster than it is written: all of it may wait.
QUEUE = 1_000_000
WRITE_LIMIT_S = 600.0


def make_memory(folder: Path, data: Path, settings: Settings, embedder: TextEmbedder | None,
                tell: Callable[[str], None] = lambda _: None) -> None:
    """Make a memory of a file in an empty folder.

    Raises ImportFileError where the file cannot be read, StoreError where it cannot be written.
    """
    memory = replace(settings.memory, folder=str(folder), url='')
    with MemoryStore.open(memory, folder) as store:
        tell(f'reading {data}')
        writer = BatchWriter(store, memory.flush_period_s, memory.batch_size, QUEUE)
        try:
            report = import_path(
                data, private_sink(settings, writer, WordFilter(settings.privacy)),
                settings.ingest, memory.robot)
        finally:
            is_written = writer.close(WRITE_LIMIT_S)
        if not is_written:
            raise StoreError(f'not everything of {data} could be written: {writer.last_error}')
        if not report.stored:
            raise ImportFileError(f'nothing of {data} could be read into a memory')
        tell(f'{report.stored} records; making biographies and the tree')
        for robot in store.robots():
            observe_scenes(store, settings, robot, finish=True)
            keep(store, settings, robot)
        consolidate(store, settings, model=None)
        prepare(store, embedder, tell)


def prepare(store: MemoryStore, embedder: TextEmbedder | None,
            tell: Callable[[str], None] = lambda _: None) -> None:
    """Give all texts of a memory their vectors, as far as there is an embedder."""
    if embedder is not None and not store.is_read_only:
        tell('making the vectors')
        embed_missing(store, embedder)
