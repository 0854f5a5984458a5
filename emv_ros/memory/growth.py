"""How many bytes each kind of record takes, and how many that is in an hour of a robot's life.

Of an SQLite file each page is counted to the kind that its table or index belongs to, by the
database's own account of its pages; the full-text index has its own line, vectors theirs, and
pictures are told apart by whether an observation shows them. Hours are those in which something
was recorded: the minutes of the clock that hold a record, over all robots.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import exists, func, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from emv_ros.memory import schema
from emv_ros.memory.columns import Base
from emv_ros.memory.store import MemoryStore
from emv_ros.timeline import MINUTE_NS

ROWS, INDICES = 'rows', 'indices'
# What a table holds, where that is not a kind of record by its own name.
_OF = {'scene_object': 'scene', 'scene_relation': 'scene', 'node_member': 'node',
       'observation_image': 'observation', 'appearance': 'vectors of looks',
       'separation': 'observation', 'verdict': 'entity', 'naming': 'entity',
       'document': 'searchable text', 'embedding': 'vectors of texts',
       'picture_embedding': 'vectors of pictures', 'model_call': 'accounts',
       'model_reply': 'accounts', 'consolidation': 'accounts', 'audit': 'accounts',
       'change': 'journal of changes'}
_TEXT_INDEX, _OTHER = 'full-text index', 'other'
_HOURLY = ('image', 'joint_sample', 'pose', 'utterance', 'skill_event', 'annotation', 'scene',
           'observation')


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Bytes by kind.

    `database` has of each kind the bytes of its rows and of its indices; None for a database that
    gives no account of its pages. `pictures` are files by 'shown by observations', 'others' and
    'depth', `cache_bytes` what search keeps beside. `hours` are those of minutes with a record.
    """

    hours: float
    database: Mapping[str, Mapping[str, int]] | None
    free_bytes: int
    counts: Mapping[str, int]
    pictures: Mapping[str, int]
    cache_bytes: int

    def per_hour(self, size_bytes: int) -> float:
        """Return bytes in an hour."""
        return size_bytes / self.hours if self.hours else 0.0


def growth(store: MemoryStore) -> Growth:
    """Count the bytes of a memory by kind. Raises StoreError where it cannot be read."""
    cache = store.folder / 'cache'
    with store.reading() as session:
        pages = _pages(session)
        return Growth(
            hours=_hours(session), database=_by_kind(session, pages),
            free_bytes=_free_bytes(session), counts=store.counts(), pictures=_pictures(session),
            cache_bytes=sum(path.stat().st_size for path in cache.rglob('*') if path.is_file()))


def _pages(session: Session) -> dict[str, int] | None:
    """Return the bytes of each table and index of the file, None where nobody accounts for it."""
    if session.get_bind().dialect.name != 'sqlite':
        return None
    try:
        with session.begin_nested():
            rows = session.connection().exec_driver_sql(
                'SELECT name, sum(pgsize) FROM dbstat GROUP BY name').all()
    except OperationalError:  # this SQLite was built without that account
        return None
    return {str(name): int(size) for name, size in rows}


def _by_kind(session: Session,
             pages: Mapping[str, int] | None) -> dict[str, dict[str, int]] | None:
    if pages is None:
        return None
    tables: dict[str, str] = {row[0]: row[1] for row in session.connection().exec_driver_sql(
        'SELECT name, tbl_name FROM sqlite_master')}
    found: dict[str, Counter[str]] = {}
    for name, size in pages.items():
        table = tables.get(name, name)
        kind = _OF.get(table, table if table in Base.metadata.tables else (
            _TEXT_INDEX if table.startswith('document_text') else _OTHER))
        part = ROWS if name == table else INDICES
        found.setdefault(kind, Counter())[part] += size
    return {kind: {part: found[kind][part] for part in (ROWS, INDICES)}
            for kind in sorted(found, key=lambda kind: -found[kind].total())}


def _free_bytes(session: Session) -> int:
    if session.get_bind().dialect.name != 'sqlite':
        return 0
    free, size = (int(session.connection().exec_driver_sql(f'PRAGMA {name}').scalar() or 0)
                  for name in ('freelist_count', 'page_size'))
    return free * size


def _hours(session: Session) -> float:
    found: set[tuple[int, int]] = set()
    for kind in _HOURLY:
        table = schema.KINDS[kind]
        minute = table.stamp_ns // MINUTE_NS
        found |= {(robot_id, int(at)) for robot_id, at in session.execute(
            select(table.robot_id, minute).distinct())}
    return len(found) / 60


def _pictures(session: Session) -> dict[str, int]:
    """Return the bytes of picture files; each file once."""
    row, part = schema.ImageRow, schema.ObservationImageRow
    shown = exists().where(part.image_id == row.id)
    each = select(
        row.sha256, func.max(row.size_bytes).label('size'), func.max(row.is_depth).label('depth'),
        func.max(shown).label('shown')).where(row.gone == '').group_by(row.sha256).subquery()
    if session.get_bind().dialect.name != 'sqlite':
        each = select(
            row.sha256, func.max(row.size_bytes).label('size'),
            func.bool_or(row.is_depth).label('depth'), func.bool_or(shown).label('shown')).where(
            row.gone == '').group_by(row.sha256).subquery()
    found = {'shown by observations': 0, 'others': 0, 'depth': 0}
    for size, depth, is_shown in session.execute(select(each.c.size, each.c.depth, each.c.shown)):
        found['depth' if depth else 'shown by observations' if is_shown else 'others'] += size
    return found
