"""What `emv doctor` checks of what search needs: text vectors, and the files of its caches."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context
from emv_ros.errors import EmvError
from emv_ros.memory.checkup import Finding

if TYPE_CHECKING:
    from emv_ros.retrieval.embedders import TextEmbedder

ANEW = 'the next search makes it anew; it holds nothing that the database does not'


def check_vectors(context: Context, is_usable: bool) -> Iterator[Finding]:
    """Check that texts can get vectors, and how many lack one."""
    from emv_ros.retrieval.embedders import make_embedder

    try:
        embedder = make_embedder(context.settings.retrieval)
    except EmvError as error:
        yield Finding('text vectors', 'wrong', str(error),
                      'install it, or search by words only: --set retrieval.embedder=none')
        return
    if embedder is None:
        yield Finding('text vectors', 'note', 'switched off: search goes by words only')
        return
    yield Finding('text vectors', 'ok', embedder.name)
    if is_usable:
        yield from _missing_vectors(context, embedder)


def check_caches(context: Context, is_usable: bool) -> Iterator[Finding]:
    """Check the graph and the vectors that are kept beside the database against it."""
    from emv_ros.memory.clearing import CACHES

    files = sorted((context.settings.folder / CACHES).glob('*.bin'))
    if not files or not is_usable:
        return
    with context.open() as store, store.reading() as session:
        for cache in files:
            yield _of_cache(cache, session)


def _of_cache(file: Path, session: Any) -> Finding:
    from emv_ros.memory.cache_file import HEADER_BYTES, read_cache
    from emv_ros.memory.changes import since

    name = f'cache {file.name}'
    try:
        with file.open('rb') as stream:
            contents = json.loads(stream.read(HEADER_BYTES))['contents']
        kept = read_cache(file, str(contents))
    except (OSError, ValueError, KeyError, TypeError):
        kept = None
    if kept is None:
        return Finding(name, 'note', 'it is damaged', ANEW)
    changed = since(session, kept[0])
    if changed is None:
        return Finding(name, 'note', 'it is of another memory, or too far behind', ANEW)
    return Finding(name, 'ok', f'{len(changed[0]):,} changes behind the database')


def _missing_vectors(context: Context, embedder: TextEmbedder) -> Iterator[Finding]:
    from emv_ros.retrieval.index import count_missing

    with context.open() as store, store.reading() as session:
        missing = count_missing(session, embedder)
    yield Finding('vectors', 'note' if missing else 'ok',
                  f'{missing:,} texts have none yet' if missing else 'every text has one',
                  '`emv consolidate` makes them' if missing else '')
