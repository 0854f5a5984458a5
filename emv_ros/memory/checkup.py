"""Checks of a memory on disk: whole, of a known schema, its pictures there, its text index in step.

It reads the SQLite file directly, so that it can speak of a damaged, older or newer one as well; it
mends nothing and migrates nothing. A memory on a database server is that server's to check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
import os
from pathlib import Path
import sqlite3

from emv_ros.memory.database import UNREADABLE, is_log_gone
from emv_ros.memory.gone_pictures import FORGOTTEN, RETENTION
from emv_ros.memory.migrate import SCHEMA_VERSION
from emv_ros.memory.pictures import PictureFolder

BUSY_S = 10.0
SHOWN = 3
REPAIR = '`emv doctor --repair` keeps a copy of the database and mends what can be mended'


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: `state` 'ok', 'note' (works, but not all of it) or 'wrong', and how to mend it."""

    name: str
    state: str
    detail: str
    mend: str = ''


def check_folder(folder: Path, free_bytes_wanted: int = 100_000_000) -> Iterator[Finding]:
    """Check that the folder, or the one that it would be made in, can be written and has room."""
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        yield Finding('folder', 'wrong', f'{place} is a file', 'name another folder with --memory')
        return
    told = str(folder) if place == folder else f'{folder} is not there yet'
    if os.access(place, os.W_OK | os.X_OK):
        yield Finding('folder', 'ok', f'{told}, {place} can be written')
    else:
        yield Finding('folder', 'wrong', f'{place} cannot be written by this user',
                      'change its owner or name another folder with --memory')
    stat = os.statvfs(place)
    free = stat.f_bavail * stat.f_frsize
    state = 'ok' if free >= free_bytes_wanted else 'wrong'
    yield Finding('disk', state, f'{free / 1e9:.1f} GB free',
                  '' if state == 'ok' else 'make room: on a full disk nothing is recorded')


def check_schema(tables: set[str], scalar: Callable[[str], object], mend_other: str) -> Finding:
    """Check whose schema it is, and of which version; `scalar` returns the first value of a query.

    `mend_other` is what to do where the tables are of another program.
    """
    if not tables:
        return Finding('schema', 'note', 'the database is empty',
                       'the memory is made when it is first opened')
    if 'alembic_version' not in tables:
        return Finding('schema', 'wrong', 'this database is no emv_ros memory', mend_other)
    version = str(scalar('SELECT version_num FROM alembic_version') or 'none')
    if version == SCHEMA_VERSION:
        return Finding('schema', 'ok', f'version {version}')
    if version < SCHEMA_VERSION:
        return Finding('schema', 'note', f'version {version}, this emv_ros has {SCHEMA_VERSION}',
                       'it is brought up to date when the memory is next opened')
    return Finding('schema', 'wrong', f'version {version} is newer than {SCHEMA_VERSION}',
                   'update emv_ros')


def check_database(file: Path, pictures: PictureFolder) -> Iterator[Finding]:
    """Check the file and, as far as it can be read, what stands in it."""
    if not os.access(file, os.R_OK):
        yield Finding('database', 'wrong', f'{file} cannot be read by this user',
                      'change its owner or name another folder with --memory')
        return
    if is_log_gone(file):
        yield Finding('log', 'wrong', f'the write-ahead log {file.name}-wal was removed, and with '
                      'it what was committed last', REPAIR)
    try:
        with closing(sqlite3.connect(_uri(file), uri=True, timeout=BUSY_S)) as connection:
            # What is damaged may be quoted.
            connection.text_factory = partial(str, encoding='utf-8', errors='replace')
            yield from _checked(connection, pictures)
    except (sqlite3.Error, *UNREADABLE) as error:
        said = error if isinstance(error, sqlite3.Error) else 'its schema is damaged'
        yield Finding('database', 'wrong', f'{file} cannot be read: {said}', REPAIR)


def _uri(file: Path) -> str:
    """Return the URI that reads the file; where no log can be made beside it, as it is."""
    uri = f'{file.resolve().as_uri()}?mode=ro'
    has_log = file.with_name(f'{file.name}-wal').exists()
    return uri if has_log or os.access(file.parent, os.W_OK) else f'{uri}&immutable=1'


def _checked(connection: sqlite3.Connection, pictures: PictureFolder) -> Iterator[Finding]:
    connection.text_factory = _text
    said = [row[0] for row in connection.execute('PRAGMA quick_check(5)')]
    if said == ['ok']:
        yield Finding('database', 'ok', 'every page is whole')
    else:
        yield Finding('database', 'wrong', '; '.join(said),
                      REPAIR)
    tables = {row[0] for row in connection.execute('SELECT name FROM sqlite_master')}
    schema = check_schema(tables, lambda query: next(connection.execute(query), (None,))[0],
                          'name another folder with --memory')
    yield schema
    if schema.state == 'wrong' or 'image' not in tables:
        return
    yield from _links(connection)
    yield from _pictures(connection, pictures)
    if 'document_text' in tables:
        yield _text_index(connection)


def _text(data: bytes) -> str:
    return data.decode(errors='replace')


def _links(connection: sqlite3.Connection) -> Iterator[Finding]:
    broken = connection.execute('PRAGMA foreign_key_check').fetchall()
    if broken:
        tables = ', '.join(sorted({str(row[0]) for row in broken})[:SHOWN])
        yield Finding('links', 'wrong', f'{len(broken)} rows point to rows that are gone: {tables}',
                      REPAIR)


def _pictures(connection: sqlite3.Connection, pictures: PictureFolder) -> Iterator[Finding]:
    has_gone = any(column[1] == 'gone' for column in connection.execute(
        'PRAGMA table_info(image)'))
    rows = [(str(sha256), str(media_type), size_bytes) for sha256, media_type, size_bytes
            in connection.execute('SELECT DISTINCT sha256, media_type, size_bytes FROM image'
                                  + (" WHERE gone = ''" if has_gone else ''))]
    missing, short = [], []
    for sha256, media_type, size_bytes in rows:
        path = pictures.path(sha256, media_type)
        if not path.is_file():
            missing.append(path.name)
        elif size_bytes and path.stat().st_size != size_bytes:
            short.append(path.name)
    for names, told in ((missing, 'missing'), (short, 'of another size than recorded')):
        if names:
            shown = ', '.join(names[:SHOWN]) + (', …' if len(names) > SHOWN else '')
            yield Finding('pictures', 'wrong', f'{len(names)} of {len(rows)} are {told}: {shown}',
                          f'bring the files back into {pictures.folder} from a copy; {REPAIR}')
    known = {pictures.path(sha256, media_type) for sha256, media_type, _ in rows}
    extra = sum(path not in known for path in pictures)
    if extra:
        yield Finding('picture files', 'note', f'{extra} belong to no record',
                      'left by an interrupted write; they do no harm, `emv doctor --repair` '
                      'removes them')
    if not missing and not short:
        yield Finding('pictures', 'ok', f'all {len(rows)} files are there')
    if has_gone:
        for gone, count in connection.execute(
                "SELECT gone, count(*) FROM image WHERE gone <> '' GROUP BY gone ORDER BY gone"):
            yield Finding('pictures gone', 'ok' if gone in (RETENTION, FORGOTTEN) else 'note',
                          f'{count} are marked: {gone}')


def _text_index(connection: sqlite3.Connection) -> Finding:
    """Compare the full-text index with the documents, by number and by what each lacks."""
    documents = connection.execute('SELECT count(*) FROM document').fetchone()[0]
    unindexed, orphaned = (connection.execute(query).fetchone()[0] for query in (
        'SELECT count(*) FROM document WHERE id NOT IN (SELECT id FROM document_text_docsize)',
        'SELECT count(*) FROM document_text_docsize WHERE id NOT IN (SELECT id FROM document)'))
    if unindexed or orphaned:
        return Finding(
            'text index', 'wrong',
            f'{unindexed} of {documents} texts are not in it, {orphaned} entries have no text',
            REPAIR)
    return Finding('text index', 'ok', f'all {documents} texts are in it')
